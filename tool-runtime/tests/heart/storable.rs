//! Serialization of calls, results, errors, outcomes and questions.

use std::{
    error::Error,
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use proptest::{collection::vec, option, prelude::*, test_runner::Config};
use serde::{Serialize, de::DeserializeOwned};
use tool_runtime::{
    CallOutcome, Content, ErrorKind, Executor, ToolCall, ToolName, ToolResult,
    call::{CallAddress, Incomplete, Operation, Pending, ResultMessage},
    output::{Actions, Resource, ResourceBody},
    policy::ApprovalRequest,
    prelude::*,
    schema::{Correction, Violation, Violations},
};

/// Deserializes `stored`, and checks that it serializes to the same text.
fn again<T: Serialize + DeserializeOwned>(stored: &T) -> T {
    let text = serde_json::to_string(stored).unwrap();
    let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    // Also through a `Value`, if it can hold the numbers.
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_value(serde_json::from_value::<T>(value.clone()).unwrap()).unwrap(), value);
    // Unknown members of the same format version are ignored.
    let mut more = value;
    more["added later"] = json!({ "a": [1] });
    more["v"] = json!(1);
    serde_json::from_value::<T>(more.clone()).unwrap_or_else(|error| panic!("{error}: {text}"));
    more["v"] = json!(2);
    let refused = serde_json::from_value::<T>(more).err().unwrap_or_else(|| panic!("version 2: {text}"));
    assert!(refused.to_string().starts_with("the format version 2 is not known"), "{refused}");
    read
}

fn config() -> Config {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { 64 };
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Generates values whose nesting permits reading them inside of another value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        (0..100_usize).prop_map(|depth| (0..depth).fold(json!(1), |inner, _| json!([inner]))),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((".{0,4}", inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = serde_json::Map<String, Value>> {
    vec((".{0,4}", value()), 0..3).prop_map(|members| members.into_iter().collect())
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        ".{0,9}".prop_map(Content::text),
        vec(any::<u8>(), 0..9).prop_map(|data| Content::image(data, "image/png")),
        vec(any::<u8>(), 0..9).prop_map(|data| Content::audio(data, "audio/wav")),
        (".{0,5}", ".{0,5}").prop_map(|(uri, text)| Content::Resource {
            resource: Resource { uri, mime_type: "text/plain".to_owned(), body: ResourceBody::Text(text) },
        }),
    ]
}

fn call() -> impl Strategy<Value = ToolCall> {
    let arguments = prop_oneof![".{0,9}", value().prop_map(|value| value.to_string())];
    ("[a-z]{1,5}", "[a-z_.]{0,9}", arguments, option::of(object()), option::of(".{0,6}")).prop_map(
        |(id, name, arguments, meta, reason)| {
            let call = ToolCall::new(name, arguments).with_id(id);
            let call = meta.into_iter().fold(call, ToolCall::with_meta);
            reason.into_iter().fold(call, |call, why| call.with_incomplete(Incomplete::new(why)))
        },
    )
}

fn output() -> impl Strategy<Value = ToolOutput> {
    let body = prop_oneof![
        Just(ToolOutput::empty()),
        ".{0,9}".prop_map(ToolOutput::from),
        value().prop_map(|value| ToolOutput::json(&value).unwrap()),
        any::<u128>().prop_map(|number| ToolOutput::json(&number).unwrap()),
        vec(content(), 0..3).prop_map(ToolOutput::new),
        (vec(content(), 0..3), value()).prop_map(|(all, value)| ToolOutput::new(all).with_structured(value)),
    ];
    let ids = (option::of(".{0,4}"), option::of(".{0,4}"));
    (body, option::of(value()), ids, (option::of(object()), option::of(object())), any::<(bool, bool)>())
        .prop_map(|(body, details, (operation, child_run), (meta, state), (fails, last))| {
            let output = details.into_iter().fold(body, ToolOutput::with_details);
            let output = meta.into_iter().fold(output, ToolOutput::with_meta);
            let output = operation.into_iter().fold(output, ToolOutput::with_operation_id);
            let output = child_run.into_iter().fold(output, ToolOutput::with_child_run_id);
            let output = state
                .into_iter()
                .fold(output, |output, state| output.with_actions(Actions { state, ..Actions::default() }));
            let output = if fails { output.as_failure() } else { output };
            if last { output.as_final() } else { output }
        })
}

/// An error with a source.
#[derive(Debug)]
struct Chained(String, Option<Box<Self>>);

impl fmt::Display for Chained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Chained {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|source| source as _)
    }
}

