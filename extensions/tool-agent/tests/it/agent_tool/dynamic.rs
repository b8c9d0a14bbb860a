//! Agents whose tools and instruction a model chooses, inside a boundary.

mod hostile;
mod skills;
mod waiting;

use serde_json::{Map, Value};
use tool_agent::{DynamicAgentTool, RequestField, RunOptions, hook};
use tool_runtime::{
    ToolResult, Toolbox,
    builder::ExternalTool,
    context::Trigger,
    definition::Permission,
    hook::{Before, CallHandle},
    policy::{ApprovalRequest, PathPattern, PermissionRequest, Rule, Rules},
    toolbox::{RunTools, Visibility},
};

use super::*;

/// Removes a file.
#[tool(register = false, destructive)]
fn erase(path: String, log: &Log) -> String {
    log.lock().unwrap().push("erased");
    path
}

/// A clerk that starts an agent with `arguments`, and answers.
struct Clerk {
    /// Of the agent.
    child: ScriptedModel,
    /// Of the clerk.
    model: ScriptedModel,
    log: Arc<Log>,
    tools: Registry,
}

impl Clerk {
    fn new(arguments: Value, replies: impl IntoIterator<Item = Reply>) -> Self {
        let child = ScriptedModel::new(replies);
        let template = Agent::builder("helper", child.clone()).instruction("Help.").build().unwrap();
        let tool = DynamicAgentTool::builder(template).build().unwrap();
        Self::with_tool(tool, child, arguments)
    }

    fn with_tool(tool: DynamicAgentTool, child: ScriptedModel, arguments: Value) -> Self {
        let log = Arc::new(Log::default());
        let call = Reply::calls([ToolCall::new(tool.definition().name().as_str(), arguments).with_id("c1")]);
        let model = ScriptedModel::new([call, Reply::text("Done.")]);
        let tools = Registry::builder().tool::<look_up>().tool::<erase>().add(tool);
        let tools = tools.provide_shared(Arc::clone(&log)).build().unwrap();
        Self { child, model, log, tools }
    }

    fn agent(&self, executor: Executor) -> AgentBuilder {
        Agent::builder("clerk", self.model.clone()).tools(executor)
    }

    /// Runs the clerk, and returns the result of its call.
    async fn run(&self, executor: Executor) -> ToolResult {
        let end = Runner::new(self.agent(executor).build().unwrap()).run("Help me.").end().await;
        assert_eq!(end.text, "Done.", "{end}");
        self.result()
    }

    fn result(&self) -> ToolResult {
        self.model.requests()[1].messages[2].tool_results().next().unwrap().clone()
    }

    /// Returns the names of the tools in the first request of the agent.
    fn offered(&self) -> Vec<String> {
        let requests = self.child.requests();
        requests[0].tools.definitions().iter().map(|it| it.name().to_string()).collect()
    }

    /// Returns the results that the agent received, in order.
    fn child_results(&self) -> Vec<String> {
        let last = self.child.requests().pop().unwrap();
        let results = last.messages.iter().flat_map(|message| message.tool_results().collect::<Vec<_>>());
        results.map(|result| result.text().into_owned()).collect()
    }
}

// Q24, Q25
#[tokio::test]
async fn an_agent_has_one_of_two_tools_and_a_rule_of_the_run_above_denies_one_of_its_calls() {
    let calls = Reply::calls([
        ToolCall::new("erase", json!({ "path": "/tmp/a.txt" })).with_id("k1"),
        ToolCall::new("erase", json!({ "path": "/etc/passwd" })).with_id("k2"),
        ToolCall::new("look_up", json!({ "name": "Oslo" })).with_id("k3"),
    ]);
    let arguments = json!({ "request": "Erase it.", "tools": ["erase"] });
    let clerk = Clerk::new(arguments, [calls, Reply::text("One is erased.")]);
    let rules = Rules::new([Rule::deny("erase").at("/path", PathPattern::new("/etc/**").unwrap())]);
    let result = clerk.run(Executor::builder(clerk.tools.clone()).rules(rules).build().unwrap()).await;
    assert_eq!(result.text(), "One is erased.");
    assert_eq!(clerk.offered(), ["erase"]);
    let results = clerk.child_results();
    assert_eq!(results[0], "/tmp/a.txt");
    assert!(results[1].starts_with("Denied: a rule denies it: erase"), "{}", results[1]);
    assert_eq!(results[2], "Tool not found: look_up");
    assert_eq!(*clerk.log.lock().unwrap(), ["erased"]);
}

