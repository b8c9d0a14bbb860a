#![allow(clippy::unwrap_used, reason = "a test may")]

use serde_json::json;
use tool_runtime::prelude::*;

use super::*;

/// Adds.
#[tool(read_only, register = false)]
fn add(a: f64) -> f64 {
    a
}

fn request() -> Request {
    let tools = Registry::builder().tool::<add>().build().unwrap();
    Request::new([Message::user("one"), Message::user("two")]).with_tools(tools)
}

fn sent(request: &Request, options: ChatOptions) -> PreparedRequest {
    prepare_request(request, AdapterKind::Anthropic, options)
}

#[test]
fn known_parameters_are_options_and_all_others_a_part_of_the_body() {
    let parameters = json!({
        "temperature": 0.5, "top_p": 1, "max_tokens": 7, "seed": 3, "user": "u-7",
    });
    let mut options = ChatOptions::default();
    apply_parameters(&mut options, parameters.as_object().unwrap());
    assert_eq!((options.temperature, options.top_p, options.max_tokens), (Some(0.5), Some(1.0), Some(7)));
    assert_eq!(options.extra_body, Some(json!({ "seed": 3, "user": "u-7" })));
    // A value that the option cannot have goes to the body; so do those of the model, which requests override.
    let mut options = ChatOptions::default().with_extra_body(json!({ "top_k": 3, "user": "u-1" }));
    let parameters = json!({ "temperature": "hot", "top_p": null, "max_tokens": -1, "user": "u-7" });
    apply_parameters(&mut options, parameters.as_object().unwrap());
    assert_eq!((options.temperature, options.top_p, options.max_tokens), (None, None, None));
    let expected =
        json!({ "top_k": 3, "user": "u-7", "temperature": "hot", "top_p": null, "max_tokens": -1 });
    assert_eq!(options.extra_body, Some(expected));
    let mut options = ChatOptions::default();
    apply_parameters(&mut options, &Map::new());
    assert_eq!(options.extra_body, None);
}

#[test]
fn thinking_is_an_effort_or_a_number_of_tokens() {
    for (thinking, expected) in [
        (Some(Thinking::Low), Some("low")),
        (Some(Thinking::Medium), Some("medium")),
        (Some(Thinking::High), Some("high")),
        (Some(Thinking::Tokens(1)), Some("1")),
        (Some(Thinking::Tokens(0)), Some("zero")),
        (Some(Thinking::Off), Some("zero")),
        (None, None),
    ] {
        let mut request = request();
        request.thinking = thinking;
        let effort = sent(&request, ChatOptions::default()).options.reasoning_effort;
        let effort = effort.map(|effort| effort.to_string());
        assert_eq!(effort.as_deref(), expected, "{thinking:?}");
    }
}

#[test]
fn the_choice_of_a_tool_is_sent_if_there_are_tools() {
    let own = || ChatOptions { tool_choice: Some(Choice::Required), ..ChatOptions::default() };
    for (choice, expected) in [
        (ToolChoice::Auto, Choice::Required),
        (ToolChoice::None, Choice::None),
        (ToolChoice::Required, Choice::Required),
        (ToolChoice::Tool("add".into()), Choice::tool("add")),
    ] {
        let with_tools = sent(&request().with_tool_choice(choice.clone()), own());
        assert_eq!(with_tools.options.tool_choice, Some(expected), "{choice:?}");
        assert_eq!(with_tools.request.tools.unwrap().len(), 1);
        assert_eq!(with_tools.names.get("add").map(String::as_str), Some("add"));
        let without = Request::new([Message::user("?")]).with_tool_choice(choice.clone());
        let without = sent(&without, ChatOptions::default());
        assert!(without.request.tools.is_none() && without.options.tool_choice.is_none(), "{choice:?}");
    }
    let options = sent(&request(), ChatOptions::default()).options;
    let captures = [
        options.capture_usage,
        options.capture_content,
        options.capture_reasoning_content,
        options.capture_tool_calls,
    ];
    assert_eq!(captures, [Some(true); 4]);
}

#[test]
fn an_instruction_is_the_system_prompt_or_a_message_that_is_cached() {
    let blank = sent(&request().with_instruction(" \n"), ChatOptions::default()).request;
    assert_eq!((blank.system, blank.messages.len()), (None, 2));
    let plain = sent(&request().with_instruction("Be brief."), ChatOptions::default()).request;
    assert_eq!((plain.system.as_deref(), plain.messages.len()), (Some("Be brief."), 2));
    let mut cached = request().with_instruction("Be brief.");
    cached.cache = vec![CachePoint::Instruction];
    let cached = sent(&cached, ChatOptions::default()).request;
    assert_eq!((cached.system.is_none(), cached.messages.len()), (true, 3));
    assert!(cached.messages[0].options.is_some() && cached.tools.unwrap()[0].cache_control.is_none());
}

#[test]
fn cache_points_are_those_of_the_request_and_at_most_the_last_message() {
    for (points, expected) in [
        (&[][..], [false, false]),
        (&[CachePoint::Message(0)], [true, false]),
        (&[CachePoint::Message(1)], [false, true]),
        (&[CachePoint::Message(9)], [false, true]),
        (&[CachePoint::Tools], [false, false]),
    ] {
        let mut request = request();
        request.cache = points.to_vec();
        let sent = sent(&request, ChatOptions::default()).request;
        assert_eq!([0, 1].map(|at| sent.messages[at].options.is_some()), expected, "{points:?}");
        let is_cached = sent.tools.unwrap()[0].cache_control.is_some();
        assert_eq!(is_cached, points.contains(&CachePoint::Tools), "{points:?}");
    }
}

