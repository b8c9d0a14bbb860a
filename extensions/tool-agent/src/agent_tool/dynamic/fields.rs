//! The arguments of a dynamic agent: which are offered, and how they are described.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool_runtime::ToolError;

use crate::agent_tool::REQUEST_DESCRIPTION;

/// A field of the arguments of a [`DynamicAgentTool`](crate::DynamicAgentTool).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RequestField {
    /// The work of the agent.
    Request,
    /// An instruction after the template's.
    Instruction,
    /// The names of the tools that the agent has.
    Tools,
    /// The names of the skills that the agent has. Offered only if the program [shows](crate::DynamicAgentBuilder::show) it.
    Skills,
}

/// The fields that are offered, and their descriptions.
#[derive(Debug, Clone)]
pub(super) struct RequestFields {
    offered: BTreeSet<RequestField>,
    descriptions: BTreeMap<RequestField, String>,
}

/// The arguments of a call.
#[derive(Debug, Default, Deserialize)]
pub(super) struct DynamicRequest {
    pub(super) request: String,
    #[serde(default)]
    pub(super) instruction: Option<String>,
    /// The names of the tools; `None` for all.
    #[serde(default)]
    pub(super) tools: Option<Vec<String>>,
    /// The names of the skills; `None` for all.
    #[serde(default)]
    pub(super) skills: Option<Vec<String>>,
}

impl RequestField {
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Instruction => "instruction",
            Self::Tools => "tools",
            Self::Skills => "skills",
        }
    }

    fn default_description(self) -> &'static str {
        match self {
            Self::Request => REQUEST_DESCRIPTION,
            Self::Instruction => {
                "How the agent works, in addition to its own instruction. For this request only."
            }
            Self::Tools => {
                "The names of the tools that the agent has, of those that you have. Default: all. `[]`: none."
            }
            Self::Skills => {
                "The names of the skills that the agent has, of those that you have. Default: all. `[]`: none."
            }
        }
    }
}

impl Default for RequestFields {
    fn default() -> Self {
        let offered = [RequestField::Request, RequestField::Instruction, RequestField::Tools].into();
        Self { offered, descriptions: BTreeMap::new() }
    }
}

impl RequestFields {
    pub(super) fn hide(&mut self, field: RequestField) {
        if field != RequestField::Request {
            self.offered.remove(&field);
        }
    }

    pub(super) fn show(&mut self, field: RequestField) {
        self.offered.insert(field);
    }

    pub(super) fn describe(&mut self, field: RequestField, description: String) {
        self.descriptions.insert(field, description);
    }

    pub(super) fn offers(&self, field: RequestField) -> bool {
        self.offered.contains(&field)
    }

    /// Returns the schema of the arguments; `listed_tool_names` are those of the tools, if they are listed.
    pub(super) fn argument_schema(&self, tool_names: Option<&[String]>) -> Value {
        let property = |field: &RequestField| {
            let mut schema = match field {
                // Not blank.
                RequestField::Request => json!({ "type": "string", "pattern": "\\S" }),
                RequestField::Instruction => json!({ "type": "string" }),
                RequestField::Skills => json!({ "type": "array", "items": { "type": "string" } }),
                RequestField::Tools => match tool_names {
                    Some(tool_names) => {
                        json!({ "type": "array", "items": { "type": "string", "enum": tool_names } })
                    }
                    None => json!({ "type": "array", "items": { "type": "string" } }),
                },
            };
            let description = self.descriptions.get(field).map(String::as_str);
            schema["description"] = Value::from(description.unwrap_or(field.default_description()));
            (field.name().to_owned(), schema)
        };
        let properties: Map<_, _> = self.offered.iter().map(property).collect();
        // Other properties are permitted, so that a hidden field has no effect.
        json!({ "type": "object", "properties": properties, "required": [RequestField::Request.name()] })
    }

    /// Reads arguments that match the schema. Fields that are not offered are dropped.
    pub(super) fn read_arguments(&self, canonical: &str) -> Result<DynamicRequest, ToolError> {
        let invalid = |error: serde_json::Error| ToolError::bad_parameter(error.to_string());
        let mut arguments: Map<String, Value> = serde_json::from_str(canonical).map_err(invalid)?;
        arguments.retain(|name, _| self.offered.iter().any(|field| field.name() == name));
        serde_json::from_value(Value::Object(arguments)).map_err(invalid)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_the_fields_that_are_offered_with_their_descriptions() {
        let mut fields = RequestFields::default();
        assert!(fields.offers(RequestField::Tools) && !fields.offers(RequestField::Skills));
        let description = |field: RequestField| field.default_description();
        let text_list = |description: &str| json!({ "type": "array", "items": { "type": "string" }, "description": description });
        let request =
            |description: &str| json!({ "type": "string", "pattern": "\\S", "description": description });
        let expected = json!({
            "type": "object",
            "properties": {
                "request": request(REQUEST_DESCRIPTION),
                "instruction": { "type": "string", "description": description(RequestField::Instruction) },
                "tools": text_list(description(RequestField::Tools)),
            },
            "required": ["request"],
        });
        assert_eq!(fields.argument_schema(None), expected);
        fields.show(RequestField::Skills);
        fields.describe(RequestField::Request, "What to do.".to_owned());
        // The request is always there.
        fields.hide(RequestField::Request);
        fields.hide(RequestField::Instruction);
        let mut tools = text_list(description(RequestField::Tools));
        tools["items"]["enum"] = json!(["look"]);
        let expected = json!({
            "type": "object",
            "properties": {
                "request": request("What to do."),
                "tools": tools,
                "skills": text_list(description(RequestField::Skills)),
            },
            "required": ["request"],
        });
        assert_eq!(fields.argument_schema(Some(&["look".to_owned()])), expected);
    }

    #[test]
    fn a_field_that_is_not_offered_has_no_effect() {
        let mut fields = RequestFields::default();
        fields.hide(RequestField::Tools);
        let arguments = r#"{"request":"Go.","instruction":"Fast.","tools":["a"],"skills":["b"],"other":1}"#;
        let DynamicRequest { request, instruction, tools, skills } =
            fields.read_arguments(arguments).unwrap();
        assert_eq!((&*request, instruction.as_deref(), tools, skills), ("Go.", Some("Fast."), None, None));
        fields.show(RequestField::Tools);
        assert_eq!(fields.read_arguments(arguments).unwrap().tools, Some(vec!["a".to_owned()]));
        assert!(fields.read_arguments("{}").is_err() && fields.read_arguments("[]").is_err());
    }
}
