//! Conversations that are longer than the context window.

use tool_agent::{
    Agent, AgentBuilder, Compaction, EndReason, Message, Runner, ScriptedModel,
    model::{ModelErrorKind, Reply},
};
use tool_runtime::{RunContext, dialect::Usage, prelude::*};

use super::open::assert_valid;

/// Reads a page of a book.
#[tool(read_only)]
fn page(number: u32) -> String {
    format!("{number} {}", "word ".repeat(200))
}

fn agent(replies: impl IntoIterator<Item = Reply>) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    let tools = Registry::builder().tool::<page>().build().unwrap();
    (Agent::builder("reader", model.clone()).tools(tools), model)
}

fn pages(count: u32) -> impl Iterator<Item = Reply> {
    (0..count).map(|number| Reply::call("page", json!({ "number": number }))).chain([Reply::text("The end.")])
}

fn run() -> RunContext {
    RunContext::new().with_session("s")
}

#[tokio::test]
async fn a_long_conversation_is_compacted_in_the_request_and_whole_in_the_session() {
    let (agent, model) = agent(pages(20));
    let runner = Runner::new(agent.context_window(2_000).build().unwrap());
    assert_eq!(runner.run_with(run(), "Read it.").answer().await.unwrap(), "The end.");
    for request in model.requests() {
        assert_valid(&request.messages);
        assert_eq!(request.messages[0].text(), "Read it.");
        assert!(request.messages.len() < 20, "{}", request.messages.len());
    }
    let last = model.requests().pop().unwrap();
    assert!(last.messages[1].text().contains("left out"));
    let history = runner.history(&run()).await;
    assert_eq!(history.len(), 42);
    assert_valid(&history);
}

#[tokio::test]
async fn a_conversation_within_the_share_is_not_compacted() {
    let (agent, model) = agent(pages(5));
    let runner = Runner::new(agent.context_window(200_000).build().unwrap());
    runner.run("Read it.").answer().await.unwrap();
    assert_eq!(model.requests()[5].messages.len(), 11);
}

#[tokio::test]
async fn a_provider_that_finds_the_conversation_too_long_is_asked_once_more() {
    let too_long = || Reply::error(ModelErrorKind::ContextTooLong, "too long");
    let mut replies: Vec<_> = pages(20).collect();
    replies.insert(20, too_long());
    let (first, model) = agent(replies);
    assert_eq!(Runner::new(first.build().unwrap()).run("Read it.").answer().await.unwrap(), "The end.");
    let lengths: Vec<_> = model.requests()[20..].iter().map(|it| it.messages.len()).collect();
    assert_eq!(lengths[0], 41);
    assert!(lengths[1] < 25, "{lengths:?}");

    let mut replies: Vec<_> = pages(20).collect();
    replies.splice(20..20, [too_long(), too_long()]);
    let (second, _) = agent(replies);
    let end = Runner::new(second.build().unwrap()).run("Read it.").end().await;
    assert!(matches!(end.reason, EndReason::ModelFailed { kind: ModelErrorKind::ContextTooLong, .. }));
}

#[tokio::test]
async fn a_compaction_of_the_program_replaces_the_conversation_and_may_not_separate_calls() {
    let (first, model) = agent(pages(4));
    let summary = Compaction::by(|conversation| async move {
        assert!(conversation.tokens.is_some());
        Ok(vec![Message::user("A summary."), Message::user("Read on.")])
    });
    let runner = Runner::new(first.context_window(700).compaction(summary).build().unwrap());
    assert_eq!(runner.run("Read it.").answer().await.unwrap(), "The end.");
    assert!(model.requests().iter().any(|request| request.messages[0].text() == "A summary."));

    let (second, _) = agent(pages(4));
    let torn = Compaction::by(|conversation| async move {
        Ok(conversation.messages.into_iter().filter(|it| it.tool_results().next().is_none()).collect())
    });
    let headless = Compaction::by(|conversation| async move {
        let results = conversation.messages.iter().position(|it| it.tool_results().next().is_some());
        Ok(conversation.messages.into_iter().skip(results.unwrap_or(0)).collect())
    });
    let (third, _) = agent(pages(4));
    for (builder, compaction) in [(second, torn), (third, headless)] {
        let built = builder.context_window(700).compaction(compaction).build().unwrap();
        let end = Runner::new(built).run("Read it.").end().await;
        assert!(matches!(end.reason, EndReason::Failed { .. }), "{:?}", end.reason);
    }
}

