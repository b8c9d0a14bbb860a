//! Limits of a run at their exact values, and the sentences that it ends with.

use tool_agent::{
    Agent, AgentEventKind, AgentTool, End, EndReason, Limit, Limits, Price, Runner, ScriptedModel,
    model::{Model as _, Reply},
};
use tool_runtime::{ToolCall, dialect::Usage, prelude::*};

/// Counts.
#[tool]
fn count(n: u32) -> u32 {
    n
}

fn calling(numbers: &[u32]) -> Reply {
    let calls = numbers.iter().map(|n| ToolCall::new("count", json!({ "n": n })));
    Reply::calls(calls.collect::<Vec<_>>()).with_usage(usage(60, 5))
}

fn usage(input: u64, output: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(input), Some(output));
    usage
}

/// Runs an agent whose responses cost 60; returns its end, and the number of its requests.
async fn ended(limits: Limits, replies: Vec<Reply>) -> (End, usize) {
    let model = ScriptedModel::new(replies);
    let tools = Registry::builder().tool::<count>().build().unwrap();
    let price = Price { input: 1e6, ..Price::default() };
    let agent =
        Agent::builder("counter", model.clone()).tools(tools).price(model.name(), price).limits(limits);
    let end = Runner::new(agent.build().unwrap()).run("Count.").end().await;
    (end, model.requests().len())
}

fn unlimited() -> Limits {
    Limits {
        rounds: None,
        calls: None,
        calls_per_response: None,
        tokens: None,
        cost: None,
        time: None,
        repeated_calls: None,
        transfers: None,
    }
}

fn rounds(max: u64) -> Limits {
    Limits { rounds: Some(max), ..unlimited() }
}

#[tokio::test]
async fn each_limit_ends_a_run_at_its_value_and_not_above_it() {
    let two = || vec![calling(&[1]), calling(&[2]), Reply::text("2")];
    let same = || vec![calling(&[1]), calling(&[1]), Reply::text("1")];
    let both = || vec![calling(&[1, 2]), Reply::text("2")];
    let tokens = |max: u64| Limits { tokens: Some(max), ..unlimited() };
    let calls = |max: u64| Limits { calls: Some(max), ..unlimited() };
    let at_once = |max: u64| Limits { calls_per_response: Some(max), ..unlimited() };
    let cost = |max: f64| Limits { cost: Some(max), ..unlimited() };
    let repeated = |max: u64| Limits { repeated_calls: Some(max), ..unlimited() };
    for (limits, replies, limit, requests, sentence) in [
        (
            rounds(2),
            two(),
            Limit::Rounds,
            2,
            "the run made 2 requests to the model, which is the limit `Limits::rounds`",
        ),
        (tokens(65), two(), Limit::Tokens, 1, "the run used 65 tokens, and may use 65"),
        (tokens(66), two(), Limit::Tokens, 2, "the run used 130 tokens, and may use 66"),
        (
            calls(1),
            two(),
            Limit::Calls,
            2,
            "the run may make at most 1 calls, which is the limit `Limits::calls`",
        ),
        (
            at_once(1),
            both(),
            Limit::Calls,
            1,
            "the model made 2 calls in one response, and may make 1, which is the limit `Limits::calls_per_response`",
        ),
        (cost(60.0), two(), Limit::Cost, 1, "the run cost 60, and may cost 60"),
        (cost(60.5), two(), Limit::Cost, 2, "the run cost 120, and may cost 60.5"),
        (
            repeated(1),
            same(),
            Limit::RepeatedCalls,
            2,
            "the model made the same calls more than 1 times in a row",
        ),
        // The first of several.
        (
            Limits { tokens: Some(1), cost: Some(1.0), ..rounds(1) },
            two(),
            Limit::Rounds,
            1,
            "the run made 1 requests to the model, which is the limit `Limits::rounds`",
        ),
        (
            Limits { cost: Some(1.0), ..tokens(1) },
            two(),
            Limit::Tokens,
            1,
            "the run used 65 tokens, and may use 1",
        ),
    ] {
        let shown = format!("{limits:?}");
        let (end, count) = ended(limits, replies).await;
        assert_eq!(end.reason, EndReason::Limit { limit, message: sentence.to_owned() }, "{shown}"); // G12
        assert_eq!(count, requests, "{shown}");
    }
    for (limits, replies) in [
        (rounds(3), two()),
        (tokens(131), two()),
        (calls(2), two()),
        (calls(2), both()),
        (at_once(1), two()),
        (at_once(2), both()),
        (cost(120.5), two()),
        (repeated(2), same()),
        (repeated(1), two()),
        (unlimited(), two()),
    ] {
        let shown = format!("{limits:?}");
        let (end, _) = ended(limits, replies).await;
        assert_eq!(end.reason, EndReason::Answered, "{shown}");
    }
}

