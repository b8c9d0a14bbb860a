//! 1,000 runs at once.

use std::{collections::HashMap, fs, time::Instant};

use tokio::task::JoinSet;
use tool_agent::{AgentEventKind, Runner};
use tool_runtime::{event::EventKind, prelude::*};

use crate::{Outcome, ROUNDS, add, agent, check};

const RUNS: usize = 1_000;

/// Makes all runs; fails if an event is lost or doubled. Prints the time and the largest memory of the process.
pub(crate) async fn load(url: &str) -> Outcome<()> {
    let runner = Runner::new(agent(url, Registry::builder().tool::<add>().build()?)?);
    let (began, mut running) = (Instant::now(), JoinSet::new());
    for _ in 0..RUNS {
        let runner = runner.clone();
        running.spawn(async move { run(&runner).await.map_err(|error| error.to_string()) });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!("{RUNS} runs of {ROUNDS} rounds with 3 calls: {:.1?}, peak memory {peak}", began.elapsed());
    Ok(())
}

/// Makes one run, and counts its events.
async fn run(runner: &Runner) -> Outcome<()> {
    let mut events = runner.run("Add up.");
    let (mut messages, mut calls, mut answer) = (0, HashMap::new(), None);
    while let Some(event) = events.next().await {
        if answer.is_some() {
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
            AgentEventKind::Ended { end } => answer = Some(end.text),
            _ => {}
        }
    }
    check(&answer.ok_or("no end")?)?;
    // The question, an assistant message and a message with results for each round, and the answer.
    if messages != 2 + 2 * ROUNDS || calls.len() != 3 * ROUNDS || calls.values().any(|each| *each != (1, 1)) {
        return Err(
            format!("{messages} messages, {} calls: an event was lost or doubled", calls.len()).into()
        );
    }
    Ok(())
}
