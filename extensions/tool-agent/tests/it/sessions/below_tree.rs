//! A tree of agents with a question in every leaf, answered in random order: by many runs, and by two processes at a time.
//!
//! `TREE_SEEDS` is the number of trees; default: 1. The order of the answers follows from the number of the tree.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use tool_agent::{AgentBuilder, Answers, End, EndReason, Runner, model::Reply};
use tool_runtime::{call::CallAddress, open_calls::OpenFilter};

use super::{
    Sqlite,
    below::{Office, address, ask, removal},
    processes::Process,
    world::{Folder, World, run},
};

/// The number of agents below each agent.
const WIDTH: usize = 4;
const LEVELS: usize = 3;
const LEAVES: usize = 64;
/// The number of answers that one run receives at most.
const MAX_ANSWERS: u64 = 24;

const FILE_VARIABLE: &str = "TOOL_AGENT_TREE_FILE";
const SESSION_VARIABLE: &str = "TOOL_AGENT_TREE_SESSION";
/// The calls that a process approves, as JSON; none for the process that begins.
const ANSWERS_VARIABLE: &str = "TOOL_AGENT_TREE_ANSWERS";
/// The time that a process waits for the run of another one.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// A generator of numbers that look random.
struct Random(u64);

impl Random {
    fn of_seed(seed: u64) -> Self {
        Self(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Takes some of the calls, in random order.
    fn take(&mut self, open: &mut Vec<CallAddress>) -> Vec<CallAddress> {
        let count = 1 + self.below(MAX_ANSWERS);
        let mut taken = Vec::new();
        while !open.is_empty() && (taken.len() as u64) < count {
            taken.push(open.swap_remove(usize::try_from(self.below(open.len() as u64)).unwrap()));
        }
        taken
    }
}

fn seeds() -> u64 {
    std::env::var("TREE_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(1)
}

/// The agent at `path`, and all below it: at first they ask, and later they answer.
fn tree(office: &Office, path: &str, level: usize, is_first: bool) -> AgentBuilder {
    let name = format!("agent{}", path.chars().last().unwrap_or('_'));
    if level == LEVELS {
        let reply = if is_first { Reply::calls([removal(path, "r")]) } else { Reply::text("Removed.") };
        return office.leaf(&name, [reply]).0;
    }
    let below = (0..WIDTH).map(|at| tree(office, &format!("{path}{at}"), level + 1, is_first));
    let calls = (0..WIDTH).map(|at| ask(&format!("agent{at}"), "c"));
    let reply = if is_first { Reply::calls(calls) } else { Reply::text("Done.") };
    office.above(&name, below, [reply]).0
}

fn process(office: &Office, is_first: bool) -> Runner {
    office.runner(tree(office, "", 0, is_first)).when_busy(MAX_WAIT)
}

fn addresses(end: &End) -> Vec<CallAddress> {
    assert!(end.paths.iter().all(|path| path.len() == LEVELS));
    (0..end.open.len()).map(|at| address(end, at)).collect()
}

fn approvals(calls: &[CallAddress]) -> Answers {
    calls.iter().fold(Answers::new(), |answers, call| answers.approve(call))
}

/// Checks that each of the effects of a tree happened once.
fn check_effects(mut effects: Vec<String>, seed: u64) {
    let count = effects.len();
    effects.sort();
    effects.dedup();
    assert_eq!((count, effects.len()), (LEAVES, LEAVES), "seed {seed}");
}

#[tokio::test]
async fn each_leaf_of_a_tree_runs_once_whatever_the_order_of_the_answers() {
    for seed in 1..=seeds() {
        let office = Office::new::<super::InMemory>().await;
        let mut random = Random::of_seed(seed);
        let mut end = process(&office, true).run_with(run("s"), "Clean up.").end().await;
        assert_eq!((end.open.len(), end.usage.children.runs), (LEAVES, 84));
        let mut open = addresses(&end);
        while end.reason == EndReason::OpenCalls {
            let answers = random.take(&mut open);
            end = process(&office, false).resume(run("s"), approvals(&answers)).end().await;
            assert_eq!(end.open.len(), open.len(), "seed {seed}: {end}");
        }
        assert_eq!((&end.reason, end.text.as_str()), (&EndReason::Answered, "Done."), "seed {seed}: {end}");
        check_effects(office.effects(), seed);
        assert!(office.world.open_calls.list(&OpenFilter::default()).await.unwrap().is_empty());
    }
}

/// The process that answers some of the questions; without its variables it does nothing.
#[tokio::test]
#[ignore = "the other process of the tests of this file"]
async fn answering_process() {
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(file), Some(session)) = (variable(FILE_VARIABLE), variable(SESSION_VARIABLE)) else { return };
    let stores = Sqlite::open_file(Path::new(&file)).await;
    let office = Office { world: World::of(stores), log: std::sync::Arc::default() };
    let end = match variable(ANSWERS_VARIABLE) {
        None => process(&office, true).run_with(run(&session), "Clean up.").end().await,
        Some(answers) => {
            let calls: Vec<CallAddress> = serde_json::from_str(&answers).unwrap();
            process(&office, false).resume(run(&session), approvals(&calls)).end().await
        }
    };
    println!("> {}", json!({ "effects": office.effects(), "open": addresses(&end), "text": end.text }));
    println!("> {}", end.reason);
}

/// A process of a tree: its effects, its open calls, its text, and the reason of its end.
struct Report {
    effects: Vec<String>,
    open: Vec<CallAddress>,
    text: String,
    reason: String,
}

fn start(folder: &Folder, session: &str, answers: Option<&[CallAddress]>) -> Process {
    let mut variables = vec![(FILE_VARIABLE, folder.file().into()), (SESSION_VARIABLE, session.into())];
    variables.extend(answers.map(|calls| (ANSWERS_VARIABLE, json!(calls).to_string().into())));
    Process::start_test("sessions::below_tree::answering_process", &variables)
}

fn report(mut process: Process) -> Report {
    let line = process.next_line().unwrap();
    let reason = process.next_line().unwrap();
    assert!(process.wait().success());
    let mut report: serde_json::Value = serde_json::from_str(&line).unwrap();
    let [effects, open, text] = ["effects", "open", "text"].map(|name| report[name].take());
    Report {
        effects: serde_json::from_value(effects).unwrap(),
        open: serde_json::from_value(open).unwrap(),
        text: serde_json::from_value(text).unwrap(),
        reason,
    }
}

#[test]
fn each_leaf_of_a_tree_that_two_processes_answer_at_a_time_runs_once() {
    let began = Instant::now();
    let (folder, mut processes) = (Folder::new(), 0);
    for seed in 1..=seeds() {
        let session = format!("s{seed}");
        let mut random = Random::of_seed(seed);
        let first = report(start(&folder, &session, None));
        assert_eq!((first.open.len(), first.effects.len()), (LEAVES, 0), "seed {seed}: {}", first.reason);
        let (mut open, mut effects, mut last) = (first.open, Vec::new(), Vec::new());
        while !open.is_empty() {
            // The processes run at the same time, and one of them waits for the session.
            let answers = [random.take(&mut open), random.take(&mut open)];
            let started: Vec<_> = answers
                .iter()
                .filter(|answers| !answers.is_empty())
                .map(|answers| start(&folder, &session, Some(answers)))
                .collect();
            processes += started.len();
            last = started.into_iter().map(report).collect();
            effects.extend(last.iter().flat_map(|report: &Report| report.effects.clone()));
            // The later one of them sees the calls that remain.
            assert!(last.iter().any(|report| report.open.len() == open.len()), "seed {seed}");
        }
        let done = last.iter().filter(|report| report.text == "Done.").count();
        let reasons: Vec<_> = last.iter().map(|report| &report.reason).collect();
        assert_eq!(done, 1, "seed {seed}: {reasons:?}");
        check_effects(effects, seed);
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{} trees, {processes} processes that answered, {seconds:.1} s", seeds());
}
