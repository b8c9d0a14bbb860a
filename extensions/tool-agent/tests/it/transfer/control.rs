//! Transfers by tools of the program, what happens beside a transfer, and the agent of the next message.

use tool_agent::{AgentTool, EndReason, InputDecision, Message, Runner, model::Reply};
use tool_runtime::{ToolCall, output::Actions, prelude::*};

use super::{agent, desk, events_of, last_results, notices, run, transfer, transfers};

/// Passes the conversation to an agent, as the program decides.
#[tool(register = false)]
fn pass_to(agent: String, ends: bool) -> ToolOutput {
    let actions = Actions { transfer: Some(agent), skip_summarization: ends, ..Actions::default() };
    ToolOutput::from("passed on").with_actions(actions)
}

/// Ends the turn.
#[tool(register = false)]
fn finish() -> ToolOutput {
    ToolOutput::from("finished").with_actions(Actions { terminate: true, ..Actions::default() })
}

fn pass_to_call(agent: &str, ends: bool) -> ToolCall {
    ToolCall::new("pass_to", json!({ "agent": agent, "ends": ends }))
}

fn transfer_call(to: &str) -> ToolCall {
    ToolCall::new("transfer_to_agent", json!({ "agent_name": to }))
}

fn tools() -> Registry {
    Registry::builder().tool::<pass_to>().tool::<finish>().build().unwrap()
}

#[tokio::test]
async fn a_tool_of_the_program_transfers_to_any_agent_of_the_tree() {
    let (refunds, refunds_model) = agent("refunds", [Reply::calls([pass_to_call("desk", false)])]);
    let (billing, _) = agent("billing", []);
    let billing = billing.sub_agent(refunds.tools(tools()).build().unwrap()).build().unwrap();
    let replies =
        [Reply::calls([pass_to_call("refunds", false)]), Reply::text("Back."), Reply::text("Here.")];
    let (desk, _) = agent("desk", replies);
    let runner = Runner::new(desk.tools(tools()).sub_agent(billing).build().unwrap());
    let (events, end) = events_of(&runner, "Hi.").await;
    assert_eq!((transfers(&events), end.text.as_str()), (vec!["refunds", "desk"], "Back.")); // V08
    assert_eq!(last_results(&refunds_model.requests()[0].messages), ["passed on"]);
    // The root has the conversation again.
    assert_eq!(runner.run_with(run(), "Who?").answer().await.unwrap(), "Here.");
}

#[tokio::test]
async fn the_tools_that_an_agent_receives_change_nothing_outside_of_the_run() {
    let (billing, _) = agent("billing", []);
    let (desk, model) = agent("desk", [Reply::text("Hello.")]);
    let desk = desk.sub_agent(billing.build().unwrap()).await_user_reply(true).build().unwrap();
    Runner::new(desk).run_with(run(), "Hi.").end().await;
    let request = &model.requests()[0];
    let mut names = Vec::new();
    for definition in request.tools.definitions() {
        names.push(definition.name().to_string());
        let metadata = definition.metadata();
        assert_eq!((metadata.read_only, metadata.idempotent), (Some(true), Some(true)));
        assert_eq!(definition.input_schema().to_value()["additionalProperties"], false);
    }
    assert_eq!(names, ["await_user_reply", "transfer_to_agent"]);
}

#[tokio::test]
async fn a_transfer_to_an_agent_of_no_tree_has_no_effect_and_one_to_itself_is_none() {
    let replies = [
        Reply::calls([pass_to_call("treasury", false)]),
        Reply::calls([pass_to_call("desk", false)]),
        Reply::text("Still me."),
    ];
    let (desk, _, billing) = desk(replies, []);
    let (events, end) = events_of(&Runner::new(desk.tools(tools()).build().unwrap()), "Hi.").await;
    assert_eq!((transfers(&events).len(), end.text.as_str(), billing.requests().len()), (0, "Still me.", 0));
    let notices = notices(&events);
    assert!(
        notices[0].starts_with("a tool asked for a transfer to the agent `treasury`, which has no effect")
    );
    assert_eq!(notices.len(), 1);
}

