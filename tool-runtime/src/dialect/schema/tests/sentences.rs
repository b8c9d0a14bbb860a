//! Keywords as sentences.

use serde_json::{Map, Value, json};

use crate::dialect::schema::{
    references::{moved_reference, reference_target},
    sentences::{append_sentences, constraint_sentence, is_annotation, is_bound_beyond_safe_integers},
};

// A22
#[test]
fn each_keyword_is_a_sentence_or_constrains_nothing() {
    for (keyword, value, sentence) in [
        ("pattern", json!("^a$"), Some("Must match the pattern `^a$`.")),
        ("pattern", json!(1), Some("Must match the pattern `1`.")),
        ("format", json!("date"), Some("Format: date.")),
        ("minLength", json!(1), Some("At least 1 character.")),
        ("minLength", json!(2), Some("At least 2 characters.")),
        ("maxLength", json!(0), Some("At most 0 characters.")),
        ("maxLength", json!(1), Some("At most 1 character.")),
        ("minimum", json!(-1.5), Some("At least -1.5.")),
        ("maximum", json!(9), Some("At most 9.")),
        ("exclusiveMinimum", json!(0), Some("Greater than 0.")),
        ("exclusiveMaximum", json!(1), Some("Less than 1.")),
        ("multipleOf", json!(0.1), Some("A multiple of 0.1.")),
        ("minItems", json!(1), Some("At least 1 item.")),
        ("maxItems", json!(3), Some("At most 3 items.")),
        ("minProperties", json!(1), Some("At least 1 property.")),
        ("maxProperties", json!(2), Some("At most 2 properties.")),
        ("uniqueItems", json!(true), Some("Items must be unique.")),
        ("uniqueItems", json!(false), None),
        ("default", json!("a"), Some("Default: \"a\".")),
        ("examples", json!([1, "a"]), Some("Examples: 1, \"a\".")),
        ("examples", json!(1), Some("Examples: 1.")),
        ("enum", json!(["a", null]), Some("One of: \"a\", null.")),
        ("const", json!({ "a": 1 }), Some("Always {\"a\":1}.")),
        ("deprecated", json!(true), Some("Deprecated.")),
        ("deprecated", json!(false), None),
        ("readOnly", json!(true), None),
        ("writeOnly", json!(true), None),
        ("$schema", json!("x"), None),
        ("$id", json!("x"), None),
        ("$comment", json!("x"), None),
        ("$anchor", json!("x"), None),
        ("propertyOrdering", json!(["a"]), None),
        ("not", json!({ "const": 1 }), Some("Must also match this JSON Schema: {\"not\":{\"const\":1}}.")),
        (
            "if",
            json!({ "items": [{ "$ref": "#/$defs/Pet", "title": "T" }, { "$ref": "Dog" }] }),
            Some("Must also match this JSON Schema: {\"if\":{\"items\":[\"Pet\",\"Dog\"]}}."),
        ),
    ] {
        assert_eq!(constraint_sentence(keyword, &value).as_deref(), sentence, "{keyword} {value}");
    }
    for keyword in [
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$schema",
        "$id",
        "$comment",
        "$anchor",
    ] {
        assert!(is_annotation(keyword), "{keyword}");
    }
    for keyword in ["minimum", "pattern", "propertyOrdering", "title"] {
        assert!(!is_annotation(keyword), "{keyword}");
    }
}

// A22
#[test]
fn a_bound_beyond_the_integers_of_json_constrains_nothing() {
    let integer = json!({ "type": "integer" });
    for (schema, keyword, bound, is_out) in [
        (&integer, "maximum", json!(9_007_199_254_740_992_i64), true),
        (&integer, "maximum", json!(9_007_199_254_740_991_i64), false),
        (&integer, "maximum", json!(-9_007_199_254_740_993_i64), false),
        (&integer, "minimum", json!(-9_007_199_254_740_992_i64), true),
        (&integer, "minimum", json!(-9_007_199_254_740_991_i64), false),
        (&integer, "minimum", json!(9_007_199_254_740_993_i64), false),
        (&integer, "exclusiveMaximum", json!(u64::MAX), false),
        (&integer, "maximum", json!("x"), false),
        (&json!({ "type": "number" }), "maximum", json!(u64::MAX), false),
        (&json!({ "type": ["integer", "number"] }), "maximum", json!(u64::MAX), false),
        (&json!({ "type": ["integer", "null"] }), "maximum", json!(u64::MAX), true),
        (&json!({}), "maximum", json!(u64::MAX), false),
    ] {
        assert_eq!(
            is_bound_beyond_safe_integers(schema.as_object().unwrap(), keyword, &bound),
            is_out,
            "{schema} {keyword} {bound}"
        );
    }
}

// A22
#[test]
fn sentences_follow_the_description_with_its_punctuation() {
    for (description, expected) in [
        (None, "One. Two."),
        (Some(""), "One. Two."),
        (Some("A text"), "A text. One. Two."),
        (Some("A text. "), "A text. One. Two."),
        (Some("A text!"), "A text! One. Two."),
        (Some("A text?"), "A text? One. Two."),
        (Some("A text:"), "A text: One. Two."),
        (Some("A text,\nor two"), "A text,\nor two\nOne. Two."),
    ] {
        let mut schema: Map<_, _> =
            description.map(|it| ("description".to_owned(), it.into())).into_iter().collect();
        append_sentences(&mut schema, &["One.".to_owned(), "Two.".to_owned()]);
        assert_eq!(Value::Object(schema), json!({ "description": expected }));
    }
    let mut schema = Map::new();
    append_sentences(&mut schema, &[]);
    assert!(schema.is_empty());
}

// A22
#[test]
fn references_are_moved_with_their_document_unless_they_lead_to_a_definition() {
    for (reference, moved) in [
        ("#", "#/properties/a"),
        ("#/properties/b", "#/properties/a/properties/b"),
        ("#/$defs/c", "#/$defs/c"),
        ("#/$defs", "#/properties/a/$defs"),
        ("other.json#/x", "other.json#/x"),
    ] {
        assert_eq!(moved_reference(reference, "/properties/a"), moved);
    }
    let root = json!({ "a/b": { "c d": 1 } });
    assert_eq!(reference_target(&root, "#/a~1b/c%20d"), Some(&json!(1)));
    assert_eq!(reference_target(&root, "#"), Some(&root));
    assert_eq!(reference_target(&root, "/a~1b"), None);
    assert_eq!(reference_target(&root, "#/z"), None);
}
