//! Recognising a text that is its own canonical text, as most are, without making a value of it.

use super::{
    Plan,
    node::{Node, NodeId},
};

/// The most digits of a number that is surely spelled as it is read.
const MAX_DIGITS: usize = 15;

impl Plan {
    /// Returns `true` if `text` is valid and its own canonical text; if `false`, it may be so nevertheless.
    pub(super) fn is_in_canonical_form(&self, text: &str) -> bool {
        self.changes_root_alone && self.keeps_properties(text) && self.is_in_normal_form(text)
    }

    /// Returns `true` if only the root has properties that its decoder ignores or fills in.
    pub(super) fn find_changes_of_root_alone(&self) -> bool {
        let changes = |node: &Node| {
            let object = node.object.as_deref();
            object
                .is_some_and(|object| object.ignores || object.properties.iter().any(|it| it.fill.is_some()))
        };
        let (root, others) = (self.nodes.first(), self.nodes.iter().skip(1));
        !others.into_iter().any(changes) && !root.is_some_and(|root| root.shared && changes(root))
    }

    /// Returns `true` if `text` is spelled canonically, and its decoder neither ignores a property nor fills one in.
    fn keeps_properties(&self, text: &str) -> bool {
        let Some(rules) = self.node(NodeId::ROOT).object.as_deref() else {
            return is_spelled_canonically(text, |_| true);
        };
        let (mut near, mut filled) = (0, 0);
        let is_kept = |name: &str| match rules.properties.get_near(name, &mut near) {
            Some(property) => {
                filled += usize::from(property.fill.is_some());
                true
            }
            None => !rules.ignores,
        };
        // Names are unique in a text that is in its normal form.
        is_spelled_canonically(text, is_kept)
            && filled == rules.properties.iter().filter(|it| it.fill.is_some()).count()
    }
}

