//! A tree of parallel teams that ends at any of its events.

use std::collections::{HashMap, HashSet};

use tool_agent::EndReason;
use tool_runtime::event::EventKind;

use super::*;

/// A tree of three levels with 4 members each: 64 agents with a model, each with two requests and a call.
fn tree() -> (Agent, Vec<ScriptedModel>) {
    let mut models = Vec::new();
    let mut leaf = |name: String| {
        let replies = [product().with_usage(usage()), Reply::text("100").with_usage(usage())];
        let (builder, model) = builder(&name, replies);
        models.push(model);
        builder.build().unwrap()
    };
    let tops: Vec<_> = (0..4)
        .map(|top| {
            let teams: Vec<_> = (0..4)
                .map(|team| {
                    let leaves: Vec<_> = (0..4).map(|at| leaf(format!("leaf-{top}-{team}-{at}"))).collect();
                    Agent::parallel(format!("team-{top}-{team}"), leaves).build().unwrap()
                })
                .collect();
            Agent::parallel(format!("top-{top}"), teams).build().unwrap()
        })
        .collect();
    (Agent::parallel("root", tops).build().unwrap(), models)
}

#[tokio::test]
async fn a_tree_that_is_cancelled_at_any_event_has_one_end_of_each_call_and_the_usage_of_its_parts() {
    let whole = events_of(Runner::new(tree().0).run("Go.")).await.0.len();
    // Spread over the run, in an order that is no pattern of the tree.
    for point in (0..50).map(|at| at * 7_919 % whole) {
        let (agent, models) = tree();
        let mut stream = Runner::new(agent).run("Go.");
        let (mut events, mut end) = (Vec::new(), None);
        while let Some(event) = stream.next().await {
            if events.len() == point {
                stream.handle().cancel();
            }
            if let AgentEventKind::Ended { end: reached } = &event.kind {
                assert!(end.replace(reached.clone()).is_none());
            }
            events.push(event);
        }
        let end = end.unwrap();
        assert!(matches!(end.reason, EndReason::Cancelled | EndReason::Answered), "{point}: {end}");
        let (mut started, mut finished) = (HashSet::new(), HashMap::new());
        for event in &events {
            let AgentEventKind::Tool { event } = &event.kind else { continue };
            match event.kind {
                EventKind::Started { .. } => assert!(started.insert(event.address.clone())),
                EventKind::Finished { .. } => *finished.entry(event.address.clone()).or_insert(0) += 1,
                _ => {}
            }
        }
        assert!(finished.values().all(|count| *count == 1) && finished.len() == started.len(), "{point}");
        assert!(end.usage.calls >= started.len() as u64);
        // Responses that arrived are counted once each: the usage of the tree is the sum of its parts.
        let responses: usize =
            events.iter().filter(|event| matches!(event.kind, AgentEventKind::Usage { .. })).count();
        assert_eq!(end.usage.tokens(), 50 * responses as u64, "{point}");
        let requests: usize = models.iter().map(|model| model.requests().len()).sum();
        assert!(end.usage.rounds >= requests as u64, "{point}");
        // Whatever a member did is in order: the last event of the run is its end.
        assert!(matches!(events.last().unwrap().kind, AgentEventKind::Ended { .. }));
    }
}

#[tokio::test]
async fn a_tree_that_is_dropped_at_any_event_leaves_no_model_in_use() {
    let whole = events_of(Runner::new(tree().0).run("Go.")).await.0.len();
    for point in (0..20).map(|at| at * 7_919 % whole) {
        let held = std::sync::Arc::new(());
        let inner = std::sync::Arc::clone(&held);
        let hook = tool_agent::hook::before_model(move |step| {
            let inner = std::sync::Arc::clone(&inner);
            async move {
                tokio::task::yield_now().await;
                drop(inner);
                Ok(step.into())
            }
        });
        let runner = Runner::new(tree().0).with_hook(hook);
        let mut stream = runner.run("Go.");
        for _ in 0..point {
            stream.next().await;
        }
        drop((stream, runner));
        assert_eq!(std::sync::Arc::strong_count(&held), 1, "{point}");
    }
}