#[tokio::test]
async fn a_cost_that_is_not_known_ends_a_run_whose_cost_is_limited() {
    let limits = || Limits { cost: Some(1e9), ..unlimited() };
    let uncounted = || vec![Reply::calls([ToolCall::new("count", json!({ "n": 1 }))]), Reply::text("1")];
    let (end, requests) = ended(limits(), uncounted()).await;
    let message = "the cost of the run is limited, and a response has no token counts".to_owned();
    assert_eq!((end.reason, requests), (EndReason::Limit { limit: Limit::Cost, message }, 1));
    // Without a limit of tokens or cost, nothing needs the counts.
    for (limits, notices) in
        [(unlimited(), 0), (rounds(9), 0), (Limits { tokens: Some(1_000), ..unlimited() }, 2), (limits(), 1)]
    {
        let model = ScriptedModel::new(uncounted());
        let tools = Registry::builder().tool::<count>().build().unwrap();
        let agent = Agent::builder("counter", model.clone()).tools(tools).limits(limits.clone());
        let agent = agent.price(model.name(), Price::default()).build().unwrap();
        let mut events = Runner::new(agent).run("Count.");
        let mut count = 0;
        while let Some(event) = events.next().await {
            if let AgentEventKind::Notice { text } = event.kind {
                assert_eq!(text, "a response has no token counts");
                count += 1;
            }
        }
        assert_eq!(count, notices, "{limits:?}");
    }
    let model = ScriptedModel::new([Reply::text("1")]);
    let agent = Agent::builder("counter", model.clone()).limits(limits()).build().unwrap();
    let end = Runner::new(agent).run("Count.").end().await;
    let message = format!(
        "the cost of the run is limited, and the model `{}` has no price; set it by `AgentBuilder::price`",
        model.name()
    );
    assert_eq!(end.reason, EndReason::Limit { limit: Limit::Cost, message });
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn the_usage_of_a_run_is_the_sum_of_its_responses() {
    let (end, _) = ended(unlimited(), vec![calling(&[1, 2]), calling(&[3]), Reply::text("3")]).await;
    let usage = end.usage;
    assert_eq!((usage.rounds, usage.calls), (3, 3));
    assert_eq!((usage.input, usage.output, usage.cached, usage.cache_written), (120, 10, 0, 0));
    assert_eq!(usage.cost, Some(120.0));
}

#[tokio::test]
async fn a_cost_that_leaves_out_a_response_says_so() {
    let uncounted = || Reply::calls([ToolCall::new("count", json!({ "n": 1 }))]);
    let counted_text = || Reply::text("1").with_usage(usage(60, 5));
    for (replies, cost, is_unknown) in [
        (vec![calling(&[1]), Reply::text("1")], Some(60.0), true),
        (vec![uncounted(), counted_text()], Some(60.0), true),
        (vec![calling(&[1]), counted_text()], Some(120.0), false),
        (vec![Reply::text("1")], None, false),
    ] {
        let usage = ended(unlimited(), replies).await.0.usage;
        assert_eq!((usage.cost, usage.has_unknown_cost), (cost, is_unknown), "{usage:?}");
    }
}

#[tokio::test]
async fn a_run_below_a_call_counts_for_the_limits_of_the_run_above() {
    let price = Price { input: 1e6, ..Price::default() };
    let cost = |max: f64| Limits { cost: Some(max), ..unlimited() };
    let unknown = "the cost of the run is limited, and the cost of a run below a call is not known";
    for (limits, is_priced, expected) in [
        (cost(1e9), true, None),
        (cost(1e9), false, Some((Limit::Cost, unknown))),
        (cost(120.5), true, None),
        (cost(120.0), true, Some((Limit::Cost, "the run cost 120, and may cost 120"))),
        (Limits { tokens: Some(131), ..unlimited() }, false, None),
        (
            Limits { tokens: Some(130), ..unlimited() },
            false,
            Some((Limit::Tokens, "the run used 130 tokens, and may use 130")),
        ),
    ] {
        let below =
            Agent::builder("scout", ScriptedModel::new([Reply::text("Seen.").with_usage(usage(60, 5))]));
        let below = if is_priced { below.price("scripted", price) } else { below };
        let tool = AgentTool::new(below.build().unwrap()).unwrap();
        let call = Reply::call("scout", json!({ "request": "Go." })).with_usage(usage(60, 5));
        let model = ScriptedModel::new([call, Reply::text("Done.").with_usage(usage(0, 0))]);
        let tools = Registry::builder().add(tool).build().unwrap();
        let agent = Agent::builder("chief", model).tools(tools).price("scripted", price).limits(limits);
        let end = Runner::new(agent.build().unwrap()).run("Look.").end().await;
        let expected = match expected {
            None => EndReason::Answered,
            Some((limit, message)) => EndReason::Limit { limit, message: message.to_owned() },
        };
        assert_eq!(end.reason, expected);
        assert_eq!((end.usage.children.rounds, end.usage.children.tokens), (1, 65));
        assert_eq!(end.usage.children.cost, is_priced.then_some(60.0));
    }
}
