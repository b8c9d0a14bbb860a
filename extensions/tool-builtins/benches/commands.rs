//! The time that a command needs more than one of `tokio::process`: without a sandbox, and with one.
//!
//! All are measured in turns, so that what else the machine does concerns them alike. The numbers are medians.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use tokio::process::Command;
use tool_builtins::{Sandbox, ShellTools};
use tool_runtime::prelude::*;

const ROUNDS: usize = 200;
const MAX_ADDED: [(Sandbox, Duration); 2] =
    [(Sandbox::Off, Duration::from_millis(1)), (Sandbox::Preferred, Duration::from_millis(15))];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let tools = MAX_ADDED.map(|(sandbox, _)| {
        let shell = ShellTools::new(folder.path()).unwrap().sandbox(sandbox);
        Registry::builder().toolset(shell).build().unwrap()
    });
    let mut floor = Vec::new();
    let mut ours = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        let mut times = [Duration::ZERO; 3];
        let start = Instant::now();
        black_box(
            Command::new("bash").args(["-c", "true"]).current_dir(folder.path()).output().await.unwrap(),
        );
        times[0] = start.elapsed();
        for (tools, time) in tools.iter().zip(&mut times[1..]) {
            let start = Instant::now();
            black_box(tools.call_unguarded("bash", json!({ "command": "true" })).await.unwrap());
            *time = start.elapsed();
        }
        // The first one makes the sandbox.
        if round > 0 {
            floor.push(times[0]);
            ours[0].push(times[1]);
            ours[1].push(times[2]);
        }
    }
    let floor = median(&mut floor);
    println!("{:<28}{:>9.2} ms", "tokio::process", millis(floor));
    for ((sandbox, max_added), times) in MAX_ADDED.iter().zip(&mut ours) {
        let time = median(times);
        let added = millis(time) - millis(floor);
        let name = format!("bash, Sandbox::{sandbox:?}");
        println!(
            "{name:<28}{:>9.2} ms  adds {added:.2} ms (at most {:.0})",
            millis(time),
            millis(*max_added)
        );
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
