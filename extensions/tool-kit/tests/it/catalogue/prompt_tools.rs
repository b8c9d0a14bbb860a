//! Prompts as tools.

use std::sync::Arc;

use tool_kit::{
    catalogue::{Catalogue, Delegate, PromptCall},
    prompt::PromptFile,
};
use tool_runtime::{
    BoxFuture, ErrorKind, Executor, RunContext, ToolCall,
    output::{Resource, ResourceBody},
    policy::{Rule, Rules},
    prelude::*,
};

use super::{Fixed, prompt, resource, snapshot, tool};

/// Returns the text of a prompt, the URIs of the resources, and whether it has the guards of its caller.
struct Rendering;

impl Delegate for Rendering {
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let ResourceBody::Text(input) = &call.resources[0].body else { panic!("a text") };
            let input = serde_json::from_str(input).unwrap();
            let text = call.prompt.render(call.run, &input).await?.text();
            let uris: Vec<_> = call.resources.iter().map(|resource| &*resource.uri).collect();
            Ok(format!("{text} {} {}", uris.join(" "), call.guards.is_some()).into())
        })
    }
}

const EXPLAIN: &str = "---
name: explain
title: Explains a topic
input: { type: object, properties: { topic: { type: string } }, required: [topic] }
---
Explain {{ .topic }}.";

const COUNT: &str = "---
name: count
description: Counts.
input: { type: array, items: { type: integer } }
---
Count {{ json . }}.";

fn catalogue() -> Catalogue {
    let catalogue = Catalogue::new().with_delegate(Rendering);
    for text in [EXPLAIN, COUNT] {
        catalogue.add_prompt(PromptFile::parse(text).unwrap()).unwrap();
    }
    catalogue.connect(Fixed::named("library")).unwrap();
    catalogue
}

#[tokio::test]
async fn a_prompt_is_a_tool_with_the_schema_of_its_input() {
    let catalogue = catalogue();
    let items = snapshot(&catalogue).await;
    let definition = |key: &str| {
        let tool =
            catalogue.prompt_tool(items.lookup_kind(tool_kit::catalogue::ItemKind::Prompt, key).unwrap());
        serde_json::to_value(tool.unwrap().definition()).unwrap()
    };
    let expected = json!({
        "name": "explain",
        "title": "Explains a topic",
        "description": "Explains a topic",
        "inputSchema": { "type": "object", "properties": { "topic": { "type": "string" } }, "required": ["topic"] },
    });
    assert_eq!(definition("explain"), expected);
    let expected = json!({
        "name": "count",
        "description": "Counts.",
        "inputSchema": {
            "type": "object",
            "properties": { "input": { "type": "array", "items": { "type": "integer" } } },
            "required": ["input"],
            "additionalProperties": false,
        },
    });
    assert_eq!(definition("count"), expected); // U35
    let library = definition("library.greet");
    assert_eq!((&library["name"], &library["rawName"]), (&json!("library__greet"), &json!("greet"))); // U22
    let error = catalogue.prompt_tool(items.lookup("notes://today").unwrap()).unwrap_err();
    assert!(error.to_string().contains("`notes://today#library` is no prompt"), "{error}");
}

