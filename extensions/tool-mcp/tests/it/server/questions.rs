use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
        ProtocolVersion,
    },
    service::RequestContext,
};
use serde_json::json;
use tool_mcp::server::{Answer, Caller, McpServer};
use tool_runtime::prelude::*;

use super::{BOTH, config, connect, connect_to, text};

#[derive(Default)]
struct Starts(AtomicUsize);

/// Greets.
#[tool(register = false)]
async fn greet(caller: Option<&Caller>, starts: &Starts) -> Result<String, ToolError> {
    starts.0.fetch_add(1, Ordering::Relaxed);
    let Some(elicitation) = caller.and_then(Caller::elicitation) else { return Ok("Hello".to_owned()) };
    let schema = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let first = elicitation.form("first", "Your first name?", schema("first")).await?;
    let last = elicitation.form("last", "Your last name?", schema("last")).await?;
    let (Answer::Accepted(first), Answer::Accepted(last)) = (first, last) else {
        return Ok("declined".to_owned());
    };
    Ok(format!("Hello, {} {}", first["first"].as_str().unwrap_or("?"), last["last"].as_str().unwrap_or("?")))
}

/// Deletes a file.
#[tool(register = false, confirm)]
fn delete(file: String) -> String {
    format!("{file} is gone")
}

pub(super) struct User;

/// The tools of these tests.
pub(super) fn builder() -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<greet>().provide(Starts::default())
}

pub(super) fn tools() -> Registry {
    builder().build().unwrap()
}

/// A user who never answers.
#[derive(Default)]
struct Away {
    cancelled: std::sync::Arc<tokio::sync::Notify>,
}

