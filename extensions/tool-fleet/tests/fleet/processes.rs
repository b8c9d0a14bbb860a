//! Workers in processes of their own, which are killed.

use std::{
    env,
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use test_support::postgres::{new_schema, shared_url};
use tool_fleet::{
    CallQueue as _, CallState, DurableCalls, FleetSettings, FleetToolSet, PostgresOptions, PostgresTransport,
    Worker,
};
use tool_runtime::{CancellationToken, Executor, RunContext, ToolCall, Toolbox, prelude::*};

use super::{Probe, connect, program_key, registry, serve};

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
    let worker = Worker::new(Executor::new(registry(&probe)), program_key().pool_key(pool));
    let worker = worker.heartbeat(Duration::from_millis(100)).queue(transport.call_queue(pool));
    let serving = tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()));
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

/// Leaves a durable call of `tool` open, kills the worker that runs it, starts another one, and returns the text of its answer, with the
/// number of bodies at the other one.
async fn kill_worker_of_durable(tool: &str, arguments: Value) -> Option<(String, usize)> {
    let url = shared_url()?;
    let (schema, pool) = (new_schema(), "killed");
    let mut first = WorkerProcess::start("processes::worker_process", &[&url, &schema, pool]);
    let transport = open_transport(&url, &schema).await;
    let queue = transport.call_queue(pool);
    connect_when_listed(&transport, pool).await;
    let durable =
        DurableCalls::new(queue.clone(), program_key().pool_key(pool)).unwrap().wait(Duration::ZERO);
    let set = FleetToolSet::connect_durable(transport.clone(), FleetSettings::default(), durable.clone());
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set.await.unwrap()).unwrap();
    let executor = Executor::new(toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools());
    let outcomes = executor.run(vec![ToolCall::new(format!("{pool}__{tool}"), arguments)]).await;
    assert!(!outcomes[0].is_finished());
    let first = tokio::task::spawn_blocking(move || {
        first.wait_for_body();
        first.kill();
        first
    });
    drop(first.await.unwrap());
    let running = queue.list_calls(&[CallState::Taken, CallState::Started]).await.unwrap();
    assert_eq!(running.len(), 1);
    let probe = Arc::new(Probe::default());
    probe.released.cancel();
    let worker = Worker::new(Executor::new(registry(&probe)), program_key().pool_key(pool)).queue(queue);
    let serving = tokio::spawn(worker.serve(transport, CancellationToken::new()));
    let answered = durable.wait_for_answers(&executor).await.unwrap();
    serving.abort();
    Some((answered[0].result.text().to_string(), probe.bodies()))
}

#[tokio::test]
async fn a_durable_read_of_a_process_that_is_killed_is_answered_by_another_one() {
    let arguments = json!({ "query": { "city": "Paris", "days": 2 } });
    let Some(ended) = kill_worker_of_durable("forecast", arguments).await else { return };
    assert_eq!(ended, ("Paris 2 by body 1".to_owned(), 1));
}

#[tokio::test]
async fn a_durable_call_with_effects_of_a_process_that_is_killed_is_interrupted() {
    let Some((text, bodies)) = kill_worker_of_durable("book", json!({})).await else { return };
    assert!(text.contains("1 worker ended during it; it may have taken effect") && bodies == 0, "{text}");
}
