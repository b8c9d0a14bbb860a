//! Nothing of a command is left.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use tool_runtime::{CancellationToken, prelude::*};

use super::{MARKER, Mode, SKIPPED_TESTS, World, assert_processes, confined, details, modes, this_program};

/// Ways to leave a process behind; the last one ends when its output has no reader any more.
const ESCAPES: [&str; 7] = [
    "sleep 1000 & echo begun",
    "(sleep 1000 & sleep 1000 & wait) & echo begun",
    "nohup sleep 1000 >/dev/null 2>&1 & echo begun",
    "(trap '' TERM HUP INT; (sleep 1000 & exec sleep 1000) &) ; echo begun",
    "exec 0<&-; sleep 1000 >&- 2>&- & echo begun",
    "bash -c 'kill -s STOP $$' & sleep 1000 & echo begun",
    "nohup sleep 1000 >/dev/null 2>&1 & for i in {1..2000}; do echo begun; done",
];

/// A command that ends what watches it, where it can, and goes on.
const KILLS_ITS_GROUP: &str = "trap '' TERM; kill -s TERM 0; sleep 1000 & echo begun";

/// Ways out of the process group, which a namespace alone ends.
const GROUP_ESCAPES: [&str; 3] = [
    "mkfifo a; setsid sh -c 'echo >a; exec sleep 1000' >/dev/null 2>&1 & read -r _ <a; rm a; echo begun",
    "mkfifo b; (setsid nohup setsid sh -c 'echo >b; sleep 1000' >/dev/null 2>&1 &); read -r _ <b; rm b; echo begun",
    "set -m; (sleep 1000 &); setsid --fork sleep 1000; echo begun",
];

fn escapes(mode: Mode) -> Vec<&'static str> {
    let of_group: &[&str] = if mode.is_off() { &[] } else { &GROUP_ESCAPES };
    ESCAPES.iter().chain(of_group).copied().collect()
}

// R03
#[tokio::test]
async fn a_command_that_ends_leaves_no_process() {
    for mode in modes() {
        let world = World::new(mode);
        for command in escapes(mode) {
            let output = world.run(command).await;
            assert!(output.text().contains("begun"), "{mode:?} {command}: {}", output.text());
            world.assert_nothing_is_left();
        }
    }
}

// R03
#[tokio::test]
async fn a_command_that_signals_its_group_leaves_no_process() {
    for mode in confined() {
        let world = World::new(mode);
        let output = world.run(KILLS_ITS_GROUP).await;
        assert!(output.text().contains("begun"), "{mode:?}: {}", output.text());
        world.assert_nothing_is_left();
    }
}

// R03, R15
#[tokio::test]
async fn a_command_at_its_time_limit_leaves_no_process() {
    for mode in modes() {
        let world = World::new(mode);
        for command in escapes(mode) {
            let arguments = json!({ "command": format!("{command}; sleep 1000"), "timeout_ms": 150 });
            let output = world.call("bash", arguments).await.unwrap();
            assert_eq!(details(&output)["timed_out"], true, "{command}");
            world.assert_nothing_is_left();
        }
    }
}

// R03
#[tokio::test]
async fn a_call_that_is_dropped_leaves_no_process() {
    for mode in modes() {
        let world = World::new(mode);
        for command in escapes(mode) {
            let arguments = json!({ "command": format!("{command}; sleep 1000") });
            let marker = world.marker.clone();
            let begun = tokio::task::spawn_blocking(move || assert_processes(&marker, |count| count > 2));
            tokio::select! {
                output = world.call("bash", arguments) => panic!("the command ended: {output:?}"),
                begun = begun => begun.unwrap(),
            }
            world.assert_nothing_is_left();
        }
    }
}

// R03
#[tokio::test]
async fn a_call_that_is_dropped_at_any_moment_of_its_start_leaves_no_process() {
    const MOMENTS: usize = 60;
    for mode in modes() {
        let world = World::new(mode);
        world.run("true").await;
        for moment in 0..MOMENTS {
            let arguments = json!({ "command": "(trap '' TERM; sleep 1000 &); sleep 1000" });
            // The other side counts in steps of the scheduler, so that each round ends at another step of the start.
            let wait = tokio::task::spawn_blocking(move || {
                for _ in 0..moment * 20 {
                    std::thread::yield_now();
                }
            });
            tokio::select! {
                output = world.call("bash", arguments) => panic!("the command ended: {output:?}"),
                waited = wait => waited.unwrap(),
            }
        }
        world.assert_nothing_is_left();
    }
}

