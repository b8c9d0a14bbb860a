//! Neither depth nor repetition exhausts the stack or the time.

use serde_json::{Value, json};

use crate::{Arguments, Violations, internal_keywords::ALIASES};

use super::{check, correct, plan, said};
use crate::arguments::plan::{
    check::{ValidationWalk, report_violations_by_walk},
    node::NodeId,
};

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |value, _| json!([value]))
}

#[test]
fn value_that_is_nested_too_deeply_is_refused_by_every_schema() {
    for schema in [
        json!(true),
        json!({"items": {"$ref": "#"}}),
        json!({"not": {"items": {"$ref": "#"}, "type": "string"}}),
    ] {
        check(schema.clone(), [nested(512)], []);
        let expected =
            ": a value that is nested at most 512 levels deep, got a value that is nested more deeply";
        assert_eq!(said(&schema, &nested(513)), [expected]);
        let mut value = nested(513);
        assert!(!plan(&schema).normalize_value(&mut value).changed);
    }
}

#[test]
fn long_chains_of_schemas_allow_less_depth() {
    // 64 nested schemas at each level of the value.
    let schema = (0..62).fold(json!({"items": {"$ref": "#"}}), |schema, _| json!({"allOf": [schema]}));
    check(schema.clone(), [nested(32)], [nested(33)]);
    let mut value = nested(32);
    assert!(!plan(&schema).normalize_value(&mut value).changed);
}

#[test]
fn deepest_walk_fits_the_stack() {
    let schema = json!({
        "anyOf": [{"type": "null"}, {"allOf": [{"oneOf": [{"type": "string"}, {"items": {"$ref": "#"}, "type": ["array", "integer"]}]}]}]
    });
    let plan = plan(&schema);
    let value = nested(plan.deepest);
    assert!(plan.admits(&value));
    let mut wrong = json!(true);
    for _ in 0..plan.deepest {
        wrong = json!([wrong]);
    }
    assert_eq!(plan.violations(&wrong).len(), 1);
    plan.normalize_value(&mut wrong);
}

#[test]
fn branches_within_branches_take_no_exponential_time() {
    // Each level takes twice the time otherwise, so that this does not end.
    for key in ["anyOf", "oneOf", "allOf"] {
        let branch = |last: &str| json!({"properties": {"child": {"$ref": "#"}, "last": {"const": last}}});
        let schema = json!({key: [branch("x"), {"allOf": [branch("y"), branch("z")]}]});
        let mut value = json!({"last": "none"});
        for _ in 0..200 {
            value = json!({"child": value});
        }
        assert!(!said(&schema, &value).is_empty());
    }
}

/// A schema whose `last` applies to one value in 2^`links` ways, by two references at each link.
fn doubled(links: usize, last: &Value) -> Value {
    let mut schema = json!({"$ref": "#/$defs/0", "$defs": {links.to_string(): last}});
    for at in 0..links {
        let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
        schema["$defs"][at.to_string()] = json!({"allOf": [next, next]});
    }
    schema
}

#[test]
fn scalar_that_a_schema_applies_to_in_many_ways_is_checked_few_times() {
    let schema = doubled(20, &json!({"type": "integer"}));
    let plan = plan(&schema);
    let mut verdict = ValidationWalk::new(&plan);
    assert!(verdict.admits(NodeId::ROOT, &json!(1)));
    let mut report = ValidationWalk::new(&plan);
    assert_eq!(Violations::from(report_violations_by_walk(&mut report, &json!("one"))).total(), 1);
    // Results are cached after a thousand visits.
    assert_eq!((verdict.steps, report.steps), (2_003, 2_039));
    // Property names, each of which is a temporary value.
    let schema = doubled(20, &json!({"maxLength": 1}));
    let names = json!({"propertyNames": {"$ref": "#/$defs/0"}, "$defs": schema["$defs"]});
    check(names, [json!({"a": 1, "b": 2})], [json!({"a": 1, "bb": 2}), json!({"aa": 1, "b": 2})]);
}

#[test]
fn what_applies_to_an_object_in_many_ways_is_asked_once_what_it_says_of_a_property() {
    let optional = doubled(30, &json!({"properties": {"a": {"type": "integer"}}}));
    let mut absent = json!({"a": null});
    assert!(plan(&optional).normalize_value(&mut absent).changed);
    assert_eq!(absent, json!({}));
    let mut closed = optional;
    closed["unevaluatedProperties"] = json!(false);
    check(closed, [json!({"a": 1})], [json!({"a": 1, "b": 1})]);
}

