//! Additions of tools and request hooks reach every model.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use tool_agent::{
    Agent, AgentEventKind, EndReason, HttpModel, Message, Model, Part, Runner, ScriptedModel,
    model::{
        Fallback, ModelErrorKind, ModelEvent, RecordingModel, Reply, Request, Response, ResponseStream,
        SharedModel,
    },
};
use tool_runtime::{RunContext, ToolError, prelude::*, request::request_fn};

/// Returns the time.
#[tool(register = false, on_request = explain)]
fn now() -> String {
    "12:00".to_owned()
}

fn explain(request: tool_runtime::request::ModelRequest) {
    request.instruct(format!("Call `{}` for the time.", request.tool_name().unwrap_or_default()));
}

/// A runner whose tools and hooks add to each request; `dialects` are those that the hook was asked for.
fn runner(model: impl Into<SharedModel>, dialects: Arc<Mutex<Vec<String>>>) -> Runner {
    let hook = request_fn(move |request| {
        dialects.lock().unwrap().push(request.dialect().to_owned());
        async move {
            request.instruct("Be brief.");
            request.add_text("It is noon.");
            request.set("temperature", json!(0.5));
            Ok(())
        }
    });
    let tools = Registry::builder().tool::<now>().request_hook(hook).build().unwrap();
    Runner::new(Agent::builder("clock", model).instruction("You are a clock.").tools(tools).build().unwrap())
}

fn replies() -> [Reply; 3] {
    [Reply::call("now", json!({})), Reply::text("Noon."), Reply::text("Still noon.")]
}

async fn ask_twice(runner: &Runner) -> [String; 2] {
    let run = || RunContext::new().with_session("s");
    let first = runner.run_with(run(), "What time is it?").answer().await.unwrap();
    [first, runner.run_with(run(), "And now?").answer().await.unwrap()]
}

/// The texts of the user in a request.
fn texts(request: &Request) -> Vec<String> {
    let is_user = |message: &&Message| message.parts().iter().all(|part| matches!(part, Part::Text(_)));
    request.messages.iter().filter(is_user).map(Message::text).filter(|text| !text.is_empty()).collect()
}

#[track_caller]
fn assert_extended(requests: &[Request]) {
    let expected: [&[&str]; 3] = [
        &["What time is it?", "It is noon."],
        &["What time is it?", "It is noon."],
        // Additions are for their request only.
        &["What time is it?", "Noon.", "And now?", "It is noon."],
    ];
    assert_eq!(requests.len(), 3);
    for (request, expected) in requests.iter().zip(expected) {
        assert_eq!(&*request.instruction, "You are a clock.\n\nBe brief.\n\nCall `now` for the time.");
        assert_eq!(texts(request), expected);
        assert_eq!(request.parameters["temperature"], 0.5);
    }
}

#[tokio::test]
async fn additions_reach_a_scripted_model() {
    let (model, dialects) = (ScriptedModel::new(replies()), Arc::default());
    let answers = ask_twice(&runner(model.clone(), Arc::clone(&dialects))).await;
    assert_eq!(answers, ["Noon.", "Still noon."]);
    assert_extended(&model.requests());
    assert_eq!(*dialects.lock().unwrap(), ["neutral"; 3]);
}

/// A model of the program, which passes its requests on.
struct Own<M>(M);

impl<M: Model> Model for Own<M> {
    fn name(&self) -> &str {
        "own"
    }

    fn respond(&self, request: Request) -> ResponseStream {
        self.0.respond(request)
    }
}

#[tokio::test]
async fn additions_reach_a_model_of_the_program_and_the_models_of_a_fallback_once() {
    let script = ScriptedModel::new(replies());
    ask_twice(&runner(Own(script.clone()), Arc::default())).await;
    assert_extended(&script.requests());

    let failing = || Reply::error(ModelErrorKind::Unavailable, "busy");
    let (first, second) =
        (ScriptedModel::new([failing(), failing(), failing()]), ScriptedModel::new(replies()));
    let fallback = Fallback::new(first.clone()).or(Own(second.clone()));
    ask_twice(&runner(fallback, Arc::default())).await;
    assert_extended(&first.requests());
    assert_extended(&second.requests());
}

