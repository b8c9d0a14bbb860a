//! Runs of prompts: input, request and output.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tool_agent::{
    Model, Part, Role, Thinking,
    model::{ModelErrorKind, Reply, Request, Response, ResponseStream},
};
use tool_kit::{
    agent::{AgentDelegate, Models},
    catalogue::{Catalogue, json_input},
    prompt::{Prompt, PromptDefinition, PromptFile, PromptMessage, RenderedPrompt},
};
use tool_runtime::{
    BoxFuture, CancellationToken, Content, ErrorKind, RunContext,
    context::Budget,
    output::{Blob, ResourceBody},
    prelude::*,
};

use super::{answer, catalogue_of, document, model, run, text_document};

const EXPLAIN: &str = "---
name: explain
description: Explains a topic.
model: large
provider: acme
system_prompt: You are a teacher of {{ .subject }}.
input: { type: object, properties: { subject: { type: string }, topic: { type: string } }, required: [topic] }
thinking: low
thinking_budget: 1024
---
Explain {{ .topic }}.
";

#[tokio::test]
async fn a_prompt_is_rendered_and_answered_by_its_model_with_the_attachments() {
    let (default, large) = (model([]), model([Reply::text("The moon."), Reply::text("unused")]));
    let models = Models::new(default.clone()).unwrap().with_named("acme", "large", large.clone()).unwrap();
    let catalogue = Catalogue::new().with_delegate(AgentDelegate::new(models));
    catalogue.add_prompt(PromptFile::parse(EXPLAIN).unwrap()).unwrap();
    let resources = vec![
        json_input(&json!({ "subject": "physics", "topic": "tides" })),
        document("notes://a", "text/plain", ResourceBody::Text("High at noon.".to_owned())),
        document("image:b", "image/png", ResourceBody::Blob(Blob(vec![1]))),
        document("audio:c", "audio/wav", ResourceBody::Blob(Blob(vec![2]))),
        document("data:d", "application/pdf", ResourceBody::Blob(Blob(vec![3]))),
    ];
    let caller = Arc::new(RunContext::new().with_user("u-7"));
    let answer = catalogue.call(&caller, "explain", resources.clone()).await.unwrap().unwrap();
    let expected = document("text:explain", "text/plain", ResourceBody::Text("The moon.".to_owned()));
    assert_eq!(answer, expected); // U02 U28
    assert!(default.requests().is_empty()); // U28
    let [request] = &large.requests()[..] else { panic!("one request") };
    assert_eq!(&*request.instruction, "You are a teacher of physics."); // U32
    assert_eq!(request.thinking, Some(Thinking::Tokens(1024))); // U32
    let [message] = &request.messages[..] else { panic!("{:?}", request.messages) };
    let [
        Part::Text(text),
        Part::Content(notes),
        Part::Content(image),
        Part::Content(audio),
        Part::Content(pdf),
    ] = message.parts()
    else {
        panic!("{message:?}")
    };
    assert_eq!(text, "Explain tides."); // U28
    assert_eq!(*notes, Content::Resource { resource: resources[1].clone() }); // U26 U28
    assert_eq!(
        (image, audio),
        (&Content::image(vec![1], "image/png"), &Content::audio(vec![2], "audio/wav"))
    ); // U26
    assert_eq!(*pdf, Content::Resource { resource: resources[4].clone() }); // U26
    let child = &request.run;
    assert_eq!((child.user(), child.agent(), child.depth()), (Some("u-7"), Some("explain"), 1));
    assert_eq!(child.parent_id(), Some(caller.id())); // U28
}

