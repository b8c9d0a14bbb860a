//! Inputs: text, the standard input or a file; a response, whole or streamed.

use std::{
    fs,
    io::{self, Read},
};

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tool_runtime::{
    ToolCall,
    dialect::{BoundTools, DialectError},
};

use crate::{Failure, flags::CallArguments, sanitize::escaped_line};

/// Loads the text of arguments: of the standard input for `-`, of a file for `@file`, otherwise `source` itself.
pub(crate) fn load_arguments(source: &str) -> Result<CallArguments, Failure> {
    if source == "-" {
        let text = read_standard_input()?;
        return refuse_empty_arguments(CallArguments { text, origin: Some("standard input".to_owned()) });
    }
    match source.strip_prefix('@') {
        Some(path) => {
            refuse_empty_arguments(CallArguments { text: read_file(path)?, origin: Some(path.to_owned()) })
        }
        None => Ok(CallArguments { text: source.to_owned(), origin: None }),
    }
}

/// Refuses an empty input.
fn refuse_empty_arguments(arguments: CallArguments) -> Result<CallArguments, Failure> {
    match &arguments.origin {
        Some(origin) if arguments.text.trim().is_empty() => {
            let message = format!("{} is empty; it must contain a JSON object", escaped_line(origin));
            Err(Failure::usage(message))
        }
        _ => Ok(arguments),
    }
}

/// Reads the file `path`; `-` is the standard input.
pub(crate) fn read_file(path: &str) -> Result<String, Failure> {
    if path == "-" {
        return read_standard_input();
    }
    fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", escaped_line(path))))
}

fn read_standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let unread = |error| Failure::usage(format!("the standard input cannot be read: {error}"));
    io::stdin().read_to_string(&mut text).map_err(unread)?;
    Ok(text)
}

/// The calls of a response: one JSON value, or the events of a stream as server-sent events, as lines, or as a list.
///
/// Values stay JSON text, so that numbers keep their digits.
pub(crate) fn read_calls(bound: &BoundTools, text: &str) -> Result<Vec<ToolCall>, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::usage("the response is empty"));
    }
    let events = match serde_json::from_str::<&RawValue>(text) {
        Ok(response) => {
            let events = serde_json::from_str::<Vec<&RawValue>>(text).unwrap_or_default();
            match bound.calls(response) {
                // A list of events, which some dialects read as a response without calls.
                read if !events.is_empty() && read.as_ref().map_or(true, Vec::is_empty) => {
                    events.into_iter().map(RawValue::get).collect()
                }
                Ok(calls) => return Ok(calls),
                Err(error) => return Err(invalid_response(&error)),
            }
        }
        Err(error) => event_stream_data(text).ok_or_else(|| {
            Failure::usage(format!("the response is neither JSON nor a stream of events: {error}"))
        })?,
    };
    let mut assembler = bound.assembler();
    for event in events {
        assembler.push(event).map_err(|error| invalid_response(&error))?;
    }
    Ok(assembler.finish().calls)
}

/// Returns `true` if `text` is JSON, or a stream of events.
pub(crate) fn is_json_or_event_stream(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok() || event_stream_data(text).is_some()
}

fn invalid_response(error: &DialectError) -> Failure {
    Failure::usage(format!("the response is not valid in this dialect: {}", escaped_line(&error.to_string())))
}

/// The events of a stream; `None` if a line is not an event.
fn event_stream_data(text: &str) -> Option<Vec<&str>> {
    let mut events = Vec::new();
    for line in text.lines().map(str::trim) {
        let is_other = ["event:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field));
        let data = line.strip_prefix("data:").unwrap_or(line).trim();
        if is_other || data.is_empty() || data == "[DONE]" {
            continue;
        }
        serde_json::from_str::<IgnoredAny>(data).ok()?;
        events.push(data);
    }
    (!events.is_empty()).then_some(events)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::Value;
    use tool_runtime::{Registry, dialect::Dialect};

    use super::*;

    // Recorded responses, in each form of a file.
    #[test]
    fn recorded_responses_are_read_in_every_form() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tool-runtime/tests/dialects/recorded");
        let tools = Registry::builder().build().unwrap();
        let mut read = 0;
        for name in ["anthropic", "gemini", "mcp", "openai-chat", "openai-responses"] {
            let text = fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
            let dialect = Dialect::all().into_iter().find(|it| it.name() == name).unwrap();
            let bound = dialect.bind_tools(&tools);
            for case in serde_json::from_str::<Vec<Value>>(&text).unwrap() {
                let mut forms = vec![case.get("response").or(case.get("events")).unwrap().to_string()];
                if let Some(events) = case.get("events").and_then(Value::as_array) {
                    let joined = |before: &str, after: &str| {
                        events.iter().map(|event| format!("{before}{event}{after}")).collect::<String>()
                    };
                    forms.push(joined("", "\n"));
                    forms.push(joined(": ping\r\nevent: it\r\ndata:", "\r\n\r\n") + "data: [DONE]\r\n\r\n");
                }
                for form in forms {
                    let calls = read_calls(&bound, &form).unwrap();
                    let names: Vec<_> = calls.iter().map(|call| &*call.name).collect();
                    let expected = case["calls"].as_array().unwrap().iter();
                    let expected: Vec<_> = expected.map(|call| call[1].as_str().unwrap()).collect();
                    assert_eq!(names, expected, "{name}, {}: {form}", case["name"]);
                    read += 1;
                }
            }
        }
        assert!(read > 100, "{read}");
    }

    #[test]
    fn numbers_of_a_response_keep_their_digits() {
        let call = r#"{"functionCall": {"name": "add", "args": {"a": 1.10, "b": 12345678901234567890123}}}"#;
        let response =
            format!(r#"{{"candidates": [{{"content": {{"parts": [{call}]}}, "finishReason": "STOP"}}]}}"#);
        let bound = Dialect::gemini().bind_tools(&Registry::builder().build().unwrap());
        for form in [response.clone(), format!("[{response}]"), format!("data: {response}\n\n")] {
            let calls = read_calls(&bound, &form).unwrap();
            assert_eq!(calls[0].arguments.as_str(), r#"{"a":1.10,"b":12345678901234567890123}"#, "{form}");
        }
    }

    #[test]
    fn the_events_of_a_stream_are_lines_of_json() {
        for (text, expected) in [
            ("data: 1\n\ndata:2\n", Some(&["1", "2"][..])),
            ("1\n  {}  \n", Some(&["1", "{}"])),
            ("event: a\nid: 1\nretry: 3\n: a comment\ndata: []\ndata: [DONE]\ndata:\n", Some(&["[]"])),
            ("event: a\n", None),
            ("[DONE]", None),
            ("", None),
            ("data: 1\ntext\n", None),
            ("text\ndata: 1\n", None),
        ] {
            assert_eq!(event_stream_data(text).as_deref(), expected, "{text:?}");
            assert_eq!(is_json_or_event_stream(text), expected.is_some(), "{text:?}");
        }
        assert!(is_json_or_event_stream("{\n\"a\":\n1}"));
    }
}
