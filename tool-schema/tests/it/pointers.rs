//! JSON pointers to arguments.

use serde_json::{Value, json};
use tool_schema::{
    __private::{Flat, Limits, Plain, Row},
    InputSchema,
};

/// Returns the places that `pointer` resolves to, with a `!` after places with a default.
fn places(schema: &Value, pointer: &str) -> Vec<String> {
    let schema = InputSchema::own(schema.clone()).unwrap();
    let written = |place: tool_schema::__private::ResolvedPointer| {
        format!("{}{}", place.steps.join("/"), if place.defaults.last() == Some(&true) { "!" } else { "" })
    };
    schema.resolve_pointer(pointer).into_iter().map(written).collect()
}

#[test]
fn a_pointer_resolves_aliases_to_own_names() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": { "type": "string", "x-tool-aliases": ["file"] },
            "limit": { "type": "integer", "default": 1 },
            "a/b": {},
            "nested": { "$ref": "#/$defs/nested" },
            "list": { "type": "array", "items": { "$ref": "#/$defs/nested" } },
            "maybe": { "anyOf": [{ "$ref": "#/$defs/nested" }, { "type": "null" }] },
        },
        "$defs": { "nested": {
            "type": "object",
            "additionalProperties": false,
            "properties": { "x": { "x-tool-aliases": ["y"] }, "again": { "$ref": "#/$defs/nested" } },
        } },
    });
    for (pointer, expected) in [
        ("", ""),
        ("/path", "path"),
        ("/file", "path"),
        ("/limit", "limit!"),
        ("/a~1b", "a/b"),
        ("/a~1b/anything", "a/b/anything"),
        ("/nested/y", "nested/x"),
        ("/nested/again/again/y", "nested/again/again/x"),
        ("/list/y", "list/x"),
        ("/list/0/y", "list/0/x"),
        ("/maybe/y", "maybe/x"),
    ] {
        assert_eq!(places(&schema, pointer), [expected], "{pointer}");
    }
    for pointer in
        ["/pth", "path", "/path/x", "/nested/z", "/list/z", "/list/0/z", "/maybe/z", "/a~2b", "/limit/0"]
    {
        assert_eq!(places(&schema, pointer), [""; 0], "{pointer}");
    }
}

#[test]
fn branches_may_resolve_a_pointer_differently() {
    let closed = |name: &str, aliases: Value| json!({ "type": "object", "additionalProperties": false, "properties": { name: { "x-tool-aliases": aliases } } });
    let schema =
        json!({ "type": "object", "oneOf": [closed("path", json!(["file"])), closed("file", json!([]))] });
    assert_eq!(places(&schema, "/file"), ["path", "file"]);
    assert_eq!(places(&schema, "/path"), ["path"]);
    assert_eq!(places(&schema, "/other"), [""; 0]);
}

