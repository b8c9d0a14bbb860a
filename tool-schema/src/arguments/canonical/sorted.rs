//! The text of which hashes are computed.

use super::writer::{PropertyOrder, write_canonical};

/// Returns the JSON `text` without whitespace, with canonical numbers and strings, and with the properties of each
/// object sorted by name; equal names keep their order. `None` if it is not JSON.
pub fn sorted(text: &str) -> Option<String> {
    write_canonical(text, PropertyOrder::ByName)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::sorted;

    #[test]
    fn properties_are_sorted_at_every_depth() {
        let text =
            r#" { "b" : [ 1.0 , { "z" : 1e2, "y": null } ], "a":"\u0041\/\u0007\n", "":{} , "aa": [] } "#;
        let expected = r#"{"":{},"a":"A/\u0007\n","aa":[],"b":[1,{"y":null,"z":100}]}"#;
        assert_eq!(sorted(text).unwrap(), expected);
        assert_eq!(sorted(expected).unwrap(), expected);
    }

    #[test]
    fn invalid_json_has_no_canonical_text() {
        for text in ["", "{", "[1,]", "{}x", "{\"a\"}", "nul", "01", "{\"a\":1,}"] {
            assert_eq!(sorted(text), None, "{text}");
        }
    }

    #[test]
    fn nesting_does_not_use_the_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(sorted(&deep).unwrap(), deep);
    }
}
