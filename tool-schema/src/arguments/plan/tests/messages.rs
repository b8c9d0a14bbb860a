//! The messages that a model reads.

use serde_json::{Value, json};

use super::said;

#[track_caller]
fn check(schema: Value, value: Value, expected: &[&str]) {
    assert_eq!(said(&schema, &value), expected);
}

#[test]
fn wrong_type_is_named_with_what_came() {
    check(json!({"type": "integer"}), json!(null), &[": an integer, got null"]);
    check(json!({"type": "number"}), json!("3"), &[r#": a number, got "3""#]);
    check(json!({"type": ["null", "string"]}), json!([1]), &[": a string or null, got [1]"]);
    check(
        json!({"type": ["integer", "array", "null"]}),
        json!({}),
        &[": an integer, an array or null, got {}"],
    );
    check(json!(false), json!(1), &[": no value at all, got 1"]);
}

#[test]
fn wrong_type_is_the_only_fault_of_a_value() {
    check(
        json!({"type": "string", "minLength": 3, "not": {"type": "array"}}),
        json!([]),
        &[": a string, got []"],
    );
}

#[test]
fn bounds_are_said_in_words() {
    let schema = json!({"type": "integer", "minimum": 1, "maximum": 14});
    check(schema.clone(), json!(15), &[": at most 14, got 15"]);
    check(schema, json!(0), &[": at least 1, got 0"]);
    check(json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1.5}), json!(1.5), &[": less than 1.5, got 1.5"]);
    check(json!({"exclusiveMinimum": 0}), json!(0), &[": more than 0, got 0"]);
    check(json!({"multipleOf": 0.5}), json!(0.7), &[": a multiple of 0.5, got 0.7"]);
}