#[test]
fn an_open_schema_resolves_every_pointer() {
    for open in [
        json!({ "type": "object" }),
        json!({}),
        json!({ "type": "object", "patternProperties": { "^x": {} }, "additionalProperties": false }),
        json!({ "$ref": "https://example.com/other" }),
        json!({ "additionalProperties": { "type": "object" } }),
        json!({ "allOf": [{ "$ref": "#" }] }),
    ] {
        assert_eq!(places(&open, "/a/b"), ["a/b"], "{open}");
    }
    for closed in [
        json!({ "type": "object", "unevaluatedProperties": false, "allOf": [{ "properties": { "b": {} } }] }),
        json!({ "type": "object", "additionalProperties": false, "anyOf": [{ "properties": { "a": {} } }] }),
        json!({ "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "properties": { "b": {} }, "x-tool-ignores": true }),
    ] {
        assert_eq!(places(&closed, "/a/b"), [""; 0], "{closed}");
    }
}

#[test]
fn each_reference_is_resolved_once() {
    let branch = json!([{ "$ref": "#" }, { "$ref": "#/$defs/a" }, { "$ref": "#" }]);
    let schema = json!({
        "anyOf": branch, "oneOf": branch, "allOf": branch, "$defs": { "a": { "anyOf": branch, "allOf": branch } },
    });
    assert_eq!(places(&schema, "/a/b/c"), ["a/b/c"]);
}

// I25
#[test]
fn the_types_of_selected_values_include_every_type_that_is_permitted() {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "days": { "type": ["integer", "null"] },
            "either": { "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/count" }] },
            "counts": { "type": "array", "items": { "$ref": "#/$defs/count" } },
            "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "number" }], "items": false },
            "list": { "type": "array" },
            "limited": { "allOf": [{ "$ref": "#/$defs/count" }, { "minimum": 3 }] },
            "level": { "enum": ["low", 1] },
            "flag": { "type": "boolean" },
            "tree": { "$ref": "#/$defs/tree" },
            "any": {},
        },
        "$defs": {
            "count": { "type": "integer" },
            "tree": { "anyOf": [{ "type": "number" }, { "type": "array", "items": { "$ref": "#/$defs/tree" } }] },
        },
        "additionalProperties": { "type": "number" },
    });
    let schema = InputSchema::own(schema).unwrap();
    let types = |pointer: &str| {
        let types = schema.value_types(pointer)?;
        let named = [
            ("string", types.may_be_string()),
            ("number", types.may_be_number()),
            ("boolean", types.may_be_boolean()),
            ("object", types.may_be_object()),
        ];
        Some(named.into_iter().filter(|(_, is)| *is).map(|(name, _)| name).collect::<Vec<_>>().join(" "))
    };
    for (pointer, expected) in [
        ("", "object"),
        ("/text", "string"),
        ("/days", "number"),
        ("/either", "string number"),
        ("/counts", "number"),
        ("/counts/0", "number"),
        ("/pair", "string number"),
        ("/pair/0", "string"),
        ("/list", "string number boolean object"),
        ("/limited", "number"),
        ("/level", "string number"),
        ("/flag", "boolean"),
        // Unknown below a reference that was followed before.
        ("/tree", "string number boolean object"),
        ("/any", "string number boolean object"),
        ("/any/below", "string number boolean object"),
        ("/other", "number"),
    ] {
        assert_eq!(types(pointer).as_deref(), Some(expected), "{pointer}");
    }
    assert_eq!((types("/text/x"), types("text")), (None, None));
}

// F10
#[test]
fn a_text_that_is_no_pointer_resolves_to_nothing() {
    let schema = json!({ "type": "object", "additionalProperties": true });
    for (pointer, steps) in [
        ("", Some("")),
        ("/", Some("")),
        ("/a~1b/~0c", Some("a/b ~c")),
        ("/~01", Some("~1")),
        ("/~00", Some("~0")),
        ("a", None),
        ("#/a", None),
        ("/~", None),
        ("/~2", None),
        ("/a~1~", None),
        ("/a/~x", None),
    ] {
        let resolved = InputSchema::new(schema.clone()).unwrap().resolve_pointer(pointer);
        let found = resolved.first().map(|it| it.steps.join(" "));
        assert_eq!(found.as_deref(), steps, "{pointer:?}");
    }
}

#[test]
fn a_pointer_enters_what_may_be_a_list_or_an_object_by_any_of_its_types() {
    let item = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "additionalProperties": false });
    for (kind, pointers) in [
        (json!("array"), ["at/0", "at/a", ""]),
        (json!(["null", "array"]), ["at/0", "at/a", ""]),
        (json!(["array", "object"]), ["at/0", "at/a", "at/c"]),
        (json!("object"), ["at/0", "at/a", "at/c"]),
        (json!(["object", "null"]), ["at/0", "at/a", "at/c"]),
        (json!("string"), ["", "", ""]),
        (json!(["string", "null"]), ["", "", ""]),
    ] {
        let schema = json!({ "type": "object", "properties": { "at": { "type": kind, "items": item } } });
        let found = ["/at/0", "/at/a", "/at/c"].map(|pointer| places(&schema, pointer).join(" "));
        assert_eq!(found, pointers, "{kind}");
    }
}

