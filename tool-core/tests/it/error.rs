use std::{error::Error, fmt, io, sync::Arc};

use serde_json::json;
use tool_core::{Content, ErrorKind, ToolError, ToolName, Violation};

// E01
#[test]
fn each_kind_has_a_text_for_the_model() {
    let name = |text: &'static str| ToolName::new(text).unwrap();
    let near = vec![name("get_weather"), name("get_water")];
    let violation = Violation::new("/days", "at most 14", "15");
    let table = [
        (ToolError::failed("disk full"), "disk full"),
        (ToolError::unknown_tool("nope", vec![]), "Tool not found: nope"),
        (
            ToolError::unknown_tool("get_wether", near),
            "Tool not found: get_wether\nDid you mean `get_weather` or `get_water`?",
        ),
        (
            ToolError::invalid_arguments(vec![violation], r#"{"days":15}"#),
            "Invalid arguments: /days: expected at most 14, got 15\nReceived: {\"days\":15}\nNothing was executed.",
        ),
        (ToolError::cancelled(), "Cancelled"),
        (ToolError::new(ErrorKind::TimedOut, "no result after 5s"), "Timed out: no result after 5s"),
        (ToolError::new(ErrorKind::Panicked, "boom").of_tool("add"), "The tool add panicked: boom"),
    ];
    for (error, text) in table {
        assert_eq!(error.feedback(), text);
    }
}

// E08
#[test]
fn errors_can_be_matched_by_kind() {
    type Make = fn(&'static str) -> ToolError;
    let table: [(Make, ErrorKind, &str, &str, &str); 5] = [
        (
            ToolError::not_found,
            ErrorKind::NotFound,
            "not_found",
            "Not found",
            "did not find the requested item",
        ),
        (
            ToolError::bad_parameter,
            ErrorKind::BadParameter,
            "bad_parameter",
            "Bad parameter",
            "was given an argument that it cannot use",
        ),
        (
            ToolError::not_implemented,
            ErrorKind::NotImplemented,
            "not_implemented",
            "Not implemented",
            "does not implement this",
        ),
        (ToolError::conflict, ErrorKind::Conflict, "conflict", "Conflict", "found a conflict"),
        (ToolError::internal, ErrorKind::Internal, "internal", "Internal error", "has an internal error"),
    ];
    for (make, kind, name, words, log) in table {
        let error = make("order 7").of_tool("find");
        assert_eq!((error.kind(), error.kind().name()), (kind, name));
        // The model reads the message, or the text of the kind if there is no message.
        assert_eq!((error.feedback().as_str(), make("").feedback().as_str()), ("order 7", words));
        assert_eq!(error.to_string(), format!("tool \"find\" {log}: order 7"));
        assert!(!error.is_retryable() && error.violations().is_empty());
        // The same for a tool that does not exist.
        assert_eq!(kind.is_not_found(), kind == ErrorKind::NotFound);
    }
    assert!(ErrorKind::UnknownTool.is_not_found() && !ErrorKind::Failed.is_not_found());
}

#[test]
fn an_exhausted_budget_is_not_a_failure_of_a_tool() {
    let error = ToolError::new(ErrorKind::OverBudget, "the run may take 2 rounds");
    assert_eq!(error.feedback(), "Over budget: the run may take 2 rounds. Nothing was executed.");
    assert_eq!(error.to_string(), "the budget is used up: the run may take 2 rounds");
    let log =
        "tool \"add\" was not called, since the budget of its run is used up: the run may take 2 rounds";
    assert_eq!(error.of_tool("add").to_string(), log);
}

// E05
#[test]
fn invalid_arguments_report_every_field_with_its_received_value() {
    let violations =
        vec![Violation::new("/a", "an integer", "\"x\""), Violation::new("/b/0", "a string", "1")];
    let error = ToolError::invalid_arguments(violations, r#"{"a":"x","b":[1]}"#).of_tool("add");
    assert_eq!(
        error.feedback(),
        "Invalid arguments:\n- /a: expected an integer, got \"x\"\n- /b/0: expected a string, got 1\n\
         Received: {\"a\":\"x\",\"b\":[1]}\nNothing was executed."
    );
    assert_eq!(error.arguments(), Some(r#"{"a":"x","b":[1]}"#));
    assert_eq!(
        error.to_string(),
        "tool \"add\" was given invalid arguments: /a: expected an integer, got \"x\"; /b/0: expected a string, got 1"
    );
}

// E05
#[test]
fn a_long_received_value_is_truncated_between_characters_with_a_note() {
    let text = format!("{{\"a\":\"{}\"}}", "é".repeat(1000));
    let error = ToolError::invalid_arguments(vec![Violation::new("/a", "less", "more")], &text);
    let feedback = error.feedback();
    assert!(feedback.contains("… (2008 bytes in all)"), "{feedback}");
}

#[derive(Debug)]
struct Outer(io::Error);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot save")
    }
}

impl Error for Outer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

// J04
#[test]
fn an_error_with_a_temporary_source_is_transient() {
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    assert!(ToolError::from_source(Outer(reset())).is_retryable());
    assert!(!ToolError::from_source(Outer(io::ErrorKind::NotFound.into())).is_retryable());
    let local: Box<dyn Error> = Box::new(Outer(reset()));
    assert!(ToolError::from(local).is_retryable());
    // A `ToolError` decides for its sources.
    let outer = |retryable| {
        let inner = ToolError::from(reset()).retryable(retryable);
        ToolError::from_source(Outer(io::Error::other(Chain(inner))))
    };
    assert!(outer(true).is_retryable() && !outer(false).is_retryable());
}

/// An error with a `ToolError` as its source.
#[derive(Debug)]
struct Chain(ToolError);

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("chain")
    }
}

impl Error for Chain {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

// E06
#[test]
fn the_log_shows_the_source_chain_and_the_model_only_the_message() {
    let error = ToolError::from_source(Outer(io::Error::other("disk full")));
    assert_eq!(error.feedback(), "cannot save");
    assert_eq!(error.to_string(), "tool failed");
    let source = error.source().unwrap();
    assert!(source.is::<Outer>());
    assert_eq!(source.source().unwrap().to_string(), "disk full");
}

// E06
#[test]
fn texts_and_boxed_io_and_json_errors_convert() {
    let json = serde_json::from_str::<u8>("x").unwrap_err();
    let boxed: Box<dyn Error + Send + Sync> = "boxed".into();
    assert_eq!(ToolError::from("text").feedback(), "text");
    assert_eq!(ToolError::from(String::from("owned")).feedback(), "owned");
    assert_eq!(ToolError::from(boxed).feedback(), "boxed");
    assert_eq!(ToolError::from(io::Error::other("io")).feedback(), "io");
    assert_eq!(ToolError::from(json).feedback(), "expected value at line 1 column 1");
}

// B08
#[test]
fn a_boxed_tool_error_keeps_its_kind() {
    let boxed: Box<dyn Error + Send + Sync> = Box::new(ToolError::cancelled());
    assert_eq!(ToolError::from(boxed).kind(), ErrorKind::Cancelled);
}

#[test]
fn only_transient_errors_are_retryable() {
    assert!(ToolError::from(io::Error::from(io::ErrorKind::ConnectionReset)).is_retryable());
    assert!(!ToolError::from(io::Error::from(io::ErrorKind::NotFound)).is_retryable());
    assert!(!ToolError::failed("no").is_retryable());
    assert!(ToolError::failed("busy").retryable(true).is_retryable());
}

#[test]
fn getters_of_an_error_return_the_values_set() {
    let none = ToolError::failed("no");
    assert_eq!((none.tool(), none.arguments(), none.example(), none.details()), (None, None, None, None));
    assert!(none.suggestions().is_empty() && none.violations().is_empty() && none.content().is_empty());
    let violations = vec![Violation::new("/a", "less", "more")];
    let error = ToolError::failed("no")
        .with_details(json!({ "d": 1 }))
        .with_content(vec![Content::text("so far")])
        .with_example(Some(Arc::new(json!({ "a": 1 }))))
        .with_violations(violations);
    assert_eq!((error.details(), error.example()), (Some(&json!({ "d": 1 })), Some(&json!({ "a": 1 }))));
    assert_eq!((error.content(), error.violations().len()), (&[Content::text("so far")][..], 1));
    assert_eq!((error.report().total(), error.kind()), (1, ErrorKind::Failed));
    // The first tool name counts, unless the error passes through another tool.
    let error = error.of_tool("inner").of_tool("other");
    assert_eq!((error.tool(), error.clone().with_tool("outer").tool()), (Some("inner"), Some("outer")));
    let near = vec![ToolName::new("get").unwrap()];
    let unknown = ToolError::unknown_tool("got", near.clone());
    assert_eq!((unknown.tool(), unknown.suggestions()), (Some("got"), near.as_slice()));
    let retried = ToolError::failed("busy").retryable(true).retryable(false);
    assert!(!retried.is_retryable());
}

#[test]
fn a_message_replaces_the_text_of_the_source() {
    let error = ToolError::from_source(io::Error::other("disk full"));
    assert_eq!((error.reason(), error.to_string()), ("disk full".into(), "tool failed".to_owned()));
    let error = error.with_message("no room").of_tool("save");
    assert_eq!((error.feedback(), error.reason()), ("no room".to_owned(), "no room".into()));
    assert_eq!(
        (error.to_string(), error.source().unwrap().to_string()),
        ("tool \"save\" failed: no room".into(), "disk full".into())
    );
}

// E01
#[test]
fn each_kind_has_a_prefix_for_its_message() {
    for (kind, with, without) in [
        (ErrorKind::Failed, "why", ""),
        (
            ErrorKind::Incomplete,
            "Incomplete: why. Nothing was executed.",
            "Incomplete. Nothing was executed.",
        ),
        (ErrorKind::Denied, "Denied: why", "Denied"),
        (ErrorKind::ApprovalRequired, "Approval required: why", "Approval required"),
        (ErrorKind::Skipped, "Skipped: why", "Skipped"),
        (ErrorKind::Unavailable, "Tool unavailable: why", "Tool unavailable"),
        (ErrorKind::Cancelled, "Cancelled", "Cancelled"),
        (ErrorKind::TimedOut, "Timed out: why", "Timed out"),
        (ErrorKind::Panicked, "The tool ? panicked: why", "The tool ? panicked"),
        (ErrorKind::InvalidOutput, "Invalid output: why", "Invalid output"),
        (
            ErrorKind::InvalidArguments,
            "Invalid arguments: why\nNothing was executed.",
            "Invalid arguments\nNothing was executed.",
        ),
        (ErrorKind::UnknownTool, "Tool not found: ?", "Tool not found: ?"),
    ] {
        assert_eq!(ToolError::new(kind, "why").feedback(), with);
        assert_eq!(ToolError::new(kind, "").feedback(), without);
        let shown = ToolError::new(kind, "why").to_string();
        assert!(shown.starts_with("tool ") && shown.ends_with(": why"), "{shown}");
        assert_eq!(shown.trim_end_matches(": why"), ToolError::new(kind, "").to_string());
    }
}

#[test]
fn similar_names_are_joined_with_commas_and_or() {
    let feedback = |names: &[&'static str]| {
        ToolError::unknown_tool("x", names.iter().map(|name| ToolName::new(*name).unwrap()).collect())
            .feedback()
    };
    assert_eq!(feedback(&[]), "Tool not found: x");
    assert_eq!(feedback(&["a"]), "Tool not found: x\nDid you mean `a`?");
    assert_eq!(feedback(&["a", "b"]), "Tool not found: x\nDid you mean `a` or `b`?");
    assert_eq!(feedback(&["a", "b", "c"]), "Tool not found: x\nDid you mean `a`, `b` or `c`?");
}

// E05
#[test]
fn an_example_is_shown_if_it_fits_and_a_secret_never() {
    let with = |example| {
        let error = ToolError::invalid_arguments(
            vec![Violation::new("/a", "less", "\"s3cret\"")],
            r#"{"a":"s3cret"}"#,
        );
        error.with_example(Some(Arc::new(json!({ "a": example }))))
    };
    assert_eq!(
        with("b".to_owned()).feedback(),
        "Invalid arguments: /a: expected less, got \"s3cret\"\nReceived: {\"a\":\"s3cret\"}\n\
         Arguments that fit, for example: {\"a\":\"b\"}\nNothing was executed."
    );
    let hidden = with("b".to_owned()).without_values().feedback();
    assert!(!hidden.contains("s3cret") && hidden.contains("/a: expected less"), "{hidden}");
    assert!(
        hidden.ends_with("\nArguments that fit, for example: {\"a\":\"b\"}\nNothing was executed."),
        "{hidden}"
    );
    let rest = with(String::new()).feedback().len();
    let whole = with("b".repeat(8 * 1024 - rest)).feedback();
    assert_eq!((whole.len(), whole.contains("bbb\"}\nNothing was executed.")), (8 * 1024, true));
    let most = 8 * 1024 - rest;
    let long = with("b".repeat(most + 1)).feedback();
    let bytes = most + 1 + r#"{"a":""}"#.len();
    let note =
        format!("too long to be shown ({},{:03} bytes).\nNothing was executed.", bytes / 1000, bytes % 1000);
    assert!(!long.contains("bbb") && long.ends_with(&note), "{long}");
}

#[test]
fn connection_and_temporary_errors_are_transient() {
    use io::ErrorKind as K;
    for kind in [
        K::TimedOut,
        K::UnexpectedEof,
        K::Interrupted,
        K::WouldBlock,
        K::ConnectionRefused,
        K::ConnectionReset,
        K::ConnectionAborted,
        K::BrokenPipe,
        K::NotConnected,
    ] {
        assert!(ToolError::from(io::Error::from(kind)).is_retryable(), "{kind:?}");
        // Also an error that is not `Send`.
        let local: Box<dyn Error> = Box::new(io::Error::from(kind));
        assert!(ToolError::from(local).is_retryable(), "{kind:?}");
    }
    let local: Box<dyn Error> = Box::new(io::Error::from(K::NotFound));
    assert!(!ToolError::from(local).is_retryable());
    let local: Box<dyn Error> = Box::new(ToolError::cancelled());
    assert_eq!(ToolError::from(local).kind(), ErrorKind::Cancelled);
    let local: Box<dyn Error> = "told".into();
    assert_eq!(ToolError::from(local).feedback(), "told");
}

#[test]
fn a_very_long_name_is_truncated() {
    let name = "n".repeat(200);
    let cut = format!("{}… (200 bytes in all)", "n".repeat(160));
    let error = ToolError::unknown_tool(name.clone(), vec![]);
    assert_eq!(error.feedback(), format!("Tool not found: {cut}"));
    assert_eq!(error.to_string(), format!("tool {cut:?} not found"));
    assert_eq!(ToolError::unknown_tool("n".repeat(160), vec![]).feedback().len(), 16 + 160);
}

#[test]
fn a_caught_panic_becomes_an_error_of_its_kind() {
    fn run() -> Result<(), ToolError> {
        Ok(tool_core::guard::catch(|| panic!("no ink"))?)
    }
    let error = run().unwrap_err();
    assert_eq!((error.kind(), &*error.reason()), (ErrorKind::Panicked, "no ink"));
}

#[test]
fn a_payload_that_panics_when_it_is_dropped_is_caught_too() {
    /// Panics with another one when it is dropped.
    struct Explosive(u8);
    impl Drop for Explosive {
        fn drop(&mut self) {
            if let Some(left) = self.0.checked_sub(1) {
                std::panic::panic_any(Self(left));
            }
        }
    }
    for left in 0..4 {
        let caught = tool_core::guard::catch(|| std::panic::panic_any(Explosive(left)));
        let caught: Result<(), _> = caught;
        assert_eq!(caught.unwrap_err().to_string(), "panicked", "{left}");
    }
}

#[test]
fn a_long_reason_for_wrong_arguments_is_cut_at_1024_characters() {
    let text = ToolError::new(ErrorKind::InvalidArguments, "z".repeat(5_000)).feedback();
    assert_eq!(text.matches('z').count(), 1_024, "{text}");
}
