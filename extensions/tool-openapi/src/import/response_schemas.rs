//! The output schemas of responses, which are made when they are first needed.

use std::{borrow::Cow, cell::Cell, collections::HashMap, sync::OnceLock};

use serde_json::{Value, json};

use super::schema::assemble_schema;

/// The maximum size of the components of an output schema, in bytes.
pub(crate) const MAX_COMPONENTS_BYTES: usize = 32 << 10;

/// The description of a component that is left out.
pub(crate) const LEFT_OUT: &str = "Any value: the schema of the response is too large to be shown in full.";

/// The schemas of responses as text, from which an output schema is made when it is first needed.
#[derive(Default)]
pub(crate) struct ResponseSchemas {
    texts: OnceLock<HashMap<Box<str>, Box<str>>>,
}

impl ResponseSchemas {
    /// Sets the components, once the whole document is read.
    pub(crate) fn set_components(&self, texts: HashMap<Box<str>, Box<str>>) {
        // The import completes once.
        let _ = self.texts.set(texts);
    }

    /// Returns the schema with the text `root` and the components that it refers to, the closest first, as far as [`MAX_COMPONENTS_BYTES`]
    /// reaches: in some documents, most components are reached from any of them. A component that is left out accepts any value, and
    /// says so.
    pub(crate) fn assemble_schema(&self, root: &str) -> Value {
        let rest = Cell::new(MAX_COMPONENTS_BYTES);
        let get = |name: &str| {
            let text = self.texts.get()?.get(name)?;
            match rest.get().checked_sub(text.len()) {
                Some(less) => rest.set(less),
                None => return Some(Cow::Owned(json!({ "description": LEFT_OUT }))),
            }
            serde_json::from_str(text).ok().map(Cow::Owned)
        };
        let root = serde_json::from_str(root).unwrap_or_default();
        // Without a component that could not be translated, nothing is known of the results.
        assemble_schema(root, get).unwrap_or(Value::Bool(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema that refers to `a` and `b`, with these components.
    fn assembled(components: &[(&str, String)]) -> Value {
        let schemas = ResponseSchemas::default();
        schemas.set_components(
            components.iter().map(|(name, text)| ((*name).into(), text.as_str().into())).collect(),
        );
        schemas.assemble_schema(r##"{"not":{"$ref":"#/$defs/a"},"items":{"$ref":"#/$defs/b"}}"##)
    }

    /// A component of this size.
    fn component(bytes: usize) -> String {
        let text = json!({ "title": "" }).to_string();
        json!({ "title": "x".repeat(bytes - text.len()) }).to_string()
    }

    #[test]
    fn components_are_shown_as_far_as_their_limit_reaches() {
        for (a, b, shown) in [
            (100, MAX_COMPONENTS_BYTES - 100, [true, true]),
            (100, MAX_COMPONENTS_BYTES - 99, [true, false]),
            (MAX_COMPONENTS_BYTES, 20, [true, false]),
            // A smaller one may have room after a larger one.
            (MAX_COMPONENTS_BYTES + 1, 20, [false, true]),
        ] {
            let schema = assembled(&[("a", component(a)), ("b", component(b))]);
            for (key, is_shown) in ["not", "items"].into_iter().zip(shown) {
                assert_eq!(schema[key].get("title").is_some(), is_shown, "{a} {b} {key}");
                assert_eq!(
                    schema[key].get("description") == Some(&json!(LEFT_OUT)),
                    !is_shown,
                    "{a} {b} {key}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_known_of_a_result_whose_component_is_missing() {
        assert_eq!(assembled(&[("a", component(20))]), json!(true));
        assert_eq!(
            ResponseSchemas::default().assemble_schema(r#"{"type":"string"}"#),
            json!({ "type": "string" })
        );
    }
}
