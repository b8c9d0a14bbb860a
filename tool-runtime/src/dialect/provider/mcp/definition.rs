//! The definition of a tool.

use serde_json::{Map, Value, json};
use tool_core::ToolDefinition;

use crate::dialect::{
    exports::OutputForm,
    provider::{Definition, object},
    schema::move_references,
};

pub(super) fn tool_definition(tool: Definition<'_>) -> Value {
    let Definition { name, of, description, parameters, output, .. } = tool;
    let mut definition =
        object([("name", name.into()), ("description", description.into()), ("inputSchema", parameters)]);
    if *of.name() != of.title() {
        definition["title"] = of.title().into();
    }
    if let Some(output) = output {
        definition["outputSchema"] = output;
    }
    let metadata = of.metadata();
    let hints = [
        ("readOnlyHint", metadata.read_only),
        ("destructiveHint", metadata.destructive),
        ("idempotentHint", metadata.idempotent),
        ("openWorldHint", metadata.open_world),
    ];
    let annotations =
        hints.iter().filter_map(|(name, hint)| Some(((*name).to_owned(), Value::Bool((*hint)?))));
    let annotations: Map<_, _> = annotations.collect();
    if !annotations.is_empty() {
        definition["annotations"] = Value::Object(annotations);
    }
    definition
}

/// Returns the output schema for the wire: always an object.
pub(super) fn output_schema(definition: &ToolDefinition) -> (OutputForm, Option<Value>) {
    let Some(schema) = definition.output_schema() else { return (OutputForm::Unspecified, None) };
    let mut schema = schema.as_value().clone();
    if schema.get("type").is_some_and(|name| name == "object") {
        return (OutputForm::Object, Some(schema));
    }
    let definitions = schema.as_object_mut().and_then(|schema| schema.shift_remove("$defs"));
    move_references(&mut schema, "/properties/result");
    let mut held = object([
        ("type", "object".into()),
        ("properties", object([("result", schema)])),
        ("required", json!(["result"])),
    ]);
    if let Some(definitions) = definitions {
        held["$defs"] = definitions;
    }
    (OutputForm::Held, Some(held))
}