#[test]
fn unevaluated_properties_at_every_level_take_no_exponential_time() {
    // Each level takes twice the time otherwise, so that this does not end.
    let branch = |name: &str| json!({"properties": {"child": {"$ref": "#"}, name: {"type": "integer"}}});
    let schema = json!({"anyOf": [branch("a"), branch("b")], "unevaluatedProperties": false});
    let nested = |inner: Value| (0..200).fold(inner, |value, _| json!({"a": 1, "child": value}));
    check(schema, [nested(json!({}))], [nested(json!({"c": 1}))]);
}

#[test]
fn items_of_a_long_list_are_not_compared_in_pairs() {
    // The pairs take an hour, so that this does not end.
    let items: Vec<_> = (0..300_000).map(|at| json!(at)).collect();
    check(json!({"uniqueItems": true}), [json!(items)], []);
}

#[test]
fn what_a_text_holds_is_not_nested_more_deeply_than_a_text_may_be() {
    let schema = json!({"type": ["array", "boolean"], "items": {"$ref": "#"}});
    let plan = plan(&schema);
    let text = |outer: usize, inner: usize| {
        let text = Value::from(nested(inner).to_string().replace('1', "true"));
        (0..outer).fold(text, |value, _| json!([value])).to_string()
    };
    let (corrected, _) = correct(&plan, &text(100, 28)).unwrap();
    assert!(plan.fit(corrected.into()).is_ok());
    assert_eq!(correct(&plan, &text(100, 29)), None);
    // A string inside a string inside a string.
    let mut matryoshka = json!("true");
    for _ in 0..10 {
        matryoshka = Value::from(json!([[[[matryoshka]]]]).to_string());
    }
    assert_eq!(correct(&plan, &matryoshka.to_string()).unwrap().1.len(), 11);
}

#[test]
fn correcting_deep_values_fits_the_stack() {
    let schema = json!({
        "anyOf": [{"type": "null"}, {"allOf": [{"oneOf": [{"type": "boolean"}, {"items": {"$ref": "#"}, "type": "array"}]}]}]
    });
    let mut value = json!("true");
    for _ in 0..128 {
        value = json!([value]);
    }
    correct(&plan(&schema), &value.to_string());
}

