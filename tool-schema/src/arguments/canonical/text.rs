//! The canonical text of a call.

use std::borrow::Cow;

use super::{exact, sorted::quote};
use crate::arguments::json::{Fault, Reader};

/// Returns the JSON `text` without whitespace and with canonical numbers and strings; properties keep their order.
pub(crate) fn spelled(text: &str) -> Option<Cow<'_, str>> {
    let mut reader = Reader::of_any_depth(text);
    let mut written = String::with_capacity(text.len());
    // The open lists and objects; `true` if they have a first element.
    let mut open: Vec<(u8, bool)> = Vec::new();
    value(&mut reader, &mut written, &mut open).ok()?;
    while let Some((kind, has_more)) = open.last_mut() {
        let (kind, is_first) = (*kind, !std::mem::replace(has_more, true));
        let goes_on = match kind {
            b'{' => reader.next_property(is_first),
            _ => reader.next_item(is_first, b']'),
        };
        if !goes_on.ok()? {
            open.pop();
            written.push(if kind == b'{' { '}' } else { ']' });
            continue;
        }
        if !is_first {
            written.push(',');
        }
        if kind == b'{' {
            quote(&mut written, &reader.name().ok()?);
            written.push(':');
        }
        value(&mut reader, &mut written, &mut open).ok()?;
    }
    let is_same = written == text;
    let spelled = if is_same { Cow::Borrowed(text) } else { Cow::Owned(written) };
    reader.is_at_end().then_some(spelled)
}

fn value(reader: &mut Reader<'_>, written: &mut String, open: &mut Vec<(u8, bool)>) -> Result<(), Fault> {
    match reader.peek().ok_or(Fault::Syntax)? {
        kind @ (b'{' | b'[') => {
            reader.open()?;
            written.push(char::from(kind));
            open.push((kind, false));
        }
        b'"' => quote(written, &reader.string()?),
        b't' => word(reader, written, "true")?,
        b'f' => word(reader, written, "false")?,
        b'n' => word(reader, written, "null")?,
        b'-' | b'0'..=b'9' => {
            let start = reader.position();
            reader.number()?;
            written.push_str(&exact(reader.part(start..reader.position())));
        }
        _ => return Err(Fault::Syntax),
    }
    Ok(())
}

fn word(reader: &mut Reader<'_>, written: &mut String, word: &'static str) -> Result<(), Fault> {
    written.push_str(word);
    reader.word(word)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::spelled;

    #[test]
    fn values_have_one_spelling_and_keep_their_order() {
        let text = r#" { "b" : [ 1.0 , { "z" : 1e2, "y": null } ], "a":"\u0041\/" , "c": [ ], "d":{} } "#;
        let expected = r#"{"b":[1,{"z":100,"y":null}],"a":"A/","c":[],"d":{}}"#;
        assert_eq!(spelled(text).unwrap(), expected);
        assert_eq!(spelled(expected).unwrap(), expected);
        for text in ["", "{", "[1,]", "{}x", "{\"a\"}", "nul", "01", "{\"a\":1,}"] {
            assert_eq!(spelled(text), None, "{text}");
        }
    }
}
