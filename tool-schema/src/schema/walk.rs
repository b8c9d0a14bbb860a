//! Iteration over the subschemas of a schema.
//!
//! The iteration follows keywords instead of nesting, since a property may be called `items` and a default may have a
//! key `properties`.

use serde_json::{Map, Value};

/// The relation of a subschema to the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubschemaRole<'a> {
    /// It applies to the property of this name.
    Property(&'a str),
    /// It applies to another part of the value, or is a definition.
    Part,
    /// It applies to the same value, as one of several or as an alternative.
    Same,
    /// It is a condition on the same value and does not describe it.
    Question,
}

/// Visits the direct subschemas of `schema` until a visit fails.
pub(super) fn visit_subschemas<E>(
    schema: &mut Map<String, Value>,
    mut visit: impl FnMut(SubschemaRole<'_>, &mut Value) -> Result<(), E>,
) -> Result<(), E> {
    for (key, value) in schema {
        match key.as_str() {
            "properties" => map_entries(value)
                .try_for_each(|(name, value)| visit(SubschemaRole::Property(name), value))?,
            "patternProperties" | "$defs" => {
                map_entries(value).try_for_each(|(_, value)| visit(SubschemaRole::Part, value))?;
            }
            "dependentSchemas" => {
                map_entries(value).try_for_each(|(_, value)| visit(SubschemaRole::Question, value))?
            }
            "prefixItems" => list_items(value).try_for_each(|value| visit(SubschemaRole::Part, value))?,
            "anyOf" | "oneOf" | "allOf" => {
                list_items(value).try_for_each(|value| visit(SubschemaRole::Same, value))?
            }
            "items"
            | "contains"
            | "additionalProperties"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "propertyNames" => visit(SubschemaRole::Part, value)?,
            "not" | "if" | "then" | "else" => visit(SubschemaRole::Question, value)?,
            _ => {}
        }
    }
    Ok(())
}

fn map_entries(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flatten()
}

fn list_items(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_keyword_with_subschemas_has_its_role() {
        let subschemas = |value: Value| {
            let mut found = Vec::new();
            let mut value = value.as_object().unwrap().clone();
            let Ok(()) = visit_subschemas(&mut value, |role, schema| {
                found.push(format!("{role:?} {schema}"));
                Ok::<_, std::convert::Infallible>(())
            });
            found
        };
        let (one, two) = (json!({ "minimum": 1 }), json!({ "minimum": 2 }));
        let [first, second] = [&one, &two].map(Value::to_string);
        let with_role = |role: &str| [format!("{role} {first}"), format!("{role} {second}")];
        for (key, role) in
            [("patternProperties", "Part"), ("$defs", "Part"), ("dependentSchemas", "Question")]
        {
            assert_eq!(subschemas(json!({ key: { "a": one, "b": two } })), with_role(role), "{key}");
            assert_eq!(subschemas(json!({ key: [one] })), [""; 0], "{key}");
        }
        let properties = json!({ "properties": { "items": one, "b": two } });
        let expected = [format!("Property(\"items\") {first}"), format!("Property(\"b\") {second}")];
        assert_eq!(subschemas(properties), expected);
        for (key, role) in [("prefixItems", "Part"), ("anyOf", "Same"), ("oneOf", "Same"), ("allOf", "Same")]
        {
            assert_eq!(subschemas(json!({ key: [one, two] })), with_role(role), "{key}");
            assert_eq!(subschemas(json!({ key: { "a": one } })), [""; 0], "{key}");
        }
        for (key, role) in [
            ("items", "Part"),
            ("contains", "Part"),
            ("additionalProperties", "Part"),
            ("unevaluatedItems", "Part"),
            ("unevaluatedProperties", "Part"),
            ("propertyNames", "Part"),
            ("not", "Question"),
            ("if", "Question"),
            ("then", "Question"),
            ("else", "Question"),
        ] {
            assert_eq!(subschemas(json!({ key: one, "title": "T" })), [format!("{role} {first}")], "{key}");
        }
        let others = json!({ "default": one, "const": one, "enum": [one], "examples": [one], "definitions": { "a": one } });
        assert_eq!(subschemas(others), [""; 0]);
    }

    #[test]
    fn a_visit_that_fails_is_the_last_one() {
        let mut visits = 0;
        let mut schema = json!({ "properties": { "a": true, "b": true }, "items": true });
        let result = visit_subschemas(schema.as_object_mut().unwrap(), |_, _| {
            visits += 1;
            Err(visits)
        });
        assert_eq!((result, visits), (Err(1), 1));
    }
}
