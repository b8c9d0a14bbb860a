//! The messages of a request, as tools and request hooks see them.

use std::sync::{Arc, Mutex};

use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
use tool_runtime::{
    Content, ToolCall,
    prelude::*,
    request::{ModelRequest, RequestHook, RequestRole},
};

/// The authors of the messages of each request, and its last results.
type Seen = Arc<Mutex<Vec<(Vec<RequestRole>, Vec<(String, String, bool)>)>>>;

/// Notes what it sees, and shows the file that a result names.
struct Observer(Seen);

impl RequestHook for Observer {
    async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
        let roles = request.messages().iter().map(|message| message.role).collect();
        let text = |content: &[Content]| content.iter().filter_map(Content::as_text).collect::<String>();
        let results =
            request.last_results().map(|it| (it.tool.clone(), text(&it.content), it.is_error)).collect();
        for result in request.last_results().filter(|result| !result.is_error) {
            let file = text(&result.content).into_bytes();
            request.add_content([Content::text("The file:"), Content::image(file, "image/png")]);
        }
        self.0.lock().map_err(|_| ToolError::failed("poisoned"))?.push((roles, results));
        Ok(())
    }
}

/// Draws a map.
#[tool(register = false, read_only)]
fn draw(name: String) -> Result<String, ToolError> {
    match name.as_str() {
        "gone" => Err(ToolError::failed("no such place")),
        _ => Ok(format!("map of {name}")),
    }
}

// R24
#[tokio::test]
async fn a_request_hook_sees_the_results_of_a_whole_batch_and_adds_files_for_them() {
    let seen = Seen::default();
    let tools = Registry::builder().tool::<draw>().request_hook(Observer(Arc::clone(&seen))).build().unwrap();
    let draw = |name: &str, id: &'static str| ToolCall::new("draw", json!({ "name": name })).with_id(id);
    let model = ScriptedModel::new([
        Reply::calls([draw("Oslo", "1"), draw("gone", "2"), draw("Rome", "3")]),
        Reply::text("Here they are."),
    ]);
    let runner = Runner::new(Agent::builder("painter", model.clone()).tools(tools).build().unwrap());
    runner.run("Draw three maps.").answer().await.unwrap();
    let result = |text: &str, is_error: bool| ("draw".to_owned(), text.to_owned(), is_error);
    let results =
        vec![result("map of Oslo", false), result("no such place", true), result("map of Rome", false)];
    use RequestRole::{Assistant, Tool, User};
    let mut seen = seen.lock().unwrap().clone();
    // The text of an error says more than its reason.
    for (_, text, is_error) in
        seen.iter_mut().flat_map(|(_, results)| results).filter(|(.., is_error)| *is_error)
    {
        assert!(*is_error && text.contains("no such place"), "{text}");
        *text = "no such place".to_owned();
    }
    assert_eq!(seen, [(vec![User], Vec::new()), (vec![User, Assistant, Tool], results)]);
    let request = &model.requests()[1];
    let added: Vec<_> = request.messages[3..].iter().map(tool_agent::Message::content).collect();
    let file =
        |text: &str| vec![Content::text("The file:"), Content::image(text.as_bytes().to_vec(), "image/png")];
    assert_eq!(added, [file("map of Oslo"), file("map of Rome")]);
}

#[tokio::test]
async fn a_request_that_a_program_makes_has_the_messages_that_the_program_sets() {
    use tool_runtime::{
        RunContext,
        request::{RequestMessage, RequestMessages, RequestResult},
    };

    let request = |messages: Option<RequestMessages>| {
        let request = ModelRequest::new("neutral", json!({}), RunContext::new().into());
        messages.into_iter().fold(request, ModelRequest::with_messages)
    };
    assert!(request(None).messages().is_empty() && request(None).last_results().next().is_none());
    let result = |id: &str| RequestResult::new(id, "draw", false, [Content::text(id)]);
    let messages = RequestMessages::new(move || {
        vec![
            RequestMessage::new(RequestRole::Tool, []).with_result(result("earlier")),
            RequestMessage::new(RequestRole::Assistant, [Content::text("Again.")]),
            RequestMessage::new(RequestRole::Tool, []).with_result(result("1")).with_result(result("2")),
            RequestMessage::new(RequestRole::User, [Content::text("Faster.")]),
        ]
    });
    let request = request(Some(messages));
    assert_eq!(request.of_tool("draw").messages().len(), 4);
    let ids: Vec<_> = request.last_results().map(|result| result.call_id.as_str()).collect();
    assert_eq!(ids, ["1", "2"]);
}
