//! Several processes with one file: this program starts itself again, with one ignored test as the other process.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Lines, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, SystemTime},
};

use tool_agent::{Agent, AgentEventKind, EndReason, Message, Runner, ScriptedModel, model::Reply};
use tool_runtime::{State, prelude::*};
use tool_session::{Clock, EntryQuery, SharedSessionStore, SqliteOptions, SqliteStore};

use super::world::{Folder, agent, key, run};
use crate::runner::open::assert_valid;

const PATH_VARIABLE: &str = "TOOL_AGENT_TEST_FOLDER";
const ROLE_VARIABLE: &str = "TOOL_AGENT_TEST_ROLE";

/// Another process of this program, in a role.
pub(super) struct Process {
    process: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(folder: &Folder, role: &str) -> Self {
        let variables = [(PATH_VARIABLE, folder.path("").into()), (ROLE_VARIABLE, role.into())];
        Self::start_test("sessions::processes::other_process", &variables)
    }

    /// Starts an ignored test of this program.
    pub(super) fn start_test(test: &str, variables: &[(&str, OsString)]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", test]);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { input: process.stdin.take(), process, lines }
    }

    /// Waits for the next line that the role prints.
    pub(super) fn next_line(&mut self) -> Option<String> {
        let mut lines = self.lines.by_ref().map(Result::unwrap);
        lines.find_map(|line| line.strip_prefix("> ").map(str::to_owned))
    }

    fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next_line()).collect()
    }

    fn go_on(&mut self) {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    pub(super) fn wait(mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }

    pub(super) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// The other process of the tests below; without its variables it does nothing.
#[tokio::test]
#[ignore = "the other process of the tests of this file"]
async fn other_process() {
    let (Ok(folder), Ok(role)) = (std::env::var(PATH_VARIABLE), std::env::var(ROLE_VARIABLE)) else { return };
    let folder = Path::new(&folder);
    match role.as_str() {
        "first question" => {
            let product = Reply::call("multiply", json!({ "a": 25, "b": 4 }));
            print_conversation(folder, [product, Reply::text("25 times 4 is 100.")], "25 times 4?").await;
        }
        "second question" => {
            let product = Reply::call("multiply", json!({ "a": 100, "b": 2 }));
            print_conversation(folder, [product, Reply::text("Twice that is 200.")], "and twice that?").await;
        }
        "killed" => charge_until_killed(folder).await,
        "charging" => charge_in_a_loop(folder).await,
        "stopped" => answer_after_a_stop(folder).await,
        _ => count(folder).await,
    }
}

async fn open(folder: &Path) -> SharedSessionStore {
    SqliteStore::open(folder.join("sessions.sqlite")).await.unwrap().into()
}

/// Opens the store by a clock at which the leases of other processes have expired.
async fn open_later(folder: &Folder) -> SharedSessionStore {
    let clock = Clock::new(|| SystemTime::now() + Duration::from_secs(60));
    SqliteOptions::new(folder.file()).clock(clock).open().await.unwrap().into()
}

/// Prints the messages that the model receives, and the answer.
async fn print_conversation(folder: &Path, replies: [Reply; 2], question: &str) {
    let (agent, model) = agent(replies);
    let store = SqliteStore::open(folder.join("sessions.sqlite")).await.unwrap();
    let runner = Runner::new(agent.build().unwrap()).with_app("shop").with_store(store.clone());
    let answer = runner.run_with(run("s"), question).answer().await.unwrap();
    for message in &model.requests()[1].messages {
        println!("> {}", line(message));
    }
    println!("> answer: {answer}");
    store.close().await;
}

fn line(message: &Message) -> String {
    let calls = message.calls().map(|call| format!("{}({})", call.name, call.arguments.as_str()));
    let results = message.tool_results().map(|result| result.text().into_owned());
    let parts: Vec<_> = calls.chain(results).chain([message.text()]).filter(|it| !it.is_empty()).collect();
    format!("{}: {}", format!("{:?}", message.role()).to_lowercase(), parts.join(" "))
}

#[test]
fn a_second_process_continues_the_conversation_of_the_calculator() {
    let folder = Folder::new();
    let mut transcript = String::new();
    for role in ["first question", "second question"] {
        let mut process = Process::start(&folder, role);
        transcript += &format!("# {role}\n{}\n", process.rest().join("\n"));
        assert!(process.process.wait().unwrap().success());
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/sessions/calculator.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &transcript).unwrap();
    }
    assert_eq!(transcript, std::fs::read_to_string(golden).unwrap());
}

