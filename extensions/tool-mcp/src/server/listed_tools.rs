//! Tools as the protocol lists them.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};
use tool_runtime::{Registry, ToolDefinition, schema::OutputSchema};

use crate::content;

/// The tools of a registry as listed, in the order of their names.
#[derive(Debug, Default)]
pub(super) struct ListedTools {
    tools: Vec<Tool>,
    /// For each tool whose results are no objects: its output schema up to 2025-11-25, where they are wrapped.
    wrapped: Vec<Option<Arc<JsonObject>>>,
    /// The tools with parameters that are headers too, over HTTP; also those that are called and not listed.
    with_headers: BTreeMap<String, Tool>,
}

/// The property under which a result stands that is no object.
pub(super) const RESULT_PROPERTY: &str = "result";

impl ListedTools {
    pub(super) fn new(tools: &Registry) -> Self {
        let mut listed = Self::default();
        for definition in tools.all_definitions() {
            let name = definition.name().as_str();
            if tools.get(name).is_none_or(|tool| tool.is_external()) {
                continue;
            }
            if has_header_parameters(definition) {
                listed.with_headers.insert(name.to_owned(), listed_tool(definition));
            }
            if !tools.is_deferred(name) {
                listed.tools.push(listed_tool(definition));
                listed.wrapped.push(non_text_result_schema(definition).and_then(object_wrapped_schema));
            }
        }
        listed
    }

    /// One page of at most `size` tools, those after the name `cursor`, with the cursor of the next page. `objects_only`
    /// wraps the schemas of results that are no objects, which revisions before 2026-07-28 do not have.
    pub(super) fn tool_page(
        &self,
        cursor: Option<&str>,
        size: usize,
        objects_only: bool,
    ) -> (Vec<Tool>, Option<String>) {
        let from = match cursor {
            Some(cursor) => self.tools.partition_point(|tool| tool.name.as_ref() <= cursor),
            None => 0,
        };
        let to = self.tools.len().min(from.saturating_add(size));
        let page = (from..to).map(|at| match &self.wrapped[at] {
            Some(schema) if objects_only => {
                let mut tool = self.tools[at].clone();
                tool.output_schema = Some(Arc::clone(schema));
                tool
            }
            _ => self.tools[at].clone(),
        });
        let page: Vec<_> = page.collect();
        let next = page.last().filter(|_| to < self.tools.len()).map(|tool| tool.name.to_string());
        (page, next)
    }

    /// Returns `true` if the transport compares parameters of the tool `name` with headers.
    #[cfg(feature = "http")]
    pub(super) fn has_header_parameters(&self, name: &str) -> bool {
        self.with_headers.contains_key(name)
    }

    /// Returns the tool `name` if the transport compares parameters of it with headers.
    pub(super) fn tool_with_header_parameters(&self, name: &str) -> Option<&Tool> {
        self.with_headers.get(name)
    }
}

/// Returns `true` if parameters of the tool are headers too, over HTTP.
pub(super) fn has_header_parameters(definition: &ToolDefinition) -> bool {
    has_header_keyword(&definition.input_schema().to_value())
}

/// Returns `true` if a part of the schema of the parameters names a header.
fn has_header_keyword(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => {
            keywords.contains_key("x-mcp-header") || keywords.values().any(has_header_keyword)
        }
        Value::Array(schemas) => schemas.iter().any(has_header_keyword),
        _ => false,
    }
}

/// Returns a tool as it is listed.
fn listed_tool(definition: &ToolDefinition) -> Tool {
    let object = |schema: &Value| match schema {
        Value::Object(schema) => Arc::new(schema.clone()),
        _ => Arc::default(),
    };
    let mut tool = Tool::new(
        definition.name().as_str().to_owned(),
        definition.description().to_owned(),
        object(&definition.input_schema().to_value()),
    );
    tool.title = (definition.title() != definition.name().as_str()).then(|| definition.title().to_owned());
    tool.output_schema = non_text_result_schema(definition).map(|schema| object(schema.as_value()));
    tool.annotations = content::to_annotations(definition.metadata());
    tool
}

/// Returns the schema of a tool's results; `None` for plain text, which would only be sent twice.
pub(super) fn non_text_result_schema(definition: &ToolDefinition) -> Option<&OutputSchema> {
    let is_text = |schema: &&OutputSchema| {
        let keywords = schema.as_value().as_object();
        keywords.is_some_and(|it| it.get("type") == Some(&json!("string")) && it.len() == 1)
    };
    definition.output_schema().filter(|schema| !is_text(schema))
}

/// Returns `true` if a schema admits objects only.
pub(super) fn admits_only_objects(schema: &OutputSchema) -> bool {
    schema.as_value().get("type").and_then(Value::as_str) == Some("object")
}

/// Returns the schema of an object whose only property has `schema`, unless `schema` admits objects only. Definitions move to
/// the root, where references find them; other references follow the schema.
fn object_wrapped_schema(schema: &OutputSchema) -> Option<Arc<JsonObject>> {
    if admits_only_objects(schema) {
        return None;
    }
    let mut inner = schema.as_value().clone();
    redirect_references(&mut inner);
    let Value::Object(mut inner) = inner else { return None };
    let definitions = inner.shift_remove("$defs");
    let dialect = inner.shift_remove("$schema");
    let mut root = Map::new();
    root.extend(dialect.map(|dialect| ("$schema".to_owned(), dialect)));
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), json!({ RESULT_PROPERTY: inner }));
    root.insert("required".to_owned(), json!([RESULT_PROPERTY]));
    root.extend(definitions.map(|definitions| ("$defs".to_owned(), definitions)));
    Some(Arc::new(root))
}