#[tokio::test]
async fn a_call_of_the_tool_runs_the_prompt_as_it_is_now() {
    let catalogue = catalogue();
    let items = snapshot(&catalogue).await;
    let tools = catalogue.tools_of(&items, ["explain", "count", "library.greet"]).unwrap();
    let executor = Executor::new(tools.clone());
    let attached =
        Resource { uri: "a:1".to_owned(), mime_type: String::new(), body: ResourceBody::Text(String::new()) };
    let calls = vec![
        ToolCall::new("explain", json!({ "topic": "tides" })).with_resources(vec![attached]),
        ToolCall::new("count", r#"{ "input": [1, 2] }"#),
        ToolCall::new("count", json!({ "input": ["one"] })),
    ];
    let outcomes = executor.batch(calls).with_run(RunContext::new()).run().await;
    let texts: Vec<_> = outcomes.iter().map(|it| it.result().unwrap().text().into_owned()).collect();
    assert_eq!(texts[0], "Explain tides. json:input a:1 true"); // U27 U26
    assert_eq!(texts[1], "Count [1,2]. json:input true"); // U35
    assert!(texts[2].contains("integer"), "{}", texts[2]); // U25
    // Without an executor, there are no guards.
    let direct = tools.call("library__greet", "{}").await.unwrap();
    assert_eq!(direct.text(), "greet json:input false");

    catalogue.remove("explain").unwrap();
    let gone = tools.call("explain", r#"{ "topic": "tides" }"#).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
    drop(catalogue);
    let gone = tools.call("count", r#"{ "input": [] }"#).await.unwrap_err();
    assert!(gone.to_string().contains("the catalogue of the prompt `count` is gone"), "{gone}");
}

// U24
#[tokio::test]
async fn rules_judge_the_defaults_with_which_a_prompt_is_rendered() {
    let input =
        "{ type: object, properties: { style: { type: string, default: long }, size: { type: number } } }";
    let text = format!("---\nname: sum\ninput: {input}\n---\n{{{{ .style }}}} {{{{ default 0 .size }}}}");
    let catalogue = Catalogue::new().with_delegate(Rendering);
    catalogue.add_prompt(PromptFile::parse(&text).unwrap()).unwrap();
    let tool = catalogue.prompt_tool(snapshot(&catalogue).await.lookup("sum").unwrap()).unwrap();
    let tools = Registry::builder().add(tool).build().unwrap();
    let rules = Rules::new([Rule::deny("sum").at("/style", "long")]);
    let guarded = Executor::builder(tools.clone()).rules(rules).build().unwrap();
    for (arguments, is_denied) in [
        ("{}", true),
        (r#"{"size":1.50}"#, true),
        (r#"{"style":"long"}"#, true),
        (r#"{"style":"short"}"#, false),
    ] {
        let outcomes = guarded.batch(vec![ToolCall::new("sum", arguments)]).run().await;
        let text = outcomes[0].result().unwrap().text();
        assert_eq!(text.starts_with("Denied: "), is_denied, "{arguments}: {text}");
    }
    for (arguments, expected) in [("{}", "long 0 "), (r#"{"size":1.5}"#, "long 1.5 ")] {
        let result = tools.call("sum", arguments).await.unwrap();
        assert!(result.text().starts_with(expected), "{}", result.text());
    }
}

#[tokio::test]
async fn a_catalogue_may_have_its_prompts_as_tools_and_is_dropped_all_the_same() {
    let catalogue = catalogue();
    let alive = Arc::new(());
    struct Holding(#[expect(dead_code, reason = "held")] Arc<()>);
    impl Delegate for Holding {
        fn call<'a>(&'a self, _: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::empty()) })
        }
    }
    let catalogue = catalogue.with_delegate(Holding(Arc::clone(&alive)));
    let items = snapshot(&catalogue).await;
    catalogue.tools().add(catalogue.prompt_tool(items.lookup("explain").unwrap()).unwrap()).unwrap();
    drop(items);
    drop(catalogue);
    assert_eq!(Arc::strong_count(&alive), 1, "the catalogue is still alive");
}

#[tokio::test]
async fn a_selection_of_items_reports_unknown_keys_and_names_that_two_have() {
    let catalogue = Catalogue::new();
    catalogue.add_prompts([prompt("library__search")]).unwrap();
    catalogue.add_resources([resource("notes://today")]).unwrap();
    catalogue.tools().add_all([tool("own")]).unwrap();
    catalogue.connect(Fixed::named("library")).unwrap();
    let items = snapshot(&catalogue).await;
    let error = catalogue.tools_of(&items, ["own", "nope", "notes://today", "a b"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("no tool and no prompt `nope`, `notes://today`, `a b`;"), "{error}");
    let both = catalogue.tools_of(&items, ["library.search", "library__search"]).unwrap_err();
    assert_eq!(both.kind(), ErrorKind::Conflict, "{both}");
    let twice = catalogue.tools_of(&items, ["own", "builtin.own"]).unwrap();
    assert_eq!(twice.len(), 1);
    assert!(catalogue.tools_of(&items, Vec::<String>::new()).unwrap().is_empty());
}
