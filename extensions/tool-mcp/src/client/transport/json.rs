//! JSON of careless servers.

use std::{iter::Peekable, str::CharIndices};

use serde_json::Value;

/// Reads JSON, also with what serializers of other languages write although JSON does not have it: `NaN` and `Infinity`,
/// numbers out of range (read as `null`), halves of surrogate pairs, bytes that are not UTF-8 (read as U+FFFD), and
/// control characters in texts.
pub(super) fn parse_lenient_json(text: &[u8]) -> Result<Value, serde_json::Error> {
    let error = match serde_json::from_slice(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    serde_json::from_str(&corrected_json(&String::from_utf8_lossy(text))).map_err(|_| error)
}

fn corrected_json(text: &str) -> String {
    let mut corrected = String::with_capacity(text.len());
    let mut characters = text.char_indices().peekable();
    let mut is_in_text = false;
    while let Some((start, character)) = characters.next() {
        match character {
            '"' => {
                is_in_text = !is_in_text;
                corrected.push('"');
            }
            '\\' if is_in_text => {
                corrected.push_str(&escape_without_lone_surrogate(text, start, &mut characters))
            }
            control if is_in_text && control.is_ascii_control() => {
                corrected.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            letter if !is_in_text && (letter == '-' || letter.is_ascii_alphanumeric()) => {
                let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '+' | '.');
                let mut end = start + letter.len_utf8();
                while let Some((at, part)) = characters.next_if(|(_, it)| is_part(*it)) {
                    end = at + part.len_utf8();
                }
                corrected.push_str(null_if_not_finite(&text[start..end]));
            }
            other => corrected.push(other),
        }
    }
    corrected
}

/// Returns a word outside of texts; `null` for a number that JSON does not have.
fn null_if_not_finite(word: &str) -> &str {
    match word.parse::<f64>() {
        Ok(number) if !number.is_finite() => "null",
        _ => word,
    }
}

/// Reads an escape that begins at `start`. A half of a surrogate pair is U+FFFD.
fn escape_without_lone_surrogate(
    text: &str,
    start: usize,
    characters: &mut Peekable<CharIndices<'_>>,
) -> String {
    let unit = |start: usize| {
        let digits = text.get(start..start + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (length, replaced) = match (unit(start), unit(start + 6)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, None),
        (Some(0xd800..=0xdfff), _) => (6, Some("\\ufffd")),
        (Some(_), _) => (6, None),
        (None, _) => (1 + text[start + 1..].chars().next().map_or(0, char::len_utf8), None),
    };
    let end = start + length;
    while characters.next_if(|(at, _)| *at < end).is_some() {}
    replaced.map_or_else(|| text[start..end].to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests;