#[test]
fn empty_texts_of_a_message_are_left_out() {
    let parts = |parts: Vec<Part>| {
        let request = Request::new([Message::user("?"), Message::assistant(parts)]);
        let PreparedRequest { request, unsupported, .. } = sent(&request, ChatOptions::default());
        (request.messages.get(1).map(|it| it.content.parts().len()), unsupported)
    };
    let left_out = || vec!["the reasoning of another model is left out".to_owned()];
    let (text, reasoning) = (|text: &str| Part::Text(text.to_owned()), || Part::Reasoning("Hm.".to_owned()));
    assert_eq!(parts(vec![text("a"), text("")]), (Some(1), Vec::new()));
    assert_eq!(parts(vec![text("")]), (None, Vec::new()));
    assert_eq!(parts(vec![reasoning(), reasoning(), text("a")]), (Some(1), left_out()));
    let image = Part::Content(Content::image(vec![1], "image/png"));
    let (count, remarks) = parts(vec![image]);
    let remark =
        "`genai` does not accept this content here; it is replaced by `[an image of type image/png]`";
    assert_eq!((count, remarks), (Some(1), vec![remark.to_owned()]));
}

#[test]
fn content_without_a_place_is_a_note_that_names_it() {
    use tool_runtime::output::{Blob, Resource, ResourceBody};

    let file = |body| {
        let resource = Resource { uri: "file:///a".into(), mime_type: "text/plain".into(), body };
        Content::Resource { resource }
    };
    let text = || file(ResourceBody::Text("a text".into()));
    let link =
        || Content::ResourceLink { uri: "https://a.example".into(), name: "a".into(), mime_type: None };
    for (content, expected) in [
        (Content::image(vec![1], "image/png"), "[an image of type image/png]"),
        (Content::audio(vec![1], "audio/wav"), "[audio of type audio/wav]"),
        (text(), "[a file of type text/plain: file:///a]"),
        (link(), "[a link: https://a.example]"),
        (Content::text("a"), "[content]"),
    ] {
        let tools = Registry::default();
        let bound = Dialect::openai_chat().bind_tools(&tools);
        let mut conversation =
            GenaiConversation { dialect: "d".into(), bound: &bound, unsupported: Vec::new() };
        assert_eq!(conversation.report_replaced_content(&content), expected);
        assert_eq!(conversation.unsupported.len(), 1, "{expected}");
    }
    // A user's files are sent; a link is not.
    let sent_parts = |content: Content| {
        let PreparedRequest { request, unsupported, .. } =
            sent(&Request::new([Message::user_content([content])]), ChatOptions::default());
        let part = &request.messages[0].content.parts()[0];
        (matches!(part, ContentPart::Binary(_)), unsupported.len())
    };
    for (content, is_binary) in [
        (Content::image(vec![1], "image/png"), true),
        (Content::audio(vec![1], "audio/wav"), true),
        (file(ResourceBody::Blob(Blob(vec![1]))), true),
        (link(), false),
        (Content::text("a"), false),
    ] {
        let remarks = usize::from(matches!(content, Content::ResourceLink { .. }));
        assert_eq!(sent_parts(content), (is_binary, remarks));
    }
}

#[test]
fn calls_and_results_have_the_names_and_values_of_the_provider() {
    let output = ToolOutput::new([Content::text("a dot"), Content::image(vec![1], "image/png")]);
    let failed = ToolResult::new("c2".to_owned().into(), "add", Err(ToolError::failed("no")));
    let failure = format!("Error: {}", failed.text());
    let results = [ToolResult::new("c1".to_owned().into(), "add", Ok(output)), failed];
    let calls = [(r#"{"a":1.5}"#, "c1"), ("{\"a\"", "c2")]
        .map(|(arguments, id)| Part::Call(tool_runtime::ToolCall::new("add", arguments).with_id(id)));
    let request = Request::new([Message::assistant(calls), Message::results(results)]);
    let request = request.with_tools(Registry::builder().tool::<add>().build().unwrap());
    let PreparedRequest { request, names, unsupported, .. } = sent(&request, ChatOptions::default());
    let calls = request.messages[0].content.tool_calls();
    let calls: Vec<_> =
        calls.into_iter().map(|it| (&*it.call_id, &*it.fn_name, it.fn_arguments.clone())).collect();
    assert_eq!(calls, [("c1", "add", json!({ "a": 1.5 })), ("c2", "add", json!("{\"a\""))]);
    let responses = request.messages[1].content.tool_responses();
    let responses: Vec<_> =
        responses.into_iter().map(|it| (&*it.call_id, it.fn_name.as_deref(), &*it.content)).collect();
    let shown = "a dot\n[an image of type image/png]";
    assert_eq!(responses, [("c1", Some("add"), shown), ("c2", Some("add"), &*failure)]);
    assert_eq!(names, HashMap::from([("add".to_owned(), "add".to_owned())]));
    assert_eq!(unsupported.len(), 1);
}
