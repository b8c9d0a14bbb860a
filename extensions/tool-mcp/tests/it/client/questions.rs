//! Questions of a server, by themselves and at the end of a round, and what answers them.

use rmcp::model::{CreateMessageResult, ElicitResult, ElicitationAction, Root, SamplingMessage};
use serde_json::{Map, Value, json};
use tool_mcp::client::{ClientErrorKind, McpToolSet, McpToolSetBuilder};
use tool_runtime::{Toolbox, prelude::*};

use super::{
    config,
    fake::{Fake, Fakes},
    lives::calling,
};

/// A program with these answers, and its server.
async fn started(answers: impl FnOnce(McpToolSetBuilder) -> McpToolSetBuilder) -> (McpToolSet, Fake) {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        fake
    });
    (answers(builder).connect().await.unwrap(), fake.await.unwrap())
}

/// Answers all that a server can ask.
fn answering(builder: McpToolSetBuilder) -> McpToolSetBuilder {
    builder
        .on_elicitation(|_| async { Ok(ElicitResult::new(ElicitationAction::Decline)) })
        .on_sampling(|_| async {
            Ok(CreateMessageResult::new(SamplingMessage::assistant_text("!"), "m".to_owned()))
        })
        .on_roots(|_| async { Ok(vec![Root::new("file:///a")]) })
}

/// Fails to answer.
fn failing(builder: McpToolSetBuilder) -> McpToolSetBuilder {
    builder
        .on_elicitation(|_| async { Err(ToolError::failed("no user")) })
        .on_sampling(|_| async { Err(ToolError::failed("no model")) })
        .on_roots(|_| async { Err(ToolError::failed("no folders")) })
}

fn form() -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    json!({ "method": "elicitation/create", "params": { "message": "?", "requestedSchema": schema } })
}

fn page() -> Value {
    let params = json!({ "mode": "url", "message": "?", "url": "https://a.example", "elicitationId": "e" });
    json!({ "method": "elicitation/create", "params": params })
}

fn sampling() -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "?" } });
    json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 1 } })
}

fn roots() -> Value {
    json!({ "method": "roots/list" })
}

/// The answer to a question during a call.
async fn answer(fake: &mut Fake, question: &Value) -> Value {
    let mut question = question.clone();
    (question["jsonrpc"], question["id"]) = (json!("2.0"), json!("q"));
    fake.send(&question).await;
    let answer = fake.message().await.unwrap();
    assert_eq!(answer["id"], "q");
    answer
}

#[tokio::test]
async fn a_question_is_answered_as_the_program_answers_it() {
    let (set, mut fake) = started(answering).await;
    let _call = calling(&set, "one");
    fake.expect("tools/call").await;
    assert_eq!(answer(&mut fake, &form()).await["result"]["action"], "decline");
    assert_eq!(answer(&mut fake, &sampling()).await["result"]["model"], "m");
    assert_eq!(answer(&mut fake, &roots()).await["result"]["roots"], json!([{ "uri": "file:///a" }]));
    // The client does not say that it opens pages.
    let error = answer(&mut fake, &page()).await["error"].clone();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32602), &json!("the client supports questions by form only"))
    );
}

#[tokio::test]
async fn a_program_without_answers_declines_a_form_and_has_no_model_and_no_folders() {
    let (set, mut fake) = started(|builder| builder).await;
    let _call = calling(&set, "one");
    fake.expect("tools/call").await;
    for question in [form(), page()] {
        assert_eq!(answer(&mut fake, &question).await["result"]["action"], "decline");
    }
    assert_eq!(answer(&mut fake, &sampling()).await["error"]["code"], -32601);
    assert_eq!(answer(&mut fake, &roots()).await["result"]["roots"], json!([]));
}

