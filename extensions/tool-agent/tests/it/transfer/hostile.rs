//! A model that transfers where it may not.

use tool_agent::{AgentTool, Answers, EndReason, Limit, Limits, Runner, model::Reply};
use tool_runtime::{
    Executor, ToolCall,
    policy::{Rule, Rules},
    prelude::*,
};

use super::{agent, desk, events_of, last_results, run, transfer, transfers};
use crate::{runner::open::assert_valid, sessions::caller::Caller};

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(path: String) -> String {
    format!("{path} is removed")
}

#[tokio::test]
async fn a_transfer_to_a_name_that_was_not_given_is_an_error_and_control_stays() {
    let (refunds, refunds_model) = agent("refunds", []);
    let (billing, billing_model) = agent("billing", []);
    let billing = billing.sub_agent(refunds.build().unwrap()).build().unwrap();
    let bad = [
        json!({ "agent_name": "treasury" }),
        json!({ "agent_name": "refunds" }),
        json!({ "agent_name": "desk" }),
        json!({ "agent_name": "" }),
        json!({ "agent_name": 7 }),
        json!({ "agent_name": ["billing", "billing"] }),
        json!({ "agent_name": null }),
        json!({ "agent_name": "billing", "message": { "text": "x" } }),
        json!({ "agent_name": "billing", "admin": true }),
        json!({}),
    ];
    let count = bad.len();
    let calls = bad.into_iter().map(|arguments| ToolCall::new("transfer_to_agent", arguments));
    let texts = ["billing", "[]", "{\"agent_name\":", "{\"agent_name\":\"billing\""];
    let texts = texts.map(|text| ToolCall::new("transfer_to_agent", text));
    let (desk, model) = agent("desk", [Reply::calls(calls.chain(texts.clone())), Reply::text("Still me.")]);
    let runner = Runner::new(desk.sub_agent(billing).build().unwrap());
    let (events, end) = events_of(&runner, "Hi.").await;
    assert_eq!((transfers(&events).len(), end.text.as_str()), (0, "Still me.")); // R26
    let results = &model.requests()[1].messages[2];
    let results: Vec<_> = results.tool_results().collect();
    assert_eq!(results.len(), count + texts.len());
    for result in &results {
        assert!(result.is_error(), "{result:?}"); // R26
    }
    assert!(results[0].text().contains("billing"), "{}", results[0].text());
    assert_eq!((billing_model.requests().len(), refunds_model.requests().len()), (0, 0));
    assert_valid(&runner.history(&run()).await);
}

#[tokio::test]
async fn transfers_in_a_circle_end_at_their_limit() {
    let circle = |to: &'static str| std::iter::repeat_with(move || transfer(to)).take(20);
    let (desk, desk_model, billing) = desk(circle("billing"), circle("desk"));
    let limits = Limits { repeated_calls: None, ..Limits::default() };
    let runner = Runner::new(desk.limits(limits).build().unwrap());
    let (events, end) = events_of(&runner, "Hi.").await;
    let EndReason::Limit { limit: Limit::Transfers, message } = &end.reason else { panic!("{end}") };
    assert!(
        message.contains("10 times without a message of the user, which is the limit `Limits::transfers`")
    );
    assert_eq!(transfers(&events).len(), 10);
    assert_eq!((desk_model.requests().len(), billing.requests().len()), (6, 5));
    // The transfer beyond the limit is answered, and says that it was not made.
    let history = runner.history(&run()).await;
    assert_valid(&history);
    assert!(last_results(&history)[0].starts_with("not executed: the agents transferred"));
    // A message of the user begins anew.
    let (events, end) = events_of(&runner, "Go on.").await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Transfers, .. }), "{end}");
    assert_eq!(transfers(&events).len(), 10);
}

#[tokio::test]
async fn a_transfer_by_a_tool_that_redirects_is_refused() {
    let arguments = json!({ "name": "transfer_to_agent", "arguments": { "agent_name": "billing" } });
    let calls = [Reply::call("call_tool", arguments), Reply::text("Still me.")];
    let (desk, model, billing) = desk(calls, []);
    let tools = Registry::builder().add(Caller::new()).build().unwrap();
    let limits = Limits { transfers: Some(0), ..Limits::default() };
    let runner = Runner::new(desk.tools(tools).limits(limits).build().unwrap());
    let (events, end) = events_of(&runner, "Hi.").await;
    assert_eq!((transfers(&events).len(), end.text.as_str()), (0, "Still me."));
    let results = last_results(&model.requests()[1].messages);
    assert!(results[0].contains("`call_tool` cannot call `transfer_to_agent`"), "{}", results[0]);
    assert!(billing.requests().is_empty());
}

