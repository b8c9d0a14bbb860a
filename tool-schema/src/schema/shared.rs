//! Schemas whose definitions other schemas share.

use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::SchemaError;

/// The keyword of the definitions.
const DEFINITIONS: &str = "$defs";

/// A definition, with its name.
pub(super) type SharedDefinition = (Arc<str>, Arc<Value>);

/// A schema without its definitions, and the definitions, which other schemas may have, too.
pub(super) struct SharedForm {
    root: Map<String, Value>,
    definitions: Vec<SharedDefinition>,
    /// The copy for callers that need the schema as one value.
    whole: OnceLock<Value>,
    is_valid: OnceLock<()>,
}

impl SharedForm {
    pub(super) fn new(root: Value, definitions: Vec<(Arc<str>, Arc<Value>)>) -> Result<Self, SchemaError> {
        super::check_root(&root)?;
        let Value::Object(root) = root else { return Err(SchemaError::new("the schema is not an object")) };
        if root.contains_key(DEFINITIONS) {
            return Err(SchemaError::new(format!(
                "the schema has `{DEFINITIONS}` of its own; add them to the shared definitions"
            )));
        }
        Ok(Self { root, definitions, whole: OnceLock::new(), is_valid: OnceLock::new() })
    }

    /// Returns the root without its definitions, and these.
    pub(super) fn parts(&self) -> (Option<&Map<String, Value>>, &[SharedDefinition]) {
        (Some(&self.root), &self.definitions)
    }

    /// Returns a keyword of the root.
    pub(super) fn keyword(&self, key: &str) -> Option<&Value> {
        self.root.get(key)
    }

    /// Returns the schema as a value that is made once, and kept.
    pub(super) fn value(&self) -> &Value {
        self.whole.get_or_init(|| self.to_value())
    }

    /// Returns the value if it was made before.
    pub(super) fn cached_value(&self) -> Option<&Value> {
        self.whole.get()
    }

    /// Returns the schema as a new value.
    pub(super) fn to_value(&self) -> Value {
        let mut root = self.root.clone();
        if !self.definitions.is_empty() {
            let definitions = self.definitions.iter().map(|(name, it)| (name.to_string(), Value::clone(it)));
            root.insert(DEFINITIONS.to_owned(), Value::Object(definitions.collect()));
        }
        Value::Object(root)
    }

    /// Runs `check` until it returns `true` once.
    pub(super) fn validate_once(&self, check: impl FnOnce() -> bool) -> bool {
        if self.is_valid.get().is_some() {
            return true;
        }
        let is_valid = check();
        if is_valid {
            // Two threads find the same.
            let _ = self.is_valid.set(());
        }
        is_valid
    }
}

impl PartialEq for SharedForm {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |one: &Arc<Value>, other: &Arc<Value>| Arc::ptr_eq(one, other) || one == other;
        let mut both = self.definitions.iter().zip(&other.definitions);
        self.root == other.root
            && self.definitions.len() == other.definitions.len()
            && both.all(|((name, one), (other_name, other))| name == other_name && is_same(one, other))
    }
}

impl Serialize for SharedForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.root {
            map.serialize_entry(key, value)?;
        }
        if !self.definitions.is_empty() {
            map.serialize_entry(DEFINITIONS, &Definitions(&self.definitions))?;
        }
        map.end()
    }
}

/// Definitions as one object.
struct Definitions<'d>(&'d [(Arc<str>, Arc<Value>)]);

impl Serialize for Definitions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, it)| (&**name, &**it)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::SharedForm;

    #[test]
    fn forms_are_equal_by_their_values() {
        let form_of = |name: &str, definition: Value| {
            SharedForm::new(json!({ "type": "object" }), vec![(name.into(), Arc::new(definition))]).unwrap()
        };
        let one = form_of("Pet", json!({ "type": "string" }));
        assert!(one == form_of("Pet", json!({ "type": "string" })));
        assert!(one != form_of("Pet", json!({ "type": "integer" })));
        assert!(one != form_of("Cat", json!({ "type": "string" })));
        let definitions = one.definitions.clone();
        assert!(one == SharedForm::new(json!({ "type": "object" }), definitions.clone()).unwrap());
        assert!(one != SharedForm::new(json!({ "type": "object", "title": "Pets" }), definitions).unwrap());
        assert!(one != SharedForm::new(json!({ "type": "object" }), Vec::new()).unwrap());
    }

    #[test]
    fn a_check_that_failed_is_run_again_and_one_that_succeeded_is_not() {
        let form = SharedForm::new(json!({}), Vec::new()).unwrap();
        assert!(!form.validate_once(|| false) && !form.validate_once(|| false));
        assert!(form.validate_once(|| true) && form.validate_once(|| panic!("it was checked")));
    }

    #[test]
    fn definitions_are_written_after_the_root_if_there_are_any() {
        let form = |definitions| SharedForm::new(json!({ "type": "object" }), definitions).unwrap();
        let written = |form: &SharedForm| serde_json::to_string(form).unwrap();
        let none = form(Vec::new());
        assert_eq!(
            (written(&none), none.to_value()),
            (r#"{"type":"object"}"#.to_owned(), json!({ "type": "object" }))
        );
        let one = form(vec![(Arc::from("a"), Arc::new(json!({ "minimum": 1 })))]);
        assert_eq!(written(&one), r#"{"type":"object","$defs":{"a":{"minimum":1}}}"#);
        assert_eq!(one.to_value(), json!({ "type": "object", "$defs": { "a": { "minimum": 1 } } }));
        assert!(
            one.cached_value().is_none() && *one.value() == one.to_value() && one.cached_value().is_some()
        );
        assert_eq!((one.keyword("type"), one.keyword("$defs")), (Some(&json!("object")), None));
        let refused = |root| SharedForm::new(root, Vec::new()).err().map(|error| error.to_string());
        assert_eq!(
            refused(json!({ "$defs": {} })).as_deref(),
            Some("the schema has `$defs` of its own; add them to the shared definitions")
        );
        assert_eq!(
            refused(json!(true)).as_deref(),
            Some("the schema of arguments must be an object, not true")
        );
    }

    #[test]
    fn a_value_is_copied_until_a_caller_needs_it_as_one() {
        use std::borrow::Cow;

        let schema =
            crate::InputSchema::with_shared(json!({}), [("a".into(), Arc::new(json!(true)))]).unwrap();
        assert!(matches!(schema.to_value(), Cow::Owned(_)) && matches!(schema.to_value(), Cow::Owned(_)));
        let copy = schema.to_value().into_owned();
        assert_eq!(*schema.as_value(), copy);
        assert!(matches!(schema.to_value(), Cow::Borrowed(value) if *value == copy));
    }
}
