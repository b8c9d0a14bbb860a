//! Tests of flags for schemas of many types.

mod limits;

use serde_json::{Value, json};
use tool_runtime::{
    ToolDefinition, ToolName,
    schema::InputSchema,
    schemars::JsonSchema,
    serde::{Deserialize, Serialize},
};

use super::{Property, ValueKind, collect_arguments, schema_properties};
use crate::{closures::ProgramClosures, commands::tool_grammar, program::Program, terminal::Terminal};

fn flags(schema: &Value) -> Vec<(String, String)> {
    let flag = |it: &Property| {
        let alias = it.alias.as_ref().map(|alias| format!(" or {alias}")).unwrap_or_default();
        let name = if it.has_flag { it.flag.clone() + &alias } else { format!("({})", it.path.join(".")) };
        (name, it.kind.description())
    };
    schema_properties(schema).iter().map(flag).collect()
}

/// Asserts the flags of `schema`, and that `clap` accepts them.
#[track_caller]
fn check(schema: Value, expected: &[(&str, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect();
    assert_eq!(flags(&schema), expected);
    let name = ToolName::new("tool").unwrap();
    let definition = ToolDefinition::new(name, "Does something.", InputSchema::new(schema).unwrap());
    let program = Program::new(
        "program".into(),
        None,
        Terminal::new(),
        ProgramClosures::default(),
        Vec::new(),
        Vec::new,
    );
    tool_grammar(&program, &definition).debug_assert();
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

#[test]
fn each_type_has_its_kind() {
    check(
        object(json!({
            "text": { "type": "string" },
            "whole": { "type": ["integer", "null"] },
            "half": { "type": "number" },
            "yes": { "type": "boolean" },
            "one": { "enum": ["a", 1, null] },
            "none": { "enum": [null] },
            "always": { "const": "x" },
            "many": { "type": "array", "items": { "type": "integer" } },
            "lists": { "type": "array", "items": { "type": "array", "items": { "type": "string" } } },
            "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "integer" }] },
            "map": { "type": "object", "additionalProperties": { "type": "string" } },
            "any": {},
            "either": { "type": ["string", "integer"] },
            "maybe": { "anyOf": [{ "type": "null" }, { "type": "integer" }] },
            "named": { "oneOf": [{ "const": "a", "description": "A." }, { "const": "b" }] },
        })),
        &[
            ("text", "text"),
            ("whole", "integer"),
            ("half", "number"),
            ("yes", "true or false"),
            ("one", "a | 1"),
            ("none", "JSON"),
            ("always", "x"),
            ("many", "list of integer"),
            ("lists", "list of JSON"),
            ("pair", "JSON"),
            ("map", "JSON"),
            ("any", "JSON"),
            ("either", "JSON"),
            ("maybe", "integer"),
            ("named", "a | b"),
        ],
    );
}

#[test]
fn names_that_are_no_valid_flags_are_given_as_json() {
    let text = json!({ "type": "string" });
    check(
        object(json!({
            "": text, "a b": text, "a=b": text, "-a": text, "a.b": text, "a\nb": text,
            "a": object(json!({ "b": text })),
            "größe": text, "max_days": text, "max-days": text, "min-days": text, "min_days": text,
            "json": text, "help": text, "output": text, "approve": text, "own_json": text, "arguments": text,
            "_": text, "h": text,
        })),
        &[
            ("()", "text"),
            ("(a b)", "text"),
            ("(a=b)", "text"),
            ("(-a)", "text"),
            ("(a.b)", "text"),
            ("(a\nb)", "text"),
            ("a", "object"),
            ("a.b", "text"),
            ("größe", "text"),
            ("max_days", "text"),
            ("max-days", "text"),
            ("min-days", "text"),
            ("min_days", "text"),
            ("json", "text"),
            ("help", "text"),
            ("output", "text"),
            ("approve", "text"),
            ("own-json or own_json", "text"),
            ("arguments", "text"),
            ("_", "text"),
            ("h", "text"),
        ],
    );
}

#[test]
fn recursion_ends_and_deep_objects_are_json() {
    let tree = json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/tree" }, "json": { "$ref": "#/$defs/json" } },
        "$defs": {
            "tree": object(json!({ "name": { "type": "string" }, "below": { "$ref": "#/$defs/tree" } })),
            "json": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "$ref": "#/$defs/json" } }] },
        }
    });
    let expected = [("tree", "object"), ("tree.name", "text"), ("tree.below", "object"), ("json", "JSON")];
    check(tree, &expected);
    let mut deep = json!({ "type": "string" });
    for _ in 0..6 {
        deep = object(json!({ "a": deep }));
    }
    let flags = flags(&deep);
    let flags: Vec<_> = flags.iter().map(|(name, kind)| (name.as_str(), kind.as_str())).collect();
    assert_eq!(flags, [("a", "object"), ("a.a", "object"), ("a.a.a", "object"), ("a.a.a.a", "object")]);
}