// R03
#[tokio::test]
async fn a_call_whose_run_is_cancelled_ends_with_its_processes() {
    for mode in modes() {
        let world = World::new(mode);
        let token = CancellationToken::new();
        let run = tool_runtime::RunContext::new().with_cancellation(token.clone());
        let executor = tool_runtime::Executor::builder(world.tools.clone())
            .approver(|_: &tool_runtime::policy::ApprovalRequest| tool_runtime::policy::Approval::Approved)
            .build()
            .unwrap();
        let marker = world.marker.clone();
        let cancel = tokio::task::spawn_blocking(move || {
            assert_processes(&marker, |count| count > 2);
            token.cancel();
        });
        let call = ToolCall::new("bash", json!({ "command": "trap '' TERM; sleep 1000 & sleep 1000" }));
        let outcomes = executor.batch(vec![call]).with_run(run).run().await;
        cancel.await.unwrap();
        assert!(outcomes[0].result().unwrap().is_error());
        world.assert_nothing_is_left();
    }
}

// R03
#[tokio::test]
async fn a_bomb_of_two_thousand_forks_ends_at_its_time_limit() {
    const BOMB: &str = "for i in {1..2000}; do (sleep 1000 &) ; done 2>/dev/null; sleep 1000";
    for mode in modes() {
        let world = World::new(mode);
        let arguments = json!({ "command": BOMB, "timeout_ms": 4000 });
        let output = world.call("bash", arguments).await.unwrap();
        assert_eq!(details(&output)["timed_out"], true);
        world.assert_nothing_is_left();
    }
}

const PROGRAM_MODE: &str = "TOOL_TEST_PROGRAM_MODE";

/// A program with a task in the background, in the process that the test below kills; otherwise nothing.
#[tokio::test]
async fn program() {
    let Ok(mode) = env::var(PROGRAM_MODE) else { return };
    let mode = modes()[mode.parse::<usize>().unwrap()];
    let world = World::with(|shell| mode.set(shell).env(MARKER, env::var("TOOL_TEST_GIVEN_MARKER").unwrap()));
    for command in escapes(mode) {
        let waiting = format!("{command}; sleep 1000");
        world.call("bash", json!({ "command": waiting, "run_in_background": true })).await.unwrap();
    }
    // At most 16 run.
    for command in escapes(mode).into_iter().rev().take(6) {
        let endless = format!("{command}; while true; do echo more; done");
        world.call("bash", json!({ "command": endless, "run_in_background": true })).await.unwrap();
    }
    println!("started");
    std::future::pending::<()>().await;
}

// R13, R15
#[test]
fn nothing_is_left_of_a_program_that_was_killed() {
    for mode in 0..modes().len() {
        let marker = format!("killed-{}-{mode}", std::process::id());
        let mut program = this_program("leftovers::program")
            .env(PROGRAM_MODE, mode.to_string())
            .env("TOOL_TEST_GIVEN_MARKER", &marker)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(program.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.ends_with("started")));
        assert_processes(&marker, |count| count > ESCAPES.len());
        program.kill().unwrap();
        program.wait().unwrap();
        assert_processes(&marker, |count| count == 0);
    }
}

const FIRST_PROCESS: &str = "TOOL_TEST_FIRST_PROCESS";

/// Processes that have ended, and for which this program has not waited.
fn unwaited_children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path().join("children"));
    let children: String = tasks.map(|path| fs::read_to_string(path).unwrap_or_default()).collect();
    let status = |id: &str| fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    children.split_whitespace().filter(|id| status(id).contains(") Z ")).count()
}

/// Commands of the first process of a container, in the process that the test below starts; otherwise nothing.
#[tokio::test]
async fn program_that_is_the_first_process() {
    const COMMANDS: usize = 40;
    const MAX_COMMANDS: usize = 1000;
    const MAX_UNWAITED: usize = 4;
    if env::var(FIRST_PROCESS).is_err() {
        return;
    }
    assert_eq!(std::process::id(), 1);
    for mode in modes() {
        let world = World::new(mode);
        for _ in 0..COMMANDS {
            let output = world.run("sleep 1000 & sleep 1000 & exit 3").await;
            assert_eq!(super::exit_code(&output), 3);
            let timed = json!({ "command": "sleep 1000 & sleep 1000", "timeout_ms": 1 });
            assert_eq!(super::exit_code(&world.call("bash", timed).await.unwrap()), 124);
        }
        // What was killed may not have ended yet.
        let mut more = 0..MAX_COMMANDS;
        while unwaited_children() > MAX_UNWAITED && more.next().is_some() {
            world.run("true").await;
        }
        assert!(unwaited_children() <= MAX_UNWAITED, "{mode:?}: {}", unwaited_children());
    }
    println!("proven");
}

// R03
#[test]
fn a_program_that_is_the_first_process_of_a_container_keeps_no_ended_process() {
    let program = this_program("leftovers::program_that_is_the_first_process");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--"])
        .arg(program.get_program())
        .args(program.get_args())
        .env(FIRST_PROCESS, "1")
        .env_remove(SKIPPED_TESTS)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("proven"), "{output:?}");
}
