//! Behaviour that does not depend on a transport.

use std::{sync::Arc, time::Duration};

use tool_fleet::{FleetToolSet, MemoryTransport, Worker};
use tool_runtime::{
    CancellationToken, Executor, RunContext, ToolCall, ToolSet, open_calls::ProgramKey, prelude::*,
};

use super::{Pool, Probe, connect, forecast, program_key, registry, serve};

#[tokio::test(start_paused = true)]
async fn a_caller_judges_the_arguments_that_the_worker_runs_also_under_aliases() {
    let pool = Pool::start(&MemoryTransport::new(), "trip", 1).await;
    let definition = pool.executor.tools().get("trip__forecast").unwrap().definition().clone();
    let received = r#"{ "query": { "town": "Paris", "unknown": 1 } }"#;
    let canonical = definition.canonical(received.into()).unwrap();
    let local = Registry::builder().tool::<forecast>().provide_shared(Arc::new(Probe::default())).build();
    let expected = local.unwrap().definitions()[0].canonical(received.into()).unwrap();
    assert_eq!(canonical.as_str(), expected.as_str());
    assert!(canonical.as_str().contains(r#""city":"Paris""#), "{}", canonical.as_str());
}

#[tokio::test(start_paused = true)]
async fn a_process_with_the_key_of_another_program_lists_nothing() {
    let transport = MemoryTransport::new();
    let _pool = Pool::start(&transport, "trip", 1).await;
    let key = ProgramKey::new([8; 32]).pool_key("trip");
    let set = FleetToolSet::connect(transport.clone(), key).await.unwrap();
    let run = RunContext::new();
    let error = set.tools(run.read_only()).await.err().unwrap();
    assert!(error.feedback().contains("no worker of the pool `trip` answers"), "{}", error.feedback());
}

/// The time of busy workers begins with the first of them that says so.
#[tokio::test(start_paused = true)]
async fn a_read_of_a_lost_worker_waits_for_the_slot_of_a_busy_one() {
    let (transport, probes) = (MemoryTransport::new(), [(); 2].map(|()| Arc::new(Probe::default())));
    let [first, second] = &probes;
    let lost = serve(&transport, "crowd", Executor::new(registry(first)));
    let (executor, _toolbox) = connect(&transport, "crowd").await;
    let call = |executor: &Executor| {
        let call = ToolCall::new("crowd__forecast", json!({ "query": { "city": "Paris" } }));
        let executor = executor.clone();
        tokio::spawn(async move { executor.run(vec![call]).await })
    };
    let read = call(&executor);
    first.entered.notified().await;
    lost.abort();
    let worker = Worker::new(Executor::new(registry(second)), program_key().pool_key("crowd"));
    let worker = worker.slots(1).heartbeat(Duration::from_millis(100));
    let worker = tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()));
    let other = call(&executor);
    second.entered.notified().await;
    // The worker of the read is lost after 600 ms, which is longer than the time of busy ones.
    tokio::time::sleep(Duration::from_millis(750)).await;
    second.released.cancel();
    for call in [read, other] {
        let outcomes = call.await.unwrap();
        let result = outcomes[0].result().unwrap();
        assert!(!result.is_error(), "{}", result.text());
    }
    worker.abort();
}
