//! Items of pages, read part by part.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use rmcp::model::CustomResult;

use super::*;

/// A page of these items, which the SDK cannot read.
fn page<T: ListedItem>(items: Value) -> Page<T> {
    let mut result = json!({});
    result[T::MEMBER] = items;
    Page::from_answer(ServerResult::CustomResult(CustomResult(result))).unwrap()
}

/// The problems of a page as texts.
fn problems<T>(page: &Page<T>) -> Vec<String> {
    let text = |problem: &Problem| match problem {
        Problem::ListedItem { name, .. } => format!("{name} is left out"),
        Problem::Members { name, members } => format!("{name} ignores {}", members.join(" ")),
        Problem::Form { name, members } => format!("{name} has {}", members.join(" ")),
        Problem::Cursor(cursor) => format!("cursor {cursor}"),
    };
    page.problems.iter().map(text).collect()
}

fn tool(members: Value) -> (Vec<Value>, Vec<String>) {
    let mut tool = json!({ "name": "t", "inputSchema": {} });
    for (name, value) in members.as_object().unwrap() {
        tool[name] = value.clone();
    }
    let page = page::<RawTool>(json!([tool]));
    let items = page.items.iter().map(|item| serde_json::to_value(item).unwrap()).collect();
    (items, problems(&page))
}

#[test]
fn the_schema_of_a_tool_is_read_in_the_forms_of_other_protocols() {
    let schema = json!({ "type": "object", "properties": { "a": {} } });
    let empty = json!({ "type": "object", "properties": {} });
    let member = |name: &str| vec![format!("t has {name}")];
    for (members, expected, problems) in [
        (json!({ "inputSchema": schema }), &schema, vec![]),
        (json!({ "inputSchema": null }), &empty, vec![]),
        (json!({ "inputSchema": null, "input_schema": schema }), &schema, member("input_schema")),
        (json!({ "inputSchema": null, "parameters": schema }), &schema, member("parameters")),
        (json!({ "inputSchema": null, "parameters": 7 }), &empty, vec![]),
        (json!({ "inputSchema": [] }), &empty, member("inputSchema")),
        (json!({ "inputSchema": true }), &empty, member("inputSchema")),
        (json!({ "inputSchema": schema.to_string() }), &schema, member("inputSchema")),
    ] {
        let (items, named) = tool(members.clone());
        assert_eq!((&items[0]["inputSchema"], named), (expected, problems), "{members}");
    }
    for members in [
        json!({ "inputSchema": "[]" }),
        json!({ "inputSchema": "schema" }),
        json!({ "inputSchema": [7] }),
        json!({ "inputSchema": false }),
        json!({ "name": 7 }),
    ] {
        let (items, named) = tool(members.clone());
        assert!(items.is_empty(), "{members}");
        let name = if members.get("name").is_some() { "without a name" } else { "t" };
        assert_eq!(named, [format!("{name} is left out")], "{members}");
    }
}

#[test]
fn a_resource_without_a_name_is_named_by_its_address() {
    for (resource, problems_of) in [
        (json!({ "uri": "a://b", "name": "n" }), vec![]),
        (json!({ "uri": "a://b" }), vec![]),
        (json!({ "uri": "a://b", "name": null }), vec![]),
        (json!({ "uri": "a://b", "name": 7 }), vec!["a://b has name"]),
    ] {
        let read = page::<Resource>(json!([resource]));
        let expected = if resource["name"] == "n" { "n" } else { "a://b" };
        assert_eq!(read.items[0].name, expected);
        assert_eq!(problems(&read), problems_of, "{resource}");
    }
    let read = page::<ResourceTemplate>(json!([{ "uriTemplate": "a://{b}" }]));
    assert_eq!(read.items[0].name, "a://{b}");
    // Nothing is made up.
    let read = page::<Resource>(json!([{ "name": 7 }, 7]));
    assert_eq!(
        problems(&read),
        ["without a name has name", "without a name is left out", "without a name is left out"]
    );
}