#[test]
fn a_number_is_a_32_bit_float_by_its_marker_or_its_format() {
    for (kind, is_single, is_double) in [
        (json!({ "type": "number" }), false, true),
        (json!({ "type": "number", "format": "double" }), false, true),
        (json!({ "type": "number", "format": "float" }), true, false),
        (json!({ "type": ["number", "null"], "format": "float" }), true, false),
        (json!({ "type": "integer", "format": "float" }), false, false),
        (json!({ "type": "string", "format": "float" }), false, false),
        (json!({ "enum": [1, "a"] }), false, true),
        (json!({ "const": 1 }), false, true),
        (json!({ "enum": ["a"] }), false, false),
        (json!({ "const": "a" }), false, false),
        (json!({ "allOf": [{ "type": "number" }, { "type": "number", "format": "float" }] }), true, false),
        (json!({ "type": "array", "items": { "type": "number", "format": "float" } }), true, false),
    ] {
        let schema = json!({ "type": "object", "properties": { "n": kind } });
        let schema = InputSchema::own(schema).unwrap();
        let types = schema.value_types("/n").unwrap();
        assert_eq!((types.may_be_single(), types.may_be_double()), (is_single, is_double), "{kind}");
        let has_format = kind.to_string().contains("float");
        assert_eq!(schema.has_single(), has_format, "{kind}");
    }
}

#[test]
fn a_parameter_of_a_flat_list_is_a_32_bit_float_by_its_own_type() {
    let row = |name: &'static str, plain: Option<&'static Plain>| Row {
        name,
        description: "",
        plain: plain.unwrap(),
        limits: Limits::default(),
        required: true,
    };
    let mixed = || {
        vec![
            row("single", Plain::of::<f32>()),
            row("double", Plain::of::<f64>()),
            row("singles", Plain::of::<Vec<f32>>()),
            row("doubles", Plain::of::<Vec<f64>>()),
            row("count", Plain::of::<i32>()),
            row("maybe", Plain::of::<Option<f32>>()),
        ]
    };
    let schema = InputSchema::flat(Flat::new(mixed()).unwrap());
    for (pointer, is_single, is_double) in [
        ("/single", true, false),
        ("/double", false, true),
        ("/singles", true, false),
        ("/singles/0", true, false),
        ("/doubles", false, true),
        ("/doubles/0", false, true),
        ("/count", false, false),
        ("/maybe", true, false),
    ] {
        let types = schema.value_types(pointer).unwrap();
        assert_eq!((types.may_be_single(), types.may_be_double()), (is_single, is_double), "{pointer}");
    }
    assert_eq!(schema.value_types("/other"), None);
    assert!(schema.has_single());
    let doubles = Flat::new(vec![row("double", Plain::of::<f64>())]).unwrap();
    assert!(!InputSchema::flat(doubles).has_single());
    let repeated = mixed().into_iter().chain([row("double", Plain::of::<f64>())]).collect();
    assert!(Flat::new(repeated).is_none());
}

#[test]
fn a_property_has_a_default_if_one_of_its_schemas_has_one() {
    let plain = json!({ "properties": { "n": {}, "any": true } });
    let default = json!({ "properties": { "n": { "default": 1 }, "any": true } });
    for parts in [[&plain, &default], [&default, &plain]] {
        let schema = json!({ "type": "object", "allOf": parts });
        assert_eq!(
            (places(&schema, "/n"), places(&schema, "/any")),
            (vec!["n!".to_owned()], vec!["any".to_owned()])
        );
    }
    let schema = json!({ "type": "object", "properties": { "any": true } });
    assert_eq!(places(&schema, "/any"), ["any"]);
}

#[test]
fn nothing_is_within_a_property_that_permits_no_value_and_a_condition_may_describe_one() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "none": false, "text": { "type": "string" }, "when": {
            "if": { "required": ["a"] },
            "then": { "type": "object", "properties": { "b": { "default": 1 } } },
            "else": { "type": "object", "properties": { "c": { "default": 1 } } },
        } },
    });
    for (pointer, expected) in [
        ("/none", &["none"][..]),
        ("/none/a", &[]),
        ("/text/a", &[]),
        ("/when/b", &["when/b!"]),
        ("/when/c", &["when/c!"]),
        ("/when/d", &["when/d"]),
    ] {
        assert_eq!(places(&schema, pointer), expected, "{pointer}");
    }
}
