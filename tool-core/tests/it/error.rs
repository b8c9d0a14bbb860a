use std::{error::Error, fmt, io};

use tool_core::{ErrorKind, ToolError, ToolName, Violation};

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