impl ClientHandler for Away {
    fn get_info(&self) -> ClientConfig {
        User.get_info()
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        context.ct.cancelled().await;
        self.cancelled.notify_one();
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_with_its_timeout() {
    let [version, _] = BOTH;
    let user = Away::default();
    let cancelled = std::sync::Arc::clone(&user.cancelled);
    let server = McpServer::new(tools()).question_timeout(Duration::from_secs(60));
    let it = connect_to(server, user, version).await;
    let result = it.call("greet", json!({})).await;
    assert_eq!(result.is_error, Some(true));
    assert!(text(&result).contains("did not answer `first` within 60s"), "{result:?}");
    // The client does not show the question any longer.
    cancelled.notified().await;
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        config(ClientCapabilities::builder().enable_elicitation().build())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else { panic!() };
        let content = match message {
            it if it.contains("first") => json!({ "first": "Ada" }),
            it if it.contains("last") => json!({ "last": "Byron" }),
            it if it.contains("a.txt") => json!({ "approve": true }),
            _ => json!({ "approve": false }),
        };
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }
}

#[tokio::test]
async fn a_body_asks_the_user_in_both_protocols() {
    for version in BOTH {
        let starts = std::sync::Arc::new(Starts::default());
        let tools = Registry::builder()
            .tool::<greet>()
            .provide_shared(std::sync::Arc::clone(&starts))
            .build()
            .unwrap();
        let it = connect(tools, User, version.clone()).await;
        assert_eq!(text(&it.call("greet", json!({})).await), "Hello, Ada Byron");
        let expected = if version == ProtocolVersion::V_2026_07_28 { 3 } else { 1 };
        assert_eq!(starts.0.load(Ordering::Relaxed), expected);
    }
}

#[tokio::test]
async fn an_approval_becomes_an_elicitation_and_a_refusal_without() {
    for version in BOTH {
        let tools = || Registry::builder().tool::<delete>().build().unwrap();
        let it = connect(tools(), User, version.clone()).await;
        assert_eq!(text(&it.call("delete", json!({ "file": "a.txt" })).await), "a.txt is gone");
        let refused = it.call("delete", json!({ "file": "b.txt" })).await;
        assert_eq!(refused.is_error, Some(true));
        assert!(text(&refused).contains("declined"), "{}", text(&refused));
        let it = connect(tools(), (), version).await;
        let refused = it.call("delete", json!({ "file": "a.txt" })).await;
        assert_eq!(refused.is_error, Some(true));
        assert!(text(&refused).contains("cannot ask"), "{}", text(&refused));
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_shown_in_full_is_not_approved() {
    for version in BOTH {
        let it = connect(Registry::builder().tool::<delete>().build().unwrap(), User, version).await;
        // The user would approve the part that fits.
        let refused = it.call("delete", json!({ "file": format!("a.txt{}", "x".repeat(16_000)) })).await;
        assert_eq!(refused.is_error, Some(true));
        assert!(text(&refused).contains("can be shown"), "{}", text(&refused));
    }
}

/// Renames a file, and asks for its name.
#[tool(register = false, confirm)]
async fn rename(file: String, caller: Option<&Caller>, starts: &Starts) -> Result<String, ToolError> {
    starts.0.fetch_add(1, Ordering::Relaxed);
    let Some(elicitation) = caller.and_then(Caller::elicitation) else { return Ok(file) };
    let schema = json!({ "type": "object", "properties": { "first": { "type": "string" } } });
    match elicitation.form("name", "Its first name?", schema).await? {
        Answer::Accepted(form) => Ok(format!("{file} is {}", form["first"])),
        _ => Ok(file),
    }
}

/// Approves, and counts how often it is asked to.
#[derive(Clone, Default)]
struct Approving(std::sync::Arc<AtomicUsize>);

impl ClientHandler for Approving {
    fn get_info(&self) -> ClientConfig {
        User.get_info()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = &request else { panic!() };
        if message.contains("a.txt") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        User.create_elicitation(request, context).await
    }
}

#[tokio::test]
async fn a_call_is_approved_once_for_all_its_rounds() {
    for version in BOTH {
        let starts = std::sync::Arc::new(Starts::default());
        let tools = Registry::builder().tool::<rename>().provide_shared(std::sync::Arc::clone(&starts));
        let user = Approving::default();
        let it = connect(tools.build().unwrap(), user.clone(), version.clone()).await;
        let result = it.call("rename", json!({ "file": "a.txt" })).await;
        assert_eq!(text(&result), "a.txt is \"Ada\"");
        assert_eq!(user.0.load(Ordering::Relaxed), 1, "{version}");
        // Not before it is approved, and once more with the answer.
        let expected = if version == ProtocolVersion::V_2026_07_28 { 2 } else { 1 };
        assert_eq!(starts.0.load(Ordering::Relaxed), expected);
    }
}

/// Asks two questions of one name.
#[tool(register = false)]
async fn confuse(caller: Option<&Caller>) -> Result<String, ToolError> {
    let Some(elicitation) = caller.and_then(Caller::elicitation) else { return Ok("?".to_owned()) };
    let schema = || json!({ "type": "object", "properties": { "first": { "type": "string" } } });
    // The answer to the first would be taken for one to the second.
    let one = elicitation.form("name", "Your first name?", schema()).await?;
    let other = elicitation.form("name", "Their first name?", schema()).await?;
    Ok(format!("{one:?} {other:?}"))
}

#[tokio::test]
async fn two_questions_of_one_name_are_a_mistake_of_the_tool() {
    let [_, version] = BOTH;
    let it = connect(Registry::builder().tool::<confuse>().build().unwrap(), User, version).await;
    let result = it.call("confuse", json!({})).await;
    assert_eq!(result.is_error, Some(true));
    assert!(text(&result).contains("two questions of this call are named `name`"), "{result:?}");
}

/// Keeps the question that it is asked.
#[derive(Clone, Default)]
pub(super) struct Reading(pub(super) std::sync::Arc<std::sync::Mutex<String>>);

impl ClientHandler for Reading {
    fn get_info(&self) -> ClientConfig {
        User.get_info()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else { panic!() };
        *self.0.lock().unwrap() = message;
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }
}

#[tokio::test]
async fn hidden_characters_of_arguments_are_shown_to_the_user() {
    for version in BOTH {
        let user = Reading::default();
        let it = connect(Registry::builder().tool::<delete>().build().unwrap(), user.clone(), version).await;
        it.call("delete", json!({ "file": "a\u{202e}txt" })).await;
        let question = user.0.lock().unwrap().clone();
        assert!(question.contains("\\u{202e}") && !question.contains('\u{202e}'), "{question}");
    }
}