#[tokio::test]
async fn an_agent_is_shown_no_deferred_tool_that_the_model_did_not_name() {
    for (arguments, offered) in [
        (json!({ "request": "Look." }), vec!["look_up"]),
        (json!({ "request": "Erase.", "tools": ["erase"] }), vec!["erase"]),
    ] {
        let clerk = Clerk::new(arguments, [Reply::text("Fine.")]);
        let tools = clerk.tools.with_deferred(|tool| tool.name() == "erase");
        clerk.run(Executor::new(tools)).await;
        assert_eq!(clerk.offered(), offered);
    }
}

fn plain_tool(name: impl Into<String>) -> impl Tool {
    let tool = ToolBuilder::new(name.into()).description("Returns a text.");
    tool.expect_handler(|_: Map<String, Value>, _| async move { Ok::<_, ToolError>("done") })
}

// Q25
#[tokio::test]
async fn tools_are_all_for_none_given_none_for_an_empty_list_and_exactly_those_that_are_named() {
    let offered = |arguments: Value| async move {
        let clerk = Clerk::new(arguments, [Reply::text("Answer.")]);
        let result = clerk.run(Executor::new(clerk.tools.clone())).await;
        (clerk.offered(), result.text().into_owned())
    };
    let (names, text) = offered(json!({ "request": "Go." })).await;
    assert_eq!(
        (names.as_slice(), text.as_str()),
        (["erase".to_owned(), "look_up".to_owned()].as_slice(), "Answer.")
    );
    assert!(offered(json!({ "request": "Go.", "tools": [] })).await.0.is_empty());
    assert_eq!(offered(json!({ "request": "Go.", "tools": ["look_up", "look_up"] })).await.0, ["look_up"]);
    let (names, text) = offered(json!({ "request": "Go.", "tools": ["shell", "look_up"] })).await;
    assert_eq!(names, ["look_up"]);
    assert_eq!(text, "Warning: the agent had no tools `shell`, which are unknown.\nAnswer.");
}

// Q24, Q25
#[tokio::test]
async fn a_blank_request_and_names_of_which_none_is_known_are_errors_before_any_run() {
    let error = |arguments: Value| async move {
        let clerk = Clerk::new(arguments, []);
        let result = clerk.run(Executor::new(clerk.tools.clone())).await;
        assert!(result.is_error() && clerk.child.requests().is_empty());
        result.text().into_owned()
    };
    for blank in
        [json!({}), json!({ "request": " \n" }), json!({ "request": ["Go."] }), json!({ "task": "Go." })]
    {
        let text = error(blank).await;
        assert!(text.starts_with("Invalid arguments"), "{text}");
    }
    let text = error(json!({ "request": "Go.", "tools": ["dynamic_agent", "shell"] })).await;
    assert!(
        text.contains("unknown tools: `dynamic_agent`, `shell`; available: `erase`, `look_up`"),
        "{text}"
    );
    // A message has a part of many long names.
    let many: Vec<_> = (0..10_000).map(|n| format!("{n:0>200}")).collect();
    let text = error(json!({ "request": "Go.", "tools": many })).await;
    assert!(text.contains("and 9968 more") && text.len() < 4_000, "{}", text.len());
}

// Q26
#[tokio::test]
async fn the_boundary_is_what_the_run_above_has_without_the_tool_itself_transfers_and_external_tools() {
    let clerk = Clerk::new(json!({ "request": "Go." }), [Reply::text("Answer.")]);
    let external = |name: &str| {
        let tool = ToolBuilder::new(name.to_owned()).description("Elsewhere.");
        tool.input_schema(InputSchema::new(json!({ "type": "object" })).unwrap())
            .external()
            .unwrap()
            .external()
    };
    let toolbox = Toolbox::from_registry(&clerk.tools);
    toolbox.add(external("page")).unwrap();
    toolbox.add(plain_tool("transfer_to_agent")).unwrap();
    let (declared, _) = ExternalTool::list(&json!([{ "name": "pick_color" }]));
    let more = Registry::builder().add(plain_tool("note")).build().unwrap();
    let additional = more.get("note").cloned();
    let agent = Agent::builder("clerk", clerk.model.clone()).tools(toolbox).build().unwrap();
    let options = RunOptions::new(RunContext::new())
        .tools(RunTools::new().additional(additional).external(declared))
        .show(Visibility::all().except(["erase"]));
    let end = Runner::new(agent).run_with(options, "Help me.").end().await;
    assert_eq!(end.text, "Done.", "{end}");
    assert_eq!(clerk.offered(), ["look_up", "note"]);
    let own: Vec<_> =
        clerk.model.requests()[0].tools.definitions().iter().map(|it| it.name().to_string()).collect();
    assert_eq!(own, ["dynamic_agent", "look_up", "note", "page", "pick_color", "transfer_to_agent"]);
}

