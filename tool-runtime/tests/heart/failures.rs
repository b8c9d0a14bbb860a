//! The error types of tools.

use std::{cell::Cell, error::Error, fmt, io, rc::Rc};

use serde::Serialize;
use serde_json::json;
use tool_runtime::{ErrorKind, prelude::*, registry::RegistryBuilder};

use crate::{call, definition, text};

/// An error that only converts to `ToolError`.
pub(crate) struct Unprintable;

impl From<Unprintable> for ToolError {
    fn from(_: Unprintable) -> Self {
        Self::new(ErrorKind::Denied, "not today")
    }
}

#[derive(Debug)]
pub(crate) struct Chained(io::Error);

impl fmt::Display for Chained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot read")
    }
}

impl Error for Chained {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Defines tools that fail with the given errors.
macro_rules! failures {
    ($($name:ident() -> $error:ty { $value:expr })*) => {
        $(
            pub(crate) fn $name() -> $error {
                $value
            }
        )*

        mod tools {
            use super::*;

            $(
                /// Fails.
                #[tool(register = false)]
                pub(super) fn $name() -> Result<u8, $error> {
                    Err(super::$name())
                }
            )*
        }

        pub(crate) fn every() -> Vec<(RegistryBuilder, &'static str)> {
            vec![$((Registry::builder().tool::<tools::$name>(), stringify!($name))),*]
        }
    };
}

failures! {
    ours() -> ToolError { ToolError::cancelled() }
    converted() -> Unprintable { Unprintable }
    any_ours() -> anyhow::Error { ToolError::cancelled().into() }
    any_context() -> anyhow::Error { anyhow::Error::from(no_disk()).context("reading").context("starting") }
    any_other() -> anyhow::Error { anyhow::Error::from(io::Error::other("disk")).context("reading") }
    boxed() -> Box<dyn Error + Send + Sync> { "in a box".into() }
    chained() -> Chained { Chained(io::Error::other("disk")) }
    message() -> &'static str { "just a text" }
}

fn no_disk() -> ToolError {
    let error = ToolError::new(ErrorKind::Unavailable, "no disk");
    error.retryable(true).with_details(json!({ "disk": 1 }))
}

fn failed(name: &str) -> ToolError {
    let (tools, _) = every().into_iter().find(|(_, it)| *it == name).unwrap();
    call(tools, name, "").unwrap_err()
}

// B08, E06
#[test]
fn a_tool_error_keeps_its_kind_below_a_context() {
    let error = failed("any_context");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.feedback(), "Tool unavailable: starting");
    assert_eq!(error.to_string(), "tool \"any_context\" is not available");
    assert_eq!(error.details(), Some(&json!({ "disk": 1 })));
    assert!(error.is_retryable());
    let sources: Vec<_> =
        std::iter::successors(error.source(), |&error| error.source()).map(ToString::to_string).collect();
    assert_eq!(sources, ["starting", "reading", "tool is not available: no disk"]);
    let other = failed("any_other");
    assert_eq!((other.kind(), other.feedback()), (ErrorKind::Failed, "reading".to_owned()));
}

// J04
#[test]
fn an_io_error_inside_an_anyhow_error_is_transient_by_its_kind() {
    /// Fails to read.
    #[tool(register = false)]
    fn read(kind: &str) -> anyhow::Result<u8> {
        let io = |kind| anyhow::Error::from(io::Error::new(kind, "disk"));
        Err(match kind {
            "bare" => io(io::ErrorKind::TimedOut),
            "context" => io(io::ErrorKind::ConnectionReset).context("reading").context("starting"),
            "source" => Chained(io::ErrorKind::Interrupted.into()).into(),
            "kept" => ToolError::from(io::Error::from(io::ErrorKind::TimedOut)).retryable(false).into(),
            _ => io(io::ErrorKind::NotFound).context("reading"),
        })
    }
    for (kind, expected) in
        [("bare", true), ("context", true), ("source", true), ("kept", false), ("missing", false)]
    {
        let arguments = format!(r#"{{"kind":"{kind}"}}"#);
        let error = call(Registry::builder().tool::<read>(), "read", &arguments).unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Failed, expected), "{kind}");
    }
}

