//! Limits, responses that are not an answer, and input checks.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tokio::sync::Notify;
use tool_agent::{
    Agent, AgentBuilder, AgentEventKind, End, EndReason, InputDecision, Limit, Limits, Part, Price, Runner,
    ScriptedModel,
    model::{ModelErrorKind, Reply, Response, ToolChoice},
};
use tool_runtime::{RunContext, ToolCall, dialect::Usage, prelude::*};

use super::open::assert_valid;

/// Counts its calls.
#[tool]
fn count(n: u32, calls: &AtomicU32) -> u32 {
    calls.fetch_add(1, Ordering::Relaxed);
    n
}

fn counts(n: u32) -> Reply {
    Reply::call("count", json!({ "n": n }))
}

fn usage(input: u64, output: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(input), Some(output));
    usage
}

struct Setup {
    agent: AgentBuilder,
    model: ScriptedModel,
    calls: Arc<AtomicU32>,
}

fn setup(replies: impl IntoIterator<Item = Reply>) -> Setup {
    let calls = Arc::new(AtomicU32::new(0));
    let tools = Registry::builder().tool::<count>().provide_shared(Arc::clone(&calls)).build().unwrap();
    let model = ScriptedModel::new(replies);
    Setup { agent: Agent::builder("counter", model.clone()).tools(tools), model, calls }
}

/// Runs an agent in a session, whose conversation a provider must accept afterwards.
async fn ended(agent: AgentBuilder) -> End {
    let runner = Runner::new(agent.build().unwrap());
    let run = || RunContext::new().with_session("s");
    let end = runner.run_with(run(), "Count.").end().await;
    assert_valid(&runner.history(&run()).await);
    end
}

fn reached(end: &End) -> Option<Limit> {
    match end.reason {
        EndReason::Limit { limit, .. } => Some(limit),
        _ => None,
    }
}

#[tokio::test]
async fn calls_beyond_their_limit_are_answered_and_not_executed() {
    let Setup { agent, calls, .. } = setup([counts(1), counts(2), counts(3)]);
    let end = ended(agent.limits(Limits { calls: Some(2), ..Limits::default() })).await;
    assert_eq!((reached(&end), calls.load(Ordering::Relaxed)), (Some(Limit::Calls), 2));
}

#[tokio::test]
async fn the_same_calls_again_and_again_end_the_run() {
    let Setup { agent, calls, .. } = setup((0..9).map(|_| counts(1)));
    let end = ended(agent.limits(Limits { repeated_calls: Some(3), ..Limits::default() })).await;
    assert_eq!((reached(&end), calls.load(Ordering::Relaxed)), (Some(Limit::RepeatedCalls), 3));
}

#[tokio::test]
async fn new_calls_without_an_end_reach_the_limit_of_rounds() {
    let Setup { agent, calls, .. } = setup((0..99).map(counts));
    let end = ended(agent).await;
    assert_eq!((reached(&end), calls.load(Ordering::Relaxed)), (Some(Limit::Rounds), 50)); // G12
}

#[tokio::test]
async fn tokens_are_summed_and_limited() {
    let replies = [counts(1).with_usage(usage(60, 5)), counts(2).with_usage(usage(70, 5)), Reply::text("2")];
    let Setup { agent, model, .. } = setup(replies);
    let end = ended(agent.limits(Limits { tokens: Some(140), ..Limits::default() })).await;
    assert_eq!((reached(&end), model.requests().len()), (Some(Limit::Tokens), 2));
    assert_eq!((end.usage.rounds, end.usage.input, end.usage.output), (2, 130, 10)); // W08
}

