//! Registration of tools with schemas that the built-in check does not cover.

use serde_json::{Value, json};
use tool_runtime::{builder::ClosureTool, prelude::*, registry::BuildDiagnostic, schema::InputSchema};

/// Returns a tool that accepts any arguments that its schema admits.
pub(crate) fn taking(schema: Value) -> ClosureTool {
    ToolBuilder::new("take")
        .description("Takes.")
        .input_schema(InputSchema::new(schema).unwrap())
        .expect_handler(|args: Value, _cx| async move { Ok::<_, ToolError>(args.to_string()) })
}

/// Returns the error of registering a tool.
pub(crate) fn mistakes(schema: Value) -> Vec<String> {
    let error = Registry::builder().add(taking(schema)).build().unwrap_err();
    let message = |problem: &BuildDiagnostic| match problem {
        BuildDiagnostic::Schema { tool, message, .. } if tool == "take" => message.clone(),
        other => panic!("{other}"),
    };
    error.diagnostics().iter().map(message).collect()
}

const SEVEN: &str = "http://json-schema.org/draft-07/schema#";

#[cfg(not(feature = "foreign-schemas"))]
#[test]
fn a_schema_that_is_not_covered_is_refused_with_the_place_and_the_feature() {
    let way_out =
        "is not covered by the built-in check; enable the feature `foreign-schemas` of `tool-runtime`";
    let schema = json!({
        "properties": {"a/b": {"dependencies": {"c": ["d"]}}, "c": {"items": {"pattern": "^(?=a)"}}}
    });
    assert_eq!(
        mistakes(schema),
        [
            format!("input schema: at /properties/a~1b: `dependencies` {way_out}"),
            format!("input schema: at /properties/c/items: look-around in the pattern `^(?=a)` {way_out}"),
        ]
    );
    let tuple = json!({"$schema": SEVEN, "properties": {"a": {"items": [{}]}}});
    let expected = format!("input schema: at /properties/a: `items` of an earlier draft {way_out}");
    assert_eq!(mistakes(tuple), [expected]);
    let four = json!({"$schema": "http://json-schema.org/draft-04/schema#"});
    let expected =
        format!("input schema: at the root: `$schema` \"http://json-schema.org/draft-04/schema#\" {way_out}");
    assert_eq!(mistakes(four), [expected]);
}

#[cfg(not(feature = "foreign-schemas"))]
#[test]
fn an_output_schema_that_is_not_covered_is_refused() {
    let promise = tool_runtime::schema::OutputSchema::new(json!({"dependencies": {}})).unwrap();
    let tool = ToolBuilder::new("give")
        .output_schema(promise)
        .expect_handler(|_: Nothing, _cx| async { Ok::<_, ToolError>("") });
    let error = Registry::builder().add(tool).build().unwrap_err().to_string();
    let expected = "tool `give`: output schema: at the root: `dependencies` is not covered by the built-in check; \
                    enable the feature `foreign-schemas` of `tool-runtime`";
    assert!(error.ends_with(expected), "{error}");
}

#[tool_args]
struct Nothing {}

#[test]
fn a_mistake_in_a_schema_is_reported_without_mentioning_the_feature() {
    let mistakes =
        mistakes(json!({"properties": {"a": {"type": 7}, "b": {"pattern": "("}, "c": {"items": [{}]}}}));
    assert_eq!(
        mistakes,
        [
            "input schema: at /properties/a: `type` must be a type of JSON or a list of them, not 7",
            "input schema: at /properties/b: the pattern `(` cannot be used: unclosed group",
            "input schema: at /properties/c: `items` is a list; since draft 2020-12 that is `prefixItems`",
        ]
    );
}

// F11
#[test]
fn no_reference_is_ever_fetched() {
    for reference in ["https://example.com/a.json", "file:///etc/passwd", "other.json#/a"] {
        let expected = format!(
            "input schema: at /properties/a: `$ref` to \"{reference}\" leaves the schema; nothing is fetched"
        );
        assert_eq!(mistakes(json!({"properties": {"a": {"$ref": reference}}})), [&*expected]);
    }
}

#[test]
fn an_unknown_draft_is_refused() {
    assert_eq!(
        mistakes(json!({"$schema": "https://example.com/mine"})),
        ["input schema: at the root: `$schema` \"https://example.com/mine\" names no draft that is known"]
    );
}

// The form that most generators write.
#[test]
fn a_plain_schema_of_draft_7_needs_no_feature() {
    let schema = json!({
        "$schema": SEVEN,
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 1}, "at": {"$ref": "#/definitions/point"}},
        "required": ["city"],
        "additionalProperties": false,
        "definitions": {"point": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}}
    });
    let tools = || Registry::builder().add(taking(schema.clone()));
    assert_eq!(
        crate::text(tools(), "take", r#"{"city":"Oslo","at":[1,2]}"#),
        r#"{"city":"Oslo","at":[1,2]}"#
    );
    let refused = crate::call(tools(), "take", r#"{"city":"","at":[1]}"#).unwrap_err();
    let said: Vec<_> = refused.violations().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["/city: expected at least 1 character, got \"\"", "/at: expected at least 2 items, got [1]"]
    );
}
