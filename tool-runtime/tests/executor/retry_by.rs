//! Conditions of retries (the type of an error, declarations of tools), and their events.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use tool_runtime::{
    Tool, ToolDefinition, ToolName,
    definition::{Metadata, Prepared, Retry},
    event::EventKind,
    policy::RetryPolicy,
    prelude::*,
    schema::{Arguments, InputSchema},
};

use super::{Counter, building, one, texts};

/// An error of a forecast.
#[derive(Debug)]
enum NoForecast {
    Busy,
    Gone,
}

impl std::fmt::Display for NoForecast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

fn is_busy(error: &NoForecast) -> bool {
    matches!(error, NoForecast::Busy)
}

fn is_never(_: &io::Error) -> bool {
    false
}

/// The failure of each attempt but the last, and the result of the last.
fn forecast(counter: &Counter, busy: usize) -> Result<u32, NoForecast> {
    match counter.count() {
        attempt if attempt <= busy => Err(NoForecast::Busy),
        _ => Err(NoForecast::Gone),
    }
}

/// Forecasts the weather.
#[tool(register = false, retry(attempts = 4, initial = "1ms", when = is_busy))]
async fn ahead(counter: &Counter, busy: usize) -> Result<u32, NoForecast> {
    forecast(counter, busy)
}

/// Forecasts the weather on a blocking thread.
#[tool(register = false, blocking, retry(attempts = 4, initial = "1ms", when = is_busy))]
fn ahead_blocking(counter: &Counter, busy: usize) -> Option<Result<u32, NoForecast>> {
    Some(forecast(counter, busy))
}

/// Forecasts the weather, and retries any error.
#[tool(register = false, retry(attempts = 4, initial = "1ms", when = is_never))]
fn ahead_once(counter: &Counter, busy: usize) -> std::io::Result<u32> {
    forecast(counter, busy).map_err(|_| io::ErrorKind::ConnectionReset.into())
}

/// Forecasts the weather with a condition from a value.
#[tool(register = false, retry(attempts = 4, initial = "1ms", when = is_busy))]
struct AheadByValue {
    busy: usize,
}

impl Run for AheadByValue {
    type Output = Result<u32, NoForecast>;

    async fn run(self, cx: &ToolContext) -> Result<u32, NoForecast> {
        forecast(cx.get::<Counter>().unwrap(), self.busy)
    }
}

// J04, J05
#[tokio::test]
async fn a_function_decides_which_errors_are_retried() {
    for is_watched in [false, true] {
        for (tool, busy, attempts) in [
            ("ahead", 2, 3),
            ("ahead", 9, 4),
            ("ahead", 0, 1),
            ("ahead_blocking", 2, 3),
            ("ahead_once", 9, 1),
            ("ahead_by_value", 2, 3),
        ] {
            let counter = Counter::default();
            let tools = Registry::builder().tool::<ahead>().tool::<ahead_blocking>().tool::<ahead_once>();
            let executor = super::executor(tools.tool::<AheadByValue>().provide(counter.clone()));
            let listener = is_watched.then(|| executor.subscribe());
            let outcomes = executor.run(one(tool, &json!({ "busy": busy }).to_string())).await;
            assert!(outcomes[0].result().unwrap().is_error());
            assert_eq!(counter.get(), attempts, "{tool} {busy}");
            drop(listener);
        }
    }
}

/// A hand-written tool that fails temporarily, and may declare a stream.
struct ByHand {
    definition: ToolDefinition,
    counter: Counter,
}

impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let counter = self.counter.clone();
        Ok(Prepared::new(arguments, move |_, cx| {
            Box::pin(async move {
                counter.count();
                cx.update("a part").await;
                Err(ToolError::failed("torn").retryable(true))
            })
        }))
    }
}

// J07
#[tokio::test(start_paused = true)]
async fn a_tool_that_declares_a_stream_is_never_retried() {
    for (streaming, attempts) in [(true, 1), (false, 3)] {
        let counter = Counter::default();
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let definition = ToolDefinition::new(ToolName::new("by_hand").unwrap(), "Is torn.", schema)
            .with_metadata(Metadata { streaming, ..Metadata::default() });
        let tool = ByHand { definition, counter: counter.clone() };
        let policy = RetryPolicy::new(Retry { attempts: 3, ..Retry::DEFAULT }).any_tool();
        let executor = building(Registry::builder().add(Arc::new(tool))).retry(policy).build().unwrap();
        assert_eq!(texts(&executor.run(one("by_hand", "{}")).await), ["torn"]);
        assert_eq!(counter.get(), attempts);
        // The same with a listener.
        let listener = executor.subscribe();
        assert_eq!(texts(&executor.run(one("by_hand", "{}")).await), ["torn"]);
        assert_eq!(counter.get(), 2 * attempts);
        drop(listener);
    }
}