#[tokio::test]
async fn the_output_of_a_prompt_with_a_schema_is_json() {
    for (schema, arguments, expected) in [
        (
            "{ type: object, properties: { city: { type: string } } }",
            json!({ "city": "Oslo" }),
            r#"{"city":"Oslo"}"#,
        ),
        ("{ type: string }", json!({ "output": "Oslo" }), r#""Oslo""#),
        (
            "{ type: array, items: { $ref: '#/$defs/n' }, $defs: { n: { type: integer } } }",
            json!({ "output": [1, 2] }),
            "[1,2]",
        ),
        ("{ enum: [a, b] }", json!({ "output": "b" }), r#""b""#),
    ] {
        let model = model([
            Reply::call("submit_output", json!({ "nope": 1, "output": {} })),
            Reply::call("submit_output", arguments),
        ]);
        let prompt = format!("---\nname: ask\noutput: {schema}\n---\nThe capital?");
        let catalogue = catalogue_of(&model, &[&prompt]);
        let output = catalogue
            .call(&run(), "ask", Vec::new())
            .await
            .unwrap_or_else(|error| panic!("{schema}: {error}"));
        let expected = document("json:ask", "application/json", ResourceBody::Text(expected.to_owned()));
        let is_open = schema.contains("object");
        if !is_open {
            assert_eq!(output.unwrap(), expected, "{schema}"); // U28
            assert_eq!(model.requests().len(), 2, "{schema}"); // The first one does not fit.
        }
    }
    let exact = model([Reply::call("submit_output", r#"{"price":0.10000000000000000001}"#)]);
    let catalogue = catalogue_of(&exact, &["---\nname: ask\noutput: { type: object }\n---\nThe price?"]);
    let price = answer(&catalogue, "ask", json!({})).await.unwrap();
    assert_eq!(price, r#"{"price":0.10000000000000000001}"#); // U28
    let recursive = "---\nname: ask\noutput: { type: array, items: { $ref: '#' } }\n---\nA tree?";
    let error = answer(&catalogue_of(&model([]), &[recursive]), "ask", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadParameter);
    assert!(error.to_string().contains("refer to `#/$defs/..` in place of it"), "{error}");
}

#[tokio::test]
async fn the_first_resource_is_the_input_as_the_schema_takes_it() {
    let json = |text: &str| document("json:input", "application/json", ResourceBody::Text(text.to_owned()));
    let blob = || document("image:a", "image/png", ResourceBody::Blob(Blob(vec![1])));
    for (schema, resources, expected) in [
        ("{ type: string }", vec![text_document("a text")], Ok("a text")), // U35
        ("{ type: string }", vec![json(r#""quoted""#)], Ok("quoted")),     // U35
        ("{ type: [string, 'null'] }", vec![], Ok("none")),                // U35
        ("{ type: object }", vec![], Ok("{}")),
        ("{ type: array }", vec![json("[1]")], Ok("[1]")), // U35
        ("{ type: string, maxLength: 2 }", vec![text_document("long")], Err("does not fit")),
        ("{ type: string }", vec![json("{}")], Err("does not fit")),
        ("{ type: string }", vec![blob()], Err("the first resource of a call is its input")),
        ("{ type: string }", vec![], Err("does not fit")),
        ("{ type: object }", vec![text_document("a text")], Err("its type is `text/plain`")), // U25
        ("{ type: object }", vec![json("{")], Err("is not valid JSON")),                      // U25
        ("{ type: object, required: [a] }", vec![], Err("does not fit")),
    ] {
        let model = model([Reply::text("Done.")]);
        let prompt = format!("---\nname: ask\ninput: {schema}\n---\n{{{{ default \"none\" . }}}}");
        let catalogue = catalogue_of(&model, &[&prompt]);
        let called = catalogue.call(&run(), "ask", resources.clone()).await;
        match expected {
            Ok(expected) => {
                called.unwrap_or_else(|error| panic!("{schema} {resources:?}: {error}"));
                let text = model.requests()[0].messages[0].text();
                assert!(text == expected || (expected == "{}" && text == "none"), "{schema}: {text}");
            }
            Err(expected) => {
                let error = called.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::BadParameter, "{schema}: {error}");
                assert!(error.to_string().contains(expected), "{schema}: {error}");
                assert!(model.requests().is_empty());
            }
        }
    }
}

#[tokio::test]
async fn thinking_reaches_the_request() {
    for (front_matter, expected) in [
        ("", None),
        ("thinking: true\n", Some(Thinking::Medium)),
        ("thinking: off\n", Some(Thinking::Off)),
        ("thinking: high\n", Some(Thinking::High)),
        ("thinking: true\nthinking_budget: 5\n", Some(Thinking::Tokens(5))),
        ("thinking_budget: 5\n", Some(Thinking::Tokens(5))),
        ("thinking: false\nthinking_budget: 5\n", Some(Thinking::Off)),
    ] {
        let model = model([Reply::text("Done.")]);
        let catalogue = catalogue_of(&model, &[&format!("---\nname: ask\n{front_matter}---\nHello.")]);
        answer(&catalogue, "ask", json!({})).await.unwrap();
        assert_eq!(model.requests()[0].thinking, expected, "{front_matter}"); // U32
    }
}

/// A prompt of fixed messages.
struct Dialogue(PromptDefinition, Vec<PromptMessage>);

impl Prompt for Dialogue {
    fn definition(&self) -> &PromptDefinition {
        &self.0
    }

    fn render<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        Box::pin(async { Ok(RenderedPrompt::new(self.1.clone())) })
    }
}

#[tokio::test]
async fn a_prompt_of_several_messages_is_a_conversation_that_ends_with_the_user() {
    let turns = ["One?", "One.", "Two?", "Three?"].map(PromptMessage::user);
    let [first, _, third, fourth] = turns.clone();
    let answered = vec![first, PromptMessage::assistant("One."), third, fourth];
    let model = model([Reply::call("add", json!({ "a": 1, "b": 1 })), Reply::text("Done.")]);
    let catalogue = catalogue_of(&model, &[]);
    catalogue.add_prompt(Dialogue(PromptDefinition::new("ask").unwrap(), answered)).unwrap();
    let unanswered = Dialogue(PromptDefinition::new("open").unwrap(), vec![PromptMessage::assistant("One.")]);
    catalogue.add_prompt(unanswered).unwrap();
    catalogue.add_prompt(Dialogue(PromptDefinition::new("empty").unwrap(), Vec::new())).unwrap();
    assert_eq!(answer(&catalogue, "ask", json!({})).await.unwrap(), "Done.");
    for request in model.requests() {
        let shown: Vec<_> = request.messages.iter().map(|it| (it.role(), it.parts().len())).collect();
        assert_eq!(shown[..3], [(Role::User, 1), (Role::Assistant, 1), (Role::User, 2)]); // U28
    }
    for key in ["open", "empty"] {
        let error = answer(&catalogue, key, json!({})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadParameter, "{key}");
        assert!(error.to_string().contains("does not end with a message of the user"), "{error}");
    }
}

/// A model that does not answer.
struct Silent(Arc<tokio::sync::Notify>);

impl Model for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn respond(&self, _: Request) -> ResponseStream {
        self.0.notify_one();
        ResponseStream::of_future(std::future::pending())
    }
}

/// A catalogue whose model does not answer, and the signal that it was asked.
fn silent() -> (Catalogue, Arc<tokio::sync::Notify>) {
    let is_asked = Arc::new(tokio::sync::Notify::new());
    let models = Models::new(Silent(Arc::clone(&is_asked))).unwrap();
    let catalogue = Catalogue::new().with_delegate(AgentDelegate::new(models));
    catalogue.add_prompt(PromptFile::parse("---\nname: ask\n---\nHello?").unwrap()).unwrap();
    (catalogue, is_asked)
}

async fn a_run_ends_with_the_token_of_its_caller() {
    let (catalogue, is_asked) = silent();
    let token = CancellationToken::new();
    let caller = Arc::new(RunContext::new().with_cancellation(token.clone()));
    let cancel = async {
        is_asked.notified().await;
        token.cancel();
    };
    let (called, ()) = futures_util::future::join(catalogue.call(&caller, "ask", Vec::new()), cancel).await;
    assert_eq!(called.unwrap_err().kind(), ErrorKind::Cancelled); // U28
}

#[tokio::test]
async fn a_run_ends_with_the_token_of_its_caller_on_one_thread() {
    a_run_ends_with_the_token_of_its_caller().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_ends_with_the_token_of_its_caller_on_two_threads() {
    a_run_ends_with_the_token_of_its_caller().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_at_the_deadline_of_its_caller() {
    let (catalogue, _) = silent();
    let caller = RunContext::new().with_deadline(Instant::now() + Duration::from_millis(20));
    let error = catalogue.call(&Arc::new(caller), "ask", Vec::new()).await.unwrap_err();
    assert!(error.to_string().contains("the time of the run is over"), "{error}"); // U28
}

#[tokio::test]
async fn a_run_spends_the_budget_of_its_caller_and_counts_as_a_level() {
    let replies = || [Reply::call("add", json!({ "a": 1, "b": 1 })), Reply::text("Done.")];
    let prompt = ["---\nname: ask\n---\nHello."];
    let caller = Arc::new(RunContext::new().with_budget(Budget { rounds: Some(1), ..Budget::default() }));
    let error = catalogue_of(&model(replies()), &prompt).call(&caller, "ask", Vec::new()).await.unwrap_err();
    assert!(error.to_string().contains("the run may take 1 round"), "{error}"); // U28
    assert_eq!((caller.spent().rounds, caller.spent().calls), (1, 2)); // U28: the prompt and its tool.
    let caller = Arc::new(RunContext::new().with_max_depth(0));
    let model = model(replies());
    let error = catalogue_of(&model, &prompt).call(&caller, "ask", Vec::new()).await.unwrap_err();
    assert!(error.to_string().contains("would be on level 1, and 0 are allowed"), "{error}"); // U29
    assert!(model.requests().is_empty());
}

/// A model that repeats the last message.
struct Echo;

impl Model for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let text = request.messages.last().map(tool_agent::Message::text).unwrap_or_default();
        ResponseStream::of_future(async move {
            tokio::task::yield_now().await;
            Ok(Response::new(tool_agent::Message::assistant([Part::Text(text)])))
        })
    }
}

async fn calls_at_once_have_runs_of_their_own() {
    let catalogue = Catalogue::new().with_delegate(AgentDelegate::new(Models::new(Echo).unwrap()));
    catalogue.add_prompt(PromptFile::parse("---\nname: echo\n---\n{{ .number }}").unwrap()).unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..32 {
        let catalogue = catalogue.clone();
        calls.spawn(async move { answer(&catalogue, "echo", json!({ "number": number })).await });
    }
    let mut texts: Vec<_> = calls.join_all().await.into_iter().map(Result::unwrap).collect();
    texts.sort_by_key(|text| text.parse::<u8>().unwrap());
    assert_eq!(texts, (0..32).map(|number| number.to_string()).collect::<Vec<_>>()); // U28
}

#[tokio::test]
async fn calls_at_once_have_runs_of_their_own_on_one_thread() {
    calls_at_once_have_runs_of_their_own().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_at_once_have_runs_of_their_own_on_two_threads() {
    calls_at_once_have_runs_of_their_own().await;
}

/// A prompt that cannot be rendered.
struct Panicking(PromptDefinition);

impl Prompt for Panicking {
    fn definition(&self) -> &PromptDefinition {
        &self.0
    }

    fn render<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        panic!("no text")
    }
}

#[tokio::test]
async fn a_prompt_a_function_and_a_run_that_fail_are_errors_of_the_call() {
    let catalogue = catalogue_of(
        &model([Reply::error(ModelErrorKind::Unavailable, "down")]),
        &["---\nname: ask\n---\nGo."],
    );
    catalogue.add_prompt(Panicking(PromptDefinition::new("broken").unwrap())).unwrap();
    catalogue.add_prompt(PromptFile::parse("---\nname: submit_output\n---\nGo.").unwrap()).unwrap();
    let error = answer(&catalogue, "broken", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("the delegate panicked: no text"), "{error}");
    let error = answer(&catalogue, "ask", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("down"), "{error}");
    let error = answer(&catalogue, "submit_output", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("the prompt `submit_output` cannot be called"), "{error}"); // U31
    let delegate = AgentDelegate::new(Models::new(Echo).unwrap()).configure(|_| panic!("no agent"));
    let catalogue = catalogue.with_delegate(delegate);
    let error = answer(&catalogue, "ask", json!({})).await.unwrap_err().to_string();
    assert!(error.contains("the delegate panicked: no agent"), "{error}");
}

#[tokio::test]
async fn an_agent_is_configured_but_for_what_its_prompt_states() {
    let model = model([Reply::text("Done."), Reply::text("Done.")]);
    let delegate = AgentDelegate::new(Models::new(model.clone()).unwrap()).configure(|agent| {
        agent.parameter("temperature", 0).instruction("Be brief.").thinking(Thinking::Low)
    });
    let prompts =
        ["---\nname: plain\n---\nGo.", "---\nname: own\nsystem_prompt: Be long.\nthinking: high\n---\nGo."];
    let catalogue = catalogue_of(&model, &prompts).with_delegate(delegate);
    for key in ["plain", "own"] {
        answer(&catalogue, key, json!({})).await.unwrap();
    }
    let found: Vec<_> = model.requests().iter().map(|it| (it.instruction.to_string(), it.thinking)).collect();
    let expected =
        [("Be brief.".to_owned(), Some(Thinking::Low)), ("Be long.".to_owned(), Some(Thinking::High))];
    assert_eq!(found, expected); // U32
    assert!(model.requests().iter().all(|request| request.parameters["temperature"] == 0));
}
