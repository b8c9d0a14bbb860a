//! The time that a command needs more than one of `tokio::process`: without a sandbox, and with one.
//!
//! All are measured in turns, so that what else the machine does concerns them alike. The numbers are medians.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program")]

use std::{
    hint::black_box,
    path::PathBuf,
    time::{Duration, Instant},
};

use tokio::process::Command;
use tool_builtins::{Sandbox, ShellTools};
use tool_runtime::prelude::*;

const ROUNDS: usize = 200;

/// A sandbox, its mechanism, and the time that it may add.
const MAX_ADDED: [(Sandbox, &str, Duration); 3] = [
    (Sandbox::Off, "none", Duration::from_millis(1)),
    (Sandbox::Preferred, "landlock", Duration::from_millis(15)),
    (Sandbox::Preferred, "bubblewrap", Duration::from_millis(15)),
];

/// The program that `.ci/builtins/install` found, or the one of the system.
fn bubblewrap() -> Option<PathBuf> {
    let of_system = Some(PathBuf::from("/usr/bin/bwrap")).filter(|path| path.exists());
    std::env::var_os("BUILTINS_BWRAP").map(PathBuf::from).or(of_system)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let tools = MAX_ADDED.map(|(sandbox, mechanism, _)| {
        let program = bubblewrap().filter(|_| mechanism == "bubblewrap");
        if mechanism == "bubblewrap" && program.is_none() {
            println!("`bwrap` is not found; install Debian's `bubblewrap` to measure it");
        }
        let shell = ShellTools::new(folder.path()).unwrap().sandbox(sandbox).bubblewrap(program);
        Registry::builder().toolset(shell).build().unwrap()
    });
    let mut floor = Vec::new();
    let mut ours = MAX_ADDED.map(|_| Vec::new());
    for round in 0..=ROUNDS {
        let mut times = [Duration::ZERO; 1 + MAX_ADDED.len()];
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
            ours.iter_mut().zip(&times[1..]).for_each(|(ours, time)| ours.push(*time));
        }
    }
    let floor = median(&mut floor);
    println!("{:<28}{:>9.2} ms", "tokio::process", millis(floor));
    for ((sandbox, mechanism, max_added), times) in MAX_ADDED.iter().zip(&mut ours) {
        let time = median(times);
        let added = millis(time) - millis(floor);
        let name = format!("bash, {sandbox:?}, {mechanism}");
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
