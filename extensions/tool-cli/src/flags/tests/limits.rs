//! Constraints, bounds and branches of schemas.

use serde_json::{Value, json};

use super::{object, schema_properties};
use crate::flags::{
    ValueKind,
    schema::{is_default_worth_showing, limit_texts, resolve_reference, schema_members},
    schema_kind,
    source::is_secret_source,
};

#[test]
fn constraints_are_listed_as_text() {
    for (schema, expected) in [
        (json!({}), ""),
        (json!({ "minimum": 1 }), "at least 1"),
        (json!({ "maximum": 1.5 }), "at most 1.5"),
        (json!({ "minimum": 1, "maximum": 1 }), "from 1 to 1"),
        (
            json!({ "exclusiveMinimum": 0, "exclusiveMaximum": 9, "multipleOf": 3 }),
            "greater than 0; less than 9; a multiple of 3",
        ),
        (json!({ "minLength": 1 }), "at least 1 character"),
        (json!({ "minLength": 11 }), "at least 11 characters"),
        (json!({ "minLength": 1, "maxLength": 2 }), "from 1 to 2 characters"),
        (json!({ "maxItems": 1 }), "at most 1 item"),
        (json!({ "minItems": 0, "maxItems": 3 }), "from 0 to 3 items"),
        (json!({ "pattern": "^a$", "format": "email" }), "matches ^a$; format: email"),
        (json!({ "uniqueItems": true }), "unique items"),
        (json!({ "uniqueItems": false }), ""),
        // The range of an integer type.
        (json!({ "minimum": 0, "maximum": 255, "format": "uint8" }), ""),
        (json!({ "minimum": i8::MIN, "maximum": i8::MAX, "multipleOf": 2 }), "a multiple of 2"),
        (json!({ "minimum": 0, "maximum": u64::MAX }), ""),
        (json!({ "minimum": i64::MIN, "maximum": i64::MAX }), ""),
        (json!({ "minimum": 0, "maximum": 254, "format": "uint8" }), "from 0 to 254; format: uint8"),
        (json!({ "minimum": 0, "maximum": 255, "minLength": 2 }), "at least 2 characters"),
    ] {
        assert_eq!(limit_texts(&schema).join("; "), expected, "{schema}");
    }
}

#[test]
fn a_default_that_is_empty_is_not_shown() {
    for (default, is_shown) in [
        (json!(null), false),
        (json!(false), false),
        (json!(true), true),
        (json!([]), false),
        (json!([null]), true),
        (json!({}), false),
        (json!({ "a": 1 }), true),
        (json!(0), true),
        (json!(""), true),
    ] {
        assert_eq!(is_default_worth_showing(&default), is_shown, "{default}");
    }
}

/// `schema` inside `depth` choices of one branch.
fn wrapped(schema: Value, depth: usize) -> Value {
    (0..depth).fold(schema, |schema, _| json!({ "anyOf": [schema] }))
}

#[test]
fn a_choice_has_the_kind_of_its_branches() {
    let (text, integer) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let (here, there) = (object(json!({ "a": text })), object(json!({ "b": text })));
    for (schema, expected) in [
        (json!({ "oneOf": [integer] }), "integer"),
        (json!({ "oneOf": [{ "const": 1 }, { "enum": ["a", null] }, { "type": "null" }] }), "1 | a"),
        (json!({ "anyOf": [here, there, { "type": "null" }] }), "object"),
        (json!({ "anyOf": [here, integer] }), "JSON"),
        (json!({ "anyOf": [] }), "JSON"),
        (json!({ "type": ["null", "string"] }), "text"),
        (json!({ "type": ["string", "integer"] }), "JSON"),
        (json!({ "type": "array" }), "list of JSON"),
        (json!({ "type": "array", "items": true }), "list of JSON"),
        (json!({ "type": "array", "items": { "type": "array", "items": text } }), "list of JSON"),
        (json!({ "type": "array", "items": integer, "prefixItems": [] }), "JSON"),
        (json!({ "type": "object" }), "JSON"),
        (json!({ "type": "object", "oneOf": [here] }), "object"),
        (wrapped(integer.clone(), 4), "integer"),
        (wrapped(integer.clone(), 5), "JSON"),
    ] {
        assert_eq!(schema_kind(&schema).description(), expected, "{schema}");
    }
    // Text that is not JSON is a string where a branch takes one.
    for (schema, is_text) in [
        (json!({}), true),
        (json!({ "type": ["string", "integer"] }), true),
        (json!({ "type": ["integer", "boolean"] }), false),
        (json!({ "type": "object" }), false),
        (json!({ "enum": [null] }), false),
        (json!({ "anyOf": [text, integer] }), true),
        (json!({ "anyOf": [{ "const": "a" }, integer] }), true),
        (json!({ "anyOf": [{ "type": "boolean" }, integer] }), false),
        (json!({ "anyOf": [here, { "type": "boolean" }] }), false),
        (wrapped(integer.clone(), 5), true),
    ] {
        assert_eq!(schema_kind(&schema), ValueKind::Json { text: is_text }, "{schema}");
        assert_eq!(schema_kind(&schema).parse("some text").is_ok(), is_text, "{schema}");
    }
    let list = |text| ValueKind::List(Box::new(ValueKind::Json { text }));
    assert_eq!(schema_kind(&json!({ "type": "array" })), list(true));
    assert_eq!(schema_kind(&json!({ "type": "array", "items": { "type": "array" } })), list(false));
}

