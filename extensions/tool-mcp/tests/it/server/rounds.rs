//! Questions from revision 2026-07-28 on, message by message.

use std::time::SystemTime;

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tool_mcp::server::{Answer, Caller, McpServer, UsedStates};
use tool_runtime::{BoxFuture, prelude::*};

use super::{Served, connect, modern, serve, sse, text};

const NOW: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// Asks for a colour.
#[tool(register = false)]
async fn paint(wall: String, coats: u32, caller: &Caller) -> Result<String, ToolError> {
    let schema = json!({ "type": "object", "properties": { "colour": { "type": "string" } } });
    let Some(elicitation) = caller.elicitation() else { return Ok("cannot ask".to_owned()) };
    match elicitation.form("colour", "Which colour?", schema).await? {
        Answer::Accepted(form) => Ok(format!("{coats} coats of {} on {wall}", form["colour"])),
        _ => Ok("unpainted".to_owned()),
    }
}

/// Asks for another colour.
#[tool(register = false, name = "paint")]
async fn repaint(wall: String, coats: u32, caller: &Caller) -> Result<String, ToolError> {
    paint(wall, coats, caller).await
}

/// Needs a model.
#[tool(register = false)]
async fn think(caller: &Caller) -> Result<String, ToolError> {
    caller.require_sampling()?.text("thought", "Think.", 100).await
}

/// Does without a model.
#[tool(register = false)]
async fn try_to_think(caller: &Caller) -> &'static str {
    match caller.require_sampling() {
        Ok(_) => "thinking",
        Err(_) => "not thinking",
    }
}

fn tools() -> Registry {
    let tools = Registry::builder().tool::<paint>().tool::<think>().tool::<try_to_think>();
    tools.provide_per_run::<Caller>().build().unwrap()
}

fn call(name: &str, arguments: Value, capabilities: Value) -> Value {
    let mut call = modern("tools/call", json!({ "name": name, "arguments": arguments }));
    call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    call
}

fn painting() -> Value {
    call("paint", json!({ "wall": "north", "coats": 2 }), json!({ "elicitation": {} }))
}

async fn send(served: &Served, call: &Value) -> Value {
    sse(&served.post(call, &NOW).send().await.unwrap().text().await.unwrap())
}

/// The call with the answer to its question, and the question's state.
async fn answered_call(served: &Served) -> Value {
    let mut call = painting();
    let result = send(served, &call).await;
    let question = &result["result"]["inputRequests"]["colour"];
    assert_eq!(question["method"], "elicitation/create", "{result}");
    call["params"]["requestState"] = result["result"]["requestState"].clone();
    call["params"]["inputResponses"] =
        json!({ "colour": { "action": "accept", "content": { "colour": "blue" } } });
    call
}

fn done(result: &Value) -> bool {
    result["result"]["content"][0]["text"] == "2 coats of \"blue\" on north"
}

/// A store that cannot be reached, or panics.
struct Broken(bool);

impl UsedStates for Broken {
    fn mark<'a>(&'a self, _: &'a str, _: SystemTime) -> BoxFuture<'a, Result<bool, ToolError>> {
        assert!(!self.0, "a store that breaks");
        Box::pin(async { Err(ToolError::failed("no route to 10.0.0.1")) })
    }
}

#[tokio::test]
async fn a_state_that_cannot_be_marked_as_used_is_refused() {
    for panics in [false, true] {
        let server = McpServer::new(tools()).used_states(Broken(panics));
        let served = serve(server.http().unwrap()).await;
        let call = answered_call(&served).await;
        let refused = send(&served, &call).await;
        assert_eq!(refused["error"]["code"], -32000, "{refused}");
        let message = "`requestState` cannot be used now; try again later";
        assert_eq!(refused["error"]["message"], message);
    }
}