/// Changes the references to the root, and to parts of it that are no definitions: the root is a property now.
fn redirect_references(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    // Values, not schemas.
                    ("const" | "default" | "enum" | "examples", _) => {}
                    ("$ref", Value::String(target)) if is_moved_reference(target) => {
                        target.insert_str(1, &format!("/properties/{RESULT_PROPERTY}"));
                    }
                    (_, value) => redirect_references(value),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(redirect_references),
        _ => {}
    }
}

fn is_moved_reference(target: &str) -> bool {
    target == "#" || (target.starts_with("#/") && !target.starts_with("#/$defs/"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn check(schema: Value, expected: Option<Value>) {
        let wrapped =
            OutputSchema::new(schema.clone()).ok().and_then(|schema| object_wrapped_schema(&schema));
        assert_eq!(wrapped.map(|it| Value::Object((*it).clone())), expected, "{schema}");
    }

    #[test]
    fn references_of_a_wrapped_schema_have_the_same_targets() {
        check(json!({ "type": "object", "properties": {} }), None);
        check(
            json!({ "type": "integer" }),
            Some(json!({
                "type": "object",
                "properties": { "result": { "type": "integer" } },
                "required": ["result"],
            })),
        );
        // A list of lists, by the root and by a definition that refers to it.
        check(
            json!({
                "type": "array",
                "items": { "anyOf": [{ "$ref": "#" }, { "$ref": "#/$defs/leaf" }, { "const": { "$ref": "#" } }] },
                "$defs": { "leaf": { "enum": ["a", "#"] }, "other": { "$ref": "#/items" } },
            }),
            Some(json!({
                "type": "object",
                "properties": { "result": {
                    "type": "array",
                    "items": { "anyOf": [
                        { "$ref": "#/properties/result" },
                        { "$ref": "#/$defs/leaf" },
                        { "const": { "$ref": "#" } },
                    ] },
                } },
                "required": ["result"],
                "$defs": {
                    "leaf": { "enum": ["a", "#"] },
                    "other": { "$ref": "#/properties/result/items" },
                },
            })),
        );
    }

    #[test]
    fn only_a_keyword_names_a_header() {
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        assert!(has_header_keyword(&json!({ "type": "object", "properties": { "region": region } })));
        assert!(has_header_keyword(&json!({ "anyOf": [{ "properties": { "region": region } }] })));
        for text in ["x-mcp-header", "sends \"x-mcp-header\": \"a\""] {
            assert!(!has_header_keyword(&json!({ "type": "object", "description": text, "enum": [text] })));
        }
    }

    #[test]
    fn a_page_of_tools_follows_its_cursor() {
        let mut listed = ListedTools::default();
        for name in ["a", "b", "c"] {
            listed.tools.push(Tool::new(name, "", Map::new()));
            listed
                .wrapped
                .push((name == "b").then(|| Arc::new(Map::from_iter([("w".to_owned(), json!(1))]))));
        }
        listed.with_headers.extend(["b", "d"].map(|name| (name.to_owned(), Tool::new(name, "", Map::new()))));
        let page = |cursor, size| {
            let (tools, next) = listed.tool_page(cursor, size, false);
            (tools.iter().map(|tool| tool.name.as_ref()).collect::<String>(), next)
        };
        for (cursor, size, names, next) in [
            (None, 2, "ab", Some("b")),
            (None, 3, "abc", None),
            (None, usize::MAX, "abc", None),
            (Some("a"), 1, "b", Some("b")),
            (Some("a"), usize::MAX, "bc", None),
            (Some("bb"), 1, "c", None),
            (Some("c"), 1, "", None),
        ] {
            assert_eq!(page(cursor, size), (names.to_owned(), next.map(str::to_owned)), "{cursor:?} {size}");
        }
        let has_schema = |objects_only| {
            let (tools, _) = listed.tool_page(None, 3, objects_only);
            tools.iter().map(|tool| tool.output_schema.is_some()).collect::<Vec<_>>()
        };
        assert_eq!((has_schema(true), has_schema(false)), (vec![false, true, false], vec![false; 3]));
        let name = |name| listed.tool_with_header_parameters(name).map(|tool| tool.name.as_ref());
        assert_eq!(["a", "b", "c", "d"].map(name), [None, Some("b"), None, Some("d")]);
    }

    #[test]
    fn a_plain_text_has_no_result_schema() {
        use tool_runtime::prelude::*;
        #[tool_args]
        struct NoArgs {}
        let result = |schema: Value, title: Option<&'static str>| {
            let tool =
                ToolBuilder::new("t").description("Does.").output_schema(OutputSchema::new(schema).unwrap());
            let tool = if let Some(title) = title { tool.title(title) } else { tool };
            let tool = tool.body(tool_body!(|_: NoArgs| "text")).unwrap();
            let listed = listed_tool(tool.definition());
            (listed.output_schema.is_some(), listed.title)
        };
        assert_eq!(result(json!({ "type": "string" }), None), (false, None));
        assert_eq!(result(json!({ "type": "string", "maxLength": 1 }), None), (true, None));
        assert_eq!(result(json!({ "type": "object" }), Some("T")), (true, Some("T".to_owned())));
        assert!(
            is_moved_reference("#")
                && is_moved_reference("#/a")
                && !is_moved_reference("#/$defs/a")
                && !is_moved_reference("#a")
                && !is_moved_reference("x")
        );
    }
}
