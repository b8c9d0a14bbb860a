//! Hints, definitions and cursors (kinds H and I).

use serde_json::{Value, json};
use tool_mcp::client::McpToolSet;

use super::{answered, codes};
use crate::client::{config, fake::Fakes, lives::tool, names_of, tools_of};

/// The toolset of a server whose listing has these pages.
async fn listing(pages: Vec<Value>) -> McpToolSet {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.initialize().await;
        for page in pages {
            let request = fake.expect("tools/list").await;
            fake.answer(&request, page).await;
        }
        fake
    });
    let set = builder.connect().await.unwrap();
    drop(fake.await.unwrap());
    set
}

#[tokio::test]
async fn a_part_of_a_definition_costs_itself_at_any_depth() {
    for (members, ignored) in [
        (
            json!({ "annotations": { "readOnlyHint": 1, "idempotentHint": true, "title": ["x"] } }),
            &["annotations.readOnlyHint", "annotations.title"][..],
        ),
        (json!({ "annotations": [{ "readOnlyHint": true }] }), &["annotations"]),
        (
            json!({ "icons": [{ "src": "a", "sizes": ["48x48", 7], "theme": "purple" }, { "src": "b" }, 7] }),
            &["icons[0].sizes[1]", "icons[0].theme", "icons[2]"],
        ),
        (json!({ "icons": { "src": "a" } }), &["icons"]),
        (json!({ "description": { "en": "Adds." } }), &["description"]),
        (json!({ "outputSchema": [] }), &["outputSchema"]),
        (json!({ "outputSchema": true }), &["outputSchema"]),
        (json!({ "_meta": [1] }), &["_meta"]),
    ] {
        let mut odd = tool("odd");
        odd.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let set = listing(vec![json!({ "tools": [odd] })]).await;
        let diagnostics = set.diagnostics();
        assert_eq!(diagnostics.len(), 1, "{members}: {diagnostics:?}");
        let text = diagnostics[0].to_string();
        assert!(ignored.iter().all(|path| text.contains(&format!("`{path}`"))), "{members}: {text}");
        assert_eq!(text.matches('`').count(), 2 * (ignored.len() + 1), "{members}: {text}");
        let metadata = tools_of(&set).await[0].definition().metadata().clone();
        assert_eq!(metadata.read_only, None, "{members}");
    }
}

#[tokio::test]
async fn hints_of_another_case_and_null_are_absent() {
    for members in [
        json!({ "annotations": { "ReadOnlyHint": true, "readonlyhint": true } }),
        json!({ "annotations": { "readOnlyHint": null }, "title": null, "description": null, "icons": null }),
        json!({ "annotations": null, "outputSchema": null, "_meta": null }),
        json!({ "execution": { "taskSupport": "sometimes" } }),
    ] {
        let mut odd = tool("odd");
        odd.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let set = listing(vec![json!({ "tools": [odd] })]).await;
        assert_eq!((names_of(&set).await, codes(&set)), (vec!["odd".to_owned()], vec![]), "{members}");
        assert_eq!(tools_of(&set).await[0].definition().metadata().read_only, None, "{members}");
    }
}

#[tokio::test]
async fn a_schema_of_another_form_is_read_and_says_so() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let empty = json!({ "type": "object", "properties": {} });
    for (definition, expected) in [
        (json!({ "name": "t", "inputSchema": [] }), &empty),
        (json!({ "name": "t", "inputSchema": true }), &empty),
        (json!({ "name": "t", "inputSchema": schema.to_string() }), &schema),
        (json!({ "name": "t", "input_schema": schema }), &schema),
        (json!({ "name": "t", "inputSchema": null, "parameters": schema }), &schema),
    ] {
        let set = listing(vec![json!({ "tools": [definition] })]).await;
        assert_eq!(codes(&set), ["unreadable_hint"], "{definition}");
        assert_eq!(tools_of(&set).await[0].definition().input_schema().as_value(), expected, "{definition}");
    }
    // What is no schema in any form costs the tool alone.
    for definition in [
        json!({ "name": "t", "inputSchema": 7 }),
        json!({ "name": "t", "inputSchema": [{ "type": "object" }] }),
        json!({ "name": null, "inputSchema": {} }),
        json!({ "name": ["t"], "inputSchema": {} }),
        json!("t"),
        json!(null),
        json!([tool("nested")]),
    ] {
        let set = listing(vec![json!({ "tools": [tool("good"), definition] })]).await;
        assert_eq!(
            (names_of(&set).await, codes(&set)),
            (vec!["good".to_owned()], vec!["malformed"]),
            "{definition}"
        );
    }
}