#[tokio::test]
async fn a_state_opens_once_for_its_call_only() {
    let served = serve(McpServer::new(tools()).http().unwrap()).await;
    let refused = async |call: &Value, reason: &str| {
        let result = send(&served, call).await;
        assert_eq!(result["error"]["code"], -32602, "{reason}: {result}");
    };

    // The order of the arguments and the notation of their numbers do not matter.
    let mut call = answered_call(&served).await;
    call["params"]["arguments"] = json!({ "coats": 2.0, "wall": "north" });
    assert!(done(&send(&served, &call).await));
    refused(&call, "replayed").await;

    let mut call = answered_call(&served).await;
    call["params"]["arguments"]["wall"] = json!("south");
    refused(&call, "other arguments").await;

    let mut call = answered_call(&served).await;
    call["params"]["name"] = json!("think");
    call["params"]["arguments"] = json!({});
    refused(&call, "another tool").await;

    let mut call = answered_call(&served).await;
    let state = call["params"]["requestState"].as_str().unwrap();
    let middle = state.len() / 2;
    let changed = if &state[middle..=middle] == "A" { "B" } else { "A" };
    call["params"]["requestState"] = format!("{}{changed}{}", &state[..middle], &state[middle + 1..]).into();
    refused(&call, "tampered").await;
    call["params"]["requestState"] = "x".into();
    refused(&call, "malformed").await;
}