#[test]
fn branches_of_a_choice_share_their_flags() {
    /// A place.
    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(crate = "tool_runtime::serde", tag = "kind", rename_all = "lowercase")]
    #[schemars(crate = "tool_runtime::schemars")]
    enum Place {
        City { name: String, size: u8 },
        Point { x: f64, y: f64, size: String },
    }
    let schema = InputSchema::of::<Place>().unwrap().as_value().clone();
    let expected =
        [("kind", "city | point"), ("name", "text"), ("size", "JSON"), ("x", "number"), ("y", "number")];
    check(schema.clone(), &expected);
    let all = schema_properties(&schema);
    let required: Vec<_> = all.iter().filter(|it| it.required).map(|it| it.flag.as_str()).collect();
    assert_eq!(required, ["kind", "size"]);
}

#[test]
fn values_are_parsed_by_the_type_of_the_schema() {
    let integer = ValueKind::Integer { least: Some(json!(1)), most: Some(json!(14)) };
    assert_eq!(integer.parse("14"), Ok(json!(14)));
    for wrong in ["0", "15", "1.0", "", "x", "18446744073709551616"] {
        assert_eq!(integer.parse(wrong).unwrap_err(), "expected an integer from 1 to 14", "{wrong}");
    }
    let any = ValueKind::Integer { least: None, most: Some(json!(u64::MAX)) };
    let lossy = any.parse("-9223372036854775809").unwrap_err();
    assert_eq!(lossy, "more than 64 bits; give all arguments as JSON, without flags");
    let expected = "expected an integer of at most 18446744073709551615";
    assert_eq!(any.parse("99999999999999999999").unwrap_err(), expected);
    let number = ValueKind::Number { least: None, most: None };
    assert_eq!(number.parse("-2.5"), Ok(json!(-2.5)));
    assert!(["NaN", "inf", "1_000", "0x1", "1e999"].iter().all(|wrong| number.parse(wrong).is_err()));
    assert_eq!(ValueKind::Text.parse("null"), Ok(json!("null")));
    assert_eq!(ValueKind::Json { text: true }.parse("[draft] one"), Ok(json!("[draft] one")));
    assert_eq!(ValueKind::Json { text: true }.parse("[1]"), Ok(json!([1])));
    let lossy = ValueKind::Json { text: true }.parse("18446744073709551616").unwrap_err();
    assert!(lossy.contains("more than 64 bits"), "{lossy}");
    assert_eq!(ValueKind::Object.parse("[1]").unwrap_err(), "expected a JSON object");
    assert_eq!(ValueKind::Choice(vec![json!(1), json!("a")]).parse("1"), Ok(json!(1)));
}

// A number that begins with a dash is a value of every type.
#[test]
fn negative_numbers_are_values() {
    let integer = json!({ "type": "integer" });
    let schema = object(json!({
        "list": { "type": "array", "items": integer }, "any": {}, "text": { "type": "string" },
        "choice": { "enum": [-1, 1] }, "pair": { "type": ["integer", "boolean"] },
    }));
    let name = ToolName::new("tool").unwrap();
    let definition = ToolDefinition::new(name, "Does.", InputSchema::new(schema.clone()).unwrap());
    let program = Program::new(
        "program".into(),
        None,
        Terminal::new(),
        ProgramClosures::default(),
        Vec::new(),
        Vec::new,
    );
    let written = "tool --list -1 --list -2 --any -3 --text -4.5 --choice -1 --pair -6";
    let matches = tool_grammar(&program, &definition).try_get_matches_from(written.split(' ')).unwrap();
    let given = collect_arguments(&schema_properties(&schema), &matches, None, &super::read_value).unwrap();
    assert_eq!(given.text, r#"{"list":[-1,-2],"any":-3,"text":"-4.5","choice":-1,"pair":-6}"#);
}

#[test]
fn the_properties_inside_json_are_listed_once_and_to_a_bounded_depth() {
    let schema = json!({
        "type": "object",
        "properties": { "trees": { "type": "array", "items": { "$ref": "#/$defs/tree" } } },
        "$defs": { "tree": object(json!({
            "name": { "type": "string", "description": "Its name.", "maxLength": 9 },
            "below": { "type": "array", "items": { "$ref": "#/$defs/tree" } },
        })) },
    });
    let lines = |schema: &Value| {
        let lines = schema_properties(schema).into_iter().flat_map(|it| it.shape);
        lines.map(|it| format!("{} {}: {} {}", it.depth, it.name, it.takes, it.about)).collect::<Vec<_>>()
    };
    assert_eq!(lines(&schema), ["0 name: text Its name. [at most 9 characters]", "0 below: list of object "]);
    let mut deep = json!({ "type": "string" });
    for _ in 0..10 {
        deep = object(json!({ "a": deep }));
    }
    let deep = object(json!({ "list": { "type": "array", "items": deep } }));
    let depths: Vec<_> = lines(&deep).iter().map(|it| it[..1].to_owned()).collect();
    assert_eq!(depths, ["0", "1", "2", "3"]);
    let names = (0..100).map(|at| (format!("p{at}"), json!({}))).collect::<serde_json::Map<_, _>>();
    let wide = object(json!({ "map": { "type": "object", "additionalProperties": object(names.into()) } }));
    assert_eq!(lines(&wide).len(), 40);
}