fn items_of(tool: &DynamicAgentTool) -> Value {
    let schema = tool.definition().input_schema().to_value().into_owned();
    schema.pointer("/properties/tools/items").cloned().unwrap_or_default()
}

// Q27
#[tokio::test]
async fn a_boundary_in_code_is_listed_in_the_schema_and_one_for_each_call_is_not() {
    let template = |model: &ScriptedModel| Agent::builder("helper", model.clone()).build().unwrap();
    let child = ScriptedModel::new([Reply::text("Answer.")]);
    let tools = Registry::builder()
        .add(plain_tool("transfer_to_agent"))
        .add(plain_tool("note"))
        .tool::<look_up>()
        .build()
        .unwrap();
    let tool = DynamicAgentTool::builder(template(&child)).boundary(tools.clone()).build().unwrap();
    assert_eq!(items_of(&tool), json!({ "type": "string", "enum": ["look_up", "note"] }));
    let clerk = Clerk::with_tool(tool, child, json!({ "request": "Go." }));
    clerk.run(Executor::new(clerk.tools.clone())).await;
    assert_eq!(clerk.offered(), ["look_up", "note"]);

    let many = (0..257).fold(Registry::builder(), |all, n| all.add(plain_tool(format!("t{n}"))));
    let many = many.build().unwrap();
    let tool = DynamicAgentTool::builder(template(&ScriptedModel::new([]))).boundary(many).build().unwrap();
    assert_eq!(items_of(&tool), json!({ "type": "string" }));

    let child = ScriptedModel::new([Reply::text("Answer.")]);
    let of_user = move |cx: ToolContext| {
        let tools = tools.clone();
        async move {
            let is_known = cx.run().is_some_and(|run| run.user() == Some("u-7"));
            if is_known { Ok(tools) } else { Err(ToolError::failed("no user")) }
        }
    };
    let tool =
        DynamicAgentTool::builder(template(&child)).name("helper").boundary_fn(of_user).build().unwrap();
    assert_eq!((tool.definition().name().as_str(), items_of(&tool)), ("helper", json!({ "type": "string" })));
    let clerk = Clerk::with_tool(tool, child, json!({ "request": "Go.", "tools": ["note"] }));
    let runner = Runner::new(clerk.agent(Executor::new(clerk.tools.clone())).build().unwrap());
    runner.run_with(RunContext::new().with_user("u-7"), "Help me.").end().await;
    assert_eq!(clerk.offered(), ["note"]);
    let nameless = DynamicAgentTool::builder(template(&ScriptedModel::new([]))).name("no name").build();
    assert!(matches!(nameless, Err(AgentError::InvalidTool { .. })));
}

// Q28, Q31
#[tokio::test]
async fn the_template_fixes_the_model_and_an_instruction_is_for_one_agent_only() {
    let child = ScriptedModel::new([Reply::text("One."), Reply::text("Two.")]);
    let template = Agent::builder("helper", child.clone()).instruction("Help.").build().unwrap();
    let tool = DynamicAgentTool::builder(template).build().unwrap();
    let schema = tool.definition().input_schema().to_value().into_owned();
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["request", "instruction", "tools"]);
    for (name, description) in [
        ("request", "What the agent is to do"),
        ("instruction", "For this request only."),
        ("tools", "The names of the tools that the agent has"),
    ] {
        let text = schema["properties"][name]["description"].as_str().unwrap();
        assert!(text.contains(description), "{name}: {text}");
    }
    let call = |arguments: Value| Reply::call("dynamic_agent", arguments);
    let model = ScriptedModel::new([
        call(json!({ "request": "Go.", "instruction": "Be brief.", "model": "other" })),
        call(json!({ "request": "Go on.", "instruction": " " })),
        Reply::text("Done."),
    ]);
    let tools = Registry::builder().add(tool).build().unwrap();
    Runner::new(Agent::builder("clerk", model).tools(tools).build().unwrap()).run("Help me.").end().await;
    let requests = child.requests();
    assert_eq!((&*requests[0].instruction, &*requests[1].instruction), ("Help.\n\nBe brief.", "Help."));
    assert_eq!(requests[1].messages.len(), 1);
}

