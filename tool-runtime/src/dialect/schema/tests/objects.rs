//! Objects, references, choices, and keywords that a provider does not support.

use serde_json::{Value, json};

use super::{
    super::{Enums, Objects, References, Rules, UNRESTRICTED, convert_schema},
    ALL, check, converted, refused,
};

const CLOSED: Rules = Rules { objects: Objects::Closed, ..ALL };
const STRICT: Rules = Rules { objects: Objects::Strict, ..ALL };

fn text() -> Value {
    json!({ "type": "string" })
}

// A22
#[test]
fn an_object_declares_its_keys_where_the_provider_requires_it() {
    let map = json!({ "type": "object", "additionalProperties": text() });
    check(&ALL, map.clone(), map.clone());
    let patterns = json!({ "type": "object", "patternProperties": { "^a": text() } });
    check(&ALL, patterns.clone(), patterns.clone());
    for (property, at) in [
        (map, "/additionalProperties"),
        (patterns, "/patternProperties"),
        (
            json!({ "type": "object", "additionalProperties": true, "properties": { "a": text() } }),
            "/additionalProperties",
        ),
        (json!({ "type": "object" }), ""),
        (json!({ "type": "object", "properties": {} }), ""),
    ] {
        for rules in [&CLOSED, &STRICT] {
            refused(rules, property.clone(), &format!("/properties/p{at}: its keys are not declared"));
        }
    }
    let empty = json!({ "type": "object", "additionalProperties": false });
    let closed = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    check(&CLOSED, empty.clone(), closed.clone());
    let mut strict = closed;
    strict["required"] = json!([]);
    check(&STRICT, empty, strict);
    let closed = |name: &str| json!({ "type": "object", "properties": { name: text() }, "additionalProperties": false });
    for key in ["allOf", "anyOf", "oneOf", "$ref"] {
        let part = if key == "$ref" {
            json!("#/properties/p/properties/a")
        } else {
            json!([closed("b"), closed("c")])
        };
        let property = json!({ "type": "object", "properties": { "a": text() }, key: part });
        refused(&CLOSED, property, "/properties/p: the object combines several schemas");
    }
}

