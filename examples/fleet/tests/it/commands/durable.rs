//! Durable calls of the command line: a worker by `work --durable`, and the queue by `fleet calls`, `cancel` and `purge`.

use std::time::Duration;

use serde_json::Value;
use test_support::nats::{Server, reported};
use tool_fleet::{CallState, DurableCalls, FleetSettings, FleetToolSet, JetStreamCallQueue, NatsTransport};
use tool_runtime::{
    CallOutcome, Executor, RunContext, ToolCall, Toolbox, open_calls::ProgramKey, prelude::json,
};

use super::{Folder, Ran, WorkerProcess, start_broker, worker};

/// A caller in this process.
struct Caller {
    executor: Executor,
    durable: DurableCalls,
    _toolbox: Toolbox,
}

impl Caller {
    async fn connect(url: &str, folder: &Folder) -> Self {
        let key = ProgramKey::load_or_create(folder.file("program.key")).unwrap().pool_key("weather");
        let transport = NatsTransport::connect(url).await.unwrap();
        let queue = JetStreamCallQueue::open(&transport, "weather").await.unwrap();
        let durable = DurableCalls::new(queue, key).unwrap();
        let toolbox = Toolbox::new();
        let set = FleetToolSet::connect_durable(
            transport,
            FleetSettings::default(),
            durable.clone().wait(Duration::ZERO),
        );
        toolbox.add_toolset(set.await.unwrap()).unwrap();
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        Self { executor: Executor::new(tools), durable, _toolbox: toolbox }
    }

    async fn count_words(&self) -> CallOutcome {
        let call = ToolCall::new("weather__count_words", json!({ "text": "fog and fog" }));
        self.executor.run(vec![call]).await.remove(0)
    }
}

fn fleet(url: &str, folder: &Folder, arguments: &[&str]) -> Ran {
    let key = folder.file("pool.key");
    let all = [&["fleet", arguments[0], "--nats", url, "--key", &key], &arguments[1..]].concat();
    Ran::of(&mut worker(), &all)
}

fn listed_calls(url: &str, folder: &Folder) -> Vec<Value> {
    let ran = fleet(url, folder, &["calls", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.errors);
    serde_json::from_str(&ran.output).unwrap()
}

#[tokio::test]
async fn durable_calls_are_run_listed_cancelled_and_purged() {
    let Some(server) = reported(Server::start_with_jetstream()) else { return };
    let (url, folder) = (server.url(), Folder::new());
    let serving = WorkerProcess::start(worker(), url, &folder.file("pool.key"), &["--durable"]);
    let caller = Caller::connect(url, &folder).await;
    assert!(!caller.count_words().await.is_finished());
    let answered = caller.durable.wait_for_answers(&caller.executor).await.unwrap();
    assert!(answered[0].result.text().contains(r#""words":3"#), "{}", answered[0].result.text());
    assert_eq!(listed_calls(url, &folder), [] as [Value; 0]);

    drop(serving);
    for _ in 0..2 {
        assert!(!caller.count_words().await.is_finished());
    }
    let listed = listed_calls(url, &folder);
    assert_eq!((listed.len(), &listed[0]["state"], &listed[0]["workers"]), (2, &json!("queued"), &json!(0)));
    let call = listed[0]["call"].as_str().unwrap();
    let table = fleet(url, &folder, &["calls"]).output;
    assert!(table.contains(call) && table.contains("queued") && !table.contains("fog"), "{table}");
    assert_eq!(
        fleet(url, &folder, &["calls", "--dead"]).output,
        "The queue of the pool `weather` has no interrupted calls.\n"
    );

    let ran = fleet(url, &folder, &["cancel", call]);
    assert_eq!((ran.code, &*ran.output), (0, "cancelled; it does not run\n"), "{}", ran.errors);
    let ran = fleet(url, &folder, &["cancel", call]);
    assert!(
        ran.code == 1 && ran.errors.contains("the call has ended already, as cancelled"),
        "{}",
        ran.errors
    );
    let ran = fleet(url, &folder, &["cancel", "no*call"]);
    assert!(ran.code == 1 && ran.errors.contains("has no call `no*call`"), "{}", ran.errors);

    let ran = fleet(url, &folder, &["purge"]);
    assert!(ran.code == 3 && ran.errors.contains("`--yes` confirms it"), "{}", ran.errors);
    let ran = fleet(url, &folder, &["purge", "--queued", "--yes"]);
    assert_eq!((ran.code, &*ran.output), (0, "1 call removed, 1 cancelled\n"), "{}", ran.errors);
    let answered = caller.durable.wait_for_answers(&caller.executor).await.unwrap();
    assert!(answered[0].result.is_error());
    let state = caller.durable.cancel_call(&answered[0].address).await.unwrap();
    assert_eq!((state, listed_calls(url, &folder).len()), (None::<CallState>, 0));
    let nothing = "The queue of the pool `weather` has no calls that have ended.\n";
    assert_eq!(fleet(url, &folder, &["purge"]).output, nothing);
}

#[test]
fn durable_calls_without_jetstream_are_an_error_that_names_the_flag() {
    let Some(server) = start_broker() else { return };
    let (url, folder) = (server.url(), Folder::new());
    let key = folder.file("pool.key");
    let ran = fleet(url, &folder, &["calls"]);
    assert!(ran.code == 1 && ran.errors.contains("`-js`"), "{}", ran.errors);
    let ran = Ran::of(&mut worker(), &["work", "--nats", url, "--key", &key, "--durable"]);
    assert!(ran.code == 1 && ran.errors.contains("`-js`"), "{}", ran.errors);
}

#[tokio::test]
async fn the_limits_of_a_queue_are_options_of_the_commands() {
    let Some(server) = reported(Server::start_with_jetstream()) else { return };
    let (url, folder) = (server.url(), Folder::new());
    let serving = WorkerProcess::start(worker(), url, &folder.file("pool.key"), &[]);
    let caller = Caller::connect(url, &folder).await;
    drop(serving);
    assert!(!caller.count_words().await.is_finished());
    assert_eq!(listed_calls(url, &folder)[0]["state"], "queued");
    // Once it is older than that, a purge ends and removes it.
    loop {
        let ran = fleet(url, &folder, &["purge", "--yes", "--queue-call-age=1"]);
        if ran.output == "1 call removed\n" {
            break;
        }
        assert!(ran.output.contains("waiting for a worker: 1, which `--queued` cancels"), "{}", ran.output);
    }
    // A command that stores neither calls nor results has no limit of them.
    let ran = fleet(url, &folder, &["purge", "--queue-calls=5"]);
    assert!(ran.code == 2 && ran.errors.contains("--queue-calls"), "{}", ran.errors);
    let ran = Ran::of(&mut worker(), &["work", "--nats", url, "--key", "x", "--queue-calls=5"]);
    assert!(ran.code == 2 && ran.errors.contains("--durable"), "{}", ran.errors);
}