// J07, K01
#[tokio::test(start_paused = true)]
async fn updates_do_not_prevent_retries_and_have_the_number_of_the_attempt() {
    /// Sends an update, and fails twice.
    #[tool(register = false, read_only)]
    async fn show(counter: &Counter, cx: &ToolContext) -> Result<&'static str, ToolError> {
        cx.update(format!("part of {}", cx.attempt())).await;
        match counter.count() {
            3 => Ok("done"),
            _ => Err(ToolError::failed("not yet").retryable(true)),
        }
    }
    let counter = Counter::default();
    let tools = Registry::builder().tool::<show>().provide(counter.clone());
    let executor = building(tools).retry(Retry { attempts: 3, ..Retry::DEFAULT }).build().unwrap();
    let mut listener = executor.subscribe();
    assert_eq!(texts(&executor.run(one("show", "{}")).await), ["done"]);
    assert_eq!(counter.get(), 3);
    let mut updates = Vec::new();
    while let Some(Ok(event)) = listener.try_next() {
        if let EventKind::Updated { attempt, update } = &event.kind {
            updates.push((*attempt, update.text().into_owned()));
            assert_eq!(tool_runtime::serde_json::to_value(&event).unwrap()["attempt"], json!(attempt));
        }
    }
    let expected = [1, 2, 3].map(|attempt| (attempt, format!("part of {attempt}")));
    assert_eq!(updates, expected);
}

#[tokio::test(start_paused = true)]
async fn an_asynchronous_rule_sees_an_output_that_reports_a_failure() {
    /// Reports a failure twice.
    #[tool(register = false, read_only)]
    fn serve(counter: &Counter) -> ToolOutput {
        match counter.count() {
            3 => ToolOutput::from("served"),
            _ => ToolOutput::from("status 503").as_failure(),
        }
    }
    let counter = Counter::default();
    let tools = Registry::builder().tool::<serve>().provide(counter.clone());
    let policy = RetryPolicy::new(Retry { attempts: 3, ..Retry::DEFAULT }).retry_if(async |attempt| {
        assert_eq!(attempt.is_result_failure(), attempt.result().unwrap().text() == "status 503");
        assert!(attempt.error().is_none());
        Ok(attempt.is_result_failure())
    });
    let executor = building(tools).retry(policy).build().unwrap();
    assert_eq!(texts(&executor.run(one("serve", "{}")).await), ["served"]);
    assert_eq!(counter.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_asynchronous_rule_can_ask_what_the_default_rule_decides() {
    /// Fails each time in another way.
    #[tool(register = false, read_only)]
    fn fail(counter: &Counter) -> Result<ToolOutput, ToolError> {
        match counter.count() {
            1 => Err(ToolError::failed("busy").retryable(true)),
            2 => Err(ToolError::failed("wrong")),
            3 => Err(ToolError::new(ErrorKind::TimedOut, "late").retryable(true)),
            4 => Ok(ToolOutput::from("status 500").as_failure()),
            _ => Ok(ToolOutput::from("status 503").as_failure().as_retryable(Duration::from_secs(1))),
        }
    }
    let decided = Arc::new(Mutex::new(Vec::new()));
    let tools = Registry::builder().tool::<fail>().provide(Counter::default());
    let seen = Arc::clone(&decided);
    let policy = RetryPolicy::new(Retry { attempts: 6, ..Retry::DEFAULT }).retry_if(move |attempt| {
        seen.lock().unwrap().push((attempt.attempt(), attempt.is_transient()));
        async { Ok(true) }
    });
    let executor = building(tools).retry(policy).build().unwrap();
    assert_eq!(texts(&executor.run(one("fail", "{}")).await), ["status 503"]);
    let decided = decided.lock().unwrap().clone();
    assert_eq!(decided, [(1, true), (2, false), (3, false), (4, false), (5, true)]);
}
