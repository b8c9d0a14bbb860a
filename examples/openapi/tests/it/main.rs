//! The programs as child processes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod command;

use std::process::{Command, Stdio};

/// Runs a program to its end; returns its exit code, standard output and standard error.
fn run(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().copied()).env("COLUMNS", "100").stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_petstore_answers_calls_that_the_rules_allow() {
    let (code, out, error) = run(env!("CARGO_BIN_EXE_openapi-petstore"), &[], &[]);
    assert_eq!((code, &*error), (0, ""));
    assert_eq!(out, include_str!("petstore.txt"));
}