fn error() -> impl Strategy<Value = ToolError> {
    let plain = prop_oneof![
        (".{0,9}", vec(".{0,5}", 0..3)).prop_map(|(text, below)| {
            let below = below.into_iter().fold(None, |below, text| Some(Box::new(Chained(text, below))));
            ToolError::from_source(Chained(text, below))
        }),
        ".{0,9}".prop_map(ToolError::failed),
        (vec((".{0,4}", ".{0,4}", ".{0,4}"), 0..3), 0..9_usize, ".{0,6}").prop_map(|(all, more, came)| {
            let all: Vec<_> = all.into_iter().map(|(at, want, got)| Violation::new(at, want, got)).collect();
            let total = all.len() + more;
            ToolError::invalid_arguments(Violations::new(all, total), &came)
        }),
        Just(ToolError::new(ErrorKind::TimedOut, "late")),
        Just(ToolError::unknown_tool("ad", vec![ToolName::new("add").unwrap()])),
    ];
    (plain, option::of("[a-z]{1,4}"), option::of(value()), vec(content(), 0..2), any::<(bool, bool)>())
        .prop_map(|(error, tool, details, content, (retryable, hidden))| {
            let error = tool.into_iter().fold(error, ToolError::with_tool);
            let error = details.into_iter().fold(error, ToolError::with_details);
            let error = error.with_content(content).retryable(retryable);
            if hidden { error.without_values() } else { error }
        })
}

fn result() -> impl Strategy<Value = ToolResult> {
    let outcome = prop_oneof![output().prop_map(Ok), error().prop_map(Err)];
    ("[a-z]{1,4}", ".{0,5}", outcome, vec(vec(content(), 0..2), 0..2), any::<(u32, u32, i32)>()).prop_map(
        |(id, name, outcome, follow_ups, (attempts, took, finished))| {
            let mut result = ToolResult::new(id.clone().into(), name, outcome);
            if !follow_ups.is_empty() {
                let answer = ResultMessage::answer(id, result.content().into_owned());
                let messages = follow_ups.into_iter().map(ResultMessage::user);
                assert!(result.replace_by(std::iter::once(answer).chain(messages)));
            }
            result.attempts = attempts;
            result.duration = Duration::from_micros(took.into());
            let distance = Duration::from_millis(finished.unsigned_abs().into());
            result.finished_at = if finished < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance };
            result
        },
    )
}

fn address() -> impl Strategy<Value = CallAddress> {
    (option::of("[a-z]{1,4}"), "[a-z]{1,4}", any::<u64>()).prop_map(|(run, id, serial)| CallAddress {
        run: run.map(Into::into),
        call_id: id.into(),
        serial,
    })
}

fn outcome() -> impl Strategy<Value = CallOutcome> {
    prop_oneof![
        result().prop_map(CallOutcome::Finished),
        (call(), address()).prop_map(|(call, address)| CallOutcome::External(Box::new(call), address)),
        (call(), address(), option::of(".{0,4}"), option::of(result())).prop_map(
            |(call, address, operation, result)| {
                let operation = Operation::LongRunning(operation);
                CallOutcome::Pending(Box::new(Pending { call, address, operation, result }))
            }
        ),
    ]
}

