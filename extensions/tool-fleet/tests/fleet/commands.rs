//! The commands in a program of its own tools: a worker by `work`, which `fleet drain` takes out.

use std::{env, fs, path::PathBuf, thread, time::Duration};

use test_support::{nats, postgres};
use tool_cli::{Cli, Exit};
use tool_fleet::{
    CallQueue as _, CallState, FleetToolSet, JetStreamCallQueue, NatsTransport, NewCall, PostgresOptions,
    QueueLimits, Transport, cli::FleetCommands, nats::async_nats,
};
use tool_runtime::{
    Executor, RunContext, ToolCall, Toolbox,
    definition::ContentHash,
    open_calls::{PoolKey, ProgramKey},
    prelude::*,
};

use super::{echo, values::store::TestValues};

/// A size beyond the limit of each broker.
const LARGE: usize = 1_500_000;

/// A key of its own, since a broker is shared, in a file.
struct KeyFile(PathBuf, PoolKey);

impl KeyFile {
    fn new(pool: &str) -> Self {
        let path = env::temp_dir().join(format!("tool-fleet-{}-{pool}.key", std::process::id()));
        let key = ProgramKey::new([9; 32]).pool_key(pool);
        key.save(&path).unwrap();
        Self(path, key)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// Runs a command of a program with the tool `echo`.
fn run_command(commands: FleetCommands, arguments: &[&str]) -> Exit {
    let cli = Cli::new().tools(|builder| builder.tool::<echo>()).extension(commands);
    cli.run([&["program"], arguments].concat())
}

/// Starts a worker by `work`, has it repeat a text until it is large, takes the worker out, and returns the number of characters of its result.
async fn repeat_by_worker<T: Transport + Clone>(
    transport: T,
    commands: FleetCommands,
    values: Option<TestValues>,
    pool: &str,
    broker: &[&str],
) -> usize {
    let file = KeyFile::new(pool);
    let connection = [broker, &["--key", file.0.to_str().unwrap()]].concat();
    let owned: Vec<String> =
        [&["work", "--drain=5"], &*connection].concat().into_iter().map(str::to_owned).collect();
    let worker_commands = commands.clone();
    let working = thread::spawn(move || {
        run_command(worker_commands, &owned.iter().map(String::as_str).collect::<Vec<_>>())
    });
    let set = FleetToolSet::connect(transport, file.1.clone()).await.unwrap();
    let set = values.into_iter().fold(set, FleetToolSet::with_value_store);
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let name = format!("{pool}__echo");
    let tools = loop {
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        if tools.get(&name).is_some() {
            break tools;
        }
    };
    let call = ToolCall::new(name, json!({ "text": "abc", "times": LARGE / 3 }));
    let outcomes = Executor::new(tools).run(vec![call]).await;
    let result = outcomes[0].result().unwrap();
    assert!(!result.is_error(), "{:.300}", result.text());

    let owned: Vec<String> = [&["fleet", "drain", "--all", "--yes"], &*connection]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let draining = tokio::task::spawn_blocking(move || {
        run_command(commands, &owned.iter().map(String::as_str).collect::<Vec<_>>())
    });
    assert_eq!(draining.await.unwrap(), Exit::Done);
    assert_eq!(working.join().unwrap(), Exit::Done);
    result.text().len()
}

#[tokio::test]
async fn results_of_work_go_through_the_store_of_the_program() {
    let Some(url) = nats::shared_url() else { return };
    let (values, pool) = (TestValues::new(), "work_with_values");
    let commands = FleetCommands::new().pool(pool).value_store(values.clone());
    let transport = NatsTransport::connect(url).await.unwrap();
    let read = repeat_by_worker(transport, commands, Some(values.clone()), pool, &["--nats", url]).await;
    assert_eq!((read, values.stored().len()), (LARGE, 1));
}

/// Without `LISTEN`, with messages above the default limit, and in a schema of its own.
#[tokio::test]
async fn work_has_the_options_of_a_database() {
    let Some(url) = postgres::shared_url() else { return };
    let (schema, pool) = (postgres::new_schema(), "work_with_options");
    let options = PostgresOptions::new(&url).unwrap().schema(schema.as_str()).unwrap();
    let transport = options.max_bytes(4 << 20).unwrap().connect().await.unwrap();
    let broker = [
        "--postgres",
        &url,
        "--postgres-schema",
        &schema,
        "--postgres-poll=20",
        "--postgres-max-bytes=4194304",
    ];
    let commands = FleetCommands::new().pool(pool);
    assert_eq!(repeat_by_worker(transport, commands, None, pool, &broker).await, LARGE);
}

/// The ages of the command are others than those of the callers.
#[tokio::test]
async fn a_list_of_calls_changes_neither_them_nor_their_stream() {
    let Some(url) = nats::shared_jetstream_url() else { return };
    let pool = "listed";
    let transport = NatsTransport::connect(url).await.unwrap();
    let hour = Duration::from_secs(3600);
    let limits = QueueLimits { call_age: hour, result_age: hour, ..QueueLimits::default() };
    let queue = JetStreamCallQueue::open_with(&transport, pool, limits).await.unwrap();
    let (id, key, request) = ("a-1".to_owned(), ContentHash::of("tool"), vec![7; 100].into());
    assert!(queue.put_call(NewCall { id, key, max_workers: 3, request }).await.unwrap());
    let max_age = async || {
        let client = async_nats::connect(url).await.unwrap();
        let info = client.request("$JS.API.STREAM.INFO.tool-fleet-listed", "".into()).await.unwrap();
        let info: Value = serde_json::from_slice(&info.payload).unwrap();
        info["config"]["max_age"].as_u64().unwrap()
    };
    let before = max_age().await;
    let file = KeyFile::new(pool);
    let ages = QueueLimits { call_age: Duration::from_millis(1), ..QueueLimits::default() };
    let commands = FleetCommands::new().pool(pool).queue_limits(ages);
    let key = file.0.to_str().unwrap().to_owned();
    let listing = tokio::task::spawn_blocking(move || {
        run_command(commands, &["fleet", "calls", "--nats", url, "--key", &key])
    });
    assert_eq!(listing.await.unwrap(), Exit::Done);
    assert_eq!(max_age().await, before);
    assert_eq!(queue.find_call("a-1").await.unwrap().unwrap().state, CallState::Queued);
}
