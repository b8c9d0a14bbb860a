//! Translated components, and those that a schema reaches.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use serde_json::Value;

use super::{BROKEN, Components, PREFIX, assemble::MAX_COMPONENTS, visit_references};
use crate::import::hint::has_hidden_characters;
use crate::import::response_schemas::{LEFT_OUT, MAX_COMPONENTS_BYTES};

/// A translated component, which all schemas that refer to it share.
pub(super) struct Component {
    pub(super) value: Arc<Value>,
    /// The length of its text.
    pub(super) bytes: usize,
    /// The names of the components that it refers to, each once.
    references: Box<[Box<str>]>,
    /// It has characters that a person does not see.
    has_hidden_text: bool,
}

impl Component {
    pub(super) fn new(value: Value) -> Self {
        let (bytes, references, has_hidden_text) =
            (value.to_string().len(), referenced_component_names(&value), has_hidden_characters(&value));
        Self { bytes, references, has_hidden_text, value: Arc::new(value) }
    }
}

impl Default for Component {
    /// A component that is not translated yet.
    fn default() -> Self {
        Self::new(Value::Bool(true))
    }
}

/// The names of the components that `schema` refers to, each once.
fn referenced_component_names(schema: &Value) -> Box<[Box<str>]> {
    let (mut names, mut known) = (Vec::new(), HashSet::new());
    visit_references(schema, &mut |name| {
        if known.insert(name.to_owned()) {
            names.push(name.into());
        }
    });
    names.into()
}

/// The components that a schema reaches.
pub(in crate::import) struct ReachedComponents {
    pub(in crate::import) definitions: Vec<(Arc<str>, Arc<Value>)>,
    /// The length of their text as `$defs`.
    pub(in crate::import) bytes: usize,
    /// One of them has characters that a person does not see.
    pub(in crate::import) has_hidden_text: bool,
}

impl Components<'_> {
    /// Returns the components that `root` reaches, the closest first.
    ///
    /// # Errors
    ///
    /// The reason why one of them could not be translated, or that there are too many.
    pub(in crate::import) fn reached_components(&self, root: &Value) -> Result<ReachedComponents, String> {
        let mut reached = ReachedComponents { definitions: Vec::new(), bytes: 0, has_hidden_text: false };
        let first = referenced_component_names(root);
        let mut waiting: VecDeque<&str> = first.iter().map(|it| &**it).collect();
        let mut known: HashSet<&str> = waiting.iter().copied().collect();
        while let Some(name) = waiting.pop_front() {
            if reached.definitions.len() >= MAX_COMPONENTS {
                return Err(format!("the schema refers to more than {MAX_COMPONENTS} others"));
            }
            let Some((name, component)) = self.translated.get_key_value(name) else {
                return Err(format!("the schema `{name}` is missing"));
            };
            if let Some(Value::String(reason)) = component.value.get(BROKEN) {
                return Err(reason.clone());
            }
            // Quotes, a colon and a comma.
            reached.has_hidden_text |= component.has_hidden_text;
            reached.bytes += name.len() + component.bytes + 4;
            reached.definitions.push((Arc::clone(name), Arc::clone(&component.value)));
            waiting.extend(component.references.iter().map(|it| &**it).filter(|it| known.insert(it)));
        }
        Ok(reached)
    }

    /// Returns the schema of a response that `root` refers to, if it is a component only for its size.
    pub(in crate::import) fn root_component_of_reference(&self, root: &Value) -> Option<&Value> {
        let name =
            root.as_object().filter(|it| it.len() == 1)?.get("$ref")?.as_str()?.strip_prefix(PREFIX)?;
        self.roots.contains(name).then_some(&*self.translated.get(name)?.value)
    }

    /// Returns the size of the components of an output schema, in bytes of JSON, which reach as far as those of
    /// [`ResponseSchemas::assemble_schema`](crate::import::response_schemas::ResponseSchemas::assemble_schema).
    pub(in crate::import) fn response_component_bytes(&self, root: &Value) -> usize {
        let (mut bytes, mut rest) = (0, MAX_COMPONENTS_BYTES);
        let first = referenced_component_names(root);
        let mut waiting: VecDeque<&str> = first.iter().map(|it| &**it).collect();
        let mut known: HashSet<&str> = waiting.iter().copied().collect();
        while let Some(name) = waiting.pop_front() {
            let Some(component) = self.translated.get(name) else { continue };
            let Some(less) = rest.checked_sub(component.bytes) else {
                bytes += name.len() + LEFT_OUT.len();
                continue;
            };
            rest = less;
            bytes += name.len() + component.bytes + 4;
            waiting.extend(component.references.iter().map(|it| &**it).filter(|it| known.insert(it)));
        }
        bytes
    }
}