#[test]
fn correcting_within_branches_takes_no_exponential_time() {
    // Each level takes twice the time otherwise, so that this does not end.
    for key in ["anyOf", "oneOf", "allOf"] {
        let branch = |last: &str| json!({"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}, "last": {"const": last}}});
        let schema = json!({key: [branch("x"), {"allOf": [branch("y"), branch("z")]}, {"anyOf": [branch("u"), {"type": "array"}]}]});
        let mut value = json!({"last": "none", "n": "3", "more": vec![1; 10_000]});
        for _ in 0..120 {
            value = json!({"child": value, "n": "5"});
        }
        assert_eq!(correct(&plan(&schema), &value.to_string()), None);
    }
}

#[test]
fn report_lists_twenty_violations_in_the_order_of_the_arguments_and_counts_all() {
    // E05
    let plan = plan(&json!({
        "properties": {"xs": {"items": {"type": "integer"}}, "y": {"type": "integer"}, "z": {"type": "integer"}},
        "required": ["x", "y"]
    }));
    let value = json!({"y": "a", "xs": vec!["b"; 30_000], "z": "c"});
    let violations = plan.violations(&value);
    assert_eq!((violations.len(), violations.total()), (20, 30_003));
    let pointers: Vec<_> = violations.iter().map(|it| it.pointer.as_str()).collect();
    assert_eq!(pointers[..3], ["/y", "/xs/0", "/xs/1"]);
    assert_eq!(pointers[19], "/xs/18");

    let text = serde_json::to_string(&value).unwrap();
    let error = plan.fit(Arguments::from(text.as_str())).unwrap_err();
    assert_eq!(*error.violations(), violations);
    assert!(violations.lines(4 * 1024).ends_with("\n- and 29,983 more"), "{}", violations.lines(4 * 1024));
    assert!(error.to_string().ends_with("; and 29,983 more"), "{error}");
}

#[test]
fn repeated_names_and_numbers_beyond_floats_are_listed_among_the_others_in_order() {
    let plan = plan(&json!({"additionalProperties": {"type": "integer", "maximum": 5}}));
    let report = |text: &str| plan.fit(Arguments::from(text)).unwrap_err().violations().clone();
    let many = |count: usize| (0..count).map(|at| format!(r#""p{at}":"x","#)).collect::<String>();

    let violations = report(&format!(r#"{{"a":1,"a":2,"b":1e999,{}"c":1}}"#, many(40)));
    assert_eq!((violations.len(), violations.total()), (20, 42));
    assert_eq!(violations[0].to_string(), "/a: expected the property once, got it twice");
    assert_eq!(violations[1].to_string(), "/b: expected at most 5, got 1e999");

    let twice = r#""a":1,"#.repeat(50);
    let violations = report(&format!(r#"{{{twice}"b":"x"}}"#));
    assert_eq!((violations.len(), violations.total()), (2, 2), "once for the place: {violations}");
}

#[test]
fn each_part_of_a_violation_has_at_most_200_characters_whatever_came() {
    let long = "ä".repeat(1_000_000);
    let name = format!("n{long}");
    let escapes = "\u{1}".repeat(100);
    let values: Vec<_> = (0..30).map(|at| format!("{at}{}", "v".repeat(100))).collect();
    let properties: serde_json::Map<_, _> = values.iter().map(|name| (name.clone(), json!({}))).collect();
    for (schema, value) in [
        (json!({"additionalProperties": false}), json!({ name.clone(): 1 })),
        (json!({"additionalProperties": false, "properties": properties}), json!({ &values[1][1..]: 1 })),
        (json!({"additionalProperties": {"type": "integer"}}), json!({ name.clone(): {"x": long} })),
        (json!({"additionalProperties": {"items": {"type": "null"}}}), json!({ name.clone(): [1, 2, 3] })),
        (json!({"required": [name]}), json!({})),
        (json!({"propertyNames": {"maxLength": 3}}), json!({ name.clone(): 1 })),
        (json!({"dependentRequired": {name.clone(): ["b"]}}), json!({ name.clone(): 1 })),
        (json!({"properties": {"a": {"enum": values}}}), json!({"a": &values[7][1..]})),
        (json!({"properties": {"a": {"const": long}}}), json!({"a": 1})),
        (json!({"properties": {"a": {"enum": [long, name]}}}), json!({"a": long[2..]})),
        (json!({"properties": {"a": {"type": "integer"}}}), json!({"a": escapes})),
        (json!({"properties": {"a": {"pattern": format!("^{}$", values.concat())}}}), json!({"a": "x"})),
        (json!({"anyOf": values.iter().map(|it| json!({"required": [it]})).collect::<Vec<_>>()}), json!({})),
    ] {
        let text = serde_json::to_string(&value).unwrap();
        let error = plan(&schema).fit(Arguments::from(text.as_str())).unwrap_err();
        for it in error.violations() {
            for part in [&it.pointer, &it.expected, &it.received] {
                assert!(part.chars().count() <= 200, "{} characters: {part}", part.chars().count());
            }
        }
    }
}

#[test]
fn pointer_that_is_shortened_shows_both_of_its_ends() {
    let plan = plan(&json!({"additionalProperties": {"additionalProperties": {"type": "null"}}}));
    let violations = plan.violations(&json!({ "a".repeat(400): {"last": 1} }));
    let pointer = &violations[0].pointer;
    assert!(
        pointer.starts_with("/aaa") && pointer.contains("a…a") && pointer.ends_with("a/last"),
        "{pointer}"
    );
}

#[test]
fn near_name_among_many_values_is_found_and_a_text_that_is_listed_is_admitted() {
    let names: Vec<_> = (0..5_000).map(|at| format!("value_{:05}", at * 7 % 5_000)).collect();
    let mut values: Vec<_> = names.iter().map(|name| json!(name)).collect();
    values.extend([json!(3), json!(null)]);
    let schema = json!({"enum": values});
    check(
        schema.clone(),
        [json!("value_04999"), json!("value_00000"), json!(3.0), json!(null)],
        [json!("value_5000")],
    );
    let said = said(&schema, &json!("valeu_04998"));
    assert!(
        said[0].ends_with(r#" (5002 in all); did you mean "value_04998"?, got "valeu_04998""#),
        "{said:?}"
    );
}

#[test]
fn arguments_whose_normal_form_takes_too_long_to_find_are_refused_by_checks_and_hooks_alike() {
    // Each level of a list is a choice, which costs as much as the whole list within.
    let choice = json!({"anyOf": [{"type": "integer"}, {"type": "number"}, {"items": {"$ref": "#/$defs/choice"}, "type": "array"}]});
    let schema = json!({"properties": {"list": {"$ref": "#/$defs/choice"}}, "$defs": {"choice": choice}});
    let plan = plan(&schema);
    let nested =
        |inner: String| (0..100).fold(inner, |value, _| format!("[{value},[{}]]", vec!["1"; 200].join(",")));
    let few = format!(r#"{{"list":{}}}"#, "[".repeat(40) + "1.0" + &"]".repeat(40));
    assert_eq!(plan.fit(Arguments::from(&*few)).unwrap().as_str(), few.replace("1.0", "1"));
    assert_eq!(plan.canonical(Arguments::from(&*few)).unwrap().as_str(), few.replace("1.0", "1"));
    let many = format!(r#"{{"list":{}}}"#, nested("1.0".to_owned()));
    for refused in [plan.fit(Arguments::from(&*many)), plan.canonical(Arguments::from(&*many))] {
        let error = refused.unwrap_err();
        assert_eq!(error.violations()[0].received, "too many choices within choices");
    }
    let settled = many.replace("1.0", "1");
    assert_eq!(plan.fit(Arguments::from(&*settled)).unwrap().as_str(), settled);
    assert_eq!(plan.canonical(Arguments::from(&*settled)).unwrap().as_str(), settled);
}

#[test]
fn arguments_are_refused_where_an_alias_may_be_in_a_part_that_took_too_long() {
    let named = json!({"type": "object", "properties": {"name": {"type": "string", (ALIASES): ["n"]}}});
    let choice = json!({"anyOf": [{"type": "integer"}, {"type": "number"}, named, {"items": {"$ref": "#/$defs/choice"}, "type": "array"}]});
    let schema = json!({"additionalProperties": {"$ref": "#/$defs/choice"}, "$defs": {"choice": choice}});
    let plan = plan(&schema);
    let nested = |inner: &str| {
        (0..100).fold(inner.to_owned(), |value, _| format!("[{value},[{}]]", vec!["1"; 200].join(",")))
    };
    let short = format!(r#"{{"list":{}{{"n":"x"}}{}}}"#, "[".repeat(40), "]".repeat(40));
    let renamed = short.replace(r#""n""#, r#""name""#);
    assert_eq!(plan.canonical(Arguments::from(&*short)).unwrap().as_str(), renamed);
    let long = nested(r#"{"n":"x"}"#);
    for text in [format!(r#"{{"list":{long}}}"#), format!(r#"{{"first":[1],"list":{long},"last":[1]}}"#)] {
        let error = plan.canonical(Arguments::from(&*text)).unwrap_err();
        assert_eq!(error.violations()[0].received, "too many choices within choices");
    }
    let without = format!(r#"{{"list":{}}}"#, nested(r#"{"name":"x"}"#));
    assert_eq!(plan.canonical(Arguments::from(&*without)).unwrap().as_str(), without);
}

#[test]
fn values_that_are_validated_as_a_whole_share_the_step_limit_of_a_document() {
    let mut schema = doubled(13, &json!({"type": "null"}));
    let choice = json!({"anyOf": [{"type": "string"}, {"$ref": schema["$ref"].take()}]});
    schema = json!({"properties": {"list": {"items": choice}}, "$defs": schema["$defs"].take()});
    let plan = plan(&schema);
    let list = |count: usize| format!(r#"{{"list":[{}]}}"#, vec!["null"; count].join(","));
    let verdicts = |text: &str| {
        let read = plan.is_readable(text);
        [read, plan.fit(Arguments::from(text)).is_ok(), plan.canonical(Arguments::from(text)).is_ok()]
    };
    assert_eq!(verdicts(&list(10)), [true; 3]);
    assert_eq!(verdicts(&list(100)), [false; 3]);
}