#[tokio::test]
async fn an_answer_that_fails_is_an_error_with_its_reason() {
    let (set, mut fake) = started(failing).await;
    let _call = calling(&set, "one");
    fake.expect("tools/call").await;
    for (question, reason) in [(form(), "no user"), (sampling(), "no model"), (roots(), "no folders")] {
        let error = answer(&mut fake, &question).await["error"].clone();
        assert_eq!(error["code"], -32603);
        assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn folders_are_asked_for_outside_of_calls_too() {
    let (_set, mut fake) = started(answering).await;
    assert_eq!(answer(&mut fake, &roots()).await["result"]["roots"], json!([{ "uri": "file:///a" }]));
    assert!(answer(&mut fake, &sampling()).await["error"].is_object());
}

#[tokio::test]
async fn the_questions_of_a_prompt_and_of_a_resource_are_answered_as_those_of_a_call() {
    for (method, result) in
        [("prompts/get", json!({ "messages": [] })), ("resources/read", json!({ "contents": [] }))]
    {
        let (set, mut fake) = started(answering).await;
        let asking = tokio::spawn(async move {
            match method {
                "prompts/get" => set.get_prompt("p", Map::new()).await.map(drop),
                _ => set.read_resource("a://b").await.map(drop),
            }
        });
        let request = fake.expect(method).await;
        for member in ["inputResponses", "requestState"] {
            assert_eq!(request["params"].get(member), None);
        }
        let questions = json!({ "a": form() });
        let round =
            json!({ "resultType": "input_required", "inputRequests": questions, "requestState": "state" });
        fake.answer(&request, round).await;
        let request = fake.expect(method).await;
        assert_eq!(request["params"]["requestState"], "state", "{method}");
        assert_eq!(request["params"]["inputResponses"]["a"]["action"], "decline", "{method}");
        fake.answer(&request, result).await;
        asking.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn the_questions_of_a_round_are_answered_by_their_names() {
    let (set, mut fake) = started(answering).await;
    let call = tokio::spawn(async move { set.call_raw("one", Map::new()).await });
    let request = fake.expect("tools/call").await;
    assert_eq!(request["params"].get("inputResponses"), None);
    let questions = json!({ "a": form(), "b": sampling(), "c": roots() });
    let result =
        json!({ "resultType": "input_required", "inputRequests": questions, "requestState": "state" });
    fake.answer(&request, result).await;
    let request = fake.expect("tools/call").await;
    assert_eq!(request["params"]["requestState"], "state");
    let answers = &request["params"]["inputResponses"];
    assert_eq!(answers["a"]["action"], "decline");
    assert_eq!(answers["b"]["model"], "m");
    assert_eq!(answers["c"]["roots"], json!([{ "uri": "file:///a" }]));
    // A state alone is returned as it is.
    fake.answer(&request, json!({ "resultType": "input_required", "requestState": "second" })).await;
    let request = fake.expect("tools/call").await;
    assert_eq!(request["params"]["requestState"], "second");
    assert_eq!(request["params"].get("inputResponses"), None);
    fake.answer(&request, json!({ "content": [] })).await;
    assert!(call.await.unwrap().unwrap().content.is_empty());
}

#[tokio::test]
async fn a_question_of_a_round_that_is_not_answered_ends_the_call() {
    for (question, kind, reason) in [
        (form(), ClientErrorKind::Refused, "no user"),
        (sampling(), ClientErrorKind::Refused, "no model"),
        (roots(), ClientErrorKind::Refused, "no folders"),
        (page(), ClientErrorKind::Refused, "by form only"),
    ] {
        let (set, mut fake) = started(failing).await;
        let call = tokio::spawn(async move { set.call_raw("one", Map::new()).await });
        let request = fake.expect("tools/call").await;
        let result = json!({ "resultType": "input_required", "inputRequests": { "a": question }, "requestState": "s" });
        fake.answer(&request, result).await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn a_round_has_a_hundred_questions_at_most() {
    for (count, is_answered) in [(100, true), (101, false)] {
        let (set, mut fake) = started(answering).await;
        let call = tokio::spawn(async move { set.call_raw("one", Map::new()).await });
        let request = fake.expect("tools/call").await;
        let questions: Map<_, _> = (0..count).map(|number| (format!("q{number}"), roots())).collect();
        let result =
            json!({ "resultType": "input_required", "inputRequests": questions, "requestState": "s" });
        fake.answer(&request, result).await;
        if is_answered {
            let request = fake.expect("tools/call").await;
            assert_eq!(request["params"]["inputResponses"].as_object().unwrap().len(), count);
            fake.answer(&request, json!({ "content": [] })).await;
        }
        assert_eq!(call.await.unwrap().is_ok(), is_answered);
    }
}

#[tokio::test]
async fn a_client_says_what_its_program_answers() {
    for (answers, expected) in
        [(false, json!({})), (true, json!({ "elicitation": {}, "sampling": {}, "roots": {} }))]
    {
        let (builder, fakes) = Fakes::builder(config());
        let builder = if answers { answering(builder) } else { builder };
        let connecting = tokio::spawn(async move { builder.connect().await });
        let mut fake = fakes.next().await;
        let initialize = fake.initialize().await;
        assert_eq!(initialize["params"]["capabilities"], expected);
        fake.list(json!([])).await;
        connecting.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_level_of_logs_is_sent_with_each_call_of_a_run() {
    let (set, mut fake) = started(|builder| builder.log_level(rmcp::model::LoggingLevel::Warning)).await;
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let running =
        tokio::spawn(async move { Executor::new(tools).run(vec![ToolCall::new("one", json!({}))]).await });
    let request = fake.expect("tools/call").await;
    assert_eq!(request["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "warning");
    fake.answer(&request, json!({ "content": [] })).await;
    assert!(!running.await.unwrap()[0].result().unwrap().is_error());
}
