//! Models of the program, and what all models have.

use std::{error::Error as _, time::Duration};

use tool_agent::{
    Limits, Message, Model, Part, Price, ScriptedModel,
    model::{
        Fallback, ModelError, ModelErrorKind, ModelEvent, OutputFormat, Reply, Request, Response,
        ResponseStream, SharedModel, ToolChoice,
    },
};
use tool_runtime::{dialect::Usage, prelude::*, request::request_fn};

/// A model with no more than a trait requires, which answers with its instruction.
struct Plain;

impl Model for Plain {
    fn name(&self) -> &str {
        "plain"
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let text = request.instruction.to_string();
        ResponseStream::of_future(async move { Ok(Response::new(Message::assistant([Part::Text(text)]))) })
    }
}

#[test]
fn a_model_promises_nothing_by_default() {
    let model = SharedModel::new(Plain);
    let mut request = Request::new([]);
    request.output = Some(OutputFormat { name: "it".into(), schema: json!({}).into() });
    assert_eq!((model.provider(), model.context_window()), ("unknown", None));
    assert!(
        !model.has_strict_output() && !model.has_strict_output_for(&request) && !model.asks_request_hooks()
    );
    assert_eq!(format!("{model:?}"), "SharedModel(unknown:plain)");
    assert_eq!(format!("{:?}", model.respond(Request::new([]))), "ResponseStream");
}

#[test]
fn a_choice_is_forced_if_it_requires_a_call() {
    for (choice, is_forced) in [
        (ToolChoice::Auto, false),
        (ToolChoice::None, false),
        (ToolChoice::Required, true),
        (ToolChoice::Tool("add".into()), true),
    ] {
        assert_eq!(choice.is_forced(), is_forced, "{choice:?}");
    }
}

#[test]
fn an_error_has_what_it_was_given() {
    let error = ModelError::new(ModelErrorKind::Other, "it failed");
    assert_eq!((error.status(), error.retry_after(), error.source().is_none()), (None, None, true));
    let error =
        error.with_status(418).with_retry_after(Some(Duration::from_secs(7))).with_source("the cause");
    assert_eq!((error.status(), error.retry_after()), (Some(418), Some(Duration::from_secs(7))));
    assert_eq!((error.to_string().as_str(), error.kind()), ("it failed", ModelErrorKind::Other));
    assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("the cause"));
}

#[tokio::test]
async fn a_whole_response_is_shown_part_by_part_before_its_end() {
    let parts = [Part::Reasoning("Hm.".to_owned()), Part::Text("5".to_owned())];
    let response = Response::new(Message::assistant(parts));
    let mut stream = ResponseStream::of_future(async { Ok(response) });
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Reasoning(text))) if text == "Hm."));
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Text(text))) if text == "5"));
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::Finished(_)))));
    assert!(stream.next().await.is_none());
    let failed = || async { Err(ModelError::new(ModelErrorKind::Refused, "no")) };
    let error = ResponseStream::of_future(failed()).response().await.unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ModelErrorKind::Refused, "no"));
    let ends = || ResponseStream::new(futures_util::stream::iter([Ok(ModelEvent::Text("a".to_owned()))]));
    let error = ends().response().await.unwrap_err();
    let expected = "the model ended its stream without a response";
    assert_eq!((error.kind(), error.to_string().as_str()), (ModelErrorKind::Malformed, expected));
}

/// The instruction that a model receives, whose request hook adds `texts` to `instruction`.
async fn extended(instruction: &str, texts: &'static [&'static str]) -> String {
    let hook = request_fn(move |request| async move {
        for text in texts {
            request.instruct(*text);
        }
        Ok(())
    });
    let tools = Registry::builder().request_hook(hook).build().unwrap();
    let request = Request::new([Message::user("Hi.")]).with_instruction(instruction).with_tools(tools);
    SharedModel::new(Plain).respond(request).response().await.unwrap().message.text()
}

#[tokio::test]
async fn an_instruction_is_extended_by_paragraphs_that_it_does_not_have() {
    for (instruction, texts, expected) in [
        ("You.", &[][..], "You."),
        ("You.", &["Be brief."], "You.\n\nBe brief."),
        ("", &["Be brief."], "Be brief."),
        (" \n", &["Be brief."], "Be brief."),
        ("You.", &[" "], "You."),
        ("", &["Be brief.", "Be kind."], "Be brief.\n\nBe kind."),
        ("Be brief.", &["Be brief."], "Be brief."),
        ("You.\n\nBe brief.\n\nNow.", &["Be brief."], "You.\n\nBe brief.\n\nNow."),
        // A part of a paragraph is not the paragraph.
        ("You. Be brief.", &["Be brief."], "You. Be brief.\n\nBe brief."),
        ("Be brief. Now.", &["Be brief."], "Be brief. Now.\n\nBe brief."),
    ] {
        assert_eq!(extended(instruction, texts).await, expected, "{instruction:?} {texts:?}");
    }
}

