//! The script: one of three workers is killed in the middle of the calls; then the calls are durable.

use std::{env, process::Command, sync::OnceLock};

use super::{path_of, worker};

/// The status of the script on a machine without the broker.
const MISSING_PROGRAM: i32 = 2;

/// The output of the script, before the durable calls and from them on; `None` without the broker.
fn script_output() -> Option<&'static (String, String)> {
    static OUTPUT: OnceLock<Option<(String, String)>> = OnceLock::new();
    OUTPUT.get_or_init(run_script).as_ref()
}

fn run_script() -> Option<(String, String)> {
    let script = Command::new(path_of("run"))
        .args([env!("CARGO_BIN_EXE_fleet-worker"), env!("CARGO_BIN_EXE_fleet-caller")])
        .output()
        .unwrap();
    let [output, errors] = [script.stdout, script.stderr].map(|text| String::from_utf8(text).unwrap());
    if script.status.code() == Some(MISSING_PROGRAM) {
        assert!(env::var_os("FLEET_NATS").is_none(), "{errors}");
        test_support::skipped::report(
            "there is no broker of NATS; run `.ci/fleet/install` and source its file `environment`",
        );
        return None;
    }
    assert!(script.status.success(), "{output}{errors}");
    let (first, durable) = output.split_once("durable calls:\n").unwrap();
    Some((first.to_owned(), durable.to_owned()))
}

/// The messages of a list or of lines, without the prefix of the pool.
fn messages(text: &str) -> Vec<serde_json::Value> {
    let text = text.replace("weather__", "");
    let lines = text.lines().filter(|line| line.starts_with(r#"{"role":"tool""#));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The messages of the same tools in one process.
fn local_messages() -> Vec<serde_json::Value> {
    let local = worker().args(["run"]).arg(path_of("../quickstart/response.json")).output().unwrap();
    serde_json::from_str(&String::from_utf8(local.stdout).unwrap()).unwrap()
}

#[test]
fn a_worker_that_is_killed_changes_no_message_of_the_quick_start() {
    let Some((output, _)) = script_output() else { return };
    assert!(output.contains("worker 1 was killed in its calls"), "{output}");
    let remote = messages(output);
    assert_eq!(remote.len(), 8);
    assert_eq!(remote, local_messages());
}

#[test]
fn calls_that_are_queued_without_a_worker_have_the_same_messages_in_another_process() {
    let Some((_, output)) = script_output() else { return };
    let before_worker = output.split("worker 4").next().unwrap();
    // Two calls of the response are not valid. Two workers have left.
    assert_eq!(
        (before_worker.matches("queued").count(), before_worker.matches("left").count()),
        (6, 2),
        "{output}"
    );
    assert_eq!(messages(before_worker).len(), 2);
    let sorted = |mut messages: Vec<serde_json::Value>| {
        messages.sort_by_key(|message| message["tool_call_id"].to_string());
        messages
    };
    assert_eq!(sorted(messages(output)), sorted(local_messages()));
}
