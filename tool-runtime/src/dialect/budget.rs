//! Limits on the number and complexity of strict tools in one request.

use serde_json::{Map, Value};

/// The remaining budget of one request.
///
/// Anthropic's
/// [limits](https://platform.claude.com/docs/en/build-with-claude/structured-outputs#schema-complexity-limits);
/// tools that are not strict do not count.
#[derive(Debug, Clone, Copy)]
pub(super) struct StrictBudget {
    tools: usize,
    optional: usize,
    choices: usize,
}

/// The cost of the schema of one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SchemaWeight {
    /// The properties that are not required.
    optional: usize,
    /// The values with several types.
    choices: usize,
}

impl StrictBudget {
    pub(super) const ANTHROPIC: Self = Self { tools: 20, optional: 24, choices: 16 };

    /// Deducts the cost of a tool.
    ///
    /// # Errors
    ///
    /// Returns a description of the exceeded limit; then nothing is deducted.
    pub(super) fn deduct(&mut self, weight: SchemaWeight) -> Result<(), String> {
        let SchemaWeight { optional, choices } = weight;
        let wanted = [
            (1, self.tools, Self::ANTHROPIC.tools, "strict tools"),
            (optional, self.optional, Self::ANTHROPIC.optional, "optional properties"),
            (choices, self.choices, Self::ANTHROPIC.choices, "values of several types"),
        ];
        if let Some((.., most, what)) = wanted.iter().find(|(wanted, left, ..)| wanted > left) {
            return Err(format!("together with the tools before it, the request would exceed {most} {what}"));
        }
        self.tools -= 1;
        self.optional -= optional;
        self.choices -= choices;
        Ok(())
    }
}

impl SchemaWeight {
    pub(super) fn from_schema(schema: &Value) -> Self {
        let mut weight = Self::default();
        weight.add_schema(schema);
        weight
    }

    fn add_schema(&mut self, schema: &Value) {
        let Value::Object(schema) = schema else { return };
        self.choices +=
            usize::from(schema.contains_key("anyOf") || schema.get("type").is_some_and(Value::is_array));
        if let Some(Value::Object(properties)) = schema.get("properties") {
            let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let is_required = |name: &str| required.iter().any(|it| it == name);
            self.optional += properties.keys().filter(|name| !is_required(name)).count();
        }
        for (key, value) in schema {
            match (key.as_str(), value) {
                ("properties" | "$defs", Value::Object(named)) => self.add_schemas(named),
                ("anyOf", Value::Array(branches)) => branches.iter().for_each(|it| self.add_schema(it)),
                ("items", items) => self.add_schema(items),
                _ => {}
            }
        }
    }

    fn add_schemas(&mut self, named: &Map<String, Value>) {
        named.values().for_each(|it| self.add_schema(it));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_has_as_many_strict_tools_as_each_limit_permits() {
        let error = |most: usize, what: &str| {
            Err(format!("together with the tools before it, the request would exceed {most} {what}"))
        };
        let weight = |optional: usize, choices: usize| SchemaWeight { optional, choices };
        let mut budget = StrictBudget::ANTHROPIC;
        for _ in 0..20 {
            assert_eq!(budget.deduct(weight(0, 0)), Ok(()));
        }
        assert_eq!(budget.deduct(weight(0, 0)), error(20, "strict tools"));
        let mut budget = StrictBudget::ANTHROPIC;
        assert_eq!(budget.deduct(weight(25, 0)), error(24, "optional properties"));
        assert_eq!(budget.deduct(weight(0, 17)), error(16, "values of several types"));
        // Nothing was deducted.
        assert_eq!(budget.deduct(weight(20, 15)), Ok(()));
        assert_eq!(budget.deduct(weight(5, 0)), error(24, "optional properties"));
        assert_eq!(budget.deduct(weight(0, 2)), error(16, "values of several types"));
        assert_eq!(budget.deduct(weight(4, 1)), Ok(()));
        assert_eq!(budget.deduct(weight(0, 1)), error(16, "values of several types"));
        assert_eq!(budget.deduct(weight(0, 0)), Ok(()));
    }

    #[test]
    fn optional_properties_and_choices_are_counted_at_every_level() {
        let object = |property: Value| json!({ "type": "object", "properties": { "a": property, "b": true }, "required": ["a"] });
        for (schema, optional, choices) in [
            (json!(true), 0, 0),
            (json!({ "type": "string" }), 0, 0),
            (json!({ "type": ["string", "null"] }), 0, 1),
            (json!({ "anyOf": [{ "type": ["string", "null"] }, true] }), 0, 2),
            (json!({ "properties": { "a": true } }), 1, 0),
            (object(json!(true)), 1, 0),
            (object(object(json!({ "type": ["string", "null"] }))), 2, 1),
            (json!({ "items": object(json!({ "anyOf": [] })) }), 1, 1),
            (json!({ "$defs": { "d": object(json!(true)) } }), 1, 0),
            (json!({ "not": object(json!(true)) }), 0, 0),
        ] {
            assert_eq!(SchemaWeight::from_schema(&schema), SchemaWeight { optional, choices }, "{schema}");
        }
    }
}
