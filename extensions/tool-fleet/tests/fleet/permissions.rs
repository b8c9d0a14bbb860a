//! A server of NATS with permissions: what it refuses is an error that names the subject.

use test_support::nats::{Server, reported};
use tool_fleet::{FleetToolSet, NatsTransport, Worker, WorkerState, nats::async_nats::ConnectOptions};
use tool_runtime::{CancellationToken, Executor, RunContext, ToolSet as _, prelude::*};

use super::program_key;

/// Adds two numbers.
#[tool(read_only, register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Users that may not use all subjects of the pool `trip`; neither may all use inboxes.
const CONFIGURATION: &str = r#"
    authorization { users = [
        { user: half, password: secret, permissions: { publish: [ "tools.>", "_INBOX.>" ], subscribe: [ "tools.trip.process.>", "_INBOX.>" ] } }
        { user: full, password: secret, permissions: { publish: "tools.trip.>", subscribe: "tools.trip.>" } }
    ] }
"#;

fn start_broker() -> Option<Server> {
    let path = std::env::temp_dir().join(format!("tool-fleet-permissions-{}.conf", std::process::id()));
    std::fs::write(&path, CONFIGURATION).unwrap();
    let broker = reported(Server::start_with(&path));
    std::fs::remove_file(path).unwrap();
    broker
}

async fn connect(broker: &Server, user: &str) -> NatsTransport {
    let options = ConnectOptions::with_user_and_password(user.to_owned(), "secret".to_owned());
    NatsTransport::connect_with(broker.url(), options).await.unwrap()
}

fn new_worker() -> Worker {
    let tools = Registry::builder().tool::<add>().build().unwrap();
    Worker::new(Executor::new(tools), program_key().pool_key("trip"))
}

#[tokio::test]
async fn a_subscription_that_the_server_refuses_is_an_error_that_names_its_subject() {
    let Some(broker) = start_broker() else { return };
    let worker = new_worker();
    let state = worker.watch_state();
    let error = worker.serve(connect(&broker, "half").await, CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("refuses the subscription to `tools.trip."), "{error}");
    assert_eq!(*state.borrow(), WorkerState::Ended);
    let key = program_key().pool_key("trip");
    let error = FleetToolSet::connect(connect(&broker, "half").await, key).await.unwrap_err();
    assert!(error.to_string().contains("refuses the subscription to `tools.trip.announcements`"), "{error}");
}

/// Without the right to use inboxes, too.
#[tokio::test]
async fn a_user_with_the_subjects_of_its_pool_alone_lists_its_tools() {
    let Some(broker) = start_broker() else { return };
    let (worker, stop) = (new_worker(), CancellationToken::new());
    let mut state = worker.watch_state();
    let serving = tokio::spawn(worker.serve(connect(&broker, "full").await, stop.clone()));
    state.wait_for(|state| *state == WorkerState::Serving).await.unwrap();
    let key = program_key().pool_key("trip");
    let set = FleetToolSet::connect(connect(&broker, "full").await, key).await.unwrap();
    assert_eq!(set.tools(RunContext::new().read_only()).await.unwrap().len(), 1);
    stop.cancel();
    serving.await.unwrap().unwrap();
}
