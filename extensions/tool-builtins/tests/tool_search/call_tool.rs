//! Calls by `call_tool`: those that a hostile model makes.

use tool_builtins::ToolSearch;
use tool_runtime::{
    Executor, Registry, RunContext, ToolCall, Toolbox,
    builder::ExternalTool,
    prelude::*,
    toolbox::{RunTools, Visibility},
};

use super::{Fixed, run, tools_of};

const TOOLS: [(&str, &str); 3] = [
    ("get_weather", "Returns the weather."),
    ("send_letter", "Sends a letter."),
    ("hidden", "Is not shown."),
];

/// Returns the answer to a call of `call_tool` with these arguments.
async fn answer_in(tools: Registry, arguments: &str) -> String {
    let outcomes = Executor::new(tools).run(vec![ToolCall::new("call_tool", arguments.to_owned())]).await;
    outcomes[0].result().unwrap().text().into_owned()
}

fn registry() -> Registry {
    let search = ToolSearch::new();
    let schema =
        json!({ "type": "object", "properties": { "count": { "type": "integer" } }, "required": ["count"] });
    let tools = tools_of(TOOLS).add(Fixed::new("count", "Counts.", schema));
    search.defer(&tools.add(search.search_tools()).add(search.call_tool()).build().unwrap())
}

