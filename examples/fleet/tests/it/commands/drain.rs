//! Workers that an operator takes out.

use std::fs;

use serde_json::{Value, json};

use super::{Folder, Ran, WorkerProcess, assert_all_answered, start_broker, start_caller, worker};

fn fleet(url: &str, folder: &Folder, arguments: &[&str]) -> Ran {
    let key = folder.file("pool.key");
    let all = [&["fleet", arguments[0], "--nats", url, "--key", &key], &arguments[1..]].concat();
    let mut ran = Ran::of(&mut worker(), &all);
    // Without line breaks.
    ran.errors = ran.errors.split_whitespace().collect::<Vec<_>>().join(" ");
    ran
}

fn listed_workers(url: &str, folder: &Folder) -> Vec<Value> {
    serde_json::from_str(&fleet(url, folder, &["workers", "--json", "--wait=1"]).output).unwrap()
}

#[test]
fn a_worker_that_is_drained_ends_its_calls_and_its_process_and_others_stay() {
    let Some(server) = start_broker() else { return };
    let (url, folder) = (server.url(), Folder::new());
    let mut command = worker();
    command.env("FLEET_HOLD_CALLS", folder.file("release"));
    let mut draining = WorkerProcess::start(command, url, &folder.file("pool.key"), &[]);
    let caller = start_caller(url, &folder);
    draining.read_held_calls();
    let name = listed_workers(url, &folder)[0]["worker"].as_str().unwrap().to_owned();
    let mut other = WorkerProcess::start(worker(), url, &folder.file("pool.key"), &[]);

    let ran = fleet(url, &folder, &["drain"]);
    assert!(ran.code == 2 && ran.errors.contains("<WORKER|--all>"), "{}", ran.errors);
    let ran = fleet(url, &folder, &["drain", &name[..12]]);
    assert!(ran.code == 1 && ran.errors.contains(&format!("did you mean `{name}`?")), "{}", ran.errors);
    let ran = fleet(url, &folder, &["drain", "--all"]);
    assert!(ran.code == 3 && ran.errors.contains("nothing was drained"), "{}", ran.errors);
    assert_eq!(listed_workers(url, &folder).len(), 2);

    let ran = fleet(url, &folder, &["drain", &name, "--wait=1", "--json"]);
    let drained: Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!(drained, json!([{ "worker": name, "state": "draining", "calls": 6 }]));
    assert!(ran.code == 1 && ran.errors.contains(&format!("`{name}` still runs 6 calls")), "{}", ran.errors);
    draining.read_errors_until("`fleet drain` took this worker out");
    let listed = listed_workers(url, &folder);
    let state = |worker: &Value| (worker["worker"] == *name, worker["state"].as_str().unwrap().to_owned());
    let mut states: Vec<_> = listed.iter().map(state).collect();
    states.sort_unstable();
    assert_eq!(states, [(false, "serving".to_owned()), (true, "draining".to_owned())]);

    fs::write(folder.file("release"), "").unwrap();
    assert_all_answered(caller);
    assert_eq!(draining.exit_code(), Some(0));
    let ran = fleet(url, &folder, &["drain", "--all", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.errors);
    assert!(ran.output.contains("left") && !ran.output.contains(&name), "{}", ran.output);
    assert_eq!(other.exit_code(), Some(0));
    let ran = fleet(url, &folder, &["drain", "--all", "--yes"]);
    assert!(
        ran.code == 1 && ran.errors.contains("no worker of the pool `weather` answers"),
        "{}",
        ran.errors
    );
}
