//! 1,000 runs at once.

use std::{
    collections::HashMap,
    env, fs,
    process::{Command, Stdio},
    time::Instant,
};

use tokio::task::JoinSet;
use tool_agent::{AgentEventKind, Runner};
use tool_runtime::{RunContext, event::EventKind, prelude::*};

use crate::{
    Outcome, ROUNDS, Server, add, add_with_effect, agent, check,
    stores::{Database, session_run},
};

/// The number of runs at once.
pub(crate) const RUNS: usize = 1_000;

/// The stores, the tools and the bars of the loads, in the order in which they are printed. The first one is the run without a session.
const LOADS: [(&str, &str, &str); 6] = [
    ("none", "reads", ""),
    ("memory", "reads", "no bar"),
    ("sqlite", "reads", "at most 3.00 times, 256 MB"),
    ("sqlite", "effects", "no bar"),
    ("postgres", "reads", "no bar"),
    ("postgres", "effects", "no bar"),
];

/// Makes each load in a process of its own; prints its time, the largest memory of the process, and the ratio to the time without a store.
pub(crate) fn print_loads(runs: usize) -> Outcome<()> {
    println!("{runs} runs at once of {ROUNDS} rounds with 3 calls");
    println!("{:<10} {:<8} {:>9} {:>6} {:>10}  bar", "store", "tools", "time", "ratio", "memory");
    let mut without_store = None;
    for (store, tool, bar) in LOADS {
        let server = Server::start()?;
        let mut command = Command::new(env::current_exe()?);
        command.args(["load", &server.url, store, tool, &runs.to_string()]).env("SESSION_FSYNC", "on");
        let output = command.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            println!("{store:<10} {tool:<8} failed");
            continue;
        }
        let text = String::from_utf8(output.stdout)?;
        let (seconds, memory) = text.trim().split_once(' ').ok_or("the load printed nothing")?;
        let seconds: f64 = seconds.parse()?;
        let ratio = seconds / *without_store.get_or_insert(seconds);
        println!("{store:<10} {tool:<8} {seconds:>7.1} s {ratio:>6.2} {memory:>10}  {bar}");
    }
    Ok(())
}

/// Makes all runs; fails if an event or a stored message is lost or doubled. Prints the seconds and the largest memory of the process.
pub(crate) async fn load(url: &str, store: &str, tool: &str, runs: usize) -> Outcome<()> {
    let tools = match tool {
        "effects" => Registry::builder().tool::<add_with_effect>(),
        _ => Registry::builder().tool::<add>(),
    };
    let runner = Runner::new(agent(url, tools.build()?)?);
    let has_sessions = store != "none";
    let (_database, runner) = Database::open(if has_sessions { store } else { "memory" }, runner).await?;
    let (began, mut running) = (Instant::now(), JoinSet::new());
    for number in 0..runs {
        let context = if has_sessions { session_run(number) } else { RunContext::new() };
        let runner = runner.clone();
        running.spawn(async move { run(&runner, context).await.map_err(|error| error.to_string()) });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    let seconds = began.elapsed().as_secs_f64();
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    for number in (0..runs).filter(|_| has_sessions) {
        let messages = runner.history(&session_run(number)).await.len();
        if messages != MESSAGES {
            return Err(format!("{messages} messages are stored: a message was lost or doubled").into());
        }
    }
    println!("{seconds} {peak}");
    Ok(())
}

/// The messages of a run: the question, an assistant message and a message with results for each round, and the answer.
const MESSAGES: usize = 2 + 2 * ROUNDS;

/// Makes one run, and counts its events.
async fn run(runner: &Runner, context: RunContext) -> Outcome<()> {
    let mut events = runner.run_with(context, "Add up.");
    let (mut messages, mut calls, mut last) = (0, HashMap::new(), None);
    while let Some(event) = events.next().await {
        if last.is_some() {
            return Err("an event after the end".into());
        }
        match event.kind {
            AgentEventKind::Message { .. } => messages += 1,
            AgentEventKind::Tool { event } => {
                let (started, finished) = calls.entry(event.id().to_string()).or_insert((0, 0));
                match event.kind {
                    EventKind::Started { .. } => *started += 1,
                    EventKind::Finished { .. } => *finished += 1,
                    _ => return Err("an unexpected event".into()),
                }
            }
            AgentEventKind::Ended { end } => last = Some(end),
            _ => {}
        }
    }
    let end = last.ok_or("no end")?;
    check(&end.text).map_err(|error| format!("{error}: {end}"))?;
    if messages != MESSAGES || calls.len() != 3 * ROUNDS || calls.values().any(|each| *each != (1, 1)) {
        return Err(
            format!("{messages} messages, {} calls: an event was lost or doubled", calls.len()).into()
        );
    }
    Ok(())
}