#[test]
fn a_property_is_required_if_every_branch_requires_it() {
    let branch = |required: &[&str]| json!({ "properties": { "a": {}, "b": {} }, "required": required });
    let names = |schema: &Value| {
        let members = schema_members(schema, schema, 0);
        members
            .iter()
            .map(|(name, _, required)| format!("{name}{}", if *required { "!" } else { "" }))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (keyword, expected) in [("allOf", "a! b! a! b"), ("oneOf", "a! b a! b"), ("anyOf", "a! b a! b")] {
        let schema = json!({ keyword: [branch(&["a", "b"]), branch(&["a"])] });
        assert_eq!(names(&schema), expected, "{keyword}");
    }
    let own = json!({ "properties": { "c": {} }, "required": ["c"], "anyOf": [{ "$ref": "#/$defs/one" }],
        "$defs": { "one": branch(&[]) } });
    assert_eq!(names(&own), "c! a b");
    // Branches below four levels have no flags.
    let deep = |depth: usize| (0..depth).fold(branch(&[]), |inner, _| json!({ "allOf": [inner] }));
    assert_eq!((names(&deep(5)).as_str(), names(&deep(6)).as_str()), ("a b", ""));
}

#[test]
fn references_are_followed_to_a_limit() {
    let chain = |length: usize| {
        let mut schema = json!({ "$ref": "#/0" });
        for at in 0..length {
            schema[at.to_string()] = json!({ "$ref": format!("#/{}", at + 1) });
        }
        schema[length.to_string()] = json!({ "type": "string" });
        schema
    };
    for (length, is_found) in [(0, true), (15, true), (16, false)] {
        let (root, mut seen) = (chain(length), Vec::new());
        let target = resolve_reference(&root, &root, &mut seen);
        assert_eq!(target.get("type").is_some(), is_found, "{length}");
        assert_eq!(seen.len(), (length + 1).min(16), "{length}");
    }
    for reference in ["#/none", "other.json#/0", "#"] {
        let root = json!({ "$ref": reference });
        assert_eq!(resolve_reference(&root, &root, &mut Vec::new()), &root, "{reference}");
    }
}

#[test]
fn bounds_include_their_ends() {
    let number = ValueKind::Number { least: Some(json!(-1.5)), most: Some(json!(2)) };
    for (text, fits) in [("-1.5", true), ("-1.6", false), ("2", true), ("2.1", false), ("0", true)] {
        assert_eq!(number.parse(text).is_ok(), fits, "{text}");
    }
    assert_eq!(number.parse("9").unwrap_err(), "expected a number from -1.5 to 2");
    let least = ValueKind::Integer { least: Some(json!(3)), most: None };
    assert_eq!(
        (least.parse("3"), least.parse("2").unwrap_err()),
        (Ok(json!(3)), "expected an integer of at least 3".to_owned())
    );
    let any = ValueKind::Integer { least: None, most: None };
    for text in ["9223372036854775807", "-9223372036854775808", "18446744073709551615"] {
        assert_eq!(any.parse(text).unwrap().to_string(), text);
    }
    for text in ["18446744073709551616", "-9223372036854775809"] {
        assert!(any.parse(text).unwrap_err().starts_with("more than 64 bits"), "{text}");
    }
    for text in ["", "-", "1-", "1.0", "a"] {
        assert_eq!(any.parse(text).unwrap_err(), "expected an integer", "{text}");
    }
}

#[test]
fn words_of_a_boolean_a_choice_and_json_are_parsed() {
    for (text, expected) in
        [("true", true), ("yes", true), ("on", true), ("false", false), ("no", false), ("off", false)]
    {
        assert_eq!(ValueKind::Switch.parse(text), Ok(json!(expected)), "{text}");
    }
    assert!(ValueKind::Switch.parse("True").is_err());
    let choice = ValueKind::Choice(vec![json!("a"), json!(1)]);
    assert_eq!(choice.parse("b").unwrap_err(), "expected one of: a | 1");
    assert_eq!(
        ValueKind::List(Box::new(choice.clone())).parse(" [1]").unwrap_err(),
        "expected one of: a | 1; repeat the flag for each item"
    );
    assert_eq!(
        ValueKind::List(Box::new(choice)).parse("[").unwrap_err(),
        "expected one of: a | 1; repeat the flag for each item"
    );
    let json = ValueKind::Json { text: false };
    assert!(json.parse("{").unwrap_err().starts_with("expected JSON: EOF"), "{:?}", json.parse("{"));
    assert_eq!(ValueKind::Object.parse(r#"{"a": 1, "a": 2}"#).unwrap_err(), "the property `a` is duplicated");
    assert_eq!(ValueKind::Object.parse("{").unwrap_err(), "expected a JSON object");
    assert_eq!(ValueKind::Object.parse(r#"{"a": 1}"#), Ok(json!({ "a": 1 })));
    let placeholders = [
        ValueKind::Text,
        ValueKind::Switch,
        ValueKind::Object,
        ValueKind::List(Box::new(ValueKind::Text)),
        json,
    ];
    assert_eq!(placeholders.map(|kind| kind.placeholder()), ["TEXT", "true|false", "JSON", "TEXT", "JSON"]);
}

#[test]
fn a_source_of_a_secret_has_a_name() {
    for (text, is_source) in [
        ("-", true),
        ("@a", true),
        ("env:A", true),
        ("@", false),
        ("env:", false),
        ("", false),
        ("--", false),
        ("a", false),
        ("ENV:A", false),
    ] {
        assert_eq!(is_secret_source(text), is_source, "{text}");
    }
}

#[test]
fn flags_are_derived_from_names() {
    let text = json!({ "type": "string" });
    let (short, long) = ("n".repeat(100), "n".repeat(101));
    let schema = json!({ "type": "object", "required": ["outer", "plain"], "properties": {
        "outer": { "type": "object", "required": ["inner"], "properties": { "inner": text, "other": text } },
        "loose": { "type": "object", "required": ["inner"], "properties": { "inner": text } },
        "shut": { "type": "object", "required": ["a b"], "properties": { "a b": text } },
        "plain": text, short.as_str(): text, long.as_str(): text, "a_b": text, "_c": text,
    } });
    let flags: Vec<_> = schema_properties(&schema)
        .iter()
        .map(|it| {
            let marks = [
                (it.has_flag, 'f'),
                (it.required, 'r'),
                (it.is_always_required, 'i'),
                (it.has_inner_flags, 'o'),
            ];
            let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| mark).collect();
            format!("{}:{marks}", it.flag)
        })
        .collect();
    let expected = [
        "outer:frio",
        "outer.inner:fri",
        "outer.other:f",
        "loose:fo",
        "loose.inner:fr",
        "shut:f",
        "shut.a b:r",
        "plain:fri",
        &format!("{short}:f"),
        &format!("{long}:"),
        "a-b:f",
        "_c:f",
    ];
    assert_eq!(flags, expected);
}

#[test]
fn a_value_is_written_at_its_place() {
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": "object", "properties": { "b": {} } } } });
    let properties = schema_properties(&schema);
    let inner = properties.iter().find(|it| it.path == ["a", "b"]).unwrap();
    for (before, after) in [
        (json!({}), Ok(json!({ "a": { "b": 1 } }))),
        (json!({ "a": null }), Ok(json!({ "a": { "b": 1 } }))),
        (json!({ "a": { "c": 2 }, "d": 3 }), Ok(json!({ "a": { "c": 2, "b": 1 }, "d": 3 }))),
        (json!({ "a": 2 }), Err("`a` is given as another value than an object".to_owned())),
    ] {
        let mut arguments = before.as_object().unwrap().clone();
        let written = inner.insert_into(&mut arguments, json!(1));
        assert_eq!(written.map(|()| Value::Object(arguments)), after, "{before}");
    }
}
