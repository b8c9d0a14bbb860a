//! An agent with a deferred catalogue.

use tool_agent::{Agent, AgentEventKind, Runner, ScriptedModel, model::Reply};
use tool_builtins::ToolSearch;
use tool_runtime::{
    Executor, ToolCall, Toolbox,
    event::EventKind,
    policy::{Rule, Rules},
    prelude::*,
};

use super::{Fixed, run, tools_of};

const SUBJECTS: [&str; 40] = [
    "invoice",
    "customer",
    "order",
    "payment",
    "refund",
    "ticket",
    "repository",
    "branch",
    "commit",
    "issue",
    "comment",
    "label",
    "milestone",
    "release",
    "webhook",
    "user",
    "team",
    "project",
    "task",
    "calendar",
    "event",
    "meeting",
    "contact",
    "message",
    "channel",
    "file",
    "folder",
    "document",
    "sheet",
    "slide",
    "image",
    "video",
    "playlist",
    "song",
    "recipe",
    "flight",
    "hotel",
    "booking",
    "shipment",
    "warehouse",
];
const VERBS: [&str; 10] =
    ["create", "get", "list", "update", "delete", "archive", "export", "import", "share", "validate"];
const PLACES: [&str; 5] = ["crm", "shop", "forge", "office", "travel"];

/// Returns names and descriptions of 2,000 tools.
fn many_tools() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for place in PLACES {
        for subject in SUBJECTS {
            for verb in VERBS {
                let description = format!("This tool will {verb} one {subject} of the {place}.");
                all.push((format!("{place}__{verb}_{subject}"), description));
            }
        }
    }
    all
}

// T11, T08
#[test]
fn an_agent_finds_three_of_two_thousand_tools_and_calls_one() {
    run(async {
        let many = many_tools();
        assert_eq!(many.len(), 2_000);
        let search = ToolSearch::new();
        let tools = tools_of(many.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        let tools = tools.add(search.search_tools()).add(search.call_tool()).build().unwrap();
        let rules = Rules::new([Rule::deny("forge__delete_repository")]);
        let executor = Executor::builder(tools).rules(rules).build().unwrap();
        let call = |id: &str, name: &str| {
            ToolCall::new("call_tool", json!({ "name": name, "arguments": {} })).with_id(id)
        };
        let model = ScriptedModel::new([
            Reply::calls([ToolCall::new("search_tools", json!({ "query": "refund a payment", "limit": 3 }))
                .with_id("1")]),
            Reply::calls([call("2", "shop__create_refund"), call("3", "forge__delete_repository")]),
            Reply::text("Done."),
        ]);
        let agent = Agent::builder("clerk", model.clone()).tools(executor).hook(search).build().unwrap();
        let mut stream = Runner::new(agent).run("Refund the last payment, and delete the repository.");
        let mut started = Vec::new();
        while let Some(event) = stream.next().await {
            if let AgentEventKind::Tool { event } = event.kind
                && let EventKind::Started { call } = event.kind
            {
                started.push(call.name.clone());
            }
        }
        // The events have the names of the tools that were called.
        assert_eq!(started, ["search_tools", "shop__create_refund", "forge__delete_repository"]);
        let requests = model.requests();
        for request in &requests {
            let listed: Vec<_> = request.tools.definitions().iter().map(|it| it.name().as_str()).collect();
            assert_eq!(listed, ["call_tool", "search_tools"]);
        }
        let result = |request: usize, id: &str| {
            let results = requests[request].messages.last().unwrap().tool_results();
            let mut results = results.filter(|result| result.id.to_string() == id);
            results.next().unwrap().text().into_owned()
        };
        let found: Value = serde_json::from_str(&result(1, "1")).unwrap();
        let found: Vec<_> =
            found["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|name| name.contains("refund") || name.contains("payment")), "{found:?}");
        assert_eq!(result(2, "2"), "shop__create_refund {}");
        assert!(result(2, "3").starts_with("Denied"), "{}", result(2, "3"));
    });
}

// T11: an agent with a live toolbox, whose deferred tools are compiled when a model calls them.
#[test]
fn an_agent_calls_a_deferred_tool_of_a_toolbox_and_hears_of_a_schema_that_cannot_be_used() {
    run(async {
        let (search, toolbox) = (ToolSearch::new().always(["ping"]), Toolbox::new());
        search.defer_in(&toolbox);
        toolbox.add(search.search_tools()).unwrap();
        toolbox.add(search.call_tool()).unwrap();
        let pattern =
            |pattern: &str| json!({ "properties": { "id": { "type": "string", "pattern": pattern } } });
        toolbox.add(Fixed::new("ping", "Answers.", pattern("^[a-z]*$"))).unwrap();
        toolbox.add(Fixed::new("get_tide", "Returns the tide.", pattern("^[a-z]*$"))).unwrap();
        toolbox.add(Fixed::new("get_moon", "Returns the moon.", pattern("("))).unwrap();
        let call = |id: &str, name: &str, text: &str| {
            let arguments = json!({ "name": name, "arguments": { "id": text } });
            ToolCall::new("call_tool", arguments).with_id(id.to_owned())
        };
        let model = ScriptedModel::new([
            Reply::call("search_tools", json!({ "query": "tide" })),
            Reply::calls([
                call("1", "get_tide", "brest"),
                call("2", "get_tide", "7"),
                call("3", "get_moon", "x"),
            ]),
            Reply::text("Done."),
        ]);
        let agent = Agent::builder("clerk", model.clone()).tools(toolbox).hook(search).build().unwrap();
        assert_eq!(Runner::new(agent).run("The tide in Brest?").answer().await.unwrap(), "Done.");
        let requests = model.requests();
        let listed: Vec<_> = requests[0].tools.definitions().iter().map(|it| it.name().as_str()).collect();
        assert_eq!(listed, ["call_tool", "ping", "search_tools"]);
        let results: Vec<_> =
            requests[2].messages.last().unwrap().tool_results().map(|it| it.text().into_owned()).collect();
        assert_eq!(results[0], r#"get_tide {"id":"brest"}"#);
        assert!(results[1].starts_with("Invalid arguments: /id"), "{}", results[1]);
        assert!(results[2].contains("its schemas cannot be used"), "{}", results[2]);
    });
}