#[tokio::test]
async fn a_state_opens_in_any_process_with_the_key_and_the_definition() {
    let server = |tools| McpServer::new(tools).key([7; 32]).http().unwrap();
    let first = serve(server(tools())).await;
    let second = serve(server(tools())).await;
    assert!(done(&send(&second, &answered_call(&first).await).await));
    let changed = Registry::builder().tool::<repaint>().provide_per_run::<Caller>().build().unwrap();
    let third = serve(server(changed)).await;
    assert_eq!(send(&third, &answered_call(&first).await).await["error"]["code"], -32602);
    let stranger = serve(McpServer::new(tools()).key([8; 32]).http().unwrap()).await;
    assert_eq!(send(&stranger, &answered_call(&first).await).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_state_expires() {
    let lifetime = std::time::Duration::ZERO;
    let served = serve(McpServer::new(tools()).state_lifetime(lifetime).http().unwrap()).await;
    // A request within the millisecond of its question comes in time.
    for _ in 0..10_000 {
        let call = answered_call(&served).await;
        let result = send(&served, &call).await;
        if result["error"]["code"] == -32602 {
            return;
        }
        assert!(done(&result), "{result}");
    }
    panic!("no state expired");
}

#[tokio::test]
async fn wrong_answers_ask_again_and_more_answers_are_ignored() {
    let served = serve(McpServer::new(tools()).http().unwrap()).await;
    for wrong in [json!({}), json!({ "color": { "action": "accept", "content": {} } }), Value::Null] {
        let mut call = answered_call(&served).await;
        call["params"]["inputResponses"] = wrong.clone();
        if wrong.is_null() {
            call["params"].as_object_mut().unwrap().shift_remove("inputResponses");
        }
        let result = send(&served, &call).await;
        assert!(result["result"]["inputRequests"]["colour"].is_object(), "{wrong}: {result}");
    }
    let mut call = answered_call(&served).await;
    call["params"]["inputResponses"]["more"] = json!({ "action": "accept", "content": {} });
    assert!(done(&send(&served, &call).await));
    // A client may answer before it is asked, and an answer that is none is no answer.
    let mut call = answered_call(&served).await;
    call["params"].as_object_mut().unwrap().shift_remove("requestState");
    assert!(done(&send(&served, &call).await));
    call["params"]["inputResponses"]["colour"] = json!(5);
    let result = send(&served, &call).await;
    assert!(result["result"]["inputRequests"]["colour"].is_object(), "{result}");
}

/// Tears a wall down.
#[tool(register = false, confirm)]
fn tear_down(wall: String) -> String {
    format!("{wall} is gone")
}

/// Tears a wall down, and asks about more.
#[tool(register = false, confirm)]
fn tear_all_down(wall: String, cx: &ToolContext) -> Result<String, ToolError> {
    match cx.confirmation() {
        None => Err(cx.request_confirmation("All the others, too?", Value::Null)),
        Some(answer) if answer.confirmed => Ok(format!("{wall} and all others are gone")),
        Some(_) => Ok(format!("{wall} is gone")),
    }
}

/// The name and the message of the only question.
fn question(result: &Value) -> (String, String) {
    let questions = result["result"]["inputRequests"].as_object().unwrap_or_else(|| panic!("{result}"));
    assert_eq!(questions.len(), 1, "{result}");
    let (name, question) = questions.iter().next().unwrap();
    (name.clone(), question["params"]["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn no_call_is_approved_before_the_approval_is_asked_for() {
    let tools = Registry::builder().tool::<tear_down>().build().unwrap();
    let served = serve(McpServer::new(tools).http().unwrap()).await;
    let mut call = call("tear_down", json!({ "wall": "north" }), json!({ "elicitation": {} }));
    let (name, _) = question(&send(&served, &call).await);
    call["params"]["inputResponses"][&name] = json!({ "action": "accept", "content": { "approve": true } });
    let result = send(&served, &call).await;
    assert_eq!(question(&result).0, name);
    call["params"]["requestState"] = result["result"]["requestState"].clone();
    let result = send(&served, &call).await;
    assert_eq!(result["result"]["content"][0]["text"], "north is gone", "{result}");
}

#[tokio::test]
async fn an_approval_answers_no_other_question_of_its_call() {
    let tools = Registry::builder().tool::<tear_all_down>().build().unwrap();
    let served = serve(McpServer::new(tools).http().unwrap()).await;
    for (more, expected) in [(true, "north and all others are gone"), (false, "north is gone")] {
        let mut call = call("tear_all_down", json!({ "wall": "north" }), json!({ "elicitation": {} }));
        let first = send(&served, &call).await;
        let (name, message) = question(&first);
        assert!(message.contains("tear_all_down") && !message.contains("others"), "{message}");
        call["params"]["requestState"] = first["result"]["requestState"].clone();
        call["params"]["inputResponses"][&name] =
            json!({ "action": "accept", "content": { "approve": true } });
        let second = send(&served, &call).await;
        let (name, message) = question(&second);
        assert!(message.contains("All the others, too?"), "{message}");
        call["params"]["requestState"] = second["result"]["requestState"].clone();
        call["params"]["inputResponses"] =
            json!({ name: { "action": "accept", "content": { "approve": more } } });
        let result = send(&served, &call).await;
        assert_eq!(result["result"]["content"][0]["text"], expected, "{result}");
    }
}

#[tokio::test]
async fn questions_are_of_kinds_that_the_client_declares() {
    let served = serve(McpServer::new(tools()).http().unwrap()).await;
    let arguments = json!({ "wall": "north", "coats": 2 });
    for (capabilities, asks) in [
        (json!({ "elicitation": {} }), true),
        (json!({ "elicitation": { "form": {} } }), true),
        (json!({ "elicitation": { "url": {} } }), false),
        (json!({ "sampling": {} }), false),
        (json!({}), false),
    ] {
        let result = send(&served, &call("paint", arguments.clone(), capabilities.clone())).await;
        assert_eq!(result["result"]["inputRequests"].is_object(), asks, "{capabilities}: {result}");
    }
}

#[tokio::test]
async fn a_tool_can_require_a_capability() {
    let served = serve(McpServer::new(tools()).http().unwrap()).await;
    let answer = served.post(&call("think", json!({}), json!({})), &NOW).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    let error: Value = answer.json().await.unwrap();
    assert_eq!(error["error"]["code"], -32021);
    assert_eq!(error["error"]["data"], json!({ "requiredCapabilities": { "sampling": {} } }));
    // A tool that does without it has a result.
    let result = send(&served, &call("try_to_think", json!({}), json!({}))).await;
    assert_eq!(result["result"]["content"][0]["text"], "not thinking");
    let result = send(&served, &call("think", json!({}), json!({ "sampling": {} }))).await;
    assert_eq!(result["result"]["inputRequests"]["thought"]["method"], "sampling/createMessage");
    // Before, there is no such error.
    let it = connect(tools(), (), ProtocolVersion::V_2025_11_25).await;
    let result = it.call("think", json!({})).await;
    assert_eq!(result.is_error, Some(true));
    assert!(text(&result).contains("sampling"), "{}", text(&result));
}
