//! Workers in processes of their own, which are killed.

use std::{
    env,
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Arc,
};

use test_support::postgres::{new_schema, shared_url};
use tool_fleet::{PostgresOptions, PostgresTransport};
use tool_runtime::{Executor, ToolCall, prelude::*};

use super::{Probe, connect, registry, serve};

/// The database of a worker, its schema, and its pool; then what its test adds.
pub(crate) const WORKER_VARIABLE: &str = "TOOL_FLEET_TEST_WORKER";

pub(crate) async fn open_transport(url: &str, schema: &str) -> PostgresTransport {
    PostgresOptions::new(url).unwrap().schema(schema).unwrap().connect().await.unwrap()
}

/// A worker of this file's tests; without the variable, nothing.
#[tokio::test]
async fn worker_process() {
    let Ok(place) = env::var(WORKER_VARIABLE) else { return };
    let mut parts = place.split(' ');
    let [url, schema, pool] = [(); 3].map(|()| parts.next().unwrap());
    let transport = open_transport(url, schema).await;
    let probe = Arc::new(Probe::default());
    let serving = serve(&transport, pool, Executor::new(registry(&probe)));
    tokio::select! { it = serving => it.unwrap().unwrap(), () = report_bodies(&probe) => {} }
}

/// Writes a line for each body that runs.
pub(crate) async fn report_bodies(probe: &Probe) {
    loop {
        probe.entered.notified().await;
        println!("\nentered");
    }
}

/// A process with a worker, which is killed when it is dropped.
pub(crate) struct WorkerProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl WorkerProcess {
    /// Starts the worker of the test `test`.
    pub(crate) fn start(test: &str, place: &[&str]) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture"]);
        command.env(WORKER_VARIABLE, place.join(" "));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until a body runs.
    pub(crate) fn wait_for_body(&mut self) {
        let mut line = String::new();
        while line.trim() != "entered" {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the worker has ended");
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Begins a call of `tool`, kills the worker that runs it, and returns the text of its outcome.
async fn kill_worker_of(tool: &str, arguments: Value) -> Option<String> {
    let url = shared_url()?;
    let (schema, pool) = (new_schema(), "killed");
    let mut first = WorkerProcess::start("processes::worker_process", &[&url, &schema, pool]);
    let transport = open_transport(&url, &schema).await;
    // The first worker is there before the second one, and has the call.
    let (executor, _toolbox) = connect_when_listed(&transport, pool).await;
    let call = ToolCall::new(format!("{pool}__{tool}"), arguments);
    let calling = tokio::spawn(async move { executor.run(vec![call]).await[0].result().cloned().unwrap() });
    let mut first = tokio::task::spawn_blocking(move || {
        first.wait_for_body();
        first
    })
    .await
    .unwrap();
    let probe = Arc::new(Probe::default());
    probe.released.cancel();
    let second = open_transport(&url, &schema).await;
    let serving = serve(&second, pool, Executor::new(registry(&probe)));
    first.kill();
    let result = calling.await.unwrap();
    serving.abort();
    Some(result.text().to_string())
}

/// As `connect`, once the process of the worker has started.
async fn connect_when_listed(transport: &PostgresTransport, pool: &str) -> (Executor, tool_runtime::Toolbox) {
    loop {
        let (executor, toolbox) = connect(transport, pool).await;
        if executor.tools().get(&format!("{pool}__book")).is_some() {
            return (executor, toolbox);
        }
    }
}

#[tokio::test]
async fn a_read_of_a_process_that_is_killed_is_answered_by_another_one() {
    let arguments = json!({ "query": { "city": "Paris", "days": 2 } });
    let Some(text) = kill_worker_of("forecast", arguments).await else { return };
    assert_eq!(text, "Paris 2 by body 1");
}

#[tokio::test]
async fn a_call_with_effects_of_a_process_that_is_killed_is_interrupted() {
    let Some(text) = kill_worker_of("book", json!({})).await else { return };
    assert!(text.contains("1 worker ended during it; it may have taken effect"), "{text}");
}