#[tokio::test]
async fn all_calls_beside_a_transfer_are_answered_first_and_the_later_of_two_wins() {
    let (tech, tech_model) = agent("tech", [Reply::text("I fix it.")]);
    let calls = [
        transfer_call("billing"),
        pass_to_call("desk", false),
        transfer_call("tech"),
        pass_to_call("x", false),
    ];
    let (desk, _, billing) = desk([Reply::calls(calls)], []);
    let desk = desk.tools(tools()).sub_agent(tech.build().unwrap()).build().unwrap();
    let (events, end) = events_of(&Runner::new(desk), "Hi.").await;
    // The last one names no agent: it alone decides, and control stays.
    assert!(matches!(end.reason, EndReason::ModelFailed { .. }), "{end}");
    assert_eq!((transfers(&events).len(), billing.requests().len(), tech_model.requests().len()), (0, 0, 0));

    let (tech, tech_model) = agent("tech", [Reply::text("I fix it.")]);
    let calls = [transfer_call("billing"), pass_to_call("desk", false), transfer_call("tech")];
    let (desk, _, billing) = super::desk([Reply::calls(calls)], []);
    let desk = desk.tools(tools()).sub_agent(tech.build().unwrap()).build().unwrap();
    let (events, end) = events_of(&Runner::new(desk), "Hi.").await;
    assert_eq!((transfers(&events), end.text.as_str()), (vec!["tech"], "I fix it."));
    assert_eq!(last_results(&tech_model.requests()[0].messages).len(), 3);
    assert!(billing.requests().is_empty());
}