#[tokio::test]
async fn a_reminder_of_the_run_does_not_take_the_place_of_the_last_question_of_the_user() {
    let replies = [Reply::text("Hello."), Reply::text("A text in place of the output.")].into_iter();
    let output = Reply::call("submit_output", json!({ "output": 7 }));
    let (agent, model) = agent(replies.chain(pages(20).take(20)).chain([output]));
    let runner = Runner::new(agent.context_window(2_000).build().unwrap());
    runner.run_with(run(), "Good morning.").answer().await.unwrap();
    let pages = runner.run_structured_with::<u32>(run(), "How many pages has the book?").await.unwrap();
    assert_eq!(pages, 7);
    let requests = model.requests();
    assert!(requests[2].messages.last().unwrap().text().contains("submit_output"));
    for request in &requests[1..] {
        let texts: Vec<_> = request.messages.iter().map(Message::text).collect();
        assert!(texts.iter().any(|text| text == "How many pages has the book?"), "{texts:?}");
        assert!(texts.len() < 20, "{}", texts.len());
    }
}

#[tokio::test]
async fn the_first_request_of_a_run_that_is_too_long_is_asked_once_more() {
    let too_long = Reply::error(ModelErrorKind::ContextTooLong, "too long");
    let (agent, model) = agent(pages(20).chain([too_long, Reply::text("Yes.")]));
    let runner = Runner::new(agent.build().unwrap());
    runner.run_with(run(), "Read it.").answer().await.unwrap();
    assert_eq!(runner.run_with(run(), "All of it?").answer().await.unwrap(), "Yes.");
    let lengths: Vec<_> = model.requests()[21..].iter().map(|it| it.messages.len()).collect();
    assert_eq!(lengths[0], 43);
    assert!(lengths[1] < 25, "{lengths:?}");
}

#[tokio::test]
async fn a_conversation_that_cannot_be_shortened_is_not_sent_again() {
    let too_long = Reply::error(ModelErrorKind::ContextTooLong, "too long");
    // The question, a call, and its result: a note in place of the two would save one message, but the calls must stay.
    let replies = [Reply::call("page", json!({ "number": 1 })), too_long, Reply::text("The end.")];
    let (agent, model) = agent(replies);
    let end = Runner::new(agent.build().unwrap()).run("Read it.").end().await;
    assert!(matches!(end.reason, EndReason::ModelFailed { kind: ModelErrorKind::ContextTooLong, .. }));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn the_share_of_the_window_decides_when_a_conversation_is_compacted() {
    // Each page is about 260 tokens by the estimate.
    for (share, is_compacted) in [(0.9, false), (0.1, true)] {
        let (agent, model) = agent(pages(20));
        let compaction = Compaction::new().with_share(share);
        let runner = Runner::new(agent.context_window(10_000).compaction(compaction).build().unwrap());
        runner.run("Read it.").answer().await.unwrap();
        let last = model.requests().pop().unwrap();
        assert_eq!(last.messages.len() < 41, is_compacted, "{share}: {}", last.messages.len());
    }
}

#[tokio::test]
async fn token_counts_of_responses_take_the_place_of_the_estimate() {
    // A page is about 256 tokens by the estimate, which counts for the messages after the last response only.
    for (tokens, window, is_compacted) in [(10, 500, false), (9_000, 10_000, true)] {
        let mut usage = Usage::default();
        usage.input = Some(tokens);
        let (agent, model) = agent(pages(20).map(|reply| reply.with_usage(usage)));
        let runner = Runner::new(agent.context_window(window).build().unwrap());
        runner.run("Read it.").answer().await.unwrap();
        let last = model.requests().pop().unwrap();
        assert_eq!(last.messages.len() < 41, is_compacted, "{tokens}: {}", last.messages.len());
    }
}

#[tokio::test]
async fn a_conversation_is_compacted_above_its_share_and_not_at_it() {
    // Six tokens by the estimate: eight bytes, and the message.
    for (window, is_compacted) in [(6, false), (5, true)] {
        let model = ScriptedModel::new([Reply::text("Yes.")]);
        let compaction = Compaction::by(|_| async { Ok(vec![Message::user("A summary.")]) }).with_share(1.0);
        let reader = Agent::builder("reader", model.clone()).context_window(window).compaction(compaction);
        Runner::new(reader.build().unwrap()).run("Read it!").answer().await.unwrap();
        let expected = if is_compacted { "A summary." } else { "Read it!" };
        assert_eq!(model.requests()[0].messages[0].text(), expected, "{window}");
    }
}
