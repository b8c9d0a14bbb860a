//! Requests to a model, before they are sent.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use serde_json::json;
use tool_core::{
    AddedMessage, Content, ModelRequest, RequestAdditions, RequestHook, RequestMessage, RequestMessages,
    RequestResult, RequestRole, RunContext, SharedRequestHook, ToolError, request_fn,
};

fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready at once"),
    }
}

fn request() -> ModelRequest {
    let run = Arc::new(RunContext::new().with_id("r").with_user_content("hello"));
    ModelRequest::new("openai-chat", json!({ "model": "m" }), run)
}

#[test]
fn a_request_returns_its_parts_and_all_additions_in_order() {
    let request = request();
    let of_tool = request.of_tool("search");
    assert_eq!((request.dialect(), request.tool_name()), ("openai-chat", None));
    assert_eq!((of_tool.dialect(), of_tool.tool_name()), ("openai-chat", Some("search")));
    assert_eq!((request.user_content(), request.run().id().to_string()), (Some("hello"), "r".to_owned()));
    assert_eq!(request.body(), &json!({ "model": "m" }));
    request.instruct("Be brief.");
    of_tool.instruct("Be kind.");
    request.add_native(json!({ "type": "search" }));
    request.add_text("It is noon.");
    request.add_content([]);
    request.add_content([Content::text("The map:")]);
    request.add_message(json!({ "role": "user" }));
    request.set("temperature", json!(1));
    request.set("temperature", json!(0));
    request.notify("no search");
    let mut expected = RequestAdditions::default();
    expected.instructions = vec!["Be brief.".to_owned(), "Be kind.".to_owned()];
    expected.native = vec![json!({ "type": "search" })];
    expected.messages = vec![
        AddedMessage::Text("It is noon.".to_owned()),
        AddedMessage::Content(vec![Content::text("The map:")]),
        AddedMessage::Native(json!({ "role": "user" })),
    ];
    expected.members.insert("temperature".to_owned(), json!(0));
    expected.notices = vec!["no search".to_owned()];
    assert_eq!(request.finish(), (json!({ "model": "m" }), expected));
    // Another handle has the members, and no additions any more.
    assert_eq!(of_tool.finish(), (json!({ "model": "m" }), RequestAdditions::default()));
}

#[test]
fn a_value_of_a_request_is_shared_by_owner_and_type() {
    let request = request();
    let count =
        |owner| request.of_tool("a").shared_value::<AtomicUsize>(owner).fetch_add(1, Ordering::Relaxed);
    assert_eq!([count(1), count(1), count(2), count(1)], [0, 1, 0, 2]);
    assert_eq!(*request.shared_value::<u8>(1), 0);
    assert_eq!(count(1), 3);
}

#[test]
fn messages_are_made_once_and_the_first_ones_count() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    assert!(request().messages().is_empty() && request().last_results().next().is_none());
    let result = |id: &str| RequestResult::new(id, "search", id == "2", [Content::text(id)]);
    let message = |role| RequestMessage::new(role, [Content::text("x")]);
    let all = vec![
        message(RequestRole::User),
        message(RequestRole::Assistant),
        message(RequestRole::Tool).with_result(result("0")),
        message(RequestRole::Assistant),
        message(RequestRole::Tool).with_result(result("1")).with_result(result("2")),
        message(RequestRole::User),
        message(RequestRole::Tool).with_result(result("3")),
    ];
    let made = all.clone();
    let messages = RequestMessages::new(move || {
        MADE.fetch_add(1, Ordering::Relaxed);
        made.clone()
    });
    let request = request().with_messages(messages).with_messages(RequestMessages::new(Vec::new));
    assert_eq!(MADE.load(Ordering::Relaxed), 0);
    assert_eq!(request.messages(), all);
    assert_eq!(request.of_tool("a").messages(), all);
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
    let last: Vec<_> = request.last_results().cloned().collect();
    assert_eq!(last, ["1", "2", "3"].map(result));
    assert_eq!((last[0].is_error, last[1].is_error, last[1].call_id.as_str()), (false, true, "2"));
    // A response without calls, and a conversation without a response, have none.
    for made in [vec![all[2].clone(), all[1].clone()], vec![all[2].clone()]] {
        let request = self::request().with_messages(RequestMessages::new(move || made.clone()));
        assert_eq!(request.last_results().next(), None);
    }
}

#[test]
fn a_hook_has_the_name_of_its_type_or_its_own() {
    struct Greeting;
    impl RequestHook for Greeting {
        async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
            request.instruct("Greet.");
            Err(ToolError::failed("no user"))
        }
    }
    struct Named;
    impl RequestHook for Named {
        async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
            request.add_text("named");
            Ok(())
        }

        fn name(&self) -> &str {
            "own"
        }
    }
    assert!(Greeting.name().ends_with("a_hook_has_the_name_of_its_type_or_its_own::Greeting"));
    let greeting = SharedRequestHook::new(SharedRequestHook::new(Greeting));
    assert_eq!((greeting.name(), SharedRequestHook::new(Named).name()), (Greeting.name(), "own"));
    let request = request();
    let refused = now(greeting.on_request(request.clone())).unwrap_err();
    assert_eq!(refused.feedback(), "no user");
    now(SharedRequestHook::new(Named).add_to(request.clone())).unwrap();
    let closure = request_fn(|request: ModelRequest| async move {
        request.add_text("closure");
        Ok(())
    });
    now(closure.on_request(request.clone())).unwrap();
    let (_, added) = request.finish();
    assert_eq!(added.instructions, ["Greet."]);
    assert_eq!(added.messages, ["named", "closure"].map(|text| AddedMessage::Text(text.to_owned())));
}