#[tokio::test]
async fn a_transfer_moves_control_although_the_turn_ends() {
    let skipping = Reply::calls([pass_to_call("billing", true)]);
    let (terminating, submitting) = (
        Reply::calls([
            ToolCall::new("pass_to", json!({ "agent": "billing", "ends": true })),
            ToolCall::new("finish", json!({})),
        ]),
        Reply::calls([transfer_call("billing"), ToolCall::new("submit_output", json!({ "output": 7 }))]),
    );
    for (reply, has_output) in [(skipping, false), (terminating, false), (submitting, true)] {
        let (desk, model, _) = desk([reply], [Reply::text("Yes?")]);
        let desk = if has_output { desk.output::<u32>() } else { desk };
        let runner = Runner::new(desk.tools(tools()).build().unwrap());
        let (events, end) = events_of(&runner, "Hi.").await;
        assert!(end.reason.is_success(), "{end}");
        assert_eq!((transfers(&events), end.output.is_some()), (vec!["billing"], has_output)); // V08
        // The result says that the other agent has the conversation: it has it.
        assert_eq!(runner.run_with(run(), "Hello?").answer().await.unwrap(), "Yes?");
        assert_eq!(model.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_agent_that_does_not_keep_control_has_one_turn() {
    let (billing, billing_model) = agent("billing", [Reply::text("Paid."), Reply::text("Paid, too.")]);
    let billing = billing.keeps_control(false).build().unwrap();
    let (desk, model) =
        agent("desk", [transfer("billing"), Reply::text("Hello."), transfer("billing"), Reply::text("Bye.")]);
    let runner = Runner::new(desk.sub_agent(billing).build().unwrap());
    for (message, answer) in [("Paid?", "Paid."), ("Hi.", "Hello."), ("And 8?", "Paid, too.")] {
        assert_eq!(runner.run_with(run(), message).answer().await.unwrap(), answer);
    }
    // A message that follows the answer in the same run is the next message.
    let stream = runner.run_with(run(), "Bye.");
    assert_eq!(stream.answer().await.unwrap(), "Bye.");
    assert_eq!((model.requests().len(), billing_model.requests().len()), (4, 2));
}

#[tokio::test]
async fn a_message_that_follows_the_answer_goes_to_the_agent_of_the_next_message() {
    let (billing, _) = agent("billing", [Reply::text("Paid.")]);
    let billing = billing.keeps_control(false).build().unwrap();
    let (desk, _) = agent("desk", [transfer("billing"), Reply::text("Hello.")]);
    let runner = Runner::new(desk.sub_agent(billing).build().unwrap());
    let mut stream = runner.run_with(run(), "Paid?");
    stream.handle().follow_up("Hi.");
    let mut texts = Vec::new();
    while let Some(event) = stream.next().await {
        if let tool_agent::AgentEventKind::Message { message } = &event.kind
            && message.role() == tool_agent::Role::Assistant
            && !message.text().is_empty()
        {
            texts.push((event.agent.to_string(), message.text()));
        }
    }
    assert_eq!(texts, [("billing".to_owned(), "Paid.".to_owned()), ("desk".to_owned(), "Hello.".to_owned())]);
}

#[tokio::test]
async fn one_message_of_the_user_is_directed_to_the_agent_that_awaits_it() {
    let awaits = || Reply::call("await_user_reply", json!({}));
    for keeps in [false, true] {
        let replies = [
            awaits(),
            Reply::text("Which number?"),
            Reply::text("Invoice 7 is paid."),
            Reply::text("Me again."),
        ];
        let (billing, model) = agent("billing", replies);
        let billing = billing.keeps_control(keeps).await_user_reply(true).build().unwrap();
        let (desk, _) = agent("desk", [transfer("billing"), Reply::text("Hello.")]);
        let runner = Runner::new(desk.sub_agent(billing).build().unwrap());
        let ask = |message: &'static str| runner.run_with(run(), message).answer();
        assert_eq!(ask("Paid?").await.unwrap(), "Which number?");
        assert_eq!(ask("7.").await.unwrap(), "Invoice 7 is paid."); // R27
        let third = if keeps { "Me again." } else { "Hello." };
        assert_eq!(ask("Hi.").await.unwrap(), third); // R27
        let names: Vec<_> =
            model.requests()[0].tools.definitions().iter().map(|it| it.name().to_string()).collect();
        assert_eq!(names, ["await_user_reply", "transfer_to_agent"]);
    }
}

#[tokio::test]
async fn a_reply_returns_to_the_agent_that_had_the_conversation() {
    // The desk awaits the reply and gives the conversation away in one batch.
    let both = Reply::calls([ToolCall::new("await_user_reply", json!({})), transfer_call("billing")]);
    let (billing, _) = agent("billing", [Reply::text("I am billing."), Reply::text("Billing again.")]);
    let (desk, _) = agent("desk", [both, Reply::text("Thank you.")]);
    let desk = desk.await_user_reply(true).sub_agent(billing.build().unwrap()).build().unwrap();
    let runner = Runner::new(desk);
    for answer in ["I am billing.", "Thank you.", "Billing again."] {
        assert_eq!(runner.run_with(run(), "And?").answer().await.unwrap(), answer); // R27
    }
}

#[tokio::test]
async fn an_agent_that_did_not_ask_for_replies_has_no_tool_for_them() {
    let (desk, _, billing) =
        desk([transfer("billing")], [Reply::call("await_user_reply", json!({})), Reply::text("?")]);
    Runner::new(desk.build().unwrap()).run("Hi.").answer().await.unwrap();
    assert!(last_results(&billing.requests()[1].messages)[0].contains("Tool not found")); // R27
    // A run below a call has no next message.
    let (asking, model) = agent("asking", [Reply::text("Which?")]);
    let tool = AgentTool::new(asking.await_user_reply(true).build().unwrap()).unwrap();
    let call = Reply::call("asking", json!({ "request": "Ask." }));
    let (manager, _) = agent("manager", [call, Reply::text("Done.")]);
    let manager = manager.tools(Registry::builder().add(tool).build().unwrap()).build().unwrap();
    Runner::new(manager).run("Hi.").answer().await.unwrap();
    assert!(model.requests()[0].tools.is_empty());
}

#[tokio::test]
async fn a_transfer_removes_no_input_check() {
    let (desk, _, _) = desk([transfer("billing")], [Reply::text("Paid."), Reply::text("Secret.")]);
    let desk = desk.input_check(|_, message: Message| async move {
        let is_bad = message.text().contains("password");
        Ok(if is_bad { InputDecision::Refuse("no passwords".to_owned()) } else { InputDecision::Accept })
    });
    let runner = Runner::new(desk.build().unwrap());
    assert_eq!(runner.run_with(run(), "Paid?").answer().await.unwrap(), "Paid.");
    let end = runner.run_with(run(), "The password?").end().await;
    assert!(matches!(end.reason, EndReason::Refused { .. }), "{end}");
    assert_eq!(runner.history(&run()).await.len(), 4);
}

#[tokio::test]
async fn a_refused_message_is_not_the_one_that_an_agent_awaits() {
    let replies = [
        Reply::call("await_user_reply", json!({})),
        Reply::text("Which?"),
        Reply::text("x"),
        Reply::text("Paid."),
    ];
    let (billing, _) = agent("billing", replies);
    let billing =
        billing.keeps_control(false).await_user_reply(true).input_check(|_, message: Message| async move {
            let is_bad = message.text() == "bad";
            Ok(if is_bad { InputDecision::Refuse("bad".to_owned()) } else { InputDecision::Accept })
        });
    let (desk, _) = agent("desk", [transfer("billing")]);
    let runner = Runner::new(desk.sub_agent(billing.build().unwrap()).build().unwrap());
    assert_eq!(runner.run_with(run(), "Paid?").answer().await.unwrap(), "Which?");
    let end = runner.run_with(run(), "bad").end().await;
    assert!(matches!(end.reason, EndReason::Refused { .. }), "{end}");
    let (events, _) = events_of(&runner, "7").await;
    assert_eq!(&*events.last().unwrap().agent, "billing"); // R27
}
