//! Calls that one process queues, and results that another one takes.

use std::{path::Path, time::Duration};

use tool_fleet::{
    DurableCalls, DurableOpenCalls, FleetSettings, FleetToolSet, JetStreamCallQueue, NatsTransport,
};
use tool_runtime::{CallOutcome, Executor, Registry, Toolbox, open_calls::ProgramKey};
use tool_session::SqliteStore;

use super::{POOL, list_tools, print_messages, read_calls};

/// The time for which an open call waits: longer than the queue keeps a call (24 h) and then its result (24 h).
const OPEN_CALL_AGE: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// Opens the queue of the pool, and the database with the open calls, which both processes have.
async fn open_stores(
    transport: &NatsTransport,
    key: &ProgramKey,
    folder: &Path,
) -> anyhow::Result<(DurableCalls, SqliteStore)> {
    let queue = JetStreamCallQueue::open(transport, POOL).await?;
    let store = SqliteStore::open(folder.join("calls.sqlite")).await?;
    Ok((DurableCalls::new(queue, key.pool_key(POOL))?, store))
}

/// Queues the calls of the response, and prints the messages of those that are not valid. The tools are listed by workers of the pool; none of
/// them needs to serve the queue.
pub(crate) async fn queue_calls(
    transport: NatsTransport,
    key: ProgramKey,
    folder: &Path,
) -> anyhow::Result<()> {
    let (durable, store) = open_stores(&transport, &key, folder).await?;
    // The calls are left open at once.
    let durable = durable.wait(Duration::ZERO);
    let set = FleetToolSet::connect_durable(transport, FleetSettings::default(), durable.clone());
    let toolbox = Toolbox::new();
    let tools = list_tools(&toolbox, set.await?).await?;
    let calls = read_calls(&tools)?;
    let open_calls = DurableOpenCalls::new(store.clone(), durable);
    let builder = Executor::builder(tools).open_calls(open_calls).program_key(key);
    let executor = builder.open_calls_expire(OPEN_CALL_AGE).build()?;
    let outcomes = executor.run(calls).await;
    let ended: Vec<_> =
        outcomes.iter().filter(|it| it.is_finished()).filter_map(CallOutcome::result).collect();
    eprintln!("{} calls are queued", outcomes.len() - ended.len());
    print_messages(executor.tools(), &ended.into_iter().cloned().collect::<Vec<_>>());
    store.close().await;
    Ok(())
}

/// Prints the messages of the calls that were queued, as soon as a worker has run them. It needs no tools.
pub(crate) async fn take_results(
    transport: NatsTransport,
    key: ProgramKey,
    folder: &Path,
) -> anyhow::Result<()> {
    let (durable, store) = open_stores(&transport, &key, folder).await?;
    let open_calls = DurableOpenCalls::new(store.clone(), durable.clone());
    let no_tools = Registry::builder().build()?;
    let executor = Executor::builder(no_tools).open_calls(open_calls).program_key(key).build()?;
    while !executor.open_calls().await?.is_empty() {
        let answered = durable.wait_for_answers(&executor).await?;
        print_messages(executor.tools(), &answered.into_iter().map(|it| it.result).collect::<Vec<_>>());
    }
    store.close().await;
    Ok(())
}
