//! Lists and tuples.

use serde_json::{Value, json};

use super::{
    super::{Objects, Rules},
    ALL, check, converted, refused,
};

const TUPLES: Rules = Rules {
    keywords: Some(&[
        "type",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "anyOf",
        "properties",
        "required",
    ]),
    items: true,
    ..ALL
};
const NO_TUPLES: Rules = Rules {
    keywords: Some(&["type", "items", "maxItems", "anyOf", "properties", "required", "description"]),
    ..TUPLES
};

fn texts() -> Value {
    json!({ "type": "string" })
}

// A22
#[test]
fn a_tuple_stays_where_the_provider_supports_tuples() {
    let tuple = json!({ "type": "array", "prefixItems": [texts(), { "type": "integer" }], "items": false });
    check(&ALL, tuple.clone(), tuple.clone());
    let closed = json!({ "type": "array", "prefixItems": [texts(), { "type": "integer" }], "maxItems": 2 });
    check(&TUPLES, tuple, closed.clone());
    check(&TUPLES, closed.clone(), closed);
    let open = json!({ "type": "array", "prefixItems": [texts()], "items": { "type": "integer" } });
    for rules in [&ALL, &TUPLES] {
        check(rules, open.clone(), open.clone());
        let unlimited = json!({ "type": "array", "prefixItems": [texts()] });
        check(rules, unlimited.clone(), unlimited);
    }
    // Items beyond the maximum are never read.
    let short = json!({ "type": "array", "prefixItems": [texts(), texts()], "items": { "type": "integer" }, "maxItems": 2 });
    check(&TUPLES, short, json!({ "type": "array", "prefixItems": [texts(), texts()], "maxItems": 2 }));
    let longer = json!({ "type": "array", "prefixItems": [texts(), texts()], "items": { "type": "integer" }, "maxItems": 3 });
    check(&TUPLES, longer.clone(), longer);
}

// A22
#[test]
fn a_tuple_becomes_a_list_where_the_provider_supports_none() {
    let note = |at: &str| {
        vec![format!(
            "/properties/p/{at}: the tuple is sent as a list; the order of its items is in the description"
        )]
    };
    let sent = |property: Value| converted(&NO_TUPLES, property);
    let same = json!({ "type": "array", "prefixItems": [texts(), texts()], "items": false });
    let list = json!({ "type": "array", "items": texts(), "maxItems": 2, "description": "The items are, in this order: string, string." });
    assert_eq!(sent(same), Ok((list, note("prefixItems"))));
    let mixed = json!({ "type": "array", "prefixItems": [texts(), { "type": "integer" }], "items": { "type": "string" } });
    let list = json!({
        "type": "array",
        "items": { "anyOf": [texts(), { "type": "integer" }] },
        "description": "The items are, in this order: string, integer.",
    });
    assert_eq!(sent(mixed), Ok((list, note("prefixItems"))));
    let values = json!({ "type": "array", "prefixItems": [{ "const": 1 }, { "type": "STRING", "enum": ["a"] }, { "minimum": 1 }], "items": false });
    let (list, _) = sent(values).unwrap();
    let text = r#"The items are, in this order: 1, ["a"], {"minimum":1}."#;
    assert!(list["description"].as_str().unwrap().starts_with(text), "{list}");
    let open = "/properties/p/prefixItems: a value of any type is allowed after the items of the tuple";
    refused(&NO_TUPLES, json!({ "type": "array", "prefixItems": [texts()] }), open);
    refused(&NO_TUPLES, json!({ "type": "array", "prefixItems": [texts()], "maxItems": 2 }), open);
    assert!(sent(json!({ "type": "array", "prefixItems": [texts()], "maxItems": 1 })).is_ok());
    assert!(sent(json!({ "type": "array", "prefixItems": [texts()], "maxItems": 0 })).is_ok());
}

// A22
#[test]
fn a_list_declares_its_items_where_the_provider_requires_it() {
    for property in [json!({ "type": "array" }), json!({ "type": ["array", "null"] })] {
        let mut with_items = property.clone();
        with_items["items"] = json!({});
        check(&TUPLES, property.clone(), with_items);
        check(&ALL, property.clone(), property.clone());
        let closed = Rules { objects: Objects::Closed, ..TUPLES };
        refused(&closed, property, "/properties/p: items of any type are allowed in the list");
    }
    check(&TUPLES, texts(), texts());
    let list = json!({ "type": "array", "items": texts() });
    check(&TUPLES, list.clone(), list);
    check(&TUPLES, json!({ "type": "array", "items": true }), json!({ "type": "array", "items": {} }));
    check(&ALL, json!({ "type": "array", "items": false }), json!({ "type": "array", "items": false }));
}
