//! Processes that are killed at random points of a run with approvals, and others that continue it, until one ends it. The bodies of
//! the calls append to a file, so that executions are counted outside of the store.
//!
//! `KILLS` is the number of kills for each database; default: 10. The points follow from a fixed seed.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use test_support::postgres::{new_schema, shared_url};
use tool_agent::{
    Agent, AgentEventKind, AgentStream, Answers, End, EndReason, Message, Part, Role, Runner,
    model::{Model, Request, Response, ResponseStream},
};
use tool_runtime::{
    Executor, ToolCall,
    open_calls::{ProgramKey, SharedOpenCallStore},
    prelude::*,
};
use tool_session::{EntryContent, EntryQuery, PostgresOptions, SharedSessionStore, SqliteStore};

use super::{
    processes::Process,
    world::{Folder, key, run},
};
use crate::runner::open::assert_valid;

const STORE_VARIABLE: &str = "TOOL_AGENT_TEST_STORE";
const FILE_VARIABLE: &str = "TOOL_AGENT_TEST_FILE";
const ANSWER: &str = "All is done.";

/// The file to which the bodies append.
struct EffectFile(PathBuf);

/// Appends to the file of the test.
fn take_effect(file: &Path, name: &str) -> String {
    println!("> {name} starts");
    let mut file = std::fs::File::options().append(true).create(true).open(file).unwrap();
    writeln!(file, "{name}").unwrap();
    println!("> {name} ends");
    format!("did {name}")
}

/// Charges a card.
#[tool(register = false)]
async fn charge(file: &EffectFile, name: String) -> String {
    let result = take_effect(&file.0, &name);
    tokio::task::yield_now().await;
    result
}

/// Transfers money.
#[tool(register = false, confirm)]
fn transfer(file: &EffectFile, name: String) -> String {
    take_effect(&file.0, &name)
}

/// Looks something up.
#[tool(register = false, read_only)]
fn look_up(name: String) -> String {
    format!("found {name}")
}

/// A model whose response follows from the number of those before.
struct Planner;

impl Model for Planner {
    fn name(&self) -> &str {
        "planner"
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let round = request.messages.iter().filter(|message| message.role() == Role::Assistant).count();
        let message = match rounds().get(round) {
            Some(calls) => Message::assistant(calls.iter().map(|(tool, name)| Part::Call(call(tool, name)))),
            None => Message::assistant([Part::Text(ANSWER.to_owned())]),
        };
        ResponseStream::of_future(async move { Ok(Response::new(message)) })
    }
}

fn rounds() -> [Vec<(&'static str, &'static str)>; 3] {
    [
        vec![("charge", "c1"), ("look_up", "l1"), ("transfer", "t1"), ("charge", "c2"), ("transfer", "t2")],
        vec![("charge", "c3"), ("charge", "c4"), ("look_up", "l2")],
        vec![("transfer", "t3")],
    ]
}

fn call(tool: &'static str, name: &'static str) -> ToolCall {
    ToolCall::new(tool, json!({ "name": name })).with_id(name)
}

/// A store of sessions and of open calls.
async fn open(address: &str) -> (SharedSessionStore, SharedOpenCallStore) {
    match address.split_once(' ') {
        Some((schema, url)) => {
            let options = PostgresOptions::new(url).unwrap().schema(schema).unwrap();
            let store = options.open().await.unwrap();
            (store.clone().into(), store.into())
        }
        None => {
            let store = SqliteStore::open(address).await.unwrap();
            (store.clone().into(), store.into())
        }
    }
}

/// The process that is killed; without its variables it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other process of the tests of this file"]
async fn killed_process() {
    let (Ok(address), Ok(file)) = (std::env::var(STORE_VARIABLE), std::env::var(FILE_VARIABLE)) else {
        return;
    };
    let (store, open_calls) = open(&address).await;
    let tools = Registry::builder().tool::<charge>().tool::<transfer>().tool::<look_up>();
    let tools = tools.provide(EffectFile(file.into())).build().unwrap();
    let program_key = || ProgramKey::new([7; 32]);
    let executor =
        Executor::builder(tools).open_calls(open_calls).program_key(program_key()).build().unwrap();
    let agent = Agent::builder("cashier", Planner).tools(executor.clone()).build().unwrap();
    let runner = Runner::new(agent).with_app("shop").with_store(store).with_program_key(program_key());
    let runner = runner.with_lease_duration(Duration::from_millis(200));
    let mut end = print_events(runner.recover(run("s"))).await;
    if runner.history(&run("s")).await.is_empty() {
        end = print_events(runner.run_with(run("s"), "Go.")).await;
    }
    while end.reason != EndReason::Answered {
        if runner.history(&run("s")).await.last().is_some_and(|last| last.text() == ANSWER) {
            break;
        }
        // The process before may have ended before it had the approvals; a call that is not part of the batch any more is refused.
        for open in executor.open_calls().await.unwrap() {
            end = print_events(runner.resume(run("s"), Answers::new().approve(open.address()))).await;
        }
    }
    println!("> done");
}