#[tokio::test]
async fn the_cost_is_summed_by_the_prices_of_the_program_and_limited() {
    let price = Price { input: 2.0, cached_input: 0.5, cache_write: 4.0, output: 10.0 };
    let mut first = usage(1_000_000, 100_000);
    (first.cached, first.cache_written) = (Some(400_000), Some(100_000));
    let replies = [counts(1).with_usage(first), counts(2).with_usage(usage(1_000_000, 0)), Reply::text("2")];
    let Setup { agent, model, .. } = setup(replies);
    let limits = Limits { cost: Some(4.0), ..Limits::default() };
    let end = ended(agent.price("scripted", price).limits(limits)).await;
    assert_eq!((reached(&end), model.requests().len()), (Some(Limit::Cost), 2));
    // 500,000 new, 400,000 cached, 100,000 written, 100,000 of output; then 1,000,000 new.
    assert!((end.usage.cost.unwrap() - (1.0 + 0.2 + 0.4 + 1.0 + 2.0)).abs() < 1e-9);
}

#[tokio::test]
async fn a_limited_cost_requires_a_price_and_token_counts() {
    let limits = Limits { cost: Some(4.0), ..Limits::default() };
    let Setup { agent, model, .. } = setup([Reply::text("1")]);
    let end = ended(agent.limits(limits.clone())).await;
    assert_eq!((reached(&end), model.requests().len()), (Some(Limit::Cost), 0));
    let Setup { agent, model, .. } = setup([counts(1), Reply::text("1")]);
    let end = ended(agent.price("scripted", Price::default()).limits(limits)).await;
    assert_eq!((reached(&end), model.requests().len()), (Some(Limit::Cost), 1));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_is_limited() {
    struct Stuck;
    impl tool_agent::Model for Stuck {
        fn name(&self) -> &str {
            "stuck"
        }
        fn respond(&self, _: tool_agent::model::Request) -> tool_agent::model::ResponseStream {
            tool_agent::model::ResponseStream::of_future(std::future::pending())
        }
    }
    let limits = Limits { time: Some(std::time::Duration::from_millis(50)), ..Limits::default() };
    let end = ended(Agent::builder("slow", Stuck).limits(limits)).await;
    assert_eq!(reached(&end), Some(Limit::Time));
}

#[tokio::test]
async fn an_empty_response_is_asked_for_again_once() {
    let Setup { agent, model, .. } = setup([Reply::parts([]), Reply::text("1")]);
    assert_eq!(ended(agent).await.text, "1");
    assert_eq!(model.requests()[1].messages.len(), 1);
    let Setup { agent, model, .. } = setup([Reply::parts([]), Reply::parts([]), Reply::text("1")]);
    assert_eq!((ended(agent).await.reason, model.requests().len()), (EndReason::Empty, 2));
}

#[tokio::test]
async fn a_broken_response_is_asked_for_again_once() {
    let broken = || Reply::error(ModelErrorKind::Malformed, "cut");
    let Setup { agent, .. } = setup([broken(), Reply::text("1")]);
    assert_eq!(ended(agent).await.text, "1");
    let Setup { agent, model, .. } = setup([broken(), broken(), Reply::text("1")]);
    let end = ended(agent).await;
    assert!(matches!(end.reason, EndReason::ModelFailed { kind: ModelErrorKind::Malformed, .. }));
    assert_eq!(model.requests().len(), 2);
}

fn truncated(parts: impl IntoIterator<Item = Part>) -> Reply {
    let mut response = Response::new(tool_agent::Message::assistant(parts));
    (response.truncated, response.stop_reason) = (true, Some("length".to_owned()));
    response.into()
}

#[tokio::test]
async fn a_truncated_response_never_executes_its_last_call() {
    let call = |n: u32| Part::Call(ToolCall::new("count", json!({ "n": n })));
    let Setup { agent, model, calls } = setup([truncated([call(1), call(2)]), Reply::text("1")]);
    assert_eq!(ended(agent).await.text, "1");
    assert_eq!(calls.load(Ordering::Relaxed), 1); // D17
    let last = model.requests()[1].messages.last().unwrap().clone();
    let errors: Vec<_> = last.tool_results().map(|result| result.is_error()).collect();
    assert_eq!(errors, [false, true]);
    let Setup { agent, .. } = setup([truncated([Part::Text("One, t".to_owned())])]);
    let end = ended(agent).await;
    assert_eq!((end.reason.is_success(), end.text.as_str()), (false, "One, t"));
}

#[tokio::test]
async fn unknown_tools_and_invalid_arguments_are_answered_until_a_limit() {
    let unknown = || Reply::call("cuont", json!({ "n": 1 }));
    let Setup { agent, model, calls } =
        setup([unknown(), Reply::call("count", json!({ "n": "x" })), Reply::text("?")]);
    assert_eq!(ended(agent).await.text, "?");
    assert_eq!((model.requests().len(), calls.load(Ordering::Relaxed)), (3, 0));
    let Setup { agent, .. } = setup((0..9).map(|_| Reply::call("count", json!({ "n": "x" }))));
    assert_eq!(reached(&ended(agent).await), Some(Limit::RepeatedCalls));
}

#[tokio::test]
async fn a_refusal_of_the_provider_ends_the_run() {
    let Setup { agent, .. } = setup([Reply::error(ModelErrorKind::Refused, "no")]);
    let end = ended(agent).await;
    assert!(matches!(end.reason, EndReason::ModelFailed { kind: ModelErrorKind::Refused, .. }));
}

#[tokio::test]
async fn a_refused_input_withdraws_the_answer_runs_no_tool_and_stores_nothing() {
    let reply =
        Reply::parts([Part::Text("Sure.".to_owned()), Part::Call(ToolCall::new("count", json!({ "n": 1 })))]);
    let Setup { agent, calls, .. } = setup([reply]);
    let shown = Arc::new(Notify::new());
    let seen = Arc::clone(&shown);
    let agent = agent.input_check(move |_, message| {
        let seen = Arc::clone(&seen);
        async move {
            // Decides only after the text of the answer was shown.
            seen.notified().await;
            Ok(InputDecision::Refuse(format!("`{}` is not allowed", message.text())))
        }
    });
    let runner = Runner::new(agent.build().unwrap());
    let run = || RunContext::new().with_session("s");
    let mut events = runner.run_with(run(), "Count.");
    let mut kinds = Vec::new();
    while let Some(event) = events.next().await {
        if matches!(event.kind, AgentEventKind::Text { .. }) {
            shown.notify_one();
        }
        kinds.push(serde_json::to_value(&event).unwrap()["type"].as_str().unwrap().to_owned());
        if let AgentEventKind::Ended { end } = event.kind {
            assert_eq!(end.reason, EndReason::Refused { message: "`Count.` is not allowed".to_owned() });
        }
    }
    assert_eq!(kinds, ["message", "text", "withdrawn", "ended"]);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    assert!(runner.history(&run()).await.is_empty());
}

#[tokio::test]
async fn an_accepted_input_and_a_failed_check() {
    let Setup { agent, calls, .. } = setup([counts(1), Reply::text("1")]);
    let agent = agent.input_check(|_, _| async {
        tokio::task::yield_now().await;
        Ok(InputDecision::Accept)
    });
    assert_eq!((ended(agent).await.reason, calls.load(Ordering::Relaxed)), (EndReason::Answered, 1));
    let Setup { agent, calls, .. } = setup([counts(1), Reply::text("1")]);
    let end = ended(agent.input_check(|_, _| async { panic!("no check") })).await;
    assert!(matches!(end.reason, EndReason::Failed { .. }), "{:?}", end.reason);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_message_that_no_check_accepted_is_in_no_later_request() {
    let Setup { agent, model, .. } = setup([
        Reply::error(ModelErrorKind::Other, "down"),
        Reply::text("Yes."),
        Reply::text("Lost."),
        Reply::text("No."),
    ]);
    let agent = agent.input_check(|_, message| async move {
        if message.text() == "Forbidden." {
            std::future::pending::<()>().await;
        }
        Ok(InputDecision::Accept)
    });
    let runner = Runner::new(agent.build().unwrap());
    let run = || RunContext::new().with_session("s");
    // The model fails while the check still waits.
    let end = runner.run_with(run(), "Forbidden.").end().await;
    assert!(matches!(end.reason, EndReason::ModelFailed { .. }));
    assert!(runner.history(&run()).await.is_empty());
    assert_eq!(runner.run_with(run(), "Go on?").answer().await.unwrap(), "Yes.");
    assert_eq!(model.requests()[1].messages.len(), 1);
    // A run that is dropped while it receives its answer.
    let mut dropped = runner.run_with(run(), "Forbidden.");
    dropped.next().await.unwrap();
    drop(dropped);
    assert_eq!(runner.history(&run()).await.len(), 2);
    assert_eq!(runner.run_with(run(), "And now?").answer().await.unwrap(), "No.");
    assert_eq!(model.requests().last().unwrap().messages.len(), 3);
}

#[tokio::test]
async fn a_response_with_too_many_calls_runs_none_of_them() {
    let many = (0..129).map(|n| ToolCall::new("count", json!({ "n": n })));
    let Setup { agent, calls, .. } = setup([Reply::calls(many)]);
    let end = ended(agent).await;
    assert_eq!((reached(&end), calls.load(Ordering::Relaxed)), (Some(Limit::Calls), 0));
}

#[tokio::test]
async fn a_forced_choice_of_tools_applies_until_the_first_call() {
    for choice in [ToolChoice::Required, ToolChoice::Tool("count".into()), ToolChoice::None] {
        let Setup { agent, model, .. } = setup([counts(1), counts(2), Reply::text("2")]);
        ended(agent.tool_choice(choice.clone())).await;
        let choices: Vec<_> = model.requests().into_iter().map(|it| it.tool_choice).collect();
        let later = if choice.is_forced() { ToolChoice::Auto } else { choice.clone() };
        assert_eq!(choices, [choice, later.clone(), later]);
    }
}

#[tokio::test]
async fn a_truncated_response_without_text_ends_the_run_and_is_not_stored() {
    let Setup { agent, model, .. } = setup([truncated([]), Reply::text("1")]);
    let runner = Runner::new(agent.build().unwrap());
    let run = || RunContext::new().with_session("s");
    let end = runner.run_with(run(), "Count.").end().await;
    assert_eq!(end.reason, EndReason::Truncated { stop_reason: Some("length".to_owned()) });
    assert_eq!((model.requests().len(), runner.history(&run()).await.len()), (1, 1));
}

#[tokio::test]
async fn each_empty_or_broken_response_is_asked_for_again_once() {
    let broken = || Reply::error(ModelErrorKind::Malformed, "cut");
    let empty = || Reply::parts([]);
    for replies in [
        [broken(), counts(1), broken(), counts(2), Reply::text("2")],
        [empty(), counts(1), empty(), counts(2), Reply::text("2")],
    ] {
        let Setup { agent, model, .. } = setup(replies);
        assert_eq!((ended(agent).await.text.as_str(), model.requests().len()), ("2", 5));
    }
}

#[tokio::test]
async fn a_check_that_waits_while_the_model_is_asked_again_still_holds_back_the_tools() {
    let broken = Reply::error(ModelErrorKind::Malformed, "cut");
    let Setup { agent, model, calls } = setup([broken, counts(1), Reply::text("1")]);
    let asked = model.clone();
    let agent = agent.input_check(move |_, _| {
        let asked = asked.clone();
        async move {
            while asked.requests().len() < 2 {
                tokio::task::yield_now().await;
            }
            Ok(InputDecision::Refuse("no".to_owned()))
        }
    });
    let end = ended(agent).await;
    assert_eq!(end.reason, EndReason::Refused { message: "no".to_owned() });
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}
