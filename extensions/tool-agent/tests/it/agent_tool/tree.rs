//! A tree of agents as tools: three levels with 4 calls each, 84 runs below the root, cancelled at any event.

use std::collections::{HashMap, HashSet};

use tool_runtime::call::CallAddress;

use super::*;

/// The number of agents below each agent.
const WIDTH: usize = 4;
const LEVELS: usize = 3;
/// The number of points at which the tree is cancelled.
const POINTS: usize = 200;

/// The agent `name` with those below it; each leaf looks a fact up.
fn tree(name: String, level: usize) -> Agent {
    let mut tools = Registry::builder();
    let calls: Vec<_> = match level == LEVELS {
        true => {
            tools = tools.tool::<look_up>();
            vec![ToolCall::new("look_up", json!({ "name": "Oslo" })).with_id("c")]
        }
        false => {
            let below = |at: usize| format!("{name}_{at}");
            for at in 0..WIDTH {
                tools = tools.add(AgentTool::new(tree(below(at), level + 1)).unwrap());
            }
            // Models repeat ids.
            let call = |at| ToolCall::new(below(at), json!({ "request": "Go on." })).with_id("c");
            (0..WIDTH).map(call).collect()
        }
    };
    let replies = [Reply::calls(calls).with_usage(usage()), Reply::text("Done.").with_usage(usage())];
    let model = ScriptedModel::new(replies);
    Agent::builder(name, model).tools(tools.build().unwrap()).build().unwrap()
}

/// The calls and responses in the events of a run and of all runs below it.
#[derive(Default)]
struct Seen {
    open: HashSet<CallAddress>,
    ends: HashMap<CallAddress, usize>,
    responses: u64,
}

impl Seen {
    /// Notes an event, which is within its call.
    fn note(&mut self, event: &AgentEvent) {
        match &event.kind {
            AgentEventKind::Child { call, event } => {
                assert!(self.open.contains(call), "{event:?} is not within its call");
                self.note(event);
            }
            AgentEventKind::Usage { .. } => self.responses += 1,
            AgentEventKind::Tool { event } => match event.kind {
                EventKind::Started { .. } => assert!(self.open.insert(event.address.clone())),
                EventKind::Finished { .. } => {
                    assert!(self.open.remove(&event.address));
                    *self.ends.entry(event.address.clone()).or_insert(0) += 1;
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// Runs the tree, and cancels it after `point` events; returns what was seen, the number of events, and the end.
async fn run_until(point: usize) -> (Seen, usize, tool_agent::End) {
    let mut stream = Runner::new(tree("root".to_owned(), 0)).run("Go.");
    let (mut seen, mut count, mut end) = (Seen::default(), 0, None);
    while let Some(event) = stream.next().await {
        count += 1;
        if count == point {
            stream.handle().cancel();
        }
        seen.note(&event);
        if let AgentEventKind::Ended { end: reached } = event.kind {
            assert!(end.replace(reached).is_none());
        }
    }
    (seen, count, end.unwrap())
}

// The time is paused, since the grace period of a level is a third of that above it: a loaded machine takes longer.
#[tokio::test(start_paused = true)]
async fn a_tree_of_agents_that_is_cancelled_at_any_event_has_one_end_of_each_call_and_the_usage_of_its_parts()
{
    let (seen, count, end) = run_until(usize::MAX).await;
    assert_eq!((end.text.as_str(), end.usage.children.runs), ("Done.", 84));
    assert_eq!((seen.ends.len(), seen.responses, end.usage.tokens()), (84 + 64, 2 * 85, 50 * 2 * 85));
    // Spread over the run, in an order that is no pattern of the tree.
    for point in (0..POINTS).map(|at| 1 + at * 7_919 % count) {
        let (seen, _, end) = run_until(point).await;
        assert!(matches!(end.reason, EndReason::Cancelled | EndReason::Answered), "{point}: {end}");
        assert!(seen.open.is_empty() && seen.ends.values().all(|ends| *ends == 1), "{point}");
        assert_eq!(end.usage.tokens(), 50 * seen.responses, "{point}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_tree_whose_reader_is_slower_than_the_grace_period_ends_each_call_of_the_root() {
    for point in (0..20).map(|at| 1 + at * 37) {
        let mut stream = Runner::new(tree("root".to_owned(), 0)).run("Go.");
        let (mut open, mut ended, mut count, mut end) = (HashSet::new(), 0, 0, None);
        while let Some(event) = stream.next().await {
            count += 1;
            if count == point {
                stream.handle().cancel();
            }
            if count >= point {
                // The runs of the lowest level have a 27th of 3 s.
                tokio::time::advance(std::time::Duration::from_millis(50)).await;
            }
            assert!(end.is_none(), "{point}: an event after the end");
            match event.kind {
                AgentEventKind::Tool { event } => match event.kind {
                    EventKind::Started { .. } => assert!(open.insert(event.address)),
                    EventKind::Finished { .. } => {
                        assert!(open.remove(&event.address));
                        ended += 1;
                    }
                    _ => {}
                },
                AgentEventKind::Child { call, .. } => assert!(open.contains(&call), "{point}"),
                AgentEventKind::Ended { end: reached } => end = Some(reached),
                _ => {}
            }
        }
        let end = end.unwrap();
        assert_eq!(end.reason, EndReason::Cancelled, "{point}: {end}");
        assert!(open.is_empty(), "{point}: {ended} calls have ended, and others have not");
    }
}