// B08, E06
#[test]
fn an_anyhow_error_converts_in_a_function_that_returns_a_tool_error() {
    fn disk() -> anyhow::Result<u8> {
        Err(anyhow::Error::from(no_disk()).context("reading"))
    }
    fn text() -> anyhow::Result<u8> {
        anyhow::bail!("no disk at all")
    }
    /// Reads.
    #[tool(register = false)]
    fn read(disk_first: bool) -> Result<u8, ToolError> {
        if disk_first {
            disk().map_err(ToolError::from_anyhow)?;
        }
        text().map_err(ToolError::from_anyhow)
    }
    let read = |arguments| call(Registry::builder().tool::<read>(), "read", arguments).unwrap_err();
    let (disk, text) = (read(r#"{"disk_first":true}"#), read(r#"{"disk_first":false}"#));
    assert_eq!((disk.kind(), disk.is_retryable()), (ErrorKind::Unavailable, true));
    assert_eq!(disk.feedback(), "Tool unavailable: reading");
    assert_eq!((text.kind(), text.feedback()), (ErrorKind::Failed, "no disk at all".to_owned()));
}

#[test]
fn an_error_only_has_to_convert_to_tool_error() {
    assert_eq!(failed("converted").feedback(), "Denied: not today");
}

type Local<T> = Result<T, Box<dyn Error>>;

/// Fails with a boxed error that is not `Send`.
#[tool(register = false)]
fn at_once(how: &str) -> Local<u8> {
    local(how)
}

/// The same in an async function.
#[tool(register = false)]
async fn later(how: String) -> Local<u8> {
    tokio::task::yield_now().await;
    local(&how)
}

/// The same on a blocking thread.
#[tool(register = false, blocking)]
fn elsewhere(how: &str) -> Local<u8> {
    local(how)
}

/// The same as a struct.
#[tool(register = false)]
struct Kept {
    how: String,
}

impl Run for Kept {
    type Output = Local<u8>;

    async fn run(self, _: &ToolContext) -> Local<u8> {
        local(&self.how)
    }
}

fn local(how: &str) -> Local<u8> {
    match how {
        "ours" => Err(ToolError::cancelled())?,
        "late" => Err(io::Error::new(io::ErrorKind::TimedOut, "late"))?,
        how => Ok(how.parse()?),
    }
}

// B08, E06
#[test]
fn an_error_need_not_be_send() {
    for (tools, name) in [
        (Registry::builder().tool::<at_once>(), "at_once"),
        (Registry::builder().tool::<later>(), "later"),
        (Registry::builder().tool::<elsewhere>(), "elsewhere"),
        (Registry::builder().tool::<Kept>(), "kept"),
    ] {
        let tools = tools.build().unwrap();
        let call = |how: &str| crate::run(tools.call(name, json!({ "how": how })));
        assert_eq!(call("7").unwrap().text(), "7");
        assert_eq!(call("x").unwrap_err().feedback(), "invalid digit found in string");
        assert_eq!(call("ours").unwrap_err().kind(), ErrorKind::Cancelled);
        let late = call("late").unwrap_err();
        assert_eq!((late.feedback(), late.is_retryable()), ("late".to_owned(), true));
    }
}

/// Returns a value that is not `Send`.
#[tool(register = false)]
fn not_send(text: &str) -> Result<impl Serialize, Rc<str>> {
    if text.is_empty() { Err("empty".into()) } else { Ok(Cell::new(text.len())) }
}

#[test]
fn neither_side_of_a_result_has_to_be_send() {
    let tools = || Registry::builder().tool::<not_send>();
    assert_eq!(text(tools(), "not_send", r#"{"text":"ab"}"#), "2");
    assert_eq!(call(tools(), "not_send", r#"{"text":""}"#).unwrap_err().feedback(), "empty");
}

/// Returns an optional result.
#[tool(register = false)]
fn perhaps(n: i8) -> Option<Result<u8, String>> {
    (n != 0).then(|| u8::try_from(n).map_err(|error| error.to_string()))
}

/// The same on a blocking thread.
#[tool(register = false, blocking)]
fn perhaps_elsewhere(n: i8) -> Option<Result<u8, String>> {
    perhaps(n)
}

// B07
#[test]
fn a_failure_inside_of_an_option_is_a_failure() {
    for (tools, name) in [
        (Registry::builder().tool::<perhaps>(), "perhaps"),
        (Registry::builder().tool::<perhaps_elsewhere>(), "perhaps_elsewhere"),
    ] {
        let schema = definition(tools).output_schema().unwrap().as_value().clone();
        assert_eq!(schema, json!({ "type": ["integer", "null"], "minimum": 0, "maximum": 255 }));
        let tools = Registry::builder().tool::<perhaps>().tool::<perhaps_elsewhere>().build().unwrap();
        let call = |n: i8| crate::run(tools.call(name, json!({ "n": n })));
        assert_eq!(call(1).unwrap().text(), "1");
        assert_eq!(call(0).unwrap().text(), "null");
        let error = call(-1).unwrap_err();
        assert_eq!(error.feedback(), "out of range integral type conversion attempted");
    }
}

#[test]
fn the_schema_of_a_success_is_known_beside_an_error_without_a_name() {
    /// Answers.
    #[tool(register = false)]
    fn named() -> Result<u8, impl fmt::Display> {
        "7".parse::<u8>()
    }
    let schema = definition(Registry::builder().tool::<named>()).output_schema().unwrap().as_value().clone();
    assert_eq!(schema, json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
    assert_eq!(text(Registry::builder().tool::<named>(), "named", ""), "7");
}

/// Declares a number as its output, and fails.
#[tool(register = false, output_schema = json!({ "type": "integer" }), skip_summarization)]
fn promises(wrong: bool) -> ToolOutput {
    let actions =
        tool_runtime::output::Actions { terminate: true, ..tool_runtime::output::Actions::default() };
    let output = ToolOutput::from(if wrong { "the other side said no" } else { "7" });
    let output = if wrong { output.as_failure() } else { output };
    output.with_actions(actions)
}

// E, D14: the text of a failure reaches the model, and its actions are dropped.
#[test]
fn a_failure_is_not_validated_by_the_output_schema() {
    use tool_runtime::{Executor, ToolCall, call::merged_actions};

    let tools = Registry::builder().tool::<promises>().build().unwrap();
    let output = crate::run(tools.call("promises", r#"{ "wrong": true }"#)).unwrap();
    assert!(output.is_failure());
    assert_eq!(output.text(), "the other side said no");
    // D09: a text is a value, and no integer.
    let error = crate::run(tools.call("promises", r#"{ "wrong": false }"#)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidOutput);
    assert!(error.feedback().starts_with("Invalid output: output validation: "), "{error}");
    assert!(error.feedback().contains("expected an integer"), "{error}");
    let executor = Executor::new(tools);
    for is_watched in [false, true] {
        let listener = is_watched.then(|| executor.subscribe());
        let call = || ToolCall::new("promises", r#"{ "wrong": true }"#);
        let outcomes = crate::run(executor.run(vec![call(), call()]));
        let result = outcomes[0].result().unwrap();
        assert!(result.is_error());
        assert_eq!(result.text(), "the other side said no");
        assert!(result.actions().is_none());
        assert_eq!(merged_actions(&outcomes), tool_runtime::output::Actions::default());
        drop(listener);
    }
}

/// Declares a number as its output, and returns an image or nothing.
#[tool(register = false, output_schema = json!({ "type": "integer" }))]
fn draws(nothing: bool) -> ToolOutput {
    let image = || ToolOutput::from(vec![tool_runtime::Content::image([1, 2], "image/png")]);
    if nothing { ToolOutput::default() } else { image() }
}

// D08, D09
#[test]
fn content_without_a_value_does_not_match_an_output_schema() {
    use tool_runtime::{Executor, ToolCall};

    let tools = Registry::builder().tool::<draws>().build().unwrap();
    let executor = Executor::new(tools.clone());
    for (nothing, returned) in [(false, "content without a value"), (true, "nothing")] {
        let arguments = json!({ "nothing": nothing });
        let text = format!("Invalid output: the tool declares an output schema but returned {returned}");
        let error = crate::run(tools.call("draws", &arguments)).unwrap_err();
        assert_eq!((error.kind(), error.feedback()), (ErrorKind::InvalidOutput, text.clone()));
        let outcomes = crate::run(executor.run(vec![ToolCall::new("draws", &arguments)]));
        let result = outcomes[0].result().unwrap();
        assert!(result.is_error());
        assert_eq!(result.text(), text);
    }
}

#[test]
fn or_tool_error_keeps_the_source_and_the_kind_of_an_error() {
    fn chained() -> Result<(), ToolError> {
        Err(Chained(io::Error::from(io::ErrorKind::ConnectionReset))).or_tool_error()?;
        Ok(())
    }
    let error = chained().unwrap_err();
    assert_eq!((error.kind(), error.feedback().as_str()), (ErrorKind::Failed, "cannot read"));
    assert!(error.source().is_some_and(|source| source.is::<Chained>()));
    assert!(error.is_retryable());

    fn reported() -> Result<(), ToolError> {
        let missing: anyhow::Result<()> = Err(ToolError::not_found("no order 7").into());
        missing.map_err(|error| error.context("no invoice")).or_tool_error()?;
        Ok(())
    }
    let error = reported().unwrap_err();
    assert_eq!((error.kind(), error.feedback().as_str()), (ErrorKind::NotFound, "no invoice"));
    assert_eq!(Ok::<_, Chained>(7).or_tool_error().unwrap(), 7);
}

#[test]
fn errors_of_the_standard_library_are_converted_by_the_question_mark() {
    fn number(text: &str) -> Result<u8, ToolError> {
        let wide: u32 = text.parse()?;
        Ok(u8::try_from(wide)?)
    }
    assert_eq!(number("7").unwrap(), 7);
    assert_eq!(number("x").unwrap_err().feedback(), "invalid digit found in string");
    assert!(
        number("700").unwrap_err().source().is_some_and(|source| source.is::<std::num::TryFromIntError>())
    );
}
