//! Tools whose calls end in each way.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tool_runtime::{
    Content, Executor, ToolCall,
    context::{LogLevel, LogLine, Progress},
    definition::Permission,
    output::{Actions, Stream},
    prelude::*,
};

/// The number of bodies that ran.
#[derive(Default)]
struct Bodies(AtomicUsize);

impl Bodies {
    fn enter(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

#[derive(serde::Serialize)]
struct Greeting {
    text: String,
    letters: usize,
}

/// Greets.
#[tool(read_only, register = false, title = "Greet a person")]
fn greet(name: String, #[arg(secret)] key: Option<String>) -> Greeting {
    let _ = key;
    Greeting { letters: name.len(), text: format!("Hello, {name}") }
}

/// Fails.
#[tool(register = false)]
fn fail(details: bool) -> Result<String, ToolError> {
    let error = ToolError::conflict("the seat is taken");
    Err(if details {
        error.with_details(json!({ "seat": 7 })).with_feedback("choose another seat")
    } else {
        error
    })
}

/// Fails twice.
#[tool(read_only, register = false, retry(attempts = 3, initial = "1ms", jitter = false))]
fn recover(bodies: &Bodies) -> Result<usize, ToolError> {
    match bodies.enter() {
        1 | 2 => Err(ToolError::new(ErrorKind::Unavailable, "try again").retryable(true)),
        body => Ok(body),
    }
}

/// Fails each time.
#[tool(read_only, register = false, retry(attempts = 2, initial = "1ms", jitter = false))]
fn break_down(bodies: &Bodies) -> Result<usize, ToolError> {
    Err(ToolError::new(ErrorKind::Unavailable, format!("body {}", bodies.enter())).retryable(true))
}

/// Takes its time.
#[tool(read_only, register = false, timeout = "200ms", grace_period = "50ms")]
async fn wait(cx: &ToolContext) -> &'static str {
    cx.cancellation().cancelled().await;
    std::future::pending().await
}

/// Panics.
#[tool(register = false)]
fn panic() -> String {
    panic!("out of cheese")
}

/// Speaks while it works.
#[tool(register = false)]
async fn speak(times: u32, cx: &ToolContext) -> Result<String, ToolError> {
    for number in 1..=times {
        cx.update(format!("part {number}")).await;
        cx.progress(Progress::new(f64::from(number)))?;
        cx.log(LogLine::new(LogLevel::Info, format!("line {number}")).with_data(json!({ "n": number })))?;
    }
    Ok("spoken".to_owned())
}

/// Books a seat.
#[tool(register = false, confirm)]
fn reserve(seat: u32, bodies: &Bodies) -> String {
    format!("{seat} by body {}", bodies.enter())
}

fn judge(seat: &u32) -> Permission {
    if *seat == 13 { Permission::deny("there is no such row") } else { Permission::Allow }
}

/// Sells a seat.
#[tool(register = false, permission = judge)]
fn sell(seat: u32) -> String {
    format!("sold {seat}")
}

/// Reads its surroundings.
#[tool(read_only, register = false)]
fn look(cx: &ToolContext) -> Value {
    let run = cx.run().unwrap();
    json!({
        "run": run.id(), "agent": run.agent(), "user": run.user(), "session": run.session(), "app": run.app(),
        "message": run.user_content(),
        "state": cx.state().value("city"), "meta": cx.meta(), "runMeta": run.meta(), "call": cx.call_id(),
        "key": cx.idempotency_key().len(), "documents": cx.resources(), "deadline": cx.deadline().is_some(),
    })
}

/// Streams numbers, and then fails if it is to.
#[tool(read_only, register = false, retry(attempts = 3, initial = "1ms", jitter = false))]
fn stream(fails: bool, bodies: &Bodies) -> impl Stream<Item = Result<String, ToolError>> + use<> {
    let error = ToolError::new(ErrorKind::Unavailable, format!("body {}", bodies.enter())).retryable(true);
    let end = if fails { Err(error) } else { Ok("end".to_owned()) };
    futures_util::stream::iter([Ok("1 ".to_owned()), Ok("2 ".to_owned()), end])
}

/// Shows a picture.
#[tool(read_only, register = false)]
fn picture() -> ToolOutput {
    ToolOutput::from("a map").with_content(Content::image(vec![1, 2, 3], "image/png"))
}

/// Writes much.
#[tool(read_only, register = false, max_result_size = 100)]
fn write(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Keeps a value in the state.
#[tool(register = false, retry(attempts = 2, initial = "1ms", jitter = false))]
fn keep(
    name: String,
    value: Value,
    fails: Option<usize>,
    bodies: &Bodies,
    cx: &ToolContext,
) -> Result<Value, ToolError> {
    let before = cx.state().value(&name).unwrap_or_default();
    let body = bodies.enter();
    cx.state().set(format!("body {body}"), true)?;
    cx.state().set(name, value)?;
    match fails {
        Some(bodies) if body <= bodies => Err(ToolError::failed("not yet").retryable(true)),
        _ => Ok(before),
    }
}

/// Ends the run.
#[tool(register = false)]
fn finish(fails: bool, cx: &ToolContext) -> Result<u32, ToolError> {
    cx.add_actions(Actions { terminate: true, transfer: Some("billing".to_owned()), ..Actions::default() })?;
    cx.state().set("done", true)?;
    if fails { Err(ToolError::failed("no")) } else { Ok(42) }
}

/// Stops the run.
#[tool(register = false)]
fn stop() -> Result<u32, ToolError> {
    Err(ToolError::stop("the shop is closed"))
}

/// Asks two questions.
#[tool(register = false)]
fn wipe(disk: u32, bodies: &Bodies, cx: &ToolContext) -> Result<String, ToolError> {
    bodies.enter();
    for question in ["Is there a backup?", "Really wipe the disk?"] {
        let payload = json!({ "disk": disk });
        match cx.confirmation_of(question, &payload) {
            None => return Err(cx.request_confirmation(question, payload)),
            Some(answer) if !answer.confirmed => return Ok(format!("not wiped: {}", answer.payload)),
            Some(_) => {}
        }
    }
    Ok(format!("wiped {disk}"))
}

/// Counts its bodies.
#[tool(register = false)]
fn counted(bodies: &Bodies) -> usize {
    bodies.enter()
}

/// Makes calls and rounds in a child run.
#[tool(register = false)]
async fn delegate(
    calls: usize,
    rounds: usize,
    tokens: u64,
    cx: &ToolContext,
) -> Result<Vec<String>, ToolError> {
    let run = Arc::new(cx.child_run("child")?);
    let tools = Registry::builder().tool::<counted>().provide(Bodies::default()).build();
    let executor = Executor::new(tools.map_err(ToolError::from_source)?);
    let mut texts = Vec::new();
    for _ in 0..rounds {
        let round = run.obtain_round().await;
        texts.push(round.map_or_else(|error| error.feedback(), |()| "a round".to_owned()));
        // Here an error, and at a worker one of the next round.
        drop(run.count_tokens(tokens));
    }
    let calls =
        (0..calls).map(|number| ToolCall::new("counted", json!({})).with_id(format!("child {number}")));
    let outcomes = executor.batch(calls.collect()).with_run(run).run().await;
    texts.extend(outcomes.iter().filter_map(|outcome| Some(outcome.result()?.text().into_owned())));
    Ok(texts)
}

pub(super) fn tools() -> Registry {
    let tools = Registry::builder().tool::<greet>().tool::<fail>().tool::<recover>().tool::<break_down>();
    let tools = tools.tool::<wait>().tool::<panic>().tool::<speak>().tool::<reserve>().tool::<sell>();
    let tools = tools
        .tool::<look>()
        .tool::<picture>()
        .tool::<write>()
        .tool::<keep>()
        .tool::<finish>()
        .tool::<stop>()
        .tool::<wipe>()
        .tool::<stream>()
        .tool::<delegate>();
    tools.provide(Bodies::default()).build().unwrap()
}
