//! Behaviour that does not depend on a transport.

use std::sync::Arc;

use tool_fleet::{FleetToolSet, MemoryTransport};
use tool_runtime::{RunContext, ToolSet, open_calls::ProgramKey, prelude::*};

use super::{Pool, Probe, forecast};

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
