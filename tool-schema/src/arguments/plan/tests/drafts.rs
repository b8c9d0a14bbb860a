//! A schema is compiled by the rules of its own draft, or rejected.

use serde_json::{Value, json};

use super::{check, problems, schemas::check_uncovered};

const SEVEN: &str = "http://json-schema.org/draft-07/schema#";

#[test]
fn draft_2020_12_may_be_named() {
    for uri in
        ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft/2020-12/schema#"]
    {
        check(json!({"$schema": uri, "prefixItems": [{"type": "null"}]}), [json!([null])], [json!([1])]);
    }
}

#[test]
fn what_means_the_same_in_an_earlier_draft_is_covered() {
    for uri in [SEVEN, "https://json-schema.org/draft/2019-09/schema"] {
        let schema = json!({
            "$schema": uri,
            "$ref": "#/definitions/query",
            "definitions": {
                "query": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "minLength": 1, "pattern": "^a"},
                        "ids": {"type": "array", "items": {"$ref": "#/definitions/id", "description": "One."}},
                        "kind": {"anyOf": [{"const": "x"}, {"enum": [1, 2]}]}
                    },
                    "required": ["text"],
                    "additionalProperties": false
                },
                "id": {"type": "integer", "exclusiveMinimum": 0}
            }
        });
        let good = [json!({"text": "a"}), json!({"text": "ab", "ids": [1], "kind": 2})];
        let bad = [
            json!({}),
            json!({"text": "b"}),
            json!({"text": "a", "ids": [0]}),
            json!({"text": "a", "kind": 3}),
        ];
        check(schema, good, bad);
    }
}

// F11: a schema is never judged by other rules than those of its draft.
#[test]
fn keywords_that_differ_in_an_earlier_draft_are_unsupported() {
    let in_seven = |mut schema: Value| {
        schema["$schema"] = SEVEN.into();
        schema
    };
    for (key, value) in [
        ("items", json!([{"type": "string"}])),
        ("additionalItems", json!(false)),
        ("dependencies", json!({"a": ["b"]})),
        ("dependentRequired", json!({"a": ["b"]})),
        ("prefixItems", json!([false])),
        ("minContains", json!(2)),
        ("unevaluatedProperties", json!(false)),
    ] {
        let what = format!("at the root: `{key}` of an earlier draft");
        check_uncovered(in_seven(json!({ (key): value })), &what);
        // Only referenced definitions are compiled, like the rest of the schema.
        let schema = json!({"items": {"$ref": "#/definitions/a"}, "definitions": {"a": {(key): value}}});
        check_uncovered(in_seven(schema), &format!("at /definitions/a: `{key}` of an earlier draft"));
    }
    // Keywords beside a reference are not read in this draft.
    let schema = json!({"items": {"$ref": "#/definitions/a", "maximum": 1}, "definitions": {"a": {}}});
    check_uncovered(in_seven(schema), "at /items: `$ref` of an earlier draft");
}

#[test]
fn draft_that_has_too_little_in_common_is_not_read() {
    for draft in ["draft-04", "draft-06"] {
        let uri = format!("http://json-schema.org/{draft}/schema#");
        let schema = json!({"$schema": uri, "id": "#a", "$id": 5, "$anchor": 7, "minimum": 1, "exclusiveMinimum": true});
        check_uncovered(schema, &format!(r#"at the root: `$schema` "{uri}""#));
    }
    let mixed = json!({"items": {"$schema": SEVEN, "items": {}}});
    check_uncovered(mixed, "at /items: `$schema` within a schema of another draft");
}

#[test]
fn unknown_draft_is_a_problem() {
    assert_eq!(
        problems(&json!({"$schema": "https://example.com/mine", "type": 7})),
        [r#"at the root: `$schema` "https://example.com/mine" names no draft that is known"#]
    );
    assert_eq!(
        problems(&json!({"$schema": 7})),
        ["at the root: `$schema` must be the URI of a draft, not 7"]
    );
}

#[test]
fn keywords_of_earlier_drafts_are_not_covered_in_this_one() {
    for keyword in ["$recursiveRef", "dependencies"] {
        check_uncovered(json!({"items": {keyword: "#"}}), &format!("at /items: `{keyword}`"));
    }
}

#[test]
fn a_schema_within_a_schema_may_repeat_its_draft() {
    let (now, nine) =
        ("https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema");
    for schema in [
        json!({"items": {"$schema": now, "type": "integer"}}),
        json!({"$schema": SEVEN, "items": {"$schema": SEVEN, "type": "integer"}}),
        json!({"$schema": SEVEN, "items": {"$schema": nine, "type": "integer"}}),
    ] {
        check(schema, [json!([1])], [json!(["a"])]);
    }
    check_uncovered(
        json!({"$schema": SEVEN, "items": {"$schema": now, "type": "integer"}}),
        "at /items: `$schema` within a schema of another draft",
    );
    // What is said about an unknown one is all.
    assert_eq!(
        problems(&json!({"items": {"$schema": "https://example.com/mine"}})),
        [r#"at /items: `$schema` "https://example.com/mine" names no draft that is known"#]
    );
}
