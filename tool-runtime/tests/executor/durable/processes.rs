//! One store in several processes, which are further instances of this test program.

use std::{
    io::{BufRead, BufReader, Write, stdin},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use tool_runtime::{
    RunContext, ToolCall, call::CallAddress, context::ConfirmationAnswer, open_calls::OpenCallError,
    prelude::*,
};

use super::{Folder, PAID, PAY, executor, payments};

/// Returns the folder and the role of a process that a test started.
const FOLDER: &str = "TOOL_RUNTIME_TEST_FOLDER";
const PART: &str = "TOOL_RUNTIME_TEST_PART";

/// Sends a line to the test that started this process.
fn say(text: &str) {
    println!("\n@{text}");
}

/// Waits for a line from the test that started this process.
fn go_on() {
    let mut line = String::new();
    stdin().read_line(&mut line).unwrap();
}

/// The entry point of a process that a test below has started; otherwise does nothing.
#[test]
#[ignore = "started by other tests, as a process of its own"]
fn process() {
    let (Ok(folder), Ok(part)) = (std::env::var(FOLDER), std::env::var(PART)) else { return };
    let executor = executor(&Folder(folder.into()));
    crate::run(async {
        if part == "open" {
            let calls = vec![ToolCall::new("pay", PAY).with_id("call_1")];
            let outcomes = executor.batch(calls).with_run(RunContext::new()).run().await;
            say(&serde_json::to_string(outcomes[0].address().unwrap()).unwrap());
            go_on();
            panic!("the process should have been killed");
        }
        let address: CallAddress = serde_json::from_str(&part).unwrap();
        let answer = ConfirmationAnswer { confirmed: true, payload: Value::Null };
        match executor.resume([(&address, answer)]).await {
            Ok(batch) => {
                say("resumed");
                go_on();
                // A run of this process.
                let outcomes = batch.with_run(RunContext::new()).run().await;
                say(&outcomes[0].result().unwrap().text());
            }
            Err(error) => say(&error.to_string()),
        }
    });
}

/// Another process.
struct Process {
    child: Child,
    says: BufReader<ChildStdout>,
    hears: ChildStdin,
}

impl Process {
    fn start(folder: &Folder, part: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "durable::processes::process", "--ignored", "--nocapture"])
            .args(["--test-threads", "1"])
            .env(FOLDER, &folder.0)
            .env(PART, part)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (says, hears) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        Self { child, says: BufReader::new(says), hears }
    }

    fn answering(folder: &Folder, address: &CallAddress) -> Self {
        Self::start(folder, &serde_json::to_string(address).unwrap())
    }

    /// Returns the next line of the process.
    fn next_line(&mut self) -> String {
        let mut line = String::new();
        while self.says.read_line(&mut line).unwrap() > 0 {
            if let Some(said) = line.trim_end().strip_prefix('@') {
                return said.to_owned();
            }
            line.clear();
        }
        panic!("the process ended");
    }

    fn go_on(&mut self) {
        self.hears.write_all(b"\n").unwrap();
    }

    fn killed(mut self) {
        self.child.kill().unwrap();
        assert!(!self.child.wait().unwrap().success());
    }
}

/// Opens a call in a process and kills the process.
fn opened(folder: &Folder) -> CallAddress {
    let mut process = Process::start(folder, "open");
    let address = serde_json::from_str(&process.next_line()).unwrap();
    process.killed();
    address
}

// I17, I20, X05: with all arguments, including secrets.
#[test]
fn a_call_outlives_the_process_that_opened_it_and_runs_once() {
    let folder = Folder::new();
    let address = opened(&folder);
    assert!(address.run.is_some());
    for file in std::fs::read_dir(&folder.0).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(text.contains("call_1") && !text.contains("hunter2"), "{text}");
    }
    let mut second = Process::answering(&folder, &address);
    assert_eq!(second.next_line(), "resumed");
    assert_eq!(payments(&folder), 0);
    second.go_on();
    assert_eq!((second.next_line().as_str(), payments(&folder)), (PAID, 1));

    let mut third = Process::answering(&folder, &address);
    assert_eq!(third.next_line(), OpenCallError::NotOpen((&address).into()).to_string());
    assert_eq!(payments(&folder), 1);
}

// I20: only the start of the body closes a call.
#[test]
fn a_process_that_is_killed_before_the_call_runs_leaves_it_open() {
    let folder = Folder::new();
    let address = opened(&folder);
    let mut second = Process::answering(&folder, &address);
    assert_eq!(second.next_line(), "resumed");
    second.killed();
    let mut third = Process::answering(&folder, &address);
    assert_eq!(third.next_line(), "resumed");
    third.go_on();
    assert_eq!((third.next_line().as_str(), payments(&folder)), (PAID, 1));
}

// I20
#[test]
fn a_call_that_two_processes_answer_at_once_runs_once() {
    let folder = Folder::new();
    let address = opened(&folder);
    let mut both = [(); 2].map(|()| Process::answering(&folder, &address));
    for process in &mut both {
        assert_eq!(process.next_line(), "resumed");
    }
    both.iter_mut().for_each(Process::go_on);
    let mut lines = both.each_mut().map(Process::next_line);
    lines.sort();
    let refused = OpenCallError::NotOpen((&address).into());
    assert_eq!(lines, [format!("Denied: {refused}"), PAID.to_owned()]);
    assert_eq!(payments(&folder), 1);
}
