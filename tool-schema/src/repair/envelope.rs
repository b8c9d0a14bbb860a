//! Text around the object: sentences, a code fence, a call.
//!
//! Nothing here may hide data. A sentence therefore contains no brackets, no quotes and no colon before its
//! end, and must be separated from the object; `a: {…}` and `{…} b` are parts of the object's data.

use super::{
    ambiguity::Ambiguity,
    cursor::{Cursor, Gap, is_blank},
};

/// The elements that were opened before the object.
pub(super) struct Envelope {
    call: bool,
}

/// Moves `cursor` to the first brace.
pub(super) fn read_text_before_object(cursor: &mut Cursor<'_>) -> Result<Envelope, Ambiguity> {
    cursor.skip_blanks();
    let start = cursor.at();
    cursor.skip_while(|it| it != '{');
    if cursor.is_at_end() {
        return Err(Ambiguity::new("there is no object", start));
    }
    let before = cursor.text_since(start);
    let before = match before.rsplit_once("```") {
        Some((sentences, after)) if has_no_brackets(sentences) => text_after_fence_language(after),
        Some(_) => return Err(Ambiguity::new("text before the object", start)),
        None => before,
    };
    let (before, call) = match text_before_call(before) {
        Some(before) => (before, true),
        None => (before, false),
    };
    if before.trim().is_empty() || is_introduction(before) {
        return Ok(Envelope { call });
    }
    Err(Ambiguity::new("text before the object", start))
}

impl Envelope {
    /// Reads the text after the object, up to its end.
    pub(super) fn read_text_after_object(self, cursor: &mut Cursor<'_>) -> Result<(), Ambiguity> {
        loop {
            let gap = cursor.skip_blanks();
            let is_end = match cursor.peek() {
                None => return Ok(()),
                Some(',' | ';') => true,
                Some(')') => self.call,
                _ => false,
            };
            if is_end {
                cursor.take_char();
                continue;
            }
            let rest = cursor.rest();
            let sentences = match rest.strip_prefix("```") {
                Some(after) => has_no_brackets(after),
                None => gap == Gap::LineBreak && is_prose(rest),
            };
            return if sentences {
                Ok(())
            } else {
                Err(Ambiguity::new("text after the object", cursor.at()))
            };
        }
    }
}

/// Returns the text after the language of a code fence.
fn text_after_fence_language(text: &str) -> &str {
    text.trim_start_matches(|it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '+'))
}

/// Returns the text before a trailing `name(`.
fn text_before_call(text: &str) -> Option<&str> {
    let callee = text.trim_end().strip_suffix('(')?.trim_end();
    let before = callee.trim_end_matches(|it: char| it.is_alphanumeric() || matches!(it, '_' | '$' | '.'));
    (before.len() < callee.len()).then_some(before)
}

/// Returns `true` if `text`, which precedes the object, introduces it.
fn is_introduction(text: &str) -> bool {
    let sentences = text.trim_end_matches(is_blank);
    let after = text.get(sentences.len()..).unwrap_or("");
    match sentences.strip_suffix(':') {
        Some(sentences) => is_prose(sentences),
        None => after.contains('\n') && is_prose(sentences),
    }
}

fn is_prose(text: &str) -> bool {
    let text = text.trim();
    let is_sentence = text.ends_with(['.', '!', '?']) || text.split_whitespace().nth(1).is_some();
    is_sentence && has_no_brackets(text) && !text.contains(['"', ':', '='])
}

/// A fence separates text by itself; that text must not contain another object or list.
fn has_no_brackets(text: &str) -> bool {
    !text.contains(['{', '}', '[', ']'])
}