fn path() -> PathBuf {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = format!("{}/additions-{}-{number}.jsonl", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    drop(fs::remove_file(&path));
    path.into()
}

/// A model over HTTP at a server that answers each request with a text.
async fn http_model() -> HttpModel {
    let answer = json!({ "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": "Noon." } }] });
    let router = axum::Router::new().fallback(move || {
        let answer = answer.to_string();
        async move { ([("content-type", "application/json")], answer) }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    HttpModel::from_text("openai:m").unwrap().with_base_url(url).with_api_key("k").with_retries(0)
}

#[tokio::test]
async fn additions_are_recorded_and_replayed() {
    let failing = ScriptedModel::new([(); 6].map(|()| Reply::error(ModelErrorKind::Unavailable, "busy")));
    let answering = || ScriptedModel::new([Reply::text("Noon."), Reply::text("Noon.")]);
    let neutral: &[&str] = &["neutral", "neutral"];
    let models: [(SharedModel, &[&str]); 7] = [
        (answering().into(), neutral),
        // The model that passes its requests on has asked for the additions of both.
        (Own(http_model().await).into(), neutral),
        (http_model().await.into(), &["openai-chat", "openai-chat"]),
        (Fallback::new(failing.clone()).or(answering()).into(), &["neutral"; 4]),
        (Fallback::new(failing.clone()).or(Own(answering())).into(), &["neutral"; 4]),
        (
            Fallback::new(failing.clone()).or(http_model().await).into(),
            &["neutral", "openai-chat", "neutral", "openai-chat"],
        ),
        (Fallback::new(http_model().await).or(failing).into(), &["openai-chat", "openai-chat"]),
    ];
    for (model, expected) in models {
        let path = path();
        let recording = RecordingModel::create(model, &path).unwrap();
        let dialects = Arc::default();
        let recorded = ask_twice(&runner(recording, Arc::clone(&dialects))).await;
        // Once for each request and each model that it is sent to.
        assert_eq!(*dialects.lock().unwrap(), expected);
        let script = fs::read_to_string(&path).unwrap();
        let of_each = |text: &str| script.lines().map(|line| line.matches(text).count()).collect::<Vec<_>>();
        assert_eq!(of_each("Be brief."), [1, 1], "{script}");
        assert_eq!(of_each("It is noon."), [1, 1], "{script}");
        let replay = ScriptedModel::from_file(&path).unwrap();
        assert_eq!(ask_twice(&runner(replay.clone(), Arc::default())).await, recorded, "{script}");
        replay.finished().unwrap();
        // Without the hook, the requests differ.
        let replay = ScriptedModel::from_file(&path).unwrap();
        let agent = Agent::builder("clock", replay).instruction("You are a clock.").build().unwrap();
        let error = Runner::new(agent).run("What time is it?").answer().await.unwrap_err();
        assert!(error.to_string().contains("Be brief."), "{error}");
    }
}

#[tokio::test]
async fn a_request_whose_hook_fails_or_panics_is_not_sent() {
    let fails = request_fn(|_| async { Err(ToolError::failed("no user is logged in")) });
    let panics = request_fn(|_| async { panic!("oops") });
    for (tools, reason) in [
        (Registry::builder().request_hook(fails), "no user is logged in"),
        (Registry::builder().request_hook(panics), "oops"),
    ] {
        let model = ScriptedModel::new([Reply::text("Hello.")]);
        let agent = Agent::builder("greeter", model.clone()).tools(tools.build().unwrap()).build().unwrap();
        let end = Runner::new(agent).run("Hi.").end().await;
        let EndReason::ModelFailed { message, .. } = &end.reason else { panic!("{end:?}") };
        assert!(message.contains(reason), "{message}");
        assert_eq!(model.requests().len(), 0);
    }
}

#[tokio::test]
async fn native_additions_for_a_model_without_a_dialect_are_a_notice() {
    let hook = request_fn(|request| async move {
        request.add_native(json!({ "type": "web_search" }));
        request.add_message(json!({ "role": "user", "content": "x".repeat(10_000) }));
        Ok(())
    });
    let tools = Registry::builder().request_hook(hook).build().unwrap();
    let agent =
        Agent::builder("clock", ScriptedModel::new([Reply::text("Noon.")])).tools(tools).build().unwrap();
    let (mut events, mut notices) = (Runner::new(agent).run("?"), Vec::new());
    while let Some(event) = events.next().await {
        if let AgentEventKind::Notice { text } = event.kind {
            notices.push(text);
        }
    }
    assert_eq!(notices[0], r#"the model has no place for the native tool `{"type":"web_search"}`"#);
    assert!(notices[1].starts_with("the model has no place for the message `{"), "{notices:?}");
    assert!(notices[1].len() < 400);
}

#[tokio::test]
async fn a_request_without_a_run_of_an_agent_has_the_additions_too() {
    let hook = request_fn(|request| async move {
        request.instruct("Be brief.");
        Ok(())
    });
    let tools = Registry::builder().request_hook(hook).build().unwrap();
    let echo = SharedModel::new(Echo);
    let request = Request::new([Message::user("Hi.")]).with_tools(tools);
    assert_eq!(echo.respond(request).response().await.unwrap().message.text(), "Be brief.");
}

/// A model that answers with its instruction.
struct Echo;

impl Model for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let text = request.instruction.to_string();
        ResponseStream::of_future(async move { Ok(Response::new(Message::assistant([Part::Text(text)]))) })
    }
}

#[tokio::test]
async fn a_request_to_which_nothing_is_added_has_no_event_of_it() {
    let hook = request_fn(|_| async move { Ok(()) });
    let hooked = Registry::builder().request_hook(hook).build().unwrap();
    for (tools, expected) in [
        (Registry::builder().tool::<now>().build().unwrap(), true),
        (hooked, false),
        (Registry::default(), false),
    ] {
        let request = Request::new([Message::user("Hi.")]).with_tools(tools);
        let mut stream = SharedModel::new(Echo).respond(request);
        let mut is_extended = false;
        while let Some(event) = stream.next().await {
            is_extended |= matches!(event, Ok(ModelEvent::Extended(_)));
        }
        assert_eq!(is_extended, expected);
    }
}
