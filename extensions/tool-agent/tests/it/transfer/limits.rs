//! The limits of a run whose agents transfer it.

use std::time::Duration;

use tool_agent::{AgentBuilder, EndReason, Limit, Limits, Price, Runner, model::Reply};
use tool_runtime::{ToolCall, dialect::Usage, output::Actions, prelude::*};

use super::{agent, events_of, invoice, transfer, transfers};

fn look_up(number: u32) -> Reply {
    Reply::call("invoice", json!({ "number": number }))
}

fn limited(agent: AgentBuilder, limits: Limits) -> AgentBuilder {
    agent.tools(Registry::builder().tool::<invoice>().build().unwrap()).limits(limits)
}

fn message(reason: &EndReason, expected: Limit) -> &str {
    match reason {
        EndReason::Limit { limit, message } if *limit == expected => message,
        other => panic!("{other:?}"),
    }
}

/// Ends a run of a desk, which asks twice and transfers, and of an agent for invoices, which asks up to 3 times.
async fn end_with(desk_limits: Limits, billing_limits: Limits) -> EndReason {
    let (billing, _) = agent("billing", [look_up(3), look_up(4), Reply::text("Paid.")]);
    let (desk, _) = agent("desk", [look_up(1), look_up(2), transfer("billing")]);
    let billing = limited(billing, billing_limits).build().unwrap();
    let desk = limited(desk, desk_limits).sub_agent(billing).build().unwrap();
    events_of(&Runner::new(desk), "Hi.").await.1.reason
}

#[tokio::test]
async fn the_limits_of_the_root_count_for_the_whole_run_and_others_from_their_start() {
    let rounds = |rounds| Limits { rounds: Some(rounds), ..Limits::default() };
    assert!(end_with(Limits::default(), rounds(3)).await.is_success());
    let reason = end_with(Limits::default(), rounds(2)).await;
    assert_eq!(
        message(&reason, Limit::Rounds),
        "the agent `billing` made 2 requests to the model, which is the limit `Limits::rounds`"
    );
    assert!(end_with(rounds(6), Limits::default()).await.is_success());
    let reason = end_with(rounds(5), rounds(3)).await;
    assert_eq!(
        message(&reason, Limit::Rounds),
        "the run made 5 requests to the model, which is the limit `Limits::rounds`"
    );
    let calls = |calls| Limits { calls: Some(calls), ..Limits::default() };
    assert!(end_with(calls(5), calls(2)).await.is_success());
    let reason = end_with(calls(4), calls(2)).await;
    assert!(message(&reason, Limit::Calls).starts_with("the run may make at most 4 calls"));
    let reason = end_with(calls(5), calls(1)).await;
    assert!(message(&reason, Limit::Calls).starts_with("the agent `billing` may make at most 1 calls"));
    let in_one = Limits { calls_per_response: Some(0), ..Limits::default() };
    let reason = end_with(Limits::default(), in_one).await;
    assert!(message(&reason, Limit::Calls).contains("the model made 1 calls in one response"));
}

#[tokio::test]
async fn the_time_of_an_agent_begins_when_it_takes_over() {
    let time = |time| Limits { time: Some(Duration::from_secs(time)), ..Limits::default() };
    assert!(end_with(time(3_600), time(3_600)).await.is_success());
    let reason = end_with(time(3_600), Limits { time: Some(Duration::ZERO), ..Limits::default() }).await;
    assert_eq!(message(&reason, Limit::Time), "the time of the run is over");
}

#[tokio::test]
async fn tokens_and_cost_count_by_the_prices_of_the_agent_or_the_root() {
    let usage = || {
        let mut usage = Usage::default();
        (usage.input, usage.output) = (Some(40), Some(10));
        usage
    };
    let end = |desk_limits: Limits, billing_limits: Limits, is_priced: bool| async move {
        let (billing, _) =
            agent("billing", [look_up(1).with_usage(usage()), Reply::text("Paid.").with_usage(usage())]);
        let (desk, _) = agent("desk", [transfer("billing").with_usage(usage())]);
        let billing = limited(billing, billing_limits).build().unwrap();
        let mut desk = limited(desk, desk_limits).sub_agent(billing);
        if is_priced {
            desk = desk.price("scripted", Price { input: 1_000_000.0, output: 0.0, ..Price::default() });
        }
        events_of(&Runner::new(desk.build().unwrap()), "Hi.").await.1.reason
    };
    let tokens = |tokens| Limits { tokens: Some(tokens), ..Limits::default() };
    assert!(end(tokens(101), tokens(51), false).await.is_success());
    let reason = end(tokens(100), tokens(51), false).await;
    assert_eq!(message(&reason, Limit::Tokens), "the run used 100 tokens, and may use 100");
    let reason = end(tokens(101), tokens(50), false).await;
    assert_eq!(message(&reason, Limit::Tokens), "the agent `billing` used 50 tokens, and may use 50");
    let cost = |cost| Limits { cost: Some(cost), ..Limits::default() };
    assert!(end(cost(81.0), cost(41.0), true).await.is_success());
    let reason = end(cost(80.0), cost(41.0), true).await;
    assert_eq!(message(&reason, Limit::Cost), "the run cost 80, and may cost 80");
    let reason = end(cost(81.0), cost(40.0), true).await;
    assert_eq!(message(&reason, Limit::Cost), "the agent `billing` cost 40, and may cost 40");
    let reason = end(Limits::default(), cost(1.0), false).await;
    assert!(message(&reason, Limit::Cost).starts_with("the cost of the run is limited, and "), "{reason}");
}

/// Passes the conversation to an agent, as the program decides.
#[tool(register = false)]
fn pass_to(agent: String) -> ToolOutput {
    ToolOutput::from("passed on").with_actions(Actions { transfer: Some(agent), ..Actions::default() })
}

#[tokio::test]
async fn transfers_by_tools_of_the_program_end_at_the_limit_and_a_message_begins_anew() {
    let tools = || Registry::builder().tool::<pass_to>().build().unwrap();
    let pass = |to: &'static str| Reply::calls([ToolCall::new("pass_to", json!({ "agent": to }))]);
    let (billing, _) = agent("billing", [pass("desk"), Reply::text("Here.")]);
    let (desk, _) = agent("desk", [pass("billing"), pass("billing"), pass("billing")]);
    let limits = Limits { transfers: Some(2), ..Limits::default() };
    let billing = billing.tools(tools()).build().unwrap();
    let runner = Runner::new(desk.tools(tools()).limits(limits).sub_agent(billing).build().unwrap());
    let (events, end) = events_of(&runner, "Hi.").await;
    assert!(
        message(&end.reason, Limit::Transfers).starts_with("the agents transferred the conversation 2 times")
    );
    assert_eq!(transfers(&events), ["billing", "desk"]);
    let (events, end) = events_of(&runner, "Hi.").await;
    assert_eq!((transfers(&events), end.text.as_str()), (vec!["billing"], "Here."));

    // Without a limit, and with one of zero.
    for (max, expected) in [(None, 3), (Some(0), 0)] {
        let (billing, _) = agent("billing", [transfer("desk"), Reply::text("Here.")]);
        let (desk, _) = agent("desk", [transfer("billing"), transfer("billing")]);
        let limits = Limits { transfers: max, ..Limits::default() };
        let runner = Runner::new(desk.limits(limits).sub_agent(billing.build().unwrap()).build().unwrap());
        assert_eq!(transfers(&events_of(&runner, "Hi.").await.0).len(), expected);
    }
}