// A22, B21
#[test]
fn a_strict_object_requires_all_its_properties() {
    let open = json!({ "type": "object", "properties": { "a": text(), "b": text() }, "required": ["b"], "additionalProperties": false });
    let expected = json!({
        "type": "object",
        "properties": { "a": { "type": ["string", "null"] }, "b": text() },
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    check(&STRICT, open.clone(), expected);
    check(&CLOSED, open.clone(), open);
    let differs = |at: &str| {
        vec![format!("{at}: `null` differs from absent here, so the model cannot omit the property")]
    };
    let nullable = json!({ "type": "object", "properties": { "a": { "type": ["string", "null"] } }, "additionalProperties": false });
    let (_, notes) = converted(&STRICT, nullable.clone()).unwrap();
    assert_eq!(notes, differs("/properties/p/properties/a"));
    assert_eq!(converted(&CLOSED, nullable).unwrap().1, [""; 0]);
    let unknown = json!({ "type": "object", "properties": { "a": text() }, "required": ["a", "z"], "additionalProperties": false });
    refused(&STRICT, unknown.clone(), r#"/properties/p: "z" is required but is not a property"#);
    check(&CLOSED, unknown.clone(), unknown);
}

// A22
#[test]
fn an_open_object_is_narrowed_with_a_note_where_the_provider_requires_closed_ones() {
    let open = json!({ "type": "object", "properties": { "a": text() } });
    let note = |at: &str| vec![format!("{at}: additional properties cannot be sent")];
    let mut closed = open.clone();
    closed["additionalProperties"] = false.into();
    assert_eq!(converted(&CLOSED, open.clone()), Ok((closed, note("/properties/p"))));
    let narrowed = |schema: &Value| convert_schema(schema, &CLOSED).unwrap().narrowed;
    assert!(narrowed(&open));
    assert!(narrowed(&json!({})), "an empty root accepts any argument");
    assert!(!narrowed(
        &json!({ "type": "object", "properties": { "a": text() }, "additionalProperties": false })
    ));
}

// A22
#[test]
fn patterns_of_names_become_a_description_where_the_provider_supports_none() {
    let rules =
        Rules { keywords: Some(&["type", "properties", "required", "additionalProperties", "anyOf"]), ..ALL };
    let notes =
        vec!["/properties/p/patternProperties: `patternProperties` is moved into the description".to_owned()];
    let of = |patterns: Value, rest: Option<Value>| {
        let mut property = json!({ "type": "object", "patternProperties": patterns });
        if let Some(rest) = rest {
            property["additionalProperties"] = rest;
        }
        converted(&rules, property).unwrap()
    };
    let sent = |others: Value, description: &str| {
        (
            json!({ "type": "object", "additionalProperties": others, "description": description }),
            notes.clone(),
        )
    };
    let (one, two) = (json!({ "^a": text() }), json!({ "^a": text(), "^b": { "type": "integer" } }));
    let (of_one, of_two) =
        ("Keys match the pattern `^a`.", "Keys match the pattern `^a`. Keys match the pattern `^b`.");
    assert_eq!(of(one.clone(), Some(json!(false))), sent(text(), of_one));
    assert_eq!(of(json!({ "^a": text(), "^b": text() }), Some(json!(false))), sent(text(), of_two));
    assert_eq!(
        of(two.clone(), Some(json!(false))),
        sent(json!({ "anyOf": [text(), { "type": "integer" }] }), of_two)
    );
    assert_eq!(of(one, None), sent(json!(true), of_one));
    assert_eq!(of(two, Some(json!(true))).0["additionalProperties"], true);
    // In either order of the keywords.
    for rest in [json!(false), json!({ "type": "integer" })] {
        let one =
            json!({ "type": "object", "patternProperties": { "^a": text() }, "additionalProperties": rest });
        let other =
            json!({ "type": "object", "additionalProperties": rest, "patternProperties": { "^a": text() } });
        let sent = converted(&rules, one).unwrap().0;
        assert_eq!(converted(&rules, other).unwrap().0, sent);
        assert_eq!(sent["additionalProperties"], if rest == false { text() } else { json!(true) });
    }
}

// A22
#[test]
fn the_order_of_properties_is_sent_where_there_are_several() {
    let rules = Rules { ordering: true, ..ALL };
    let property = json!({ "type": "object", "properties": { "b": text(), "a": text() } });
    let mut ordered = property.clone();
    ordered["propertyOrdering"] = json!(["b", "a"]);
    let sent =
        convert_schema(&json!({ "type": "object", "properties": { "p": property, "q": text() } }), &rules)
            .unwrap();
    assert_eq!(sent.schema["properties"]["p"], ordered);
    assert_eq!(sent.schema["propertyOrdering"], json!(["p", "q"]));
    let one = json!({ "type": "object", "properties": { "b": text() } });
    check(&rules, one.clone(), one);
}

// A22
#[test]
fn nothing_stands_beside_a_reference_where_the_provider_requires_it_alone() {
    let alone = Rules { references: References::Alone, ..ALL };
    let reference = || json!({ "$ref": "#/$defs/a" });
    check(&alone, reference(), reference());
    check(
        &alone,
        json!({ "$ref": "#/$defs/a", "title": "T" }),
        json!({ "title": "T", "anyOf": [reference()] }),
    );
    check(&ALL, json!({ "$ref": "#/$defs/a", "title": "T" }), json!({ "$ref": "#/$defs/a", "title": "T" }));
    let described = Rules { keywords: Some(&["type", "$ref", "anyOf", "properties", "required"]), ..alone };
    let (sent, _) = converted(&described, json!({ "$ref": "#/$defs/a", "minLength": 2 })).unwrap();
    assert_eq!(sent, json!({ "anyOf": [reference()], "description": "At least 2 characters." }));
    let choice = json!({ "$ref": "#/$defs/a", "anyOf": [text()] });
    check(&alone, choice.clone(), choice);
}

// A22
#[test]
fn a_target_is_inlined_where_the_provider_supports_no_references() {
    let inlined = Rules { references: References::WrittenOut, ..ALL };
    let sent = |property: Value, definitions: Value| {
        let schema = json!({ "type": "object", "properties": { "p": property }, "$defs": definitions });
        convert_schema(&schema, &inlined)
            .map(|it| it.schema["properties"]["p"].clone())
            .map_err(|it| it.message)
    };
    let definitions =
        json!({ "a": { "type": "string", "description": "A text." }, "b c": { "type": "integer" } });
    assert_eq!(
        sent(json!({ "$ref": "#/$defs/a" }), definitions.clone()),
        Ok(json!({ "type": "string", "description": "A text." }))
    );
    assert_eq!(
        sent(json!({ "$ref": "#/$defs/a", "description": "The name" }), definitions.clone()),
        Ok(json!({ "type": "string", "description": "The name. A text." }))
    );
    assert_eq!(
        sent(json!({ "$ref": "#/$defs/b%20c" }), definitions.clone()),
        Ok(json!({ "type": "integer" }))
    );
    assert_eq!(
        sent(json!({ "$ref": "#/$defs/z" }), definitions.clone()),
        Err("`#/$defs/z` leads nowhere".to_owned())
    );
    assert_eq!(
        sent(json!({ "$ref": "other.json" }), definitions),
        Err("`other.json` leads nowhere".to_owned())
    );
    // Three levels of a recursive type, the last of which is empty.
    let node = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/n" }, "name": text() } });
    let chain = sent(json!({ "$ref": "#/$defs/n" }), json!({ "n": node })).unwrap();
    let depth = std::iter::successors(Some(&chain), |it| it["properties"].get("next")).count();
    assert_eq!(depth, 3);
    let last = &chain["properties"]["next"]["properties"]["next"];
    assert_eq!(
        *last,
        json!({ "type": "object", "properties": { "name": text() }, "description": "`next` is left out here." })
    );
    let list = json!({ "type": "array", "items": { "$ref": "#/$defs/l" } });
    let lists = sent(json!({ "$ref": "#/$defs/l" }), json!({ "l": list })).unwrap();
    assert_eq!(
        lists["items"]["items"],
        json!({ "type": "array", "items": { "type": "STRING" }, "description": "Nothing is nested deeper: leave the list empty." })
    );
    // As many targets as the limit permits.
    let many = |count: usize| {
        let properties: serde_json::Map<_, _> =
            (0..count).map(|at| (format!("p{at}"), json!({ "$ref": "#/$defs/a" }))).collect();
        let schema = json!({ "type": "object", "properties": properties, "$defs": { "a": text() } });
        convert_schema(&schema, &inlined).map(drop).map_err(|error| error.message)
    };
    assert_eq!(many(1_000), Ok(()));
    assert_eq!(many(1_001), Err("its references expand to more than 1000 schemas".to_owned()));
}

// A22
#[test]
fn values_are_sent_where_the_provider_supports_their_kinds() {
    let rules = |enums: Enums| Rules { enums, ..ALL };
    for (values, enums, is_sent) in [
        (json!([{}]), Enums::Any, true),
        (json!([[1]]), Enums::Plain, false),
        (json!([{}]), Enums::Plain, false),
        (json!(["a", 1, null, true]), Enums::Plain, true),
        (json!(["a", "b"]), Enums::TextsOrNumbers, true),
        (json!([1, 2.5]), Enums::TextsOrNumbers, true),
        (json!(["a", 1]), Enums::TextsOrNumbers, false),
        (json!([null]), Enums::TextsOrNumbers, false),
        (json!(["a"]), Enums::Texts, true),
        (json!(["a", ""]), Enums::Texts, false),
        (json!([1]), Enums::Texts, false),
    ] {
        let (sent, notes) = converted(&rules(enums), json!({ "enum": values })).unwrap();
        assert_eq!((sent.get("enum").is_some(), notes.is_empty()), (is_sent, is_sent), "{values} {enums:?}");
    }
    check(&ALL, json!({ "enum": [] }), json!({ "enum": [] }));
    refused(&rules(Enums::Plain), json!({ "enum": [] }), "/properties/p/enum: no value fits");
    let odd = converted(&ALL, json!({ "enum": "a" })).unwrap();
    assert_eq!(odd.0, json!({ "description": "One of: \"a\"." }));
    let no_constants = Rules { keywords: Some(&["type", "properties", "required", "enum"]), ..ALL };
    assert_eq!(converted(&no_constants, json!({ "const": 1 })).unwrap().0, json!({ "enum": [1] }));
}

// A22
#[test]
fn keywords_are_kept_within_what_the_provider_supports() {
    let rules = Rules { plain_patterns: true, min_items: 1, formats: Some(&["date"]), ..ALL };
    for kept in [
        json!({ "pattern": "^a(b)$" }),
        json!({ "minItems": 1 }),
        json!({ "minItems": 0 }),
        json!({ "format": "date" }),
        json!({ "type": "integer", "minimum": i64::MIN }),
    ] {
        check(&rules, kept.clone(), kept);
    }
    for (property, description) in [
        (json!({ "pattern": "a(?=b)" }), "Must match the pattern `a(?=b)`."),
        (json!({ "pattern": "a(?!b)" }), "Must match the pattern `a(?!b)`."),
        (json!({ "pattern": "(?<=b)a" }), "Must match the pattern `(?<=b)a`."),
        (json!({ "pattern": "(?<!b)a" }), "Must match the pattern `(?<!b)a`."),
        (json!({ "minItems": 2 }), "At least 2 items."),
        (json!({ "format": "time" }), "Format: time."),
    ] {
        let key = property.as_object().unwrap().keys().next().unwrap().clone();
        let note = format!("/properties/p/{key}: `{key}` is moved into the description");
        assert_eq!(converted(&rules, property), Ok((json!({ "description": description }), vec![note])));
    }
    let few = Rules { keywords: Some(&["type", "properties", "required"]), ..ALL };
    // An annotation needs no note, and a bound that no 64-bit integer exceeds is none.
    let property = json!({ "type": "integer", "default": 1, "minimum": i64::MIN, "maximum": u64::MAX });
    check(&few, property, json!({ "type": "integer", "description": "Default: 1." }));
}

// A22
#[test]
fn a_choice_is_sent_as_any_of_where_the_provider_knows_no_other() {
    let rules = Rules { keywords: Some(&["type", "properties", "required", "anyOf"]), ..ALL };
    let note = vec!["/properties/p/oneOf: `oneOf` is sent as `anyOf`".to_owned()];
    assert_eq!(converted(&rules, json!({ "oneOf": [text()] })), Ok((json!({ "anyOf": [text()] }), note)));
    check(&rules, json!({ "anyOf": [text()] }), json!({ "anyOf": [text()] }));
    check(&ALL, json!({ "oneOf": [text()] }), json!({ "oneOf": [text()] }));
    let both = converted(&rules, json!({ "anyOf": [text()], "oneOf": [{ "minLength": 1 }] })).unwrap().0;
    let sentence = r#"Must also match this JSON Schema: {"oneOf":[{"minLength":1}]}."#;
    assert_eq!(both, json!({ "anyOf": [text()], "description": sentence }));
}

// A22
#[test]
fn arguments_are_wrapped_where_a_root_or_a_name_cannot_be_sent() {
    let plain = Rules { plain_names: true, ..ALL };
    let within = |schema: &Value, rules: &Rules| convert_schema(schema, rules).unwrap().within;
    let object = |name: &str| json!({ "type": "object", "properties": { name: text() } });
    for (name, is_plain) in [
        ("a", true),
        ("a.b-c_9", true),
        ("", false),
        ("é", false),
        ("a b", false),
        (&*"x".repeat(64), true),
        (&*"x".repeat(65), false),
    ] {
        assert_eq!(within(&object(name), &plain).is_none(), is_plain, "{name}");
        assert_eq!(within(&object(name), &ALL), None);
    }
    for key in ["oneOf", "anyOf"] {
        let choice = json!({ "type": "object", key: [object("a"), object("arguments")] });
        assert_eq!(within(&choice, &UNRESTRICTED), None);
        let sent = convert_schema(&choice, &ALL).unwrap();
        assert_eq!(sent.within.as_deref(), Some("arguments_"));
        assert_eq!(sent.schema["required"], json!(["arguments_"]));
        assert_eq!(sent.schema["additionalProperties"], false);
        assert_eq!(sent.schema["properties"]["arguments_"][key][0], object("a"));
        let message = "the arguments are wrapped in one property, `arguments_`, and unwrapped again";
        assert_eq!(sent.notes[0].message, message);
    }
    let reference =
        json!({ "$ref": "#/$defs/a", "$defs": { "a": object("b"), "c": { "$ref": "#/properties/q" } } });
    let sent = convert_schema(&reference, &ALL).unwrap();
    assert_eq!(sent.schema["$defs"]["a"], object("b"));
    assert_eq!(sent.schema["$defs"]["c"], json!({ "$ref": "#/properties/arguments/properties/q" }));
    assert_eq!(sent.schema["properties"]["arguments"]["$ref"], "#/$defs/a");
}

// A22
#[test]
fn a_root_without_a_type_is_an_object_and_one_that_refers_to_itself_is_narrowed_with_a_note() {
    let root = |schema: Value| convert_schema(&schema, &UNRESTRICTED).unwrap();
    for (sent, expected) in [
        (json!({}), json!({ "type": "object" })),
        (json!({ "type": "object" }), json!({ "type": "object" })),
        (json!({ "type": ["object", "null"] }), json!({ "type": ["object", "null"] })),
        (json!(true), json!({})),
    ] {
        assert_eq!(root(sent).schema, expected);
    }
    let codes = |schema: Value| {
        let converted = root(schema);
        (converted.narrowed, converted.notes.iter().map(|note| note.code).collect::<Vec<_>>())
    };
    let itself = json!({ "properties": { "a": { "$ref": "#" } } });
    assert_eq!(codes(itself.clone()), (true, vec!["root_reference"]));
    let mut typed = itself;
    typed["type"] = "object".into();
    assert_eq!(codes(typed), (false, vec![]));
    assert_eq!(
        codes(json!({ "properties": { "a": { "$ref": "#/properties/b" }, "b": {} } })),
        (false, vec![])
    );
}

// A22
#[test]
fn a_recursive_schema_is_refused_where_the_provider_supports_none() {
    let flat = Rules { recursion: false, ..ALL };
    let schema = |target: &str| {
        json!({
            "type": "object",
            "properties": { "p": { "$ref": "#/$defs/a" }, "q": { "$ref": "#/$defs/a" } },
            "$defs": { "a": { "items": { "$ref": "#/$defs/b" } }, "b": { "items": { "$ref": target } }, "c": true },
        })
    };
    let refusal = |target: &str, rules: &Rules| {
        convert_schema(&schema(target), rules).err().map(|it| (it.pointer, it.message))
    };
    assert_eq!(refusal("#/$defs/c", &flat), None);
    assert_eq!(refusal("#/$defs/a", &ALL), None);
    let found = refusal("#/$defs/a", &flat).unwrap();
    assert!(found.0 == "/$defs/a" || found.0 == "/$defs/b", "{found:?}");
    assert_eq!(found.1, "it is recursive");
    assert_eq!(refusal("#/$defs/b", &flat), Some(("/$defs/b".to_owned(), "it is recursive".to_owned())));
}