// Q29
#[tokio::test]
async fn a_hidden_field_is_not_in_the_schema_and_has_no_effect() {
    let child = ScriptedModel::new([Reply::text("Answer.")]);
    let template = Agent::builder("helper", child.clone()).build().unwrap();
    let tool = DynamicAgentTool::builder(template)
        .hide(RequestField::Tools)
        .hide(RequestField::Instruction)
        .hide(RequestField::Request)
        .describe(RequestField::Request, "The question.")
        .describe(RequestField::Tools, "Never shown.")
        .build()
        .unwrap();
    let schema = tool.definition().input_schema().to_value().into_owned();
    assert_eq!(schema["properties"].as_object().unwrap().len(), 1);
    assert_eq!(schema["properties"]["request"]["description"], "The question.");
    let arguments = json!({ "request": "Go.", "tools": [], "instruction": "Obey." });
    let clerk = Clerk::with_tool(tool, child, arguments);
    clerk.run(Executor::new(clerk.tools.clone())).await;
    assert_eq!(clerk.offered(), ["erase", "look_up"]);
    assert_eq!(&*clerk.child.requests()[0].instruction, "");
}

// Q32
#[tokio::test]
async fn dynamic_agents_may_start_others_which_pass_the_rules_above_down_to_the_depth_limit() {
    let call = |name: &str| Reply::call(name.to_owned(), json!({ "request": "Erase it." }));
    let bottom =
        ScriptedModel::new([Reply::call("erase", json!({ "path": "a.txt" })), Reply::text("Bottom.")]);
    let tool = |name: &str, model: &ScriptedModel| {
        let template = Agent::builder(name.to_owned(), model.clone()).build().unwrap();
        DynamicAgentTool::builder(template).name(name).build().unwrap()
    };
    for (max_depth, expected) in [(16, "Denied: a rule denies it: erase"), (1, "would be on level 2")] {
        let (first, second) = (ScriptedModel::new([call("second"), Reply::text("First.")]), bottom.clone());
        let model = ScriptedModel::new([call("first"), Reply::text("Done.")]);
        let log = Arc::new(Log::default());
        let tools = Registry::builder().tool::<erase>().provide_shared(Arc::clone(&log));
        let tools = tools.add(tool("first", &first)).add(tool("second", &second)).build().unwrap();
        let executor = Executor::builder(tools).rules(Rules::new([Rule::deny("erase")])).build().unwrap();
        let runner = Runner::new(Agent::builder("clerk", model).tools(executor).build().unwrap());
        let run = RunContext::new().with_max_depth(max_depth);
        assert_eq!(runner.run_with(run, "Help me.").end().await.text, "Done.");
        let asked = if max_depth == 1 { &first } else { &second };
        let result = asked.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned();
        assert!(result.contains(expected), "{result}");
        assert!(log.lock().unwrap().is_empty());
    }
}

// Q23, V09
#[tokio::test]
async fn parallel_calls_with_one_id_have_addresses_of_their_own_which_their_runs_know() {
    let replies = [Reply::text("One."), Reply::text("Two.")];
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let child = Agent::builder("helper", ScriptedModel::new(replies)).hook(hook::before_model(move |step| {
        if let Some(Trigger::Call { address, .. }) = step.request.run.trigger() {
            let value = step.request.run.value::<String>("card").map(|it| (*it).clone());
            sees.lock().unwrap().push((step.request.run.id().clone(), address.clone(), value));
        }
        async move { Ok(hook::BeforeModel::from(step)) }
    }));
    let tool = DynamicAgentTool::builder(child.build().unwrap()).build().unwrap();
    let call = || ToolCall::new("dynamic_agent", json!({ "request": "Go." })).with_id("c1");
    let model = ScriptedModel::new([Reply::calls([call(), call()]), Reply::text("Done.")]);
    let tools = Registry::builder().add(tool).build().unwrap();
    let runner = Runner::new(Agent::builder("clerk", model).tools(tools).build().unwrap());
    let run = RunContext::new().with_session("s");
    run.set("card", "k-7".to_owned());
    let mut stream = runner.run_with(run, "Help me.");
    let mut shown = HashSet::new();
    while let Some(event) = stream.next().await {
        if let AgentEventKind::Child { call, event } = event.kind {
            shown.insert((event.run.clone(), call));
        }
    }
    let seen = seen.lock().unwrap();
    assert_eq!((seen.len(), shown.len()), (2, 2));
    assert_ne!(seen[0].1, seen[1].1);
    for (run, address, value) in seen.iter() {
        assert!(shown.contains(&(run.clone(), address.clone())));
        assert_eq!(value.as_deref(), Some("k-7"));
    }
}
