use std::{error::Error, fmt, io, sync::Arc};

use serde_json::json;
use tool_core::{Content, ErrorKind, ToolError, ToolName, Violation};

// E01
#[test]
fn each_kind_has_its_text_for_the_model() {
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
fn errors_of_a_tool_are_matched_by_their_kind() {
    type Make = fn(&'static str) -> ToolError;
    let table: [(Make, ErrorKind, &str, &str, &str); 5] = [
        (
            ToolError::not_found,
            ErrorKind::NotFound,
            "not_found",
            "Not found",
            "did not find what was asked for",
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
        // The model reads the message, and words of the kind where there is none.
        assert_eq!((error.feedback().as_str(), make("").feedback().as_str()), ("order 7", words));
        assert_eq!(error.to_string(), format!("tool \"find\" {log}: order 7"));
        assert!(!error.is_retryable() && error.violations().is_empty());
        // A tool that is not there is not found either.
        assert_eq!(kind.is_not_found(), kind == ErrorKind::NotFound);
    }
    assert!(ErrorKind::UnknownTool.is_not_found() && !ErrorKind::Failed.is_not_found());
}

#[test]
fn what_a_run_has_used_up_is_no_failure_of_a_tool() {
    let error = ToolError::new(ErrorKind::OverBudget, "the run may take 2 rounds");
    assert_eq!(error.feedback(), "Over budget: the run may take 2 rounds. Nothing was executed.");
    assert_eq!(error.to_string(), "the budget is used up: the run may take 2 rounds");
    let log =
        "tool \"add\" was not called, since the budget of its run is used up: the run may take 2 rounds";
    assert_eq!(error.of_tool("add").to_string(), log);
}

// E05
#[test]
fn invalid_arguments_name_every_wrong_field_and_echo_what_came() {
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
fn a_long_echo_is_cut_on_a_character_and_says_so() {
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

// E06
#[test]
fn the_host_sees_the_chain_and_the_model_the_message() {
    let error = ToolError::from_source(Outer(io::Error::other("disk full")));
    assert_eq!(error.feedback(), "cannot save");
    assert_eq!(error.to_string(), "tool failed");
    let source = error.source().unwrap();
    assert!(source.is::<Outer>());
    assert_eq!(source.source().unwrap().to_string(), "disk full");
}

// E06
#[test]
fn texts_boxed_io_and_json_errors_convert() {
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
fn an_error_of_ours_keeps_its_kind_in_a_box() {
    let boxed: Box<dyn Error + Send + Sync> = Box::new(ToolError::cancelled());
    assert_eq!(ToolError::from(boxed).kind(), ErrorKind::Cancelled);
}

#[test]
fn only_what_may_pass_by_itself_is_retryable() {
    assert!(ToolError::from(io::Error::from(io::ErrorKind::ConnectionReset)).is_retryable());
    assert!(!ToolError::from(io::Error::from(io::ErrorKind::NotFound)).is_retryable());
    assert!(!ToolError::failed("no").is_retryable());
    assert!(ToolError::failed("busy").retryable(true).is_retryable());
}

#[test]
fn an_error_gives_what_was_set() {
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
    // The first one that said which tool it was is right, unless another tool stands around it.
    let error = error.of_tool("inner").of_tool("other");
    assert_eq!((error.tool(), error.clone().with_tool("outer").tool()), (Some("inner"), Some("outer")));
    let near = vec![ToolName::new("get").unwrap()];
    let unknown = ToolError::unknown_tool("got", near.clone());
    assert_eq!((unknown.tool(), unknown.suggestions()), (Some("got"), near.as_slice()));
    let retried = ToolError::failed("busy").retryable(true).retryable(false);
    assert!(!retried.is_retryable());
}

#[test]
fn other_words_are_read_in_place_of_those_of_the_source() {
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
fn each_kind_puts_its_words_before_the_message_if_there_is_one() {
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
fn names_that_are_close_are_joined_as_in_a_sentence() {
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
fn an_example_is_shown_where_it_has_room_and_a_secret_nowhere() {
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
fn each_error_of_a_connection_or_of_a_moment_may_pass_by_itself() {
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
        // Also one that stays on its thread.
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
fn a_name_that_is_very_long_is_cut() {
    let name = "n".repeat(200);
    let cut = format!("{}… (200 bytes in all)", "n".repeat(160));
    let error = ToolError::unknown_tool(name.clone(), vec![]);
    assert_eq!(error.feedback(), format!("Tool not found: {cut}"));
    assert_eq!(error.to_string(), format!("tool {cut:?} not found"));
    assert_eq!(ToolError::unknown_tool("n".repeat(160), vec![]).feedback().len(), 16 + 160);
}
