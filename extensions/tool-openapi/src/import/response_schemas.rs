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
