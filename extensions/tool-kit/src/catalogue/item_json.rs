//! Items as JSON.

use serde::{Serialize, Serializer, ser::Error as _};
use tool_runtime::{
    guard::catch,
    serde_json::{self, Map, Value, json},
};

use super::{CatalogueItem, ItemObject};

/// An item serialises as its kind, its namespace and its description, for lists of a program.
///
/// A tool has its definition: description, schemas and hints. A prompt has its description and arguments. The `name` of both is the
/// [key](CatalogueItem::key). A resource has its URI, name, description and type.
impl Serialize for CatalogueItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let described = catch(|| self.definition_members()).map_err(|panic| {
            S::Error::custom(format!("the item `{}` panicked: {}", self.key(), panic.message()))
        })?;
        let described = described
            .map_err(|error| S::Error::custom(format!("the item `{}` is not JSON: {error}", self.key())))?;
        let mut members = Map::new();
        members.insert("kind".to_owned(), json!(self.kind()));
        members.insert("namespace".to_owned(), json!(self.namespace()));
        members.extend(described);
        members.serialize(serializer)
    }
}

impl CatalogueItem {
    /// Returns what a list says about the item.
    fn definition_members(&self) -> Result<Map<String, Value>, serde_json::Error> {
        let described = match self.object() {
            ItemObject::Tool(tool) => serde_json::to_value(tool.definition())?,
            ItemObject::Prompt(prompt) => serde_json::to_value(prompt.definition())?,
            ItemObject::Resource(resource) => {
                let mut members = Map::new();
                members.insert("uri".to_owned(), json!(resource.uri().as_str()));
                members.insert("name".to_owned(), json!(resource.name()));
                let texts =
                    [("description", resource.description()), ("mimeType", Some(resource.mime_type()))];
                for (name, text) in texts {
                    members.extend(
                        text.filter(|text| !text.is_empty()).map(|text| (name.to_owned(), json!(text))),
                    );
                }
                return Ok(members);
            }
        };
        let mut members = match described {
            Value::Object(members) => members,
            other => Map::from_iter([("definition".to_owned(), other)]),
        };
        members.insert("name".to_owned(), json!(self.key()));
        Ok(members)
    }
}