async fn print_events(mut events: AgentStream) -> End {
    loop {
        let event = events.next().await.unwrap();
        let AgentEventKind::Ended { end } = event.kind else {
            println!("> event");
            continue;
        };
        println!("> {}", end.reason);
        return end;
    }
}

/// The next number of a sequence that looks random.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Kills processes until their number is reached; each session is continued until it has its answer.
async fn kill_processes(new_address: impl Fn(&Folder) -> String) {
    let kills: u64 = std::env::var("KILLS").map_or(10, |kills| kills.parse().unwrap());
    let (mut random, mut killed, mut interrupted, mut sessions) = (7, 0, 0, 0);
    while killed < kills {
        let folder = Folder::new();
        let address = new_address(&folder);
        loop {
            let variables =
                [(STORE_VARIABLE, address.clone().into()), (FILE_VARIABLE, folder.path("effects").into())];
            let mut process = Process::start_test("sessions::kills::killed_process", &variables);
            // A run that is not killed prints about 70 lines.
            let lines = if killed < kills { 1 + next_random(&mut random) % 30 } else { u64::MAX };
            let last = (0..lines).map_while(|_| process.next_line()).last();
            if last.as_deref() == Some("done") || process.next_line().is_none() {
                assert!(process.wait().success(), "the process ends by itself: {last:?}");
                break;
            }
            process.kill();
            killed += 1;
        }
        interrupted += check(&address, &folder).await;
        sessions += 1;
    }
    println!("{killed} kills in {sessions} sessions; {interrupted} calls were answered as interrupted");
}

/// Checks a session that has its answer; returns the number of calls that were answered as interrupted.
async fn check(address: &str, folder: &Folder) -> usize {
    let (store, _) = open(address).await;
    let page = store.entries(&key("s"), &EntryQuery::forward().limit(1_000)).await.unwrap();
    // No entry is lost or doubled.
    let numbers: Vec<_> = page.entries.iter().map(|entry| entry.number).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
    let of_kind =
        |kind: &str| page.entries.iter().filter(|entry| &*entry.content.kind == kind).collect::<Vec<_>>();
    let bodies =
        of_kind(EntryContent::MESSAGE).into_iter().map(|entry| entry.content.body.read::<Value>().unwrap());
    let messages: Vec<Message> =
        bodies.map(|body| serde_json::from_value(body["message"].clone()).unwrap()).collect();
    assert_valid(&messages);
    let roles: Vec<_> = messages.iter().map(Message::role).collect();
    let round = [Role::Assistant, Role::Tool];
    assert_eq!(roles, [vec![Role::User], round.repeat(3), vec![Role::Assistant]].concat());
    assert_eq!(messages.last().unwrap().text(), ANSWER, "the answer is the one without kills");
    let mut intents = BTreeMap::new();
    for entry in of_kind(EntryContent::CALL_INTENT) {
        let body: Value = entry.content.body.read().unwrap();
        let name = body["intent"]["address"]["callId"].as_str().unwrap().to_owned();
        *intents.entry(name).or_insert(0) += 1;
    }
    assert!(intents.values().all(|count| *count == 1), "{intents:?}");
    // A call with an effect executes at most once, and has one outcome or is reported as interrupted.
    let effects = std::fs::read_to_string(folder.path("effects")).unwrap_or_default();
    let calls = rounds().concat();
    let results: Vec<_> = messages.iter().flat_map(Message::tool_results).collect();
    assert_eq!(results.len(), calls.len());
    let mut interrupted = 0;
    for ((tool, name), result) in calls.into_iter().zip(results) {
        let (count, text) = (effects.lines().filter(|line| *line == name).count(), result.text());
        match tool {
            "look_up" => assert_eq!((count, &*text), (0, &*format!("found {name}"))),
            _ if text.contains("may have taken effect") => {
                interrupted += 1;
                assert!(count <= 1, "{name} ran {count} times"); // I19
            }
            _ => assert_eq!((count, &*text), (1, &*format!("did {name}"))), // I17 I19
        }
    }
    assert!(store.unfinished("shop").await.unwrap().is_empty());
    interrupted
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_processes_with_sqlite_execute_each_call_at_most_once() {
    kill_processes(|folder| folder.file().to_str().unwrap().to_owned()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_processes_with_postgres_execute_each_call_at_most_once() {
    let Some(url) = shared_url() else { return };
    kill_processes(|_| format!("{} {}", new_schema(), url)).await;
}