/// Returns `true` if `text`, which may be no JSON, has no whitespace, escapes, fractions, exponents and long numbers, and each name of the outer object
/// is as `is_kept` requires.
fn is_spelled_canonically(text: &str, mut is_kept: impl FnMut(&str) -> bool) -> bool {
    let (mut rest, mut depth) = (text, 0_usize);
    while let Some(byte) = rest.bytes().next() {
        rest = rest.get(1..).unwrap_or_default();
        match byte {
            b'"' => {
                let Some((content, after)) = rest.split_once('"').filter(|(it, _)| !it.contains('\\')) else {
                    return false;
                };
                rest = after;
                if depth == 1 && rest.starts_with(':') && !is_kept(content) {
                    return false;
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'0'..=b'9' => {
                let more = rest.bytes().take_while(u8::is_ascii_digit).count();
                rest = rest.get(more..).unwrap_or_default();
                if more >= MAX_DIGITS || rest.starts_with('e') {
                    return false;
                }
            }
            b'-' | b':' | b',' | b'a'..=b'z' => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::compile::{Origin, compile};
    use crate::Arguments;

    fn nested(ignores: bool, fills: bool) -> Value {
        let mut inner = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let mut b = json!({ "type": "string" });
        if ignores {
            inner["x-tool-ignores"] = true.into();
        }
        if fills {
            b["default"] = "x".into();
            b["x-tool-fills"] = true.into();
        }
        json!({
            "type": "object",
            "properties": { "a": { "type": "integer" }, "b": b, "c": { "type": "array" }, "d": inner },
            "required": ["a"],
        })
    }

    /// Texts of objects with few names, as a model may write them.
    fn text() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            Just("1"),
            Just("-0"),
            Just("-7"),
            Just("1.0"),
            Just("1e2"),
            Just("null"),
            Just("true"),
            Just("\"x\""),
            Just("\"\\u0041\""),
            Just("\"a:b\""),
            Just("[1, 2]"),
            Just("[1,2]"),
            Just(r#"{"a":1}"#),
            Just(r#"{"z":1}"#),
            Just("123456789012345678901"),
            Just("01"),
            Just(""),
        ];
        let name = prop_oneof![Just("a"), Just("b"), Just("c"), Just("d"), Just("e")];
        let colon = prop_oneof![9 => Just(":"), 1 => Just(": ")];
        prop::collection::vec((name, colon, value), 0..5).prop_map(|parts| {
            let parts: Vec<_> =
                parts.iter().map(|(name, colon, value)| format!("\"{name}\"{colon}{value}")).collect();
            format!("{{{}}}", parts.join(","))
        })
    }

    proptest! {
        #[test]
        fn a_text_in_canonical_form_is_its_own_canonical_text(
            text in text(), outer in any::<bool>(), inner in any::<bool>(), fills in any::<bool>(),
        ) {
            let mut schema = nested(inner, fills);
            if outer {
                schema["x-tool-ignores"] = true.into();
            }
            let mut plan = compile(&schema, Origin::Own).unwrap();
            if plan.is_in_canonical_form(&text) {
                plan.changes_root_alone = false;
                let fitting = plan.fit(Arguments::from(text.as_str())).unwrap();
                let canonical = plan.canonical(fitting).unwrap();
                prop_assert_eq!(canonical.as_str(), text.as_str());
            }
        }
    }

    #[test]
    fn usual_arguments_are_in_canonical_form() {
        let mut schema = nested(false, true);
        schema["x-tool-ignores"] = true.into();
        let plan = compile(&schema, Origin::Own).unwrap();
        for (text, is_canonical) in [
            (r#"{"a":1,"b":"a, \u00e9"}"#, false),
            (r#"{"a":1,"b":"a, é: 1.5"}"#, false),
            (r#"{"a":1,"b":"a, é","c":[true,{}],"d":{"a":-2}}"#, true),
            (r#"{"b":"","a":1}"#, true),
            (r#"{"a":1}"#, false),
            (r#"{"a":1,"b":"","e":1}"#, false),
            (r#"{"a":1,"b":"", "c":[]}"#, false),
            (r#"{"a":1,"b":"","b":""}"#, false),
            (r#"{"a":"1","b":""}"#, false),
            // Only the names of the outer object decide.
            (r#"{"a":1,"b":"e","c":["e"],"d":{"a":1,"e":2}}"#, true),
            (r#"{"c":[{"e":1}],"a":1,"b":"e:"}"#, true),
            (r#"{"c":[[]],"e":1,"a":1,"b":""}"#, false),
        ] {
            assert_eq!(plan.is_in_canonical_form(text), is_canonical, "{text}");
        }
        for number in ["1e5", "10e2", "1.5", "1E5", "1234567890123456"] {
            assert!(!super::is_spelled_canonically(number, |_| true), "{number}");
        }
        for text in ["0", "-7", "123456789012345", "[1,true]", "", r#"{"a":[null,"é 1.5"]}"#] {
            assert!(super::is_spelled_canonically(text, |_| true), "{text}");
        }
    }

    #[test]
    fn arguments_are_in_canonical_form_if_no_part_of_them_is_left_out_or_filled_in() {
        let object = |ignores: bool, fills: bool, inner: Value| {
            let mut schema = json!({
                "type": "object",
                "properties": { "a": { "type": "integer", "default": 1 }, "b": inner },
            });
            if ignores {
                schema["x-tool-ignores"] = true.into();
            }
            if fills {
                schema["properties"]["a"]["x-tool-fills"] = true.into();
            }
            schema
        };
        let plain = || json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        for (schema, text, is_canonical) in [
            (object(false, false, plain()), r#"{"b":{"e":1},"e":1}"#, true),
            (object(false, false, object(true, false, plain())), r#"{"a":1}"#, false),
            (object(false, false, object(false, true, plain())), r#"{"a":1}"#, false),
            (object(true, false, plain()), r#"{"a":1}"#, true),
            (object(true, false, plain()), r#"{"a":1,"e":1}"#, false),
            (object(false, true, plain()), r#"{"a":1,"e":1}"#, true),
            (object(false, true, plain()), r#"{"e":1}"#, false),
            // A root without properties, and one to which a part refers.
            (json!({}), r#"{"a":[1]}"#, true),
            (json!({}), r#"{"a":[1] }"#, false),
            (object(false, false, json!({ "$ref": "#" })), r#"{"a":1}"#, true),
            (object(true, false, json!({ "$ref": "#" })), r#"{"a":1}"#, false),
            (object(false, true, json!({ "$ref": "#" })), r#"{"a":1}"#, false),
        ] {
            let plan = compile(&schema, Origin::Own).unwrap();
            assert_eq!(plan.is_in_canonical_form(text), is_canonical, "{schema} {text}");
        }
    }
}