#[test]
fn a_call_names_its_tool_and_keeps_the_text_of_the_arguments() {
    run(async {
        for (arguments, expected) in [
            (r#"{"name":"get_weather","arguments":{"id":"7"}}"#, r#"get_weather {"id":"7"}"#),
            (r#"{"name":"get_weather","arguments":{}}"#, "get_weather {}"),
            // Numbers keep all of their digits, and coercion reads an object that is written as a text.
            (
                r#"{"name":"get_weather","arguments":{"n":12345678901234567890123}}"#,
                r#"get_weather {"n":12345678901234567890123}"#,
            ),
            (r#"{"name":"get_weather","arguments":"{\"id\":\"7\"}"}"#, r#"get_weather {"id":"7"}"#),
        ] {
            assert_eq!(answer_in(registry(), arguments).await, expected, "{arguments}");
        }
    });
}

#[test]
fn a_call_that_stands_for_none_is_answered_with_the_reason() {
    run(async {
        for (arguments, expected) in [
            ("{}", "Invalid arguments"),
            ("[", "Invalid arguments"),
            (r#"{"name":{},"arguments":{}}"#, "Invalid arguments"),
            (
                r#"{"name":"get_wether","arguments":{}}"#,
                "Tool not found: get_wether\nDid you mean `get_weather`?",
            ),
            (r#"{"name":"","arguments":{}}"#, "Tool not found"),
            (
                r#"{"name":"call_tool","arguments":{"name":"get_weather","arguments":{}}}"#,
                "Invalid arguments: `call_tool` cannot call `call_tool`",
            ),
            (r#"{"name":"count","arguments":{"count":"many"}}"#, "Invalid arguments: /count"),
            (r#"{"name":"count","arguments":{}}"#, "Invalid arguments: /count"),
        ] {
            let answer = answer_in(registry(), arguments).await;
            assert!(answer.starts_with(expected), "{arguments}: {answer}");
        }
        let long = json!({ "name": "x".repeat(1 << 20), "arguments": {} }).to_string();
        assert!(answer_in(registry(), &long).await.len() < 1_000);
    });
}

// T08
#[test]
fn hidden_tools_are_neither_found_nor_called() {
    run(async {
        let search = ToolSearch::new();
        let tools = tools_of(TOOLS).add(search.search_tools()).add(search.call_tool()).build().unwrap();
        // The index knows the tool from another run.
        assert_eq!(search.matches(tools.all_definitions(), "not shown", 5).len(), 1);
        let toolbox = Toolbox::from_registry(&tools);
        toolbox.show(Visibility::all().except(["hidden"]));
        let snapshot = toolbox.snapshot(&RunContext::new()).await.unwrap();
        let tools = search.defer(snapshot.tools());
        let answer = answer_in(tools.clone(), r#"{"name":"hidden","arguments":{}}"#).await;
        assert!(answer.starts_with("Tool not found: hidden"), "{answer}");
        let found = tools.call("search_tools", json!({ "query": "is not shown" })).await.unwrap();
        assert!(!found.text().contains("hidden"), "{}", found.text());
    });
}

#[test]
fn external_tools_of_a_run_stay_in_its_requests() {
    run(async {
        let search = ToolSearch::new().always(["send_letter"]);
        let tools = tools_of(TOOLS).add(search.search_tools()).add(search.call_tool()).build().unwrap();
        let (external, _) = ExternalTool::list(&json!([{ "name": "pick_color" }]));
        let additions = RunTools::new().external(external);
        let toolbox = Toolbox::from_registry(&tools);
        let snapshot = toolbox.snapshot_with(&RunContext::new(), &additions).await.unwrap();
        let tools = search.defer(snapshot.tools());
        let listed: Vec<_> = tools.definitions().iter().map(|it| it.name().as_str()).collect();
        assert_eq!(listed, ["call_tool", "pick_color", "search_tools", "send_letter"]);
        let answer = answer_in(tools, r#"{"name":"pick_color","arguments":{}}"#).await;
        assert!(answer.contains("`call_tool` cannot call `pick_color`"), "{answer}");
    });
}

#[test]
fn a_result_of_a_search_has_what_a_call_needs() {
    run(async {
        let large: serde_json::Map<_, _> =
            (0..2_000).map(|number| (format!("field_{number}"), json!({ "type": "string" }))).collect();
        let large = json!({ "type": "object", "properties": large });
        let search = ToolSearch::new();
        let tools = tools_of(TOOLS).add(Fixed::new("fill_form", &"Fills a form. ".repeat(500), large));
        let tools = tools.add(search.search_tools()).add(search.call_tool()).build().unwrap();
        let found = tools.call("search_tools", json!({ "query": "weather" })).await.unwrap();
        let found: Value = serde_json::from_str(&found.text()).unwrap();
        let expected = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
        assert_eq!(
            found["tools"][0],
            json!({ "name": "get_weather", "description": "Returns the weather.", "parameters": expected })
        );
        let found = tools.call("search_tools", json!({ "query": "form" })).await.unwrap();
        assert!(found.text().len() < 4_000 && found.text().contains("left out"));
        let none = tools.call("search_tools", json!({ "query": "zzz" })).await.unwrap();
        assert!(none.text().contains("other words"), "{}", none.text());
        // The tools of the search are none of its results.
        let own = tools.call("search_tools", json!({ "query": "call search tool" })).await.unwrap();
        assert!(!own.text().contains("call_tool\""), "{}", own.text());
    });
}

#[test]
fn a_result_of_a_search_has_as_many_tools_as_the_model_wants_and_a_part_of_each_that_is_long() {
    run(async {
        let search = ToolSearch::new();
        let names: Vec<_> = (0..30).map(|number| format!("tide_{number:02}")).collect();
        let parameters = |bytes: usize| {
            let empty = json!({ "type": "object", "description": "" }).to_string().len();
            json!({ "type": "object", "description": "d".repeat(bytes - empty) })
        };
        let tools = tools_of(names.iter().map(|name| (name.as_str(), "")))
            .add(Fixed::new("short", &"é".repeat(1_000), parameters(16 << 10)))
            .add(Fixed::new("long", &"é".repeat(1_001), parameters((16 << 10) + 1)))
            .add(search.search_tools());
        let tools = tools.build().unwrap();
        let metadata = tools.get("search_tools").unwrap().definition().metadata();
        assert_eq!((metadata.read_only, metadata.open_world), (Some(true), Some(false)));
        let found = async |arguments: Value| {
            let found = tools.call("search_tools", arguments).await.map_err(|error| error.to_string())?;
            Ok::<Value, String>(serde_json::from_str(&found.text()).unwrap())
        };
        let count = async |limit: Option<u64>| {
            let found = found(json!({ "query": "tide", "limit": limit })).await?;
            assert_eq!(found.as_object().unwrap().len(), 1);
            Ok::<usize, String>(found["tools"].as_array().unwrap().len())
        };
        assert_eq!((count(Some(1)).await, count(Some(20)).await), (Ok(1), Ok(20)));
        assert_eq!(found(json!({ "query": "tide" })).await.unwrap()["tools"].as_array().unwrap().len(), 5);
        assert!(count(Some(0)).await.is_err() && count(Some(21)).await.is_err());

        let tool =
            json!({ "name": "short", "description": "é".repeat(1_000), "parameters": parameters(16 << 10) });
        assert_eq!(found(json!({ "query": "short" })).await.unwrap(), json!({ "tools": [tool] }));
        let left_out =
            "left out, since they have 16385 bytes; a call with wrong arguments names the right ones";
        let tool = json!({ "name": "long", "description": "é".repeat(1_000), "parameters": left_out });
        assert_eq!(found(json!({ "query": "long" })).await.unwrap(), json!({ "tools": [tool] }));
        let hint = "no tool has one of these words; name the task and its objects in other words";
        assert_eq!(found(json!({ "query": "zzz" })).await.unwrap(), json!({ "tools": [], "hint": hint }));
    });
}
