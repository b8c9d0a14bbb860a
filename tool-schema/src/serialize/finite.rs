//! Numbers that JSON cannot represent: not a number, and infinities.

use serde::ser::Error as _;
use serde_json::Error;

use crate::pointer::push_step;

/// The message of the error of such a number, which distinguishes it from the errors of other values.
const NOT_FINITE: &str = "a number that is not finite";

/// Returns the error of a number that is not finite.
#[cold]
pub(super) fn not_finite() -> Error {
    Error::custom(NOT_FINITE)
}

/// Adds the location of the number to the error of [`not_finite`], where `written` is the text before it. Other errors
/// stay.
#[cold]
pub(super) fn with_location(error: Error, written: &[u8]) -> Error {
    if error.to_string() != NOT_FINITE {
        return error;
    }
    let number = "JSON has no number for `NaN` or an infinity; return a finite number or an `Option`";
    match pointer_after(written).as_str() {
        "" => Error::custom(number),
        pointer => Error::custom(format_args!("at `{pointer}`, {number}")),
    }
}

/// An open list or object.
enum OpenPart {
    List(usize),
    Object(String),
}

/// Returns the JSON pointer to the value that follows `written`, the beginning of a JSON text.
fn pointer_after(written: &[u8]) -> String {
    let mut open = Vec::new();
    // The start of the string that was read last.
    let (mut start, mut at) = (0, 0);
    while let Some(byte) = written.get(at) {
        match (byte, open.last_mut()) {
            (b'[', _) => open.push(OpenPart::List(0)),
            (b'{', _) => open.push(OpenPart::Object(String::new())),
            (b']' | b'}', _) => drop(open.pop()),
            (b',', Some(OpenPart::List(index))) => *index += 1,
            (b':', Some(OpenPart::Object(name))) => {
                let text = written.get(start..at).unwrap_or_default();
                *name = serde_json::from_slice(text).unwrap_or_default();
            }
            (b'"', _) => {
                start = at;
                at += 1;
                while let Some(byte) = written.get(at).filter(|byte| **byte != b'"') {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut pointer = String::new();
    for part in open {
        match part {
            OpenPart::List(index) => push_step(&mut pointer, &index.to_string()),
            OpenPart::Object(name) => push_step(&mut pointer, &name),
        }
    }
    pointer
}
