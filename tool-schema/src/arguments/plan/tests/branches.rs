//! The explanation for a value without a matching branch concerns the intended branch.

use serde_json::{Value, json};

use super::{check, plan, said};

fn shapes() -> Value {
    json!({
        "oneOf": [
            {"$ref": "#/$defs/circle"},
            {
                "type": "object",
                "properties": {"kind": {"enum": ["square"]}, "side": {"type": "number", "minimum": 0}},
                "required": ["kind", "side"]
            },
            {"type": "null"}
        ],
        "$defs": {
            "circle": {
                "type": "object",
                "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
                "required": ["kind", "radius"],
                "additionalProperties": false
            }
        }
    })
}

#[test]
fn kind_of_an_object_decides_what_is_said() {
    assert_eq!(
        said(&shapes(), &json!({"kind": "circle", "radius": "x", "r": 1})),
        [
            r#"/radius: a number, got "x""#,
            "/r: a property that the schema knows; known: `kind`, `radius`, got 1",
        ]
    );
    assert_eq!(said(&shapes(), &json!({"kind": "square", "side": -1})), ["/side: at least 0, got -1"]);
}

#[test]
fn unknown_kind_brings_the_known_ones() {
    assert_eq!(
        said(&shapes(), &json!({"kind": "oval"})),
        [r#"/kind: one of "circle", "square", got "oval""#]
    );
    assert_eq!(
        said(&shapes(), &json!({"side": 1, "kind": 7})),
        [r#"/kind: one of "circle", "square", got 7"#]
    );
}

#[test]
fn missing_kind_brings_the_known_ones() {
    assert_eq!(
        said(&shapes(), &json!({"side": 1})),
        [r#"/kind: the property `kind`, which is required (one of "circle", "square"), got nothing"#,]
    );
}

#[test]
fn value_of_another_type_brings_all_branches() {
    assert_eq!(
        said(&shapes(), &json!(5)),
        [
            r#": any of: an object with `kind` "circle", `radius`; an object with `kind` "square", `side`; null, got 5"#,
        ]
    );
}

#[test]
fn only_branch_of_the_type_explains_itself() {
    let schema = json!({"anyOf": [{"type": "string", "minLength": 3}, {"items": {"type": "integer"}, "type": "array"}]});
    assert_eq!(said(&schema, &json!("ab")), [r#": at least 3 characters, got "ab""#]);
    assert_eq!(said(&schema, &json!([1, "x"])), [r#"/1: an integer, got "x""#]);
    assert_eq!(said(&schema, &json!(true)), [": any of: a string; an array, got true"]);
}

#[test]
fn branch_whose_required_properties_are_there_explains_itself() {
    let variant = |name: &str| json!({"type": "object", "properties": {name: {"type": "integer"}}, "required": [name], "additionalProperties": false});
    let schema = json!({"oneOf": [variant("Circle"), variant("Square")]});
    assert_eq!(said(&schema, &json!({"Square": "x"})), [r#"/Square: an integer, got "x""#]);
    assert_eq!(
        said(&schema, &json!({"Oval": 1})),
        [r#": any of: an object with `Circle`; an object with `Square`, got {"Oval":1}"#,]
    );
}

#[test]
fn value_that_matches_two_branches_of_one_of_is_rejected() {
    let schema = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
    assert_eq!(said(&schema, &json!(1)), [": a value that fits only one of: an integer; a number, got 1"]);
}

#[test]
fn property_that_is_the_same_in_all_branches_is_no_kind() {
    let branch = |name: &str| json!({"type": "object", "properties": {"unit": {"enum": ["c", "f"]}}, "required": ["unit", name]});
    let schema = json!({"anyOf": [branch("a"), branch("b")]});
    assert_eq!(
        said(&schema, &json!({})),
        [": any of: an object with `unit`, `a`; an object with `unit`, `b`, got {}"]
    );
}

#[test]
fn property_that_only_looks_like_a_kind_decides_nothing() {
    // Both branches have the kind `a`.
    let branch =
        |kinds: Value, minimum: u8| json!({"properties": {"k": {"enum": kinds}, "n": {"minimum": minimum}}});
    let schema = json!({"anyOf": [branch(json!(["a", "b"]), 5), branch(json!(["a"]), 1)]});
    check(
        schema,
        [json!({"k": "a", "n": 1}), json!({"k": "b", "n": 5}), json!({"n": 1})],
        [json!({"k": "b", "n": 1})],
    );
    // One branch has a kind that is not a string.
    let schema =
        json!({"anyOf": [{"properties": {"k": {"const": "a"}}}, {"properties": {"k": {"const": 1}}}]});
    check(schema, [json!({"k": 1.0}), json!({"k": "a"})], [json!({"k": "b"})]);
}

#[test]
fn branch_without_a_kind_is_tried_whatever_the_kind() {
    let tagged = |kind: &str| json!({"properties": {"k": {"const": kind}}});
    let schema = json!({"anyOf": [tagged("a"), tagged("b"), {"required": ["x"]}]});
    check(schema, [json!({"k": "z", "x": 1}), json!({"k": "a"}), json!("text")], [json!({"k": "z"})]);
}

#[test]
fn kinds_are_looked_up_in_nested_expressions() {
    let schema = json!({
        "oneOf": [
            {"properties": {"op": {"const": "not"}, "of": {"$ref": "#"}}, "required": ["op", "of"], "type": "object"},
            {"properties": {"op": {"const": "and"}, "of": {"type": "array", "items": {"$ref": "#"}}}, "required": ["op", "of"], "type": "object"},
            {"type": "boolean"}
        ]
    });
    let mut value = json!({"op": "or"});
    for _ in 0..60 {
        value = json!({"op": "and", "of": [true, {"op": "not", "of": value}]});
    }
    let violations = plan(&schema).violations(&value);
    let [only] = &*violations else { panic!("{violations:?}") };
    assert!(only.pointer.ends_with("/of/1/of/op"), "{only:?}");
    assert_eq!(only.expected, r#"one of "not", "and""#);
}

#[test]
fn kind_is_the_property_that_tells_the_most_branches_apart_and_then_the_first_one() {
    let part = |member: &str, kind: &str| json!({ member: { "const": kind } });
    let branch = |kinds: &[(&str, &str)], own: &str| {
        let mut properties = serde_json::Map::new();
        for (name, kind) in kinds {
            properties.extend(part(name, kind).as_object().unwrap().clone());
        }
        properties.insert(own.to_owned(), json!({ "type": "integer" }));
        json!({ "type": "object", "properties": properties })
    };
    let value = json!({ "a": "x", "b": "r", "n1": "s", "n2": "s", "n3": "s" });
    // `a` is in two of the branches, `b` in all three, in either order.
    for order in [[("a", "x"), ("b", "p")], [("b", "p"), ("a", "x")]] {
        let schema = json!({ "anyOf": [
            branch(&order, "n1"),
            branch(&[("a", "y"), ("b", "q")], "n2"),
            branch(&[("b", "r")], "n3"),
        ] });
        assert_eq!(said(&schema, &value), [r#"/n3: an integer, got "s""#]);
    }
    // Both are in all branches.
    for (first, second, expected) in [("a", "b", "n1"), ("b", "a", "n2")] {
        let kinds = |a: &'static str, b: &'static str| {
            let kind = |name: &'static str| (name, if name == "a" { a } else { b });
            [kind(first), kind(second)]
        };
        let schema = json!({ "anyOf": [branch(&kinds("x", "p"), "n1"), branch(&kinds("y", "r"), "n2")] });
        let said = said(&schema, &value);
        assert!(said.contains(&format!("/{expected}: an integer, got \"s\"")), "{said:?}");
        assert_eq!(said.len(), 2, "{said:?}");
    }
}

#[test]
fn property_that_only_one_branch_restricts_is_no_kind() {
    let schema = json!({ "anyOf": [
        { "type": "object", "properties": { "k": { "const": "a" } }, "required": ["k", "x"] },
        { "type": "object", "required": ["y"] },
    ] });
    assert_eq!(
        said(&schema, &json!({ "k": "z" })),
        [r#": any of: an object with `k` "a", `x`; an object with `y`, got {"k":"z"}"#]
    );
}

#[test]
fn only_branch_that_lists_values_of_the_type_explains_itself() {
    let schema = json!({ "anyOf": [
        { "enum": ["a", "b"] },
        { "enum": [1, 2] },
        { "type": "boolean", "const": true },
        { "type": ["array", "null"], "enum": [[1]] },
    ] });
    for (value, expected) in [
        (json!("c"), r#": one of "a", "b", got "c""#),
        (json!(3), ": one of 1, 2, got 3"),
        (json!(false), ": true, got false"),
        (json!([2]), ": [1], got [2]"),
        (json!(0.5), r#": any of: one of "a", "b"; one of 1, 2; true; [1], got 0.5"#),
        (json!(null), r#": any of: one of "a", "b"; one of 1, 2; true; [1], got null"#),
    ] {
        assert_eq!(said(&schema, &value), [expected]);
    }
}

#[test]
fn missing_kind_is_reported_only_if_all_possible_branches_require_it() {
    let tagged = |kind: &str, required: &[&str]| json!({ "type": "object", "properties": { "k": { "const": kind } }, "required": required });
    let other = |required: &[&str]| json!({ "type": "object", "properties": { "z": { "type": "integer" } }, "required": required });
    let kinds = r#"an object with `k` "a", `n`; an object with `k` "b", `m`"#;
    // The third branch has no kind.
    let schema =
        |third: Value| json!({ "anyOf": [tagged("a", &["k", "n"]), tagged("b", &["k", "m"]), third] });
    let missing = r#"/k: the property `k`, which is required (one of "a", "b"), got nothing"#;
    for (third, value, expected) in [
        (other(&["k", "z"]), json!({ "y": 1 }), vec![missing.to_owned()]),
        (
            other(&["k", "z"]),
            json!({ "k": "a" }),
            vec![format!(": any of: {kinds}; an object with `z`, `k`, got {{\"k\":\"a\"}}")],
        ),
        (
            other(&["z"]),
            json!({ "y": 1 }),
            vec![format!(": any of: {kinds}; an object with `z`, got {{\"y\":1}}")],
        ),
        (other(&["z"]), json!({ "z": "x" }), vec![r#"/z: an integer, got "x""#.to_owned()]),
        // A branch of another type is not possible.
        (json!({ "type": "string" }), json!({ "y": 1 }), vec![missing.to_owned()]),
    ] {
        assert_eq!(said(&schema(third), &value), expected, "{value}");
    }
}