#[tokio::test]
async fn a_page_with_the_members_of_other_listings_is_one_of_its_own() {
    let page = json!({ "tools": [tool("a")], "prompts": [], "resources": [], "resourceTemplates": [], "messages": [], "contents": [] });
    let set = listing(vec![page]).await;
    assert_eq!((names_of(&set).await, codes(&set)), (vec!["a".to_owned()], vec![]));
}

#[tokio::test]
async fn parts_of_prompts_resources_and_templates_cost_themselves_at_any_depth() {
    let result = json!({ "prompts": [
        { "name": "a", "arguments": [{ "name": "x", "required": "yes" }, { "name": "y", "required": true }, { "required": true }] },
        { "name": "b", "arguments": { "x": {} } },
    ] });
    let (set, prompts) = answered(|set| async move { set.list_prompts().await }, &result).await;
    let prompts = prompts.unwrap();
    let arguments = prompts[0].arguments.as_ref().unwrap();
    let read: Vec<_> = arguments.iter().map(|it| (it.name.as_str(), it.required)).collect();
    assert_eq!(read, [("x", None), ("y", Some(true))]);
    assert_eq!((prompts[1].name.as_str(), &prompts[1].arguments), ("b", &None));
    assert_eq!(codes(&set), ["unreadable_hint"]);

    let annotations = json!({ "audience": ["user", "robot"], "priority": "high" });
    let result = json!({ "resources": [
        { "uri": "a://b", "name": "b", "annotations": annotations, "size": "12", "mimeType": ["text/x"] },
        { "uri": "a://c", "name": null, "size": -1 },
        { "uri": "a://d", "name": 7 },
        { "name": "no address" },
    ] });
    let (set, resources) = answered(|set| async move { set.list_resources().await }, &result).await;
    let resources = resources.unwrap();
    let names: Vec<_> = resources.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["b", "a://c", "a://d"]);
    assert_eq!(resources[0].annotations.as_ref().unwrap().audience.as_ref().unwrap().len(), 1);
    assert_eq!(codes(&set), ["malformed", "unreadable_hint"]);

    let result = json!({ "resourceTemplates": [{ "uriTemplate": "a://{b}" }, { "uriTemplate": 7, "name": "x" }, { "uriTemplate": "a://{c}", "name": "c", "annotations": "x" }], "nextCursor": false });
    let (set, templates) = answered(|set| async move { set.list_resource_templates().await }, &result).await;
    let names: Vec<_> = templates.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["a://{b}", "c"]);
    assert_eq!(codes(&set), ["listing_cut", "malformed", "unreadable_hint"]);
}

#[tokio::test]
async fn a_cursor_of_any_type_ends_the_list_with_a_diagnostic() {
    for cursor in [json!(false), json!(true), json!(0), json!(1.5), json!({ "next": "a" }), json!([])] {
        let set = listing(vec![json!({ "tools": [tool("a")], "nextCursor": cursor })]).await;
        assert_eq!(
            (names_of(&set).await, codes(&set)),
            (vec!["a".to_owned()], vec!["listing_cut"]),
            "{cursor}"
        );
    }
}

#[tokio::test]
async fn a_page_that_comes_again_is_added_once_whatever_its_cursor() {
    let page = |cursor: &str| json!({ "tools": [tool("a"), tool("b")], "nextCursor": cursor });
    // A server that ends each page with an empty cursor, and one that takes no note of cursors.
    for (first, second) in [("", ""), ("1", "2")] {
        let set = listing(vec![page(first), page(second)]).await;
        assert_eq!(names_of(&set).await, ["a", "b"]);
        assert_eq!(codes(&set), ["listing_cut"], "{:?}", set.diagnostics());
    }
    let prompts = json!({ "prompts": [{ "name": "p" }], "nextCursor": "" });
    let (set, mut fake, _fakes) = crate::client::lives::started(config(), "one").await;
    let asking = set.clone();
    let listed = tokio::spawn(async move { asking.list_prompts().await });
    for _ in 0..2 {
        let request = fake.expect("prompts/list").await;
        fake.answer(&request, prompts.clone()).await;
    }
    assert_eq!(listed.await.unwrap().unwrap().len(), 1);
    assert_eq!(codes(&set), ["listing_cut"]);
}
