//! Requests of hooks, beside those of the run.

use std::sync::Arc;

use tool_agent::{
    AgentEventKind, AgentHook, EndReason, Limit, Limits, Message, Price, Runner, ScriptedModel, Step,
    StepEnd,
    model::{Reply, Request, Response},
};
use tool_runtime::{RunContext, context::Budget, dialect::Usage, prelude::*};

use super::hooks::{agent, echoes};

/// Asks a small model before each step, and at the end.
struct Asking(ScriptedModel);

impl Asking {
    fn question() -> Request {
        Request::new([Message::user("Which tools?")])
    }
}

impl AgentHook for Asking {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        let asked = step.ask(self.0.clone(), Self::question()).await;
        asked.map(|_| None).map_err(|error| ToolError::failed(error.to_string()))
    }

    async fn before_end(&self, end: &StepEnd) -> Result<Option<Message>, ToolError> {
        let asked = end.ask(self.0.clone(), Self::question()).await;
        asked.map(|_| None).map_err(|error| ToolError::failed(error.to_string()))
    }
}

fn used(input: u64, output: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(input), Some(output));
    usage
}

#[tokio::test]
async fn tokens_of_requests_of_hooks_are_counted_separately_and_limited_together() {
    let mut of_hook = used(10, 2);
    (of_hook.cached, of_hook.cache_written, of_hook.reasoning) = (Some(4), Some(3), Some(1));
    let small = || ScriptedModel::new((0..3).map(|_| Reply::text("All.").with_usage(of_hook)));
    let replies = || [echoes("a").with_usage(used(100, 20)), Reply::text("a").with_usage(used(200, 40))];
    let price = Price { input: 1e6, cached_input: 1e6, cache_write: 1e6, output: 1e6 };
    let (builder, _) = agent(replies());
    let run = RunContext::new().with_budget(Budget::default());
    let asked = small();
    let asking = builder.hook(Asking(asked.clone())).price("scripted", price).build().unwrap();
    let mut events = Runner::new(asking).run_with(run, "Hello.");
    let run = Arc::clone(events.run());
    let mut end = None;
    while let Some(event) = events.next().await {
        if let AgentEventKind::Ended { end: reached } = event.kind {
            end = Some(reached);
        }
    }
    let usage = end.unwrap().usage;
    assert_eq!((usage.rounds, usage.input, usage.output), (2, 300, 60)); // W08: the model of the agent
    let mut additional = used(30, 6);
    (additional.cached, additional.cache_written, additional.reasoning) = (Some(12), Some(9), Some(3));
    assert_eq!(usage.additional, additional); // W08: separately
    assert_eq!((usage.tokens(), usage.cost, run.spent().tokens), (396, Some(396.0), 396)); // W08: the sums
    assert!(asked.requests().iter().all(|request| Arc::ptr_eq(&request.run, &run)));
    let json = serde_json::to_value(usage).unwrap();
    assert_eq!(json["additional"], serde_json::to_value(additional).unwrap()); // W08

    let (builder, model) = agent(replies());
    let limits = Limits { tokens: Some(121), ..Limits::default() };
    let end =
        Runner::new(builder.hook(Asking(small())).limits(limits).build().unwrap()).run("Hello.").end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Tokens, .. }), "{:?}", end.reason);
    assert_eq!(model.requests().len(), 1);
    // A response of a hook without counts.
    let (builder, _) = agent(replies());
    let uncounted = ScriptedModel::new([Reply::text("All.")]);
    let limits = Limits { cost: Some(1e9), ..Limits::default() };
    let builder = builder.hook(Asking(uncounted)).limits(limits).price("scripted", price);
    let end = Runner::new(builder.build().unwrap()).run("Hello.").end().await;
    let EndReason::Limit { limit: Limit::Cost, message } = end.reason else { panic!("{:?}", end.reason) };
    assert!(message.contains("a response to a hook has no token counts"), "{message}");
}