#[test]
fn lengths_are_said_in_words() {
    check(json!({"minLength": 1}), json!(""), &[r#": at least 1 character, got """#]);
    check(json!({"maxLength": 2}), json!("éaé"), &[r#": at most 2 characters, got "éaé""#]);
    check(json!({"minItems": 2}), json!([1]), &[": at least 2 items, got [1]"]);
    check(json!({"maxItems": 1}), json!([1, 2]), &[": at most 1 item, got [1,2]"]);
    check(json!({"minProperties": 1}), json!({}), &[": at least 1 property, got {}"]);
    check(json!({"pattern": "^a"}), json!("b"), &[r#": a string that matches the pattern `^a`, got "b""#]);
}

#[test]
fn missing_property_is_named_with_its_kind() {
    let schema = json!({
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["c", "f"]}, "tags": {"type": ["array", "null"]}, "any": {}},
        "required": ["city", "unit", "tags", "any", "other"]
    });
    check(
        schema,
        json!({}),
        &[
            "/city: the property `city`, which is required (string), got nothing",
            r#"/unit: the property `unit`, which is required (one of "c", "f"), got nothing"#,
            "/tags: the property `tags`, which is required (array or null), got nothing",
            "/any: the property `any`, which is required, got nothing",
            "/other: the property `other`, which is required, got nothing",
        ],
    );
}

#[test]
fn property_that_another_requires_names_both() {
    check(
        json!({"dependentRequired": {"a": ["b"]}, "properties": {"b": {"type": "integer"}}}),
        json!({"a": 1}),
        &["/b: the property `b`, which is required beside `a` (integer), got nothing"],
    );
}

#[test]
fn unknown_property_brings_the_known_ones() {
    let schema = json!({"properties": {"limit": {}, "query": {}}, "additionalProperties": false});
    check(
        schema.clone(),
        json!({"limt": 5}),
        &["/limt: a property that the schema knows; did you mean `limit`? known: `limit`, `query`, got 5"],
    );
    check(
        schema.clone(),
        json!({"offset": 5}),
        &["/offset: a property that the schema knows; known: `limit`, `query`, got 5"],
    );
    // The property is already present, so it is not suggested.
    check(
        schema,
        json!({"limit": 1, "limt": 5}),
        &["/limt: a property that the schema knows; known: `limit`, `query`, got 5"],
    );
    check(
        json!({"properties": {}, "additionalProperties": false}),
        json!({"a": 1}),
        &["/a: no such property, got 1"],
    );
}

#[test]
fn name_in_another_style_is_suggested() {
    let schema = json!({"properties": {"max_results": {}, "min_results": {}}, "additionalProperties": false});
    for name in ["maxResults", "max-results", "MAX_RESULTS", "max_result", "max_resutls"] {
        let said = said(&schema, &json!({name: 1}));
        assert!(said.iter().all(|it| it.contains("did you mean `max_results`?")), "{said:?}");
    }
}

#[test]
fn swapped_letters_are_one_mistake() {
    let said = said(&json!({"properties": {"id": {}}, "additionalProperties": false}), &json!({"di": 1}));
    assert!(said.iter().all(|it| it.contains("did you mean `id`?")), "{said:?}");
}

#[test]
fn enum_lists_its_values() {
    check(
        json!({"enum": ["celsius", "fahrenheit"]}),
        json!("kelvin"),
        &[r#": one of "celsius", "fahrenheit", got "kelvin""#],
    );
    check(json!({"type": "string", "enum": ["a", "b"]}), json!(1), &[r#": one of "a", "b", got 1"#]);
    check(json!({"const": "a"}), json!("b"), &[r#": "a", got "b""#]);
}

#[test]
fn long_enum_is_counted_and_suggests() {
    let values: Vec<_> = (0..35).map(|at| format!("region-number-{at}")).collect();
    let said = said(&json!({"enum": values}), &json!("region-nunber-34"));
    let said = said.first().unwrap();
    assert!(said.contains(r#""region-number-5", … (35 in all); did you mean "region-number-34"?"#), "{said}");
    assert!(!said.contains("region-number-6"), "{said}");
}

#[test]
fn long_text_is_cut_at_a_character_and_measured() {
    let cut = format!(": an integer, got \"{}…\" (100000 characters)", "é".repeat(80));
    check(json!({"type": "integer"}), json!("é".repeat(100_000)), &[&cut]);
    let whole = format!(": an integer, got \"{}\"", "é".repeat(80));
    check(json!({"type": "integer"}), json!("é".repeat(80)), &[&whole]);
}

#[test]
fn long_list_and_long_object_are_cut_and_measured() {
    let items: Vec<_> = (0..10_000).collect();
    let said_of_list = said(&json!({"type": "string"}), &json!(items));
    let said_of_list = said_of_list.first().unwrap();
    assert!(said_of_list.starts_with(": a string, got [0,1,2,"), "{said_of_list}");
    assert!(said_of_list.ends_with("… (10000 items)"), "{said_of_list}");
    assert!(said_of_list.chars().count() < 130, "{said_of_list}");
    let object = json!({"text": "é".repeat(100_000), "more": 1});
    let said_of_object = said(&json!({"type": "string"}), &object);
    assert!(said_of_object.first().unwrap().ends_with("é… (2 properties)"), "{said_of_object:?}");
}

#[test]
fn a_value_is_shown_up_to_eighty_characters_of_any_width() {
    for letter in ["a", "é", "日", "🦀"] {
        let list = |count: usize| json!([letter.repeat(count)]);
        let whole = format!(": a string, got [\"{}\"]", letter.repeat(76));
        check(json!({"type": "string"}), list(76), &[&whole]);
        for count in [77, 78, 79, 80, 500] {
            let rest = 78.min(count);
            let end = if count < 78 { "\"" } else { "" };
            let cut = format!(": a string, got [\"{}{end}… (1 item)", letter.repeat(rest));
            check(json!({"type": "string"}), list(count), &[&cut]);
        }
        let object = json!({ letter.repeat(40): letter.repeat(40), "b": [letter.repeat(9)] });
        let start: String = object.to_string().chars().take(80).collect();
        check(json!({"type": "string"}), object, &[&format!(": a string, got {start}… (2 properties)")]);
    }
}

#[test]
fn an_object_is_described_by_its_first_four_required_properties() {
    let schema = |names: &[&str]| json!({ "properties": { "a": { "type": "object", "required": names } }, "required": ["a"] });
    for (names, kind) in [
        (&["p", "q", "r", "s"][..], "object with `p`, `q`, `r`, `s`"),
        (&["p", "q", "r", "s", "t"], "object with `p`, `q`, `r`, `s`"),
        (&["p"], "object with `p`"),
        (&[], "object"),
    ] {
        let expected = format!("/a: the property `a`, which is required ({kind}), got nothing");
        check(schema(names), json!({}), &[&expected]);
    }
}

#[test]
fn a_list_of_values_ends_where_it_would_be_too_long() {
    let all = |count: usize, length: usize| -> Vec<String> {
        (0..count).map(|at| format!("{at:0>length$}")).collect()
    };
    let listed = |values: &[String], count: usize| {
        let shown: Vec<_> = values.iter().take(count).map(|it| format!("{it:?}")).collect();
        let rest =
            if values.len() > count { format!(", … ({} in all)", values.len()) } else { String::new() };
        format!(": one of {}{rest}, got 1", shown.join(", "))
    };
    // Each value counts its quotes, a comma and a blank: at most 150 characters.
    for (count, length, shown) in
        [(2, 71, 2), (2, 72, 1), (3, 46, 3), (3, 47, 2), (20, 3, 20), (20, 4, 18), (21, 1, 20)]
    {
        let values = all(count, length);
        check(json!({ "enum": values }), json!(1), &[&listed(&values, shown)]);
    }
}

#[test]
fn items_are_named_by_their_index() {
    let schema = json!({"properties": {"a/b": {"items": {"type": "integer"}}}});
    check(
        schema,
        json!({"a/b": [1, "x", 3, null]}),
        &[r#"/a~1b/1: an integer, got "x""#, "/a~1b/3: an integer, got null"],
    );
    check(
        json!({"prefixItems": [true], "items": false}),
        json!([1, 2, 3]),
        &["/1: no item here; at most 1 item, got 2", "/2: no item here; at most 1 item, got 3"],
    );
}

#[test]
fn repeated_item_names_the_first_of_its_kind() {
    check(
        json!({"uniqueItems": true}),
        json!(["a", "b", "a", "a"]),
        &[
            r#"/2: an item that differs from all others; item 0 is equal, got "a""#,
            r#"/3: an item that differs from all others; item 0 is equal, got "a""#,
        ],
    );
}

#[test]
fn contained_items_are_described() {
    check(
        json!({"contains": {"type": "integer"}}),
        json!(["a"]),
        &[r#": at least 1 item of this kind: an integer, got ["a"]"#],
    );
    check(
        json!({"contains": {"const": 1}, "maxContains": 1}),
        json!([1, 1]),
        &[": at most 1 item of this kind: 1, got [1,1]"],
    );
}

#[test]
fn name_of_a_property_is_explained() {
    check(
        json!({"propertyNames": {"maxLength": 2, "pattern": "^a"}}),
        json!({"bcd": 1}),
        &[
            r#"/bcd: another name for this property: at most 2 characters, a string that matches the pattern `^a`, got "bcd""#,
        ],
    );
}

#[test]
fn what_is_not_allowed_is_named() {
    check(json!({"not": {"type": "string"}}), json!("a"), &[r#": anything but a string, got "a""#]);
    check(json!({"not": {"enum": [1, 2]}}), json!(1), &[": anything but one of 1, 2, got 1"]);
}

#[test]
fn violations_come_in_the_order_of_the_document() {
    let schema = json!({
        "allOf": [
            {"properties": {"b": {"type": "integer"}}, "required": ["z"]},
            {"properties": {"c": {"items": {"type": "null"}}}}
        ],
        "properties": {"a": {"type": "string"}, "c": {"minItems": 3}},
        "required": ["z"],
        "minProperties": 9
    });
    let value = json!({"c": [1, null], "b": "x", "a": 1});
    check(
        schema,
        value,
        &[
            r#": at least 9 properties, got {"c":[1,null],"b":"x","a":1}"#,
            "/c: at least 3 items, got [1,null]",
            "/c/0: null, got 1",
            r#"/b: an integer, got "x""#,
            "/a: a string, got 1",
            "/z: the property `z`, which is required, got nothing",
        ],
    );
}

#[test]
fn what_is_left_over_is_named() {
    check(
        json!({"anyOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}),
        json!({"a": 1, "b": 2}),
        &["/b: a property that the schema knows, got 2"],
    );
    check(
        json!({"allOf": [{"prefixItems": [{}]}], "unevaluatedItems": {"type": "string"}}),
        json!([1, 2]),
        &["/1: a string, got 2"],
    );
    check(json!({"unevaluatedItems": false}), json!([1]), &["/0: no item here, got 1"]);
}

#[test]
fn branches_within_branches_are_summarised_three_levels_deep() {
    let nested = |levels: usize| {
        (0..levels)
            .fold(json!({ "type": "string" }), |inner, _| json!({ "anyOf": [inner, { "type": "null" }] }))
    };
    let missing =
        |schema: Value| said(&json!({ "properties": { "a": schema }, "required": ["a"] }), &json!({}));
    for (levels, kind) in [
        (0, "string"),
        (1, "any of: a string; null"),
        (2, "any of: any of: a string; null; null"),
        (3, "any of: any of: any of: a string; null; null; null"),
    ] {
        assert_eq!(
            missing(nested(levels)),
            [format!("/a: the property `a`, which is required ({kind}), got nothing")]
        );
    }
    let of_all = |levels: usize| {
        (0..levels)
            .fold(json!({ "type": "string" }), |inner, _| json!({ "allOf": [{ "minLength": 1 }, inner] }))
    };
    for (levels, kind) in [(1, " (string)"), (2, " (string)"), (3, " (string)"), (4, "")] {
        assert_eq!(
            missing(of_all(levels)),
            [format!("/a: the property `a`, which is required{kind}, got nothing")],
            "{levels}"
        );
    }
}

#[test]
fn more_than_twenty_branches_are_counted() {
    let texts = |count: usize| json!({ "anyOf": vec![json!({ "type": "string" }); count] });
    check(texts(1), json!(5), &[": any of: a string, got 5"]);
    check(texts(20), json!(5), &[": any of: a string, got 5"]);
    check(texts(21), json!(5), &[": any of: a string; … (21 in all), got 5"]);
    let last = |count: usize| {
        let mut branches = vec![json!({ "type": "string" }); count - 1];
        branches.push(json!({ "type": "null" }));
        json!({ "oneOf": branches })
    };
    check(last(20), json!(5), &[": any of: a string; null, got 5"]);
    check(last(21), json!(5), &[": any of: a string; … (21 in all), got 5"]);
}

#[test]
fn a_list_of_permitted_values_has_at_least_one_and_only_a_long_one_has_a_suggestion() {
    use crate::arguments::plan::messages::one_of;

    let names = |count: usize| (0..count).map(|at| json!(format!("n{at}"))).collect::<Vec<_>>();
    assert_eq!(
        (one_of(&[], None), one_of(&names(1), None)),
        ("no value at all".to_owned(), "\"n0\"".to_owned())
    );
    let received = json!("n3x");
    assert!(!one_of(&names(20), Some(&received)).contains("did you mean"));
    assert!(one_of(&names(21), Some(&received)).ends_with("; did you mean \"n3\"?"));
    // The first value is longer than the room beside the suggestion.
    let long = "x".repeat(118);
    let mut values = vec![json!(long), json!("get_weather_forecast_of_tomorrow_1")];
    values.extend(names(19));
    assert_eq!(
        one_of(&values, Some(&json!("get_weather_forecast_of_tomorrow_2"))),
        format!("one of \"{long}\", … (21 in all); did you mean \"get_weather_forecast_of_tomorrow_1\"?")
    );
}
