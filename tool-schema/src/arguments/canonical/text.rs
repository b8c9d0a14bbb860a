//! The canonical text of a call.

use std::borrow::Cow;

use super::writer::{PropertyOrder, write_canonical};

/// Returns the JSON `text` without whitespace and with canonical numbers and strings; properties keep their order.
/// `None` if it is not JSON.
pub(crate) fn canonical_text(text: &str) -> Option<Cow<'_, str>> {
    let canonical = write_canonical(text, PropertyOrder::AsWritten)?;
    Some(if canonical == text { Cow::Borrowed(text) } else { Cow::Owned(canonical) })
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