proptest! {
    #![proptest_config(config())]

    // D01
    #[test]
    fn a_call_round_trips(call in call()) {
        prop_assert_eq!(again(&call), call);
    }

    #[test]
    fn an_output_round_trips(output in output()) {
        let read = again(&output);
        prop_assert_eq!((read.text(), read.content()), (output.text(), output.content()));
        // A single text is its own structured value.
        if let Some(value) = output.structured() {
            prop_assert_eq!(read.structured(), Some(value));
        }
        prop_assert_eq!(read.details(), output.details());
        prop_assert_eq!((read.is_failure(), read.is_final()), (output.is_failure(), output.is_final()));
        prop_assert_eq!(read.meta(), output.meta());
        let actions = |output: &ToolOutput| output.actions().cloned().unwrap_or_default();
        prop_assert_eq!(actions(&read), actions(&output));
        prop_assert_eq!(
            (read.child_run_id(), read.operation_id()),
            (output.child_run_id(), output.operation_id())
        );
    }

    #[test]
    fn an_error_round_trips(error in error()) {
        let read = again(&error);
        prop_assert_eq!((read.feedback(), read.to_string()), (error.feedback(), error.to_string()));
        prop_assert_eq!((read.kind(), read.is_retryable()), (error.kind(), error.is_retryable()));
        prop_assert_eq!((read.report(), read.details()), (error.report(), error.details()));
        let chain = |error: &ToolError| -> Vec<_> {
            std::iter::successors(error.source(), |it: &&(dyn Error + 'static)| Error::source(*it))
                .map(ToString::to_string)
                .collect()
        };
        prop_assert_eq!(chain(&read), chain(&error));
    }

    // D01
    #[test]
    fn a_result_round_trips(result in result()) {
        let read = again(&result);
        prop_assert_eq!((&read.id, &read.name, read.attempts), (&result.id, &result.name, result.attempts));
        prop_assert_eq!(read.text(), result.text());
        let actions = |result: &ToolResult| result.actions().cloned().unwrap_or_default();
        prop_assert_eq!((read.is_error(), actions(&read)), (result.is_error(), actions(&result)));
        prop_assert_eq!((read.finished_at, read.follow_ups()), (result.finished_at, result.follow_ups()));
        prop_assert_eq!(read.duration.as_millis(), result.duration.as_millis());
    }

    #[test]
    fn an_outcome_round_trips(outcome in outcome()) {
        let read = again(&outcome);
        prop_assert_eq!((read.id(), read.name()), (outcome.id(), outcome.name()));
        prop_assert_eq!((read.address(), read.is_finished()), (outcome.address(), outcome.is_finished()));
    }
}

// D01
#[test]
fn a_result_with_only_content_has_defaults() {
    let result: ToolResult = serde_json::from_str(r#"{"content":[]}"#).unwrap();
    assert!(!result.is_error() && result.content().is_empty() && result.outcome.unwrap().is_empty());
    assert_eq!((&*result.name, result.attempts, result.duration), ("", 0, Duration::ZERO));
    assert_eq!(result.finished_at, UNIX_EPOCH);
    let failed = r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#;
    let failed: ToolResult = serde_json::from_str(failed).unwrap();
    assert!(failed.is_error() && failed.outcome.is_ok_and(|output| output.is_failure()));
    assert!(
        !serde_json::to_string(&ToolResult::new("1".into(), "t", Ok("a".into()))).unwrap().contains("null")
    );
}

// D01: numbers of more than 64 bits, and the maximum nesting of arguments.
#[test]
fn arguments_as_an_object_keep_their_text() {
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(126), "]".repeat(126));
    for arguments in
        [r#"{"id":340282366920938463463374607431768211455,"x":1.10}"#, r#"{ "a" : 1e400 }"#, &*deep]
    {
        let call: ToolCall =
            serde_json::from_str(&format!(r#"{{"name":"t","id":"1","arguments":{arguments}}}"#)).unwrap();
        assert_eq!(call.arguments.as_str(), arguments);
        assert_eq!(again(&call), call);
    }
    let read = |text: &str| serde_json::from_str::<ToolCall>(text).unwrap().arguments;
    assert_eq!(read(r#"{"name":"t","arguments":"{\"a\":\"\\u00e9\"}"}"#).as_str(), r#"{"a":"\u00e9"}"#);
    assert_eq!(read(r#"{"name":"t","arguments":null}"#).as_str(), "{}");
    assert_eq!(read(r#"{"name":"t"}"#).as_str(), "{}");
    // In a tagged enum, for which `serde` buffers, and from a `Value`.
    #[derive(serde::Deserialize)]
    #[serde(tag = "type")]
    enum Tagged {
        Call { call: ToolCall },
    }
    for arguments in [json!({ "a": [1, "x"] }), json!(r#"{"a":[1,"x"]}"#)] {
        let text = json!({ "type": "Call", "call": { "name": "t", "arguments": arguments } });
        let Tagged::Call { call } = serde_json::from_str(&text.to_string()).unwrap();
        assert_eq!(call.arguments.as_str(), r#"{"a":[1,"x"]}"#);
        let call: ToolCall = serde_json::from_value(text["call"].clone()).unwrap();
        assert_eq!(call.arguments.as_str(), r#"{"a":[1,"x"]}"#);
    }
}

#[test]
fn an_error_with_a_secret_is_stored_without_the_arguments() {
    let violation = Violation::new("/token", "text", "\"hunter2\"");
    let error = ToolError::invalid_arguments(violation, r#"{"token":"hunter2"}"#).without_values();
    let text = serde_json::to_string(&error).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(again(&error).feedback(), error.feedback());
}

#[test]
fn every_kind_of_error_is_stored_by_its_name() {
    let kinds = ["unknown_tool", "invalid_arguments", "incomplete", "denied", "approval_required", "skipped"];
    let others = ["unavailable", "cancelled", "timed_out", "panicked", "failed", "stopped", "invalid_output"];
    let given = ["not_found", "bad_parameter", "not_implemented", "conflict", "internal", "over_budget"];
    for name in kinds.into_iter().chain(others).chain(given) {
        let kind: ErrorKind = serde_json::from_value(json!(name)).unwrap();
        assert_eq!((kind.name(), json!(kind)), (name, json!(name)));
    }
}

/// Pays.
#[tool(register = false, confirm)]
fn pay(amount: u128, #[arg(secret)] pin: String) -> String {
    format!("{amount} {pin}")
}

// I15: a stored question contains no secret.
#[test]
fn a_question_round_trips() {
    let executor = Executor::new(Registry::builder().tool::<pay>().build().unwrap());
    let call = ToolCall::new("pay", format!(r#"{{"amount":{},"pin":"hunter2"}}"#, u128::MAX)).with_id("0");
    let outcomes = crate::run(executor.run(vec![call]));
    let CallOutcome::Pending(pending) = &outcomes[0] else { panic!("{outcomes:?}") };
    let Operation::Confirmation(request) = &pending.operation else { panic!("{pending:?}") };
    let read: ApprovalRequest = again(&**request);
    assert_eq!(read, **request);
    assert!(read.call.arguments.as_str().contains(&u128::MAX.to_string()));
    let stored = serde_json::to_string(&**request).unwrap();
    assert!(!stored.contains("hunter2"), "{stored}");
}

#[test]
fn a_correction_round_trips() {
    /// Forecasts.
    #[tool(register = false)]
    fn forecast(days: u32) -> u32 {
        days
    }
    let tools = Registry::builder().tool::<forecast>().build().unwrap();
    let output = crate::run(tools.call("forecast", r#"{"days":"3"}"#)).unwrap();
    let [correction] = output.corrections() else { panic!("{output:?}") };
    let read: Correction = again(correction);
    assert_eq!(&read, correction);
    let result = ToolResult::new("1".into(), "forecast", Ok(output));
    assert_eq!(again(&result).corrections(), [read]);
    assert!(result.finished_at <= SystemTime::now());
}

/// Sends an update.
#[tool(register = false)]
fn wave(cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.progress(tool_runtime::context::Progress::new(1.0).of(2.0))?;
    Ok("o/")
}

#[test]
fn events_round_trip() {
    let tools = Registry::builder().tool::<pay>().tool::<wave>().build().unwrap();
    let executor = Executor::new(tools);
    let mut listener = executor.subscribe();
    let pays = ToolCall::new("pay", r#"{"amount":340282366920938463463374607431768211455,"pin":"hunter2"}"#);
    crate::run(executor.run(vec![pays, ToolCall::new("wave", "{}")]));
    let events: Vec<_> = std::iter::from_fn(|| listener.try_next()).map(Result::unwrap).collect();
    assert!(events.len() >= 6, "{events:?}");
    for event in &events {
        let read: tool_runtime::event::ToolEvent = again(event);
        assert_eq!((read.id(), read.name(), read.title()), (event.id(), event.name(), event.title()));
        assert!(!serde_json::to_string(event).unwrap().contains("hunter2"), "{event:?}");
    }
}