/// Writes to a file of its own, and never ends.
#[tool(register = false)]
async fn charge(file: &std::path::PathBuf, amount: u32) -> String {
    let mut file = std::fs::File::options().append(true).create(true).open(file).unwrap();
    writeln!(file, "{amount}").unwrap();
    println!("> charged");
    std::future::pending().await
}

fn charging_agent(
    file: std::path::PathBuf,
    replies: impl IntoIterator<Item = Reply>,
) -> (Agent, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    let tools = Registry::builder().tool::<charge>().provide(file).build().unwrap();
    (Agent::builder("cashier", model.clone()).tools(tools).build().unwrap(), model)
}

async fn charge_until_killed(folder: &Path) {
    let call = Reply::call("charge", json!({ "amount": 5 }));
    let (agent, _) = charging_agent(folder.join("charges"), [call]);
    let runner = Runner::new(agent).with_app("shop").with_store(open(folder).await);
    runner.run_with(run("s").with_id("killed run"), "Charge 5.").end().await;
}

#[tokio::test]
async fn a_call_of_a_killed_process_is_answered_as_interrupted_and_does_not_run_again() {
    let folder = Folder::new();
    let mut process = Process::start(&folder, "killed");
    assert_eq!(process.next_line().as_deref(), Some("charged"));
    process.kill();
    let (agent, model) = charging_agent(folder.path("charges"), [Reply::text("It may have been charged.")]);
    let busy = Runner::new(agent.clone()).with_app("shop").when_busy(Duration::ZERO);
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let reason = busy.with_store(store).run_with(run("s"), "And?").end().await.reason;
    assert_eq!(reason, EndReason::Busy { run: "killed run".into() });

    let store = open_later(&folder).await;
    assert_eq!(store.unfinished("shop").await.unwrap()[0].run, "killed run".into());
    let runner = Runner::new(agent).with_app("shop").with_store(store.clone());
    let mut events = runner.run_with(run("s"), "And?");
    let mut notices = Vec::new();
    while let Some(event) = events.next().await {
        if let AgentEventKind::Notice { text } = event.kind {
            notices.push(text);
        }
    }
    assert!(notices[0].contains("`killed run`"), "{notices:?}");
    let messages = &model.requests()[0].messages;
    let result = messages[2].tool_results().next().unwrap().text().into_owned();
    assert!(result.contains("may have taken effect"), "{result}");
    assert_eq!(std::fs::read_to_string(folder.path("charges")).unwrap(), "5\n");
    assert!(store.unfinished("shop").await.unwrap().is_empty());
}

/// Writes to a file of its own, between two waits.
#[tool(register = false, name = "charge")]
async fn charge_once(file: &std::path::PathBuf, number: usize) -> String {
    tokio::task::yield_now().await;
    let mut file = std::fs::File::options().append(true).create(true).open(file).unwrap();
    writeln!(file, "{number}").unwrap();
    println!("> charged");
    tokio::task::yield_now().await;
    "charged".to_owned()
}

async fn charge_in_a_loop(folder: &Path) {
    let store = open(folder).await;
    let reader = Runner::new(agent([]).0.build().unwrap()).with_app("shop").with_store(store.clone());
    loop {
        let number = reader.history(&run("s")).await.len();
        let call = Reply::call("charge", json!({ "number": number }));
        let model = ScriptedModel::new([call, Reply::text("Done.")]);
        let tools =
            Registry::builder().tool::<charge_once>().provide(folder.join("charges")).build().unwrap();
        let agent = Agent::builder("cashier", model).tools(tools).build().unwrap();
        let runner = Runner::new(agent).with_app("shop").with_store(store.clone());
        let runner = runner.with_lease_duration(Duration::from_millis(200));
        runner.run_with(run("s"), format!("Charge {number}.")).answer().await.unwrap();
        println!("> answered");
    }
}

