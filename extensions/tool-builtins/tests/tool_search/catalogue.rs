//! An agent with a deferred catalogue.

use tool_agent::{Agent, AgentEventKind, Runner, ScriptedModel, model::Reply};
use tool_builtins::ToolSearch;
use tool_runtime::{
    Executor, ToolCall,
    event::EventKind,
    policy::{Rule, Rules},
    prelude::*,
};

use super::{run, tools_of};

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
