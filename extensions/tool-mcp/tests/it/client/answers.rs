//! Answers that are not those of the protocol: errors, handshakes, definitions and cursors.

use serde_json::{Map, Value, json};
use tool_mcp::client::{ClientErrorKind, McpToolSet};

use super::{
    call, config,
    fake::{Fake, Fakes},
    lives::{calling, started, text, tool},
    names_of, tools_of,
};

#[tokio::test]
async fn an_error_of_any_form_answers_its_request_at_once() {
    for (answer, expected) in [
        (r#""jsonrpc":"2.0","error":{"code":-32000}"#, "error -32000: the server gave no message"),
        (r#""jsonrpc":"2.0","error":"quota""#, "error -32603: quota"),
        (r#""jsonrpc":"2.0","error":["quota"]"#, "error -32603: [\"quota\"]"),
        (r#""jsonrpc":"2.0","error":{"code":"-32001","message":"m"}"#, "error -32001: m"),
        (r#""jsonrpc":"2.0","error":{"code":"E_QUOTA","message":"m"}"#, "error -32603: m (code E_QUOTA)"),
        (
            r#""jsonrpc":"2.0","error":{"code":99999999999,"message":"m"}"#,
            "error -32603: m (code 99999999999)",
        ),
        (r#""jsonrpc":"2.0","error":{"code":-32000.0,"message":{"why":1}}"#, "error -32000: {\"why\":1}"),
        (r#""jsonrpc":"2.0","error":{"reason":"r"}"#, "error -32603: {\"reason\":\"r\"}"),
        (r#""error":{"code":-32000,"message":"no version"}"#, "error -32000: no version"),
        (r#""jsonrpc":"1.0","error":{"code":-32000,"message":"old"}"#, "error -32000: old"),
        (r#""jsonrpc":"2.0","error":null"#, "neither a result nor an error"),
        (r#""jsonrpc":"2.0""#, "neither a result nor an error"),
        (r#""jsonrpc":"2.0","result":{},"error":{"code":1,"message":"both"}"#, "error 1: both"),
    ] {
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let call = calling(&set, "one");
        let request = fake.expect("tools/call").await;
        fake.line(&format!(r#"{{"id":{},{answer}}}"#, request["id"])).await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::Refused, "{answer}");
        assert!(error.to_string().contains(expected), "{answer}: {error}");
    }
}

#[tokio::test]
async fn a_result_of_any_envelope_answers_its_request() {
    for (before, after) in [
        (r#"{"jsonrpc":"2.0","error":null,"id":"#, ""),
        (r#"{"id":"#, ""),
        (r#"{"jsonrpc":2.0,"id":"#, r#","extra":{}"#),
        (r#"[{"jsonrpc":"2.0","method":"notifications/message","params":{}},{"jsonrpc":"2.0","id":"#, "]"),
    ] {
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let call = calling(&set, "one");
        let request = fake.expect("tools/call").await;
        let (member, bracket) = if after == "]" { ("", "]") } else { (after, "") };
        let line = format!(r#"{before}{},"result":{}{member}}}{bracket}"#, request["id"], text("done"));
        fake.line(&line).await;
        assert_eq!(call.await.unwrap().unwrap(), "done", "{line}");
    }
    for id in [|id: &Value| json!(id.to_string()), |id: &Value| json!(id.as_f64().unwrap())] {
        let (set, mut fake, _fakes) = started(config(), "one").await;
        let call = calling(&set, "one");
        let request = fake.expect("tools/call").await;
        fake.send(&json!({ "jsonrpc": "2.0", "id": id(&request["id"]), "result": text("done") })).await;
        assert_eq!(call.await.unwrap().unwrap(), "done");
    }
}

#[tokio::test]
async fn a_text_that_answers_no_request_ends_none() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    for junk in [
        r#"{"a":1}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"of another message"}}"#,
        r#"{"jsonrpc":"2.0","id":999,"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":999}"#,
        "[]",
        "null",
        "\u{feff}",
    ] {
        fake.line(junk).await;
    }
    fake.answer(&request, text("done")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

#[tokio::test]
async fn a_malformed_request_of_a_server_is_refused_by_its_id() {
    let (_set, mut fake, _fakes) = started(config(), "one").await;
    fake.line(r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#).await;
    fake.line(r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":7}}"#)
        .await;
    let answer = fake.message().await.unwrap();
    assert_eq!((answer["id"].as_str(), answer["error"]["code"].is_i64()), (Some("q"), true), "{answer}");
}

#[tokio::test]
async fn an_answer_that_is_too_long_ends_its_call_and_says_that_it_was_processed() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    fake.answer(&request, text(&"x".repeat(17 * 1024 * 1024))).await;
    let error = call.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("the request was processed, but its answer is larger"), "{error}");
    // The next message is read again.
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    fake.answer(&request, text("done")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

/// Connects to a server that answers `initialize` so.
async fn connect(result: Value) -> Result<(McpToolSet, Fake), String> {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        let discover = fake.expect("server/discover").await;
        fake.refuse(&discover, -32601, "Method not found").await;
        let initialize = fake.expect("initialize").await;
        fake.answer(&initialize, result).await;
        if let Some(initialized) = fake.message().await {
            assert_eq!(initialized["method"], "notifications/initialized");
            fake.list(json!([tool("one")])).await;
        }
        fake
    });
    match builder.connect().await {
        Ok(set) => Ok((set, fake.await.unwrap())),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn a_server_that_describes_itself_badly_is_used() {
    let info = json!({ "name": "x", "version": "1" });
    for (capabilities, info) in [
        (json!({ "tools": [] }), info.clone()),
        (json!({ "tools": true, "prompts": null, "resources": "yes" }), info.clone()),
        (json!({ "tools": { "listChanged": "true" } }), info.clone()),
        (json!({ "tools": {}, "logging": [], "experimental": [] }), info.clone()),
        (json!([]), info.clone()),
        (Value::Null, info.clone()),
        (json!({ "tools": {} }), json!({ "name": "x" })),
        (json!({ "tools": {} }), json!({ "name": "x", "version": 1 })),
        (json!({ "tools": {} }), json!({ "name": "x", "version": "1", "icons": "none" })),
        (json!({ "tools": {} }), json!("x")),
        (json!({ "tools": {} }), Value::Null),
    ] {
        let result = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info, "instructions": 5,
        });
        let (set, _fake) = connect(result.clone()).await.unwrap_or_else(|error| panic!("{result}: {error}"));
        assert_eq!(names_of(&set).await, ["one"]);
        assert!(
            set.diagnostics().iter().all(|it| it.code == "unreadable_handshake"),
            "{:?}",
            set.diagnostics()
        );
        assert!(!set.diagnostics().is_empty());
        let read = set.server_info().await.unwrap();
        if capabilities["tools"].is_array() || capabilities["tools"].is_object() {
            assert!(read.capabilities.tools.is_some(), "{result}");
        }
    }
}

#[tokio::test]
async fn a_handshake_that_cannot_be_used_is_the_reason() {
    for (result, reason) in [
        (json!({ "capabilities": {}, "serverInfo": { "name": "x", "version": "1" } }), "protocolVersion"),
        (json!([]), "the answer to `initialize` is no object"),
    ] {
        let Err(error) = connect(result).await else { panic!() };
        assert!(error.contains(reason) && !error.contains("process has ended"), "{error}");
    }
}

/// The toolset of a server that lists these tools, on one page.
async fn listing(tools: Value) -> McpToolSet {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.initialize().await;
        fake.list(tools).await;
        fake
    });
    let set = builder.connect().await.unwrap();
    drop(fake.await.unwrap());
    set
}

#[tokio::test]
async fn a_hint_that_cannot_be_read_is_no_hint() {
    let odd = |members: Value| {
        let mut odd = tool("odd");
        odd.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        odd
    };
    for (members, ignored) in [
        (json!({ "icons": [{ "src": "https://a/x.png", "sizes": "48x48" }] }), "icons[0].sizes"),
        (json!({ "icons": "none" }), "icons"),
        (json!({ "title": 5 }), "title"),
        (json!({ "description": ["Adds."] }), "description"),
        (json!({ "_meta": "none" }), "_meta"),
        (json!({ "annotations": [] }), "annotations"),
        (json!({ "outputSchema": "none" }), "outputSchema"),
        (
            json!({ "annotations": { "readOnlyHint": "true", "idempotentHint": true } }),
            "annotations.readOnlyHint",
        ),
    ] {
        let set = listing(json!([tool("good"), odd(members.clone()), { "name": 7 }])).await;
        assert_eq!(names_of(&set).await, ["good", "odd"], "{members}");
        let diagnostics = set.diagnostics();
        let codes: Vec<_> = diagnostics.iter().map(|it| it.code).collect();
        assert_eq!(codes, ["unreadable_hint", "malformed"], "{members}");
        assert!(diagnostics[0].to_string().contains(&format!("`{ignored}`")), "{}", diagnostics[0]);
        let metadata = tools_of(&set).await[1].definition().metadata().clone();
        assert_eq!(metadata.read_only, None);
        let is_idempotent = members["annotations"].is_object();
        assert_eq!(metadata.idempotent, is_idempotent.then_some(true));
    }
}

#[tokio::test]
async fn a_schema_with_mistakes_costs_the_keywords_that_cannot_be_read() {
    for (schema, is_silent) in [
        (json!({ "type": "object", "required": null, "properties": null }), true),
        (json!({ "type": "object", "properties": [] }), false),
        (json!({ "type": "OBJECT" }), false),
        (json!({ "type": "object", "properties": { "p": { "type": "any" } } }), false),
        (json!({ "type": "object", "properties": { "p": { "type": "" } } }), false),
        (
            json!({ "type": "object", "properties": { "p": { "type": "number", "minimum": 0, "exclusiveMinimum": true } } }),
            false,
        ),
        (json!({ "type": "object", "properties": { "p": { "type": "string", "required": true } } }), false),
        (json!({ "type": "object", "properties": { "p": { "$ref": "#/$defs/Missing" } } }), false),
    ] {
        let mut odd = tool("odd");
        odd["inputSchema"] = schema.clone();
        let set = listing(json!([tool("good"), odd])).await;
        assert_eq!(names_of(&set).await, ["good", "odd"], "{schema}: {:?}", set.diagnostics());
        let codes: Vec<_> = set.diagnostics().iter().map(|it| it.code).collect();
        assert_eq!(codes, if is_silent { vec![] } else { vec!["unreadable_schema"] }, "{schema}");
        // Providers and the registry accept the definition.
        let definition = tools_of(&set).await[1].definition().clone();
        assert!(definition.input_schema().plan().is_ok(), "{schema}");
    }
}

#[tokio::test]
async fn an_item_with_a_flood_of_members_is_read_in_bounded_time() {
    let mut flood: Map<String, Value> = (0..5_000).map(|it| (format!("m{it}"), json!([1, 2, 3]))).collect();
    flood.extend(tool("flood").as_object().unwrap().clone());
    flood.insert("icons".to_owned(), json!("none"));
    let set = listing(json!([flood])).await;
    assert_eq!(names_of(&set).await, ["flood"]);
    assert!(set.diagnostics()[0].to_string().len() < 1_000);
}

#[tokio::test]
async fn a_cursor_that_leads_nowhere_ends_the_list_with_a_diagnostic() {
    for (cursors, pages) in [
        (vec![json!(""), json!("")], 2),
        (vec![json!("a"), json!("b"), json!("a")], 3),
        (vec![json!(7)], 1),
        (vec![json!({})], 1),
        (vec![json!(["a"])], 1),
    ] {
        let (builder, fakes) = Fakes::builder(config());
        let answers = cursors.clone();
        let fake = tokio::spawn(async move {
            let mut fake = fakes.next().await;
            fake.initialize().await;
            for (page, cursor) in answers.iter().enumerate() {
                let request = fake.expect("tools/list").await;
                fake.answer(&request, json!({ "tools": [tool(&format!("t{page}"))], "nextCursor": cursor }))
                    .await;
            }
            fake
        });
        let set = builder.connect().await.unwrap();
        drop(fake.await.unwrap());
        assert_eq!(names_of(&set).await.len(), pages, "{cursors:?}");
        assert_eq!(
            set.diagnostics().iter().map(|it| it.code).collect::<Vec<_>>(),
            ["listing_cut"],
            "{cursors:?}"
        );
    }
    // `null` is no cursor.
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.initialize().await;
        let request = fake.expect("tools/list").await;
        fake.answer(&request, json!({ "tools": [tool("t")], "nextCursor": null })).await;
        fake
    });
    let set = builder.connect().await.unwrap();
    drop(fake.await.unwrap());
    assert_eq!((names_of(&set).await.len(), set.diagnostics().len()), (1, 0));
}

#[tokio::test]
async fn prompts_and_resources_are_read_one_by_one() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let asking = set.clone();
    let prompts = tokio::spawn(async move { asking.list_prompts().await });
    let request = fake.expect("prompts/list").await;
    let prompts_of = json!([{ "name": "a", "icons": "none" }, { "name": 7 }, { "name": "b" }]);
    fake.answer(&request, json!({ "prompts": prompts_of, "nextCursor": 7 })).await;
    let names: Vec<_> = prompts.await.unwrap().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["a", "b"]);
    let asking = set.clone();
    let resources = tokio::spawn(async move { asking.list_resources().await });
    let request = fake.expect("resources/list").await;
    fake.answer(
        &request,
        json!({ "resources": [{ "uri": "a://b" }, { "uri": "a://c", "name": "c", "size": "big" }] }),
    )
    .await;
    let names: Vec<_> = resources.await.unwrap().unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["a://b", "c"]);
    let mut codes: Vec<_> = set.diagnostics().iter().map(|it| it.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["listing_cut", "malformed", "unreadable_hint", "unreadable_hint"]);
}

#[tokio::test]
async fn a_result_that_looks_like_another_one_belongs_to_its_call() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let calling = tokio::spawn(call(set, "one", json!({})));
    let request = fake.expect("tools/call").await;
    let mut result = text("done");
    result["messages"] = json!([]);
    result["contents"] = json!([]);
    fake.answer(&request, result).await;
    assert_eq!(calling.await.unwrap().text(), "done");
}