#[test]
fn a_part_that_cannot_be_read_costs_itself() {
    let hints = json!({ "readOnlyHint": "yes", "idempotentHint": true });
    let (items, named) = tool(json!({ "annotations": hints, "title": 7, "description": "d" }));
    assert_eq!(items[0]["annotations"], json!({ "idempotentHint": true }));
    assert_eq!((&items[0]["description"], items[0].get("title")), (&json!("d"), None));
    assert_eq!(named, ["t ignores annotations.readOnlyHint title"]);
    let icons = json!([{ "src": "a" }, { "src": 7 }, { "src": "b", "mimeType": 7 }, "c"]);
    let (items, named) = tool(json!({ "icons": icons }));
    assert_eq!(items[0]["icons"], json!([{ "src": "a" }, { "src": "b" }]));
    assert_eq!(named, ["t ignores icons[1] icons[2].mimeType icons[3]"]);
    let (items, named) = tool(json!({ "icons": 7 }));
    assert_eq!((items[0].get("icons"), named), (None, vec!["t ignores icons".to_owned()]));
}

#[test]
fn the_parts_of_an_item_are_bounded() {
    let many = |count: usize| json!({ "icons": vec![json!(7); count] });
    let ignored = |count: usize| {
        let (_, named) = tool(many(count));
        named[0].split(' ').count() - 2
    };
    assert_eq!((ignored(3), ignored(MAX_NAMED_PARTS), ignored(MAX_NAMED_PARTS + 1)), (3, 10, 10));
    // The list itself is a part, and those beyond are ignored even if they could be read.
    let icons = |count: usize| {
        let mut icons = vec![json!({ "src": "a" }); count];
        icons.insert(0, json!(7));
        let (items, _) = tool(json!({ "icons": icons }));
        items[0]["icons"].as_array().unwrap().len()
    };
    assert_eq!(icons(MAX_PARTS - 2), MAX_PARTS - 2);
    assert_eq!(icons(MAX_PARTS), MAX_PARTS - 2);
}

#[test]
fn a_page_ends_behind_the_first_item_that_is_too_much() {
    let of = |count: usize| page::<RawTool>(vec![json!({ "name": "t", "inputSchema": {} }); count].into());
    assert_eq!(of(RawTool::MAX_ITEMS).items.len(), RawTool::MAX_ITEMS);
    assert_eq!(of(RawTool::MAX_ITEMS + 5).items.len(), RawTool::MAX_ITEMS + 1);
    let mut mixed = vec![json!(7); 3];
    mixed.extend(vec![json!({ "name": "t", "inputSchema": {} }); RawTool::MAX_ITEMS]);
    let read = page::<RawTool>(mixed.into());
    assert_eq!((read.items.len(), read.problems.len()), (RawTool::MAX_ITEMS - 2, 3));
}

#[test]
fn a_page_has_its_size_and_its_cursor() {
    let read = |result: Value| {
        Page::<RawTool>::from_answer(ServerResult::CustomResult(CustomResult(result)))
            .map(|page| (page.next.clone(), page.bytes, problems(&page)))
    };
    let bytes = json!({ "tools": [], "nextCursor": "c" }).to_string().len();
    assert_eq!(read(json!({ "tools": [], "nextCursor": "c" })), Some((Some("c".to_owned()), bytes, vec![])));
    assert_eq!(read(json!({ "tools": [], "nextCursor": null })).unwrap().0, None);
    let problem = read(json!({ "tools": [], "nextCursor": ["x".repeat(400)] })).unwrap().2;
    assert_eq!(problem[0].chars().count(), "cursor ".len() + MAX_PROBLEM_CHARS);
    for other in [json!({}), json!({ "tools": 7 }), json!({ "prompts": [] }), json!([])] {
        assert_eq!(read(other), None);
    }
    let other: ServerResult = serde_json::from_value(json!({ "prompts": [] })).unwrap();
    assert!(Page::<RawTool>::from_answer(other).is_none());
}
