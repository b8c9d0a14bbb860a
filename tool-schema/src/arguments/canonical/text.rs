//! The canonical text of a call.

use std::borrow::Cow;

use super::canonical_number;
use crate::json::{Fault, Reader, write_quoted};

/// Returns the JSON `text` without whitespace and with canonical numbers and strings; properties keep their order.
pub(crate) fn canonical_text(text: &str) -> Option<Cow<'_, str>> {
    let mut reader = Reader::of_any_depth(text);
    let mut out = String::with_capacity(text.len());
    // The open lists and objects; `true` if they have a first element.
    let mut open: Vec<(u8, bool)> = Vec::new();
    write_value(&mut reader, &mut out, &mut open).ok()?;
    while let Some((kind, has_more)) = open.last_mut() {
        let (kind, is_first) = (*kind, !std::mem::replace(has_more, true));
        let goes_on = match kind {
            b'{' => reader.next_property(is_first),
            _ => reader.next_item(is_first, b']'),
        };
        if !goes_on.ok()? {
            open.pop();
            out.push(if kind == b'{' { '}' } else { ']' });
            continue;
        }
        if !is_first {
            out.push(',');
        }
        if kind == b'{' {
            write_quoted(&mut out, &reader.name().ok()?);
            out.push(':');
        }
        write_value(&mut reader, &mut out, &mut open).ok()?;
    }
    let is_same = out == text;
    let canonical = if is_same { Cow::Borrowed(text) } else { Cow::Owned(out) };
    reader.is_at_end().then_some(canonical)
}

fn write_value(reader: &mut Reader<'_>, out: &mut String, open: &mut Vec<(u8, bool)>) -> Result<(), Fault> {
    match reader.peek().ok_or(Fault::Syntax)? {
        kind @ (b'{' | b'[') => {
            reader.open_container()?;
            out.push(char::from(kind));
            open.push((kind, false));
        }
        b'"' => write_quoted(out, &reader.read_string()?),
        b't' => write_word(reader, out, "true")?,
        b'f' => write_word(reader, out, "false")?,
        b'n' => write_word(reader, out, "null")?,
        b'-' | b'0'..=b'9' => {
            let start = reader.position();
            reader.read_number()?;
            out.push_str(&canonical_number(reader.text_in(start..reader.position())));
        }
        _ => return Err(Fault::Syntax),
    }
    Ok(())
}

fn write_word(reader: &mut Reader<'_>, out: &mut String, word: &'static str) -> Result<(), Fault> {
    out.push_str(word);
    reader.read_word(word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::canonical_text;

    #[test]
    fn values_have_one_spelling_and_keep_their_order() {
        let text = r#" { "b" : [ 1.0 , { "z" : 1e2, "y": null } ], "a":"\u0041\/" , "c": [ ], "d":{} } "#;
        let expected = r#"{"b":[1,{"z":100,"y":null}],"a":"A/","c":[],"d":{}}"#;
        assert_eq!(canonical_text(text).unwrap(), expected);
        assert_eq!(canonical_text(expected).unwrap(), expected);
        for text in ["", "{", "[1,]", "{}x", "{\"a\"}", "nul", "01", "{\"a\":1,}"] {
            assert_eq!(canonical_text(text), None, "{text}");
        }
    }
}
