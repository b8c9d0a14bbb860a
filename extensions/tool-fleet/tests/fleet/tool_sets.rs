//! Sets of remote tools among others, and the limits of a worker.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tool_fleet::{FleetToolSet, MemoryTransport};
use tool_runtime::{Executor, RunContext, ToolCall, policy::Limits, prelude::*, registry::BuildDiagnostic};

use super::{Probe, connect, program_key, registry, serve, settings};

#[tokio::test(start_paused = true)]
async fn limits_of_a_group_hold_at_each_worker() {
    let (transport, probe) = (MemoryTransport::new(), Arc::new(Probe::default()));
    let limits = Limits::new().group("trips", 2, ["book", "forecast"]);
    let worker = Executor::builder(registry(&probe)).limits(limits).build().unwrap();
    let worker = serve(&transport, "limited", worker);
    let (executor, _toolbox) = connect(&transport, "limited").await;
    let call = |name: &str, arguments: Value| {
        let call = ToolCall::new(format!("limited__{name}"), arguments);
        executor.run(vec![call])
    };
    let paris = || json!({ "query": { "city": "Paris" } });
    let calls = [
        call("book", json!({})),
        call("forecast", paris()),
        call("book", json!({})),
        call("forecast", paris()),
        call("book", json!({})),
    ];
    let running = async {
        // On a paused clock, all that may begin has begun.
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(probe.bodies(), 2); // G13
        probe.released.cancel();
    };
    let (outcomes, ()) = tokio::join!(join_all(calls), running);
    assert!(outcomes.iter().flatten().all(|outcome| !outcome.result().unwrap().is_error()), "{outcomes:?}");
    assert_eq!(probe.bodies(), 5);
    worker.abort();
}

#[tokio::test(start_paused = true)]
async fn tools_of_two_pools_have_names_of_their_own_and_a_clash_with_another_tool_names_both_origins() {
    let (transport, probe) = (MemoryTransport::new(), Arc::new(Probe::default()));
    let workers = ["north", "south"].map(|pool| serve(&transport, pool, Executor::new(registry(&probe))));
    let (_, toolbox) = connect(&transport, "north").await;
    let key = program_key().pool_key("south");
    toolbox.add_toolset(FleetToolSet::connect_with(transport, key, settings()).await.unwrap()).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let names: Vec<_> = tools.definitions().iter().map(|it| it.name().to_string()).collect();
    assert_eq!(names.iter().filter(|name| name.ends_with("__add")).count(), 2, "{names:?}");
    let own = ToolBuilder::new("south__add").description("Adds, too.");
    toolbox.add(own.expect_handler(|_: Empty, _| async { Ok::<_, ToolError>(()) })).unwrap();
    let error = toolbox.snapshot(&RunContext::new()).await.unwrap_err();
    let clashes: Vec<_> = error
        .diagnostics()
        .iter()
        .filter_map(|problem| match problem {
            BuildDiagnostic::SameName { name, origins } => Some((name.as_str(), origins.len())),
            _ => None,
        })
        .collect();
    assert_eq!(clashes, [("south__add", 2)]); // L11
    assert!(error.to_string().contains("a direct tool, a tool of the set `south`"), "{error}"); // L11
    workers.iter().for_each(tokio::task::JoinHandle::abort);
}

/// No arguments.
#[tool_args]
struct Empty {}
