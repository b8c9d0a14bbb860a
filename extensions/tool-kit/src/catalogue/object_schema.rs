//! Schemas of any type as schemas of objects, which arguments of calls are.

use std::borrow::Cow;

use tool_runtime::serde_json::{Map, Value, json, value::RawValue};

/// A schema of an object: one that is such a schema, or one with the value of another schema as its one member.
pub(crate) struct ObjectSchema {
    schema: Value,
    is_wrapped: bool,
}

impl ObjectSchema {
    /// Creates the schema of an object from a schema of any type, whose value is `member` if it is no object.
    ///
    /// # Errors
    ///
    /// Returns the problem if a part of it refers to the schema itself, which has another place then.
    pub(crate) fn new(schema: &Value, member: &str) -> Result<Self, String> {
        if schema.get("type").is_some_and(|name| name == "object") {
            return Ok(Self { schema: schema.clone(), is_wrapped: false });
        }
        let mut inner = schema.clone();
        let mut root = json!({ "type": "object", "required": [member], "additionalProperties": false });
        // References to definitions are from the root.
        for name in ["$defs", "definitions"] {
            if let Some(definitions) = inner.as_object_mut().and_then(|members| members.remove(name)) {
                root[name] = definitions;
            }
        }
        if has_root_reference(&inner)
            || ["$defs", "definitions"].iter().any(|name| has_root_reference(&root[*name]))
        {
            return Err(
                "a schema that is no object refers to itself by `#`; refer to `#/$defs/..` in place of it"
                    .to_owned(),
            );
        }
        root["properties"] = Value::Object(Map::from_iter([(member.to_owned(), inner)]));
        Ok(Self { schema: root, is_wrapped: true })
    }

    /// Returns the schema.
    pub(crate) fn into_value(self) -> Value {
        self.schema
    }

    /// Returns `true` if the value is a member of the object.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.is_wrapped
    }
}

/// Returns the JSON of the one member of an object.
pub(crate) fn unwrapped_text<'a>(object: &'a str, member: &str) -> Option<&'a str> {
    let members: std::collections::HashMap<Cow<'a, str>, &'a RawValue> =
        tool_runtime::serde_json::from_str(object).ok()?;
    members.get(member).map(|value| value.get())
}

/// Returns `true` if a part of a schema refers to a place in it that is no definition.
fn has_root_reference(schema: &Value) -> bool {
    match schema {
        Value::Array(values) => values.iter().any(has_root_reference),
        Value::Object(members) => members.iter().any(|(name, value)| match value.as_str() {
            Some(target) if matches!(&**name, "$ref" | "$dynamicRef" | "$recursiveRef") => {
                target.starts_with('#')
                    && !target.starts_with("#/$defs/")
                    && !target.starts_with("#/definitions/")
            }
            _ => has_root_reference(value),
        }),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_any_type_becomes_one_of_an_object() {
        let object = json!({ "type": "object", "properties": { "a": { "$ref": "#" } } });
        let of_object = ObjectSchema::new(&object, "input").unwrap();
        assert!(!of_object.is_wrapped() && of_object.into_value() == object);
        let list = json!({ "type": "array", "items": { "$ref": "#/$defs/A" }, "$defs": { "A": { "type": "string" } } });
        let of_list = ObjectSchema::new(&list, "input").unwrap();
        assert!(of_list.is_wrapped());
        let expected = json!({
            "type": "object",
            "properties": { "input": { "type": "array", "items": { "$ref": "#/$defs/A" } } },
            "required": ["input"],
            "additionalProperties": false,
            "$defs": { "A": { "type": "string" } },
        });
        assert_eq!(of_list.into_value(), expected);
        for schema in [
            json!({ "type": ["array", "null"], "items": { "$ref": "#" } }),
            json!({ "$ref": "#/$defs/A", "$defs": { "A": { "type": "array", "items": { "$ref": "#/items" } } } }),
        ] {
            assert!(
                ObjectSchema::new(&schema, "input").is_err_and(|error| error.contains("`#/$defs/..`")),
                "{schema}"
            );
        }
    }

    #[test]
    fn a_reference_to_a_place_that_is_no_definition_is_one_to_the_root() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "items": [{ "$dynamicRef": "#/items" }] }),
            json!({ "a": { "$recursiveRef": "#/$defs" } }),
        ] {
            assert!(has_root_reference(&schema), "{schema}");
        }
        for schema in [
            json!({ "$ref": "#/$defs/A" }),
            json!({ "$ref": "#/definitions/A" }),
            json!({ "$ref": "https://example.com/a" }),
            json!({ "const": "#", "$ref": 1 }),
            json!(["#", true, null]),
        ] {
            assert!(!has_root_reference(&schema), "{schema}");
        }
        let schema = json!({ "type": "array", "definitions": { "A": { "$ref": "#/items" } } });
        assert!(ObjectSchema::new(&schema, "input").is_err());
    }

    #[test]
    fn the_member_keeps_its_text() {
        assert_eq!(unwrapped_text(r#"{ "input": 1.50 }"#, "input"), Some("1.50"));
        assert_eq!(unwrapped_text(r#"{ "other": 1 }"#, "input"), None);
        assert_eq!(unwrapped_text("text", "input"), None);
    }
}