#[tokio::test]
async fn an_output_is_not_submitted_by_a_tool_that_redirects() {
    let arguments = json!({ "name": "submit_output", "arguments": { "output": 7 } });
    let calls = [Reply::call("call_tool", arguments), Reply::call("submit_output", json!({ "output": 8 }))];
    let (desk, model, _) = desk(calls, []);
    let tools = Registry::builder().add(Caller::new()).build().unwrap();
    let (_, end) = events_of(&Runner::new(desk.tools(tools).output::<u32>().build().unwrap()), "Hi.").await;
    assert_eq!(end.output, Some(json!(8)));
    let results = last_results(&model.requests()[1].messages);
    assert!(results[0].contains("`call_tool` cannot call `submit_output`"), "{}", results[0]);
}

#[tokio::test]
async fn a_transfer_by_the_name_of_an_agent_that_waits_for_an_approval_is_shown_as_a_transfer() {
    let asks = Executor::builder(Registry::default())
        .pending_approvals(true)
        .rules(Rules::new([Rule::ask("transfer_to_agent")]));
    let call = ToolCall::new("billing", json!({ "message": "Is 7 paid?" })).with_id("t");
    let (desk, _, billing) = desk([Reply::calls([call])], [Reply::text("Paid.")]);
    let runner = Runner::new(desk.tools(asks.build().unwrap()).build().unwrap());
    let (events, end) = events_of(&runner, "Paid?").await;
    assert_eq!((&end.reason, transfers(&events).len()), (&EndReason::OpenCalls, 0), "{end}");
    // The judge sees a transfer.
    assert_eq!(end.open[0].name(), "transfer_to_agent");
    let end = runner.resume(run(), Answers::new().approve("t")).end().await;
    assert_eq!(end.text, "Paid.", "{end}");
    // The result answers the call that the model made.
    let history = runner.history(&run()).await;
    assert_valid(&history);
    let result = history.iter().find_map(|message| message.tool_results().next()).unwrap().clone();
    assert_eq!((&*result.name, billing.requests().len()), ("billing", 1));
}

#[tokio::test]
async fn a_call_beside_a_transfer_that_waits_for_an_approval_is_answered_under_its_agent() {
    let tools = Registry::builder().tool::<remove>().build().unwrap();
    let calls = [
        ToolCall::new("transfer_to_agent", json!({ "agent_name": "billing" })).with_id("t"),
        ToolCall::new("remove", json!({ "path": "a" })).with_id("r"),
    ];
    let (desk, desk_model, billing) = desk([Reply::calls(calls)], [Reply::text("Done.")]);
    let runner = Runner::new(desk.tools(Executor::new(tools)).build().unwrap());
    let (events, end) = events_of(&runner, "Remove a.").await;
    assert_eq!((&end.reason, transfers(&events).len(), end.open.len()), (&EndReason::OpenCalls, 0, 1));
    // The model cannot answer it by a transfer, nor a person another call by its name.
    let forged = runner.resume(run(), Answers::new().approve("t")).end().await;
    assert!(!forged.reason.is_success(), "{forged}");
    let mut stream = runner.resume(run(), Answers::new().approve(end.open[0].address().unwrap()));
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    assert_eq!(transfers(&events), ["billing"]);
    assert_eq!(last_results(&billing.requests()[0].messages)[1], "a is removed");
    assert_eq!(desk_model.requests().len(), 1);
}

#[tokio::test]
async fn agents_below_a_call_transfer_to_none_above_it() {
    let to = |name: &str| ToolCall::new("transfer_to_agent", json!({ "agent_name": name }));
    let calls = [to("manager"), to("accountant"), ToolCall::new("manager", json!({}))];
    let (desk, _, billing) = desk([transfer("billing")], [Reply::calls(calls), Reply::text("No.")]);
    let tools = Registry::builder().add(AgentTool::new(desk.build().unwrap()).unwrap()).build().unwrap();
    let (accountant, accountant_model) = agent("accountant", []);
    let ask = Reply::call("desk", json!({ "request": "Paid?" }));
    let (manager, _) = agent("manager", [ask, Reply::text("No answer.")]);
    let manager = manager.tools(tools).sub_agent(accountant.build().unwrap()).build().unwrap();
    let (events, end) = events_of(&Runner::new(manager), "Paid?").await;
    assert_eq!((transfers(&events).len(), end.text.as_str()), (0, "No answer."));
    let requests = billing.requests();
    let results: Vec<_> = requests[1].messages.last().unwrap().tool_results().collect();
    assert_eq!(results.iter().filter(|result| result.is_error()).count(), 3);
    assert!(accountant_model.requests().is_empty());
}

#[tokio::test]
async fn a_transfer_that_was_cut_off_is_not_made() {
    use tool_agent::{Part, model::Response};
    let call = ToolCall::new("transfer_to_agent", json!({ "agent_name": "billing" }));
    let mut response = Response::new(tool_agent::Message::assistant([Part::Call(call)]));
    response.truncated = true;
    let (desk, _, billing) = desk([Reply::from(response), Reply::text("Still me.")], []);
    let (events, end) = events_of(&Runner::new(desk.build().unwrap()), "Hi.").await;
    assert_eq!((transfers(&events).len(), end.text.as_str(), billing.requests().len()), (0, "Still me.", 0));
}
