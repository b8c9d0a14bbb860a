//! F04-F10, F12: values that are corrected, and values that are left unchanged.

use serde_json::{Value, json};

use super::{correct, plan};
use crate::internal_keywords::ALIASES;

/// Returns the corrected value and the corrections; `None` if there are none.
fn corrected(schema: &Value, text: &str) -> Option<(String, Vec<String>)> {
    let plan = plan(schema);
    let (text, corrections) = correct(&plan, text)?;
    let value = serde_json::from_str(&text).unwrap();
    assert!(plan.admits(&value), "{schema} {text}");
    assert_eq!(correct(&plan, &text), None, "what was corrected is corrected again: {schema} {text}");
    Some((text, corrections.iter().map(ToString::to_string).collect()))
}

/// Checks the correction of each text by `schema`; `same` means unchanged.
#[track_caller]
fn check<const N: usize>(schema: Value, table: [(&str, &str); N]) {
    for (before, after) in table {
        let text = corrected(&schema, before).map_or_else(|| SAME.to_owned(), |(text, _)| text);
        assert_eq!(text, after, "{schema}: {before}");
    }
}

const SAME: &str = "same";

// F04, F12
#[test]
fn numeric_strings_become_numbers() {
    check(
        json!({"type": "integer"}),
        [
            (r#""3""#, "3"),
            (r#""-3""#, "-3"),
            (r#""3.0""#, "3"),
            (r#""1e2""#, "100"),
            (r#""9007199254740993""#, "9007199254740993"),
            (r#""9007199254740993.0""#, "9007199254740993"),
            (r#""-9223372036854775808""#, "-9223372036854775808"),
            (r#""18446744073709551615""#, "18446744073709551615"),
            (r#""\u0033""#, "3"),
        ],
    );
    check(
        json!({"type": "number"}),
        [
            (r#""3.5""#, "3.5"),
            (r#""-0.1""#, "-0.1"),
            (r#""1e300""#, "1e+300"),
            (r#""9007199254740993""#, "9007199254740993"),
            (r#""0e999999999999""#, "0"),
        ],
    );
}

// F04, F12
#[test]
fn other_strings_do_not_become_numbers() {
    for text in [
        "",
        " ",
        "3.5",
        " 3",
        "3 ",
        "03",
        "+3",
        "3.",
        ".5",
        "0x10",
        "1_000",
        "1,000",
        "three",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "1e400",
        "-1e400",
        "3a",
        "3\n",
        "٣",
        "null",
        "true",
        "-",
        "--3",
        "3e",
        "[3]",
        "18446744073709551616",
        "-9223372036854775809",
        "1e30",
    ] {
        check(json!({"type": "integer", "maximum": 1e25}), [(&json!(text).to_string(), SAME)]);
    }
    // No float represents these digits, nor so small a number other than as zero.
    for text in ["123456789012345678901234567890", "123456789012345678901234567890.0", "1e-400", "1e400"] {
        check(json!({"type": "number"}), [(&json!(text).to_string(), SAME)]);
    }
}

// F05
#[test]
fn only_two_strings_and_two_numbers_become_booleans() {
    check(
        json!({"type": "boolean"}),
        [(r#""true""#, "true"), (r#""false""#, "false"), ("1", "true"), ("0", "false"), ("1.0", "true")],
    );
    for other in
        [r#""TRUE""#, r#""True""#, r#""yes""#, r#""1""#, r#""0""#, r#""""#, r#"" true""#, "2", "-1", "0.5"]
    {
        check(json!({"type": "boolean"}), [(other, SAME)]);
    }
    check(json!({"type": "integer"}), [("true", "1"), ("false", "0")]);
    check(json!({"type": "number", "minimum": 1}), [("true", "1"), ("false", SAME)]);
}

// F06
#[test]
fn numbers_and_booleans_become_strings() {
    check(
        json!({"type": "string"}),
        [
            ("12", r#""12""#),
            ("-12", r#""-12""#),
            ("1.5", r#""1.5""#),
            ("1.50", r#""1.50""#),
            ("1.10", r#""1.10""#),
            ("1e3", r#""1000""#),
            ("1.50e1", r#""15.0""#),
            ("-0.0", r#""-0.0""#),
            ("12.0", r#""12.0""#),
            ("1e21", r#""1000000000000000000000""#),
            ("1.25E-7", r#""0.000000125""#),
            ("12.5e1", r#""125""#),
            ("-0", r#""-0""#),
            ("true", r#""true""#),
            ("false", r#""false""#),
            ("18446744073709551615", r#""18446744073709551615""#),
            // No conversion to a float on the way.
            ("123456789012345678901234567890", r#""123456789012345678901234567890""#),
            ("0.1234567890123456789", r#""0.1234567890123456789""#),
            (r#"{"a":1}"#, SAME),
            ("[1]", SAME),
            ("[]", SAME),
            ("null", SAME),
        ],
    );
    check(json!({"type": "string", "pattern": "^\\d+$"}), [("12", r#""12""#), ("1.5", SAME), ("true", SAME)]);
}

#[test]
fn numbers_become_strings_with_their_own_digits() {
    let schema = json!({"items": {"type": "string"}, "type": "array"});
    check(
        schema,
        [
            (
                "[0.10000000000000000001,0.10000000000000000002]",
                r#"["0.10000000000000000001","0.10000000000000000002"]"#,
            ),
            ("[0.10, 0.1]", r#"["0.10","0.1"]"#),
            (r#""[0.10000000000000000001]""#, r#"["0.10000000000000000001"]"#),
        ],
    );
    // Beyond the limit of digits.
    let long = format!("0.{}1", "0".repeat(1_000));
    check(json!({"type": "string"}), [(&long, SAME), ("1e-2000", SAME), ("0e99999999", r#""0""#)]);
}

// F07
#[test]
fn null_stays_null() {
    for kind in ["integer", "number", "boolean", "string", "array", "object"] {
        check(json!({"type": kind, "items": {"type": "integer"}}), [("null", SAME)]);
    }
    check(json!({"type": ["boolean", "null"]}), [("null", SAME)]);
    check(json!({"items": {"type": "integer"}, "type": "array"}), [("[null]", SAME)]);
}

// F07
#[test]
fn a_value_becomes_null_only_if_the_schema_allows_nothing_else() {
    check(
        json!({"type": "null"}),
        [
            (r#""""#, "null"),
            ("0", "null"),
            ("0.0", "null"),
            ("false", "null"),
            ("1", SAME),
            ("true", SAME),
            (r#"" ""#, SAME),
            (r#""null""#, SAME),
            ("[]", SAME),
            ("{}", SAME),
        ],
    );
    for schema in [
        json!({"type": ["array", "null"]}),
        json!({"anyOf": [{"type": "null"}, {"type": "array"}]}),
        json!({}),
    ] {
        check(schema, [(r#""""#, SAME), ("0", SAME), ("false", SAME)]);
    }
}

// F08
#[test]
fn a_value_of_an_allowed_type_is_not_changed() {
    check(json!({"type": ["string", "integer"]}), [(r#""3""#, SAME), ("3", SAME), ("true", r#""true""#)]);
    check(json!({"type": ["integer", "boolean"]}), [(r#""true""#, "true"), (r#""3""#, "3"), ("3.5", SAME)]);
    // Also if another rule is violated.
    check(json!({"type": ["string", "integer"], "minLength": 2}), [(r#""3""#, SAME)]);
    check(json!({"type": ["array", "string"], "minLength": 5}), [(r#""[1]""#, SAME)]);
    check(json!({"minLength": 2}), [(r#""3""#, SAME)]);
}

// F08
#[test]
fn the_only_branch_that_matches_after_coercion_is_used() {
    // DESIGN 7.11: two branches that would each admit a corrected value are two readings.
    for key in ["anyOf", "oneOf"] {
        let number_or_truth = json!({key: [{"type": "integer"}, {"type": "boolean"}]});
        check(number_or_truth, [(r#""true""#, "true"), (r#""3""#, "3"), ("1", SAME), (r#""x""#, SAME)]);
        let word_or_number = json!({key: [{"type": "string", "enum": ["auto"]}, {"type": "integer"}]});
        check(word_or_number, [(r#""auto""#, SAME), (r#""3""#, "3"), (r#""off""#, SAME)]);
        let short = json!({key: [{"type": "integer", "maximum": 2}, {"type": "number", "minimum": 7}]});
        check(short, [(r#""1""#, "1"), (r#""8""#, "8"), (r#""5""#, SAME)]);
    }
    // A value that two branches admit is invalid for `oneOf`; neither is chosen.
    check(
        json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
        [(r#""3""#, SAME), (r#""3.5""#, "3.5"), ("3", SAME)],
    );
    check(json!({"anyOf": [{"type": "integer"}, {"type": "number"}]}), [(r#""3""#, SAME)]);
    check(json!({"anyOf": [{"type": "string"}, {"type": "boolean"}]}), [("1", SAME), ("2", r#""2""#)]);
    let text = json!({"type": "string"});
    check(json!({"oneOf": [text, text, {"type": "integer"}]}), [("true", "1")]);
    check(json!({"anyOf": [text, text, {"type": "integer"}]}), [("true", SAME)]);
    check(json!({"anyOf": [text, {"type": "array"}]}), [("true", r#""true""#)]);
}

// F08
#[test]
fn a_branch_that_matches_without_coercion_comes_first() {
    let shape = |name: &str, kind: &str| {
        json!({
            "type": "object",
            "properties": {name: {"type": kind}, "note": {"type": "string"}},
            "required": [name],
            "additionalProperties": false
        })
    };
    let schema = json!({
        "type": "object",
        "properties": {
            "shape": {"anyOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}},
                shape("a", "integer"),
            ]},
            "days": {"type": "integer"},
        },
    });
    // The second branch admits it unchanged, apart from the absent note.
    let text = r#"{"shape":{"a":1,"note":null},"days":"3"}"#;
    let (text, said) = corrected(&schema, text).unwrap();
    assert_eq!(text, r#"{"shape":{"a":1},"days":3}"#);
    assert_eq!(said, [r#"/days: read "3" as 3"#]);
    // Corrections of a failed attempt are not listed.
    let pair = |second: &str| json!({"properties": {"a": {"type": "integer"}, "b": {"type": second}}});
    let schema = json!({"anyOf": [pair("integer"), pair("boolean")]});
    let (text, said) = corrected(&schema, r#"{"a":"1","b":"true"}"#).unwrap();
    assert_eq!(text, r#"{"a":1,"b":true}"#);
    assert_eq!(said, [r#"/a: read "1" as 1"#, r#"/b: read "true" as true"#]);
    // Absent properties are normalised together with corrections.
    let schema = json!({"oneOf": [shape("a", "boolean"), shape("b", "integer")]});
    check(schema, [(r#"{"b":"3","note":null}"#, r#"{"b":3}"#), (r#"{"b":"x","note":null}"#, SAME)]);
}

// F08
#[test]
fn every_schema_of_all_of_coerces() {
    let schema = json!({
        "allOf": [
            {"properties": {"a": {"type": "integer"}}},
            {"properties": {"a": {"minimum": 2}, "b": {"type": "boolean"}}, "required": ["b"]},
        ],
        "properties": {"c": {"type": "string"}},
    });
    check(
        schema,
        [
            (r#"{"a":"3","b":"true","c":5}"#, r#"{"a":3,"b":true,"c":"5"}"#),
            (r#"{"a":"1","b":"true"}"#, SAME),
            (r#"{"a":"3"}"#, SAME),
        ],
    );
}

// F09
#[test]
fn coercion_applies_to_every_nested_value() {
    let int = json!({"type": "integer"});
    check(
        json!({"properties": {"a": {"properties": {"b": int}}}}),
        [(r#"{"a":{"b":"1"}}"#, r#"{"a":{"b":1}}"#)],
    );
    check(
        json!({"properties": {}, "additionalProperties": int}),
        [(r#"{"x":"1","y":2}"#, r#"{"x":1,"y":2}"#)],
    );
    check(
        json!({"patternProperties": {"^n": int}, "additionalProperties": {"type": "string"}}),
        [(r#"{"n1":"1","t":2}"#, r#"{"n1":1,"t":"2"}"#)],
    );
    check(json!({"properties": {"xs": {"items": int}}}), [(r#"{"xs":["1","2"]}"#, r#"{"xs":[1,2]}"#)]);
    check(
        json!({"prefixItems": [int, {"type": "string"}], "items": {"type": "boolean"}}),
        [(r#"["1",2,"true",0]"#, r#"[1,"2",true,false]"#)],
    );
    check(
        json!({"properties": {"n": int, "next": {"$ref": "#"}}}),
        [(r#"{"n":"1","next":{"n":"2","next":{"n":"3"}}}"#, r#"{"n":1,"next":{"n":2,"next":{"n":3}}}"#)],
    );
    // The tag selects the branch.
    let shape = |kind: &str, size: &str| json!({"type": "object", "properties": {"kind": {"const": kind}, "size": {"type": size}}, "required": ["kind"]});
    check(
        json!({"oneOf": [shape("circle", "number"), shape("word", "string")]}),
        [
            (r#"{"kind":"circle","size":"2.5"}"#, r#"{"kind":"circle","size":2.5}"#),
            (r#"{"kind":"word","size":2.5}"#, r#"{"kind":"word","size":"2.5"}"#),
            (r#"{"kind":"oval","size":"2.5"}"#, SAME),
        ],
    );
}

#[test]
fn arguments_are_coerced_completely_or_not_at_all() {
    let schema = json!({"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    check(schema, [(r#"{"a":"1","b":"x"}"#, SAME), (r#"{"a":"1","b":"2"}"#, r#"{"a":1,"b":2}"#)]);
}

#[test]
fn a_string_matches_the_enum_value_that_it_represents() {
    check(
        json!({"enum": [1, 2, true]}),
        [(r#""2""#, "2"), (r#""2.0""#, "2"), (r#""3""#, SAME), ("1", SAME), (r#""true""#, "true")],
    );
    check(json!({"enum": ["1", "2", "true"]}), [("2", r#""2""#), ("3", SAME), ("true", r#""true""#)]);
    check(
        json!({"type": "string", "enum": ["a", "b"]}),
        [(r#""A""#, SAME), (r#""a""#, SAME), (r#""a ""#, SAME)],
    );
    check(json!({"const": 7}), [(r#""7""#, "7"), (r#""8""#, SAME)]);
    // A permitted type with a value that is not permitted: reported.
    check(json!({"type": ["string", "integer"], "enum": ["a", 3]}), [(r#""3""#, SAME)]);
    check(json!({"enum": ["a", 3]}), [(r#""3""#, "3"), (r#""b""#, SAME)]);
    check(json!({"enum": ["3", 3]}), [(r#""3""#, SAME), ("3", SAME)]);
}

#[test]
fn json_text_becomes_the_object_or_list() {
    let point = json!({"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"], "additionalProperties": false});
    check(
        json!({"properties": {"at": point}}),
        [
            (r#"{"at":"{\"x\":1}"}"#, r#"{"at":{"x":1}}"#),
            (r#"{"at":" {\"x\": 1, \"y\": null}\n"}"#, r#"{"at":{"x":1}}"#),
            (r#"{"at":"{\"x\":\"1\"}"}"#, r#"{"at":{"x":1}}"#),
            (r#"{"at":"{\"x\":1,\"x\":2}"}"#, SAME),
            (r#"{"at":"{\"x\":1e400}"}"#, SAME),
            (r#"{"at":"{\"z\":1}"}"#, SAME),
            (r#"{"at":"{x:1}"}"#, SAME),
            (r#"{"at":"{\"x\":1"}"#, SAME),
            (r#"{"at":"{\"x\":1} or so"}"#, SAME),
            (r#"{"at":"[1]"}"#, SAME),
            (r#"{"at":"\"{}\""}"#, SAME),
            (r#"{"at":""}"#, SAME),
        ],
    );
    check(
        json!({"type": "array", "items": {"type": "integer"}}),
        [(r#""[1,\"2\"]""#, "[1,2]"), (r#""[]""#, "[]"), (r#""[1""#, SAME), (r#""{}""#, SAME)],
    );
    // The whole arguments as a string inside a string, and a part likewise.
    let (text, said) = corrected(
        &json!({"type": "object", "properties": {"at": point}}),
        r#""{\"at\":\"{\\\"x\\\":\\\"1\\\"}\"}""#,
    )
    .unwrap();
    assert_eq!(text, r#"{"at":{"x":1}}"#);
    assert_eq!(
        said,
        [
            r#"the arguments: read "{\"at\":\"{\\\"x\\\":\\\"1\\\"}\"}" as {"at":"{\"x\":\"1\"}"}"#,
            r#"/at: read "{\"x\":\"1\"}" as {"x":"1"}"#,
            r#"/at/x: read "1" as 1"#,
        ]
    );
    // A string stays a string where strings are permitted.
    check(json!({"type": ["object", "string"]}), [(r#""{}""#, SAME)]);
    check(json!({}), [(r#""{}""#, SAME)]);
}

#[test]
fn a_single_value_becomes_a_list_of_one_item() {
    let list = |item: Value| json!({"type": "array", "items": item});
    check(
        list(json!({"type": "string"})),
        [
            (r#""a""#, r#"["a"]"#),
            (r#""a b""#, r#"["a b"]"#),
            (r#""-5""#, r#"["-5"]"#),
            (r#""1.5 m""#, r#"["1.5 m"]"#),
            ("5", r#"["5"]"#),
            (r#""[\"a\"]""#, r#"["a"]"#),
            ("null", SAME),
            (r#""""#, SAME),
            (r#"" \n""#, SAME),
            // A malformed list is not an intended string.
            (r#""[\"a\"""#, SAME),
            (r#"" [a]""#, SAME),
            ("{}", SAME),
        ],
    );
    check(list(json!({"type": "integer", "minimum": 2})), [("2", "[2]"), (r#""2""#, "[2]"), ("1", SAME)]);
    check(
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 2}),
        [("2", SAME), (r#"["1",2]"#, "[1,2]")],
    );
    check(json!({"type": ["array", "null"], "items": {"type": "integer"}}), [("2", "[2]"), ("null", SAME)]);
    check(json!({"anyOf": [list(json!({"type": "integer"})), {"type": "null"}]}), [("2", "[2]")]);
}

#[test]
fn a_value_is_not_wrapped_if_the_type_of_the_items_is_unknown() {
    for items in [json!({}), json!(true), json!({"description": "anything"})] {
        check(json!({"type": "array", "items": items}), [("1", SAME), (r#""a""#, SAME), ("{}", SAME)]);
    }
    check(json!({"type": "array"}), [("1", SAME), ("{}", SAME)]);
    let int = json!({"type": "integer"});
    check(json!({"type": "array", "prefixItems": [int]}), [("1", SAME)]);
    check(json!({"type": "array", "prefixItems": [int], "items": int}), [("1", SAME)]);
    // It could be the intended list or an item of it.
    let matrix = json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}});
    check(matrix, [("[1,2]", SAME), ("[[1],2]", SAME), ("5", SAME), (r#"[["1"]]"#, "[[1]]")]);
}

#[test]
fn an_object_becomes_a_list_only_if_the_items_have_known_properties() {
    let list = |item: Value| json!({"type": "array", "items": item});
    let point = json!({"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]});
    check(
        list(point.clone()),
        [
            (r#"{"x":1}"#, r#"[{"x":1}]"#),
            (r#"{"x":"1"}"#, r#"[{"x":1}]"#),
            (r#""{\"x\":\"1\"}""#, r#"[{"x":1}]"#),
            (r#"{"items":[{"x":1}]}"#, SAME),
            ("{}", SAME),
        ],
    );
    check(list(json!({"type": "object"})), [(r#"{"items":[1]}"#, SAME)]);
    check(list(json!({"type": "object", "properties": {"x": {}}})), [(r#"{"x":[1]}"#, SAME)]);
    let mut referring = list(json!({"$ref": "#/$defs/p"}));
    referring["$defs"] = json!({"p": point, "any": {}});
    check(referring.clone(), [(r#"{"x":1}"#, r#"[{"x":1}]"#)]);
    referring["items"] = json!({"$ref": "#/$defs/any"});
    check(referring, [(r#"{"x":1}"#, SAME), ("1", SAME)]);
}

// F10
#[test]
fn unchanged_values_keep_their_bytes() {
    let schema = json!({
        "properties": {
            "n": {"type": "integer"},
            "any": {},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}, "any": {}}, "required": ["n"]}},
        },
    });
    let long = "123456789012345678901234567890.10";
    check(
        schema,
        [
            (
                r#"{ "any" : [123456789012345678901234567890.10, "\u0061"], "n":"3" }"#,
                r#"{"any":[123456789012345678901234567890.10, "\u0061"],"n":3}"#,
            ),
            // In a parsed string, and in a value wrapped in a list.
            (
                &json!({"list": format!("[{{\"n\":\"1\",\"any\":{long}}}]")}).to_string(),
                &format!(r#"{{"list":[{{"n":1,"any":{long}}}]}}"#),
            ),
            (
                &format!(r#"{{"list":{{"n":"1","any":{long}}}}}"#),
                &format!(r#"{{"list":[{{"n":1,"any":{long}}}]}}"#),
            ),
        ],
    );
    // Under a renamed property.
    let inner =
        json!({"type": "object", "properties": {"n": {"type": "integer"}, "any": {}}, (ALIASES): ["inside"]});
    let renamed = json!({"properties": {"in": inner}, "additionalProperties": false});
    let before = format!(r#"{{"inside":{{"any":{long},"n":"1"}}}}"#);
    check(renamed, [(&before, &format!(r#"{{"in":{{"any":{long},"n":1}}}}"#))]);
}

#[test]
fn a_string_with_a_violation_of_its_own_is_not_coerced() {
    let schema = json!({"properties": {"n": {"type": "integer"}}});
    check(
        schema,
        [
            (r#"{"n":"3""#, SAME),
            (r#"{"n":"3","n":"3"}"#, SAME),
            (r#"{"n":"3","m":1e400}"#, SAME),
            ("", SAME),
            (r#"{"n":3}"#, SAME),
            (r#"{"n":3.0}"#, SAME),
        ],
    );
}

// F07
#[test]
fn json_text_of_a_list_is_not_wrapped_in_a_list() {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let texts = [
        "a,b", "a, b", "None", "none", "NULL", "null", " nOnE ", "- a\n- b", "- a", "* a", "• a", "1. a",
        "1) a", "a\nb", "(a)", "a]", "{}", "", " ", "a，b", "a、b", "–  a",
    ];
    for text in texts {
        check(list.clone(), [(&json!(text).to_string(), SAME)]);
    }
}

#[test]
fn numeric_strings_are_read_without_rounding() {
    let integer = json!({"type": "integer"});
    let number = json!({"type": "number"});
    let text = |number: &str| json!(number).to_string();
    check(integer.clone(), [(&text("3.0"), "3"), (&text("1e3"), "1000")]);
    for other in ["1e20", "3.0000000000000001", "2.9999999999999999", "9007199254740993.5", "1e-400"] {
        check(integer.clone(), [(&text(other), SAME)]);
    }
    // Also as numbers: a number with a fraction is not an integer.
    for other in ["3.0000000000000001", "-2.9999999999999999", "9007199254740993.5"] {
        check(integer.clone(), [(other, SAME)]);
        assert!(plan(&integer).fit(crate::Arguments::from(other)).is_err(), "{other}");
        assert!(plan(&number).fit(crate::Arguments::from(other)).is_ok(), "{other}");
    }
    let refused = plan(&integer).fit(crate::Arguments::from("3.0000000000000001")).unwrap_err();
    assert_eq!(refused.violations()[0].received, "3.0000000000000001");
    check(
        number,
        [
            (&text("0.1"), "0.1"),
            (&text("1e20"), "1e+20"),
            (&text("3.0000000000000001"), SAME),
            (&text("0.1000000000000000055511151231257827"), SAME),
        ],
    );
}

// F05
#[test]
fn one_and_zero_become_booleans_only_if_the_schema_allows_nothing_else() {
    check(json!({"type": ["boolean", "null"]}), [("1", "true"), ("0", "false")]);
    check(json!({"type": ["boolean", "string"]}), [("1", r#""1""#)]);
    check(json!({"type": ["boolean", "array"]}), [("1", SAME)]);
    check(json!({"type": ["integer", "string"]}), [("true", r#""true""#)]);
    check(json!({"type": ["integer", "null"]}), [("true", "1")]);
}

#[test]
fn an_ambiguous_value_is_rejected() {
    let list = json!({"type": ["integer", "array"], "items": {"type": "string"}});
    check(list, [(r#""3""#, SAME), (r#""a""#, r#"["a"]"#), ("3", SAME)]);
}