fn failing(kind: ModelErrorKind, message: &'static str) -> ScriptedModel {
    ScriptedModel::new([Reply::error(kind, message)])
}

#[tokio::test]
async fn a_fallback_ends_with_the_error_of_one_model_that_no_other_may_follow() {
    use ModelErrorKind::{Refused, Unavailable};
    let last = ScriptedModel::new([Reply::text("5")]);
    let ask = async |fallback: Fallback| {
        let error = fallback.respond(Request::new([])).response().await.unwrap_err();
        (error.kind(), error.to_string())
    };
    let refused = (Refused, "no".to_owned());
    assert_eq!(ask(Fallback::new(failing(Unavailable, "busy")).or(failing(Refused, "no"))).await, refused);
    let three = Fallback::new(failing(Unavailable, "busy")).or(failing(Refused, "no")).or(last.clone());
    assert_eq!(ask(three).await, refused);
    assert_eq!(last.requests().len(), 0);
    let busy = (Unavailable, "busy".to_owned());
    assert_eq!(ask(Fallback::new(failing(Unavailable, "busy"))).await, busy);
}

#[tokio::test]
async fn a_response_of_a_fallback_names_the_model_that_the_response_names() {
    let mut named = Response::new(Message::assistant([Part::Text("5".to_owned())]));
    named.model = Some("m-2026".into());
    let fallback = Fallback::new(ScriptedModel::new([Reply::from(named)]).with_name("m"));
    let response = fallback.respond(Request::new([])).response().await.unwrap();
    assert_eq!(response.model.as_deref(), Some("m-2026"));
    let strict = |is_strict| ScriptedModel::new([]).with_strict_output(is_strict);
    for (one, other) in [(true, true), (true, false), (false, true), (false, false)] {
        let fallback = Fallback::new(strict(one)).or(strict(other));
        let both = (fallback.has_strict_output(), fallback.has_strict_output_for(&Request::new([])));
        assert_eq!(both, (one && other, one && other));
    }
    let shown = format!("{:?}", Fallback::new(Plain));
    assert_eq!(shown, "Fallback { models: [SharedModel(unknown:plain)], .. }");
}

#[tokio::test]
async fn clones_of_a_scripted_model_share_its_script_and_its_requests() {
    let model = ScriptedModel::new([Reply::text("1"), Reply::text("2")]);
    let named = model.clone().with_name("named").with_context_window(9);
    assert_eq!((model.name(), named.name(), named.provider()), ("scripted", "named", "scripted"));
    assert_eq!((model.context_window(), named.context_window()), (None, Some(9)));
    let answer = async |model: &ScriptedModel, text: &str| {
        model.respond(Request::new([Message::user(text)])).response().await.unwrap().message.text()
    };
    assert_eq!((answer(&named, "a").await, answer(&model, "b").await), ("1".to_owned(), "2".to_owned()));
    let asked: Vec<_> = named.requests().iter().map(|it| it.messages[0].text()).collect();
    assert_eq!(asked, ["a", "b"]);
    assert!(named.finished().is_ok());
    assert_eq!(format!("{named:?}"), "ScriptedModel { name: \"named\", .. }");
}

#[test]
fn a_cost_is_the_sum_of_the_counts_by_their_prices() {
    let price = Price { input: 1.0, cached_input: 10.0, cache_write: 100.0, output: 1000.0 };
    let cost = |input, cached, written, output| {
        let mut usage = Usage::default();
        (usage.input, usage.cached, usage.cache_written, usage.output) = (input, cached, written, output);
        price.cost(&usage) * 1e6
    };
    for (counts, expected) in [
        ((None, None, None, None), 0.0),
        ((Some(7), None, None, None), 7.0),
        // Counts of the cache are a part of the input.
        ((Some(9), Some(2), None, None), 27.0),
        ((Some(9), Some(2), Some(3), Some(4)), 4324.0),
        ((Some(1), Some(2), Some(3), None), 320.0),
    ] {
        let (input, cached, written, output) = counts;
        assert!((cost(input, cached, written, output) - expected).abs() < 1e-6, "{counts:?}");
    }
}

#[test]
fn limits_have_their_documented_defaults() {
    let expected = Limits {
        rounds: Some(50),
        calls: None,
        calls_per_response: Some(128),
        tokens: None,
        cost: None,
        time: None,
        repeated_calls: Some(5),
        transfers: Some(10),
    };
    assert_eq!(Limits::default(), expected);
}