#[tokio::test]
async fn processes_that_are_killed_at_any_point_lose_no_entry_and_charge_once() {
    let folder = Folder::new();
    for kill in 0..10 {
        let mut process = Process::start(&folder, "charging");
        for _ in 0..=kill % 4 {
            assert!(process.next_line().is_some(), "the process writes");
        }
        process.kill();
    }
    let runner = Runner::new(agent([Reply::text("Bye.")]).0.build().unwrap());
    let runner = runner.with_app("shop").with_store(open_later(&folder).await);
    runner.run_with(run("s"), "Stop.").answer().await.unwrap();
    let history = runner.history(&run("s")).await;
    assert_valid(&history);
    let charges = std::fs::read_to_string(folder.path("charges")).unwrap();
    let mut numbers: Vec<&str> = charges.lines().collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "each call runs at most once");
    // Each charge has its call and one result, which is that it was made, or that it may have been.
    for number in numbers {
        let call = |message: &Message| {
            message.calls().any(|it| it.arguments.as_str().contains(&format!(":{number}}}")))
        };
        let index = history.iter().position(call).unwrap();
        let result = history[index + 1].tool_results().next().unwrap().text().into_owned();
        assert!(result == "charged" || result.contains("may have taken effect"), "{number}: {result}");
    }
}

/// Waits for a line of the other process before each request to the model.
async fn answer_after_a_stop(folder: &Path) {
    let hook = tool_agent::hook::before_model(|step| async move {
        println!("> waits");
        std::io::stdin().read_exact(&mut [0]).unwrap();
        Ok(step.into())
    });
    let (agent, _) =
        agent([Reply::call("remember", json!({ "values": { "lost": 1 } })), Reply::text("lost")]);
    let runner = Runner::new(agent.build().unwrap()).with_app("shop").with_store(open(folder).await);
    let end = runner.with_hook(hook).run_with(run("s"), "Go.").end().await;
    println!("> {}", end.reason);
}

#[cfg(unix)]
#[tokio::test]
async fn a_process_that_is_stopped_beyond_its_lease_writes_nothing_after_it() {
    let folder = Folder::new();
    let mut process = Process::start(&folder, "stopped");
    assert_eq!(process.next_line().as_deref(), Some("waits"));
    process.signal("-STOP");
    let store = open_later(&folder).await;
    let (agent, _) = agent([Reply::text("Here.")]);
    let runner = Runner::new(agent.build().unwrap()).with_app("shop").with_store(store.clone());
    runner.run_with(run("s").with_id("second run"), "Anyone?").answer().await.unwrap();
    let snapshot = store.load(&key("s")).await.unwrap();
    process.signal("-CONT");
    process.go_on();
    assert_eq!(process.rest(), ["the run `second run` has taken over the session"]);
    assert_eq!(store.load(&key("s")).await.unwrap(), snapshot);
    assert_eq!(runner.history(&run("s")).await.len(), 3);
}

/// Adds 1 to counters of the session and of the user.
#[tool(register = false)]
fn add(state: &State) -> Result<u64, ToolError> {
    let mut count = 0;
    for name in ["count", "user:count"] {
        count = state.get::<u64>(name)?.unwrap_or_default() + 1;
        state.set(name, count)?;
    }
    Ok(count)
}

/// The number of runs of each process.
const RUNS: u64 = 8;

async fn count(folder: &Path) {
    let store = open(folder).await;
    for _ in 0..RUNS {
        let model = ScriptedModel::new([Reply::call("add", "{}"), Reply::text("added")]);
        let tools = Registry::builder().tool::<add>().build().unwrap();
        let agent = Agent::builder("counter", model).tools(tools).build().unwrap();
        let runner = Runner::new(agent).with_app("shop").with_store(store.clone());
        runner.when_busy(Duration::from_secs(600)).run_with(run("s"), "Add.").answer().await.unwrap();
    }
    println!("> done");
}

#[tokio::test]
async fn processes_of_one_session_take_turns_and_lose_no_change() {
    let folder = Folder::new();
    let mut processes: Vec<_> = (0..3).map(|_| Process::start(&folder, "counter")).collect();
    for process in &mut processes {
        assert_eq!(process.rest(), ["done"]);
    }
    let store = open(&folder.path("")).await;
    let runs = RUNS * 3;
    let state = json!(store.load(&key("s")).await.unwrap().unwrap().state.merged());
    assert_eq!(state, json!({ "count": runs, "user:count": runs }));
    let page = store.entries(&key("s"), &EntryQuery::forward().limit(1_000)).await.unwrap();
    // Each run has its entries together, in order.
    for entries in page.entries.chunks(7) {
        assert!(entries.iter().all(|entry| entry.content.run == entries[0].content.run));
        let kinds: Vec<_> = entries.iter().map(|entry| &*entry.content.kind).collect();
        let (intent, outcome) = ("call-intent", "call-outcome");
        assert_eq!(kinds, ["message", "message", intent, outcome, "message", "message", "end"]);
    }
    assert_eq!(page.entries.len() as u64, runs * 7);
}
