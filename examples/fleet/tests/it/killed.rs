//! The script: one of three workers is killed in the middle of the calls.

use std::{env, process::Command};

use super::{path_of, worker};

/// The status of the script on a machine without the broker.
const MISSING_PROGRAM: i32 = 2;

/// The messages of a list or of lines, without the prefix of the pool.
fn messages(text: &str) -> Vec<serde_json::Value> {
    let text = text.replace("weather__", "");
    let lines = text.lines().filter(|line| line.starts_with(r#"{"role":"tool""#));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_worker_that_is_killed_changes_no_message_of_the_quick_start() {
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
        return;
    }
    assert!(script.status.success(), "{output}{errors}");
    assert!(output.contains("worker 1 was killed in its calls"), "{output}");
    let remote = messages(&output);
    // The same tools in one process.
    let local = worker().args(["run"]).arg(path_of("../quickstart/response.json")).output().unwrap();
    let local = String::from_utf8(local.stdout).unwrap();
    let local: Vec<serde_json::Value> = serde_json::from_str(&local).unwrap();
    assert_eq!(remote.len(), 8);
    assert_eq!(remote, local);
}
