//! Calls that stand for calls of another tool. Nothing but the tool that redirects sees the call as the model made it.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tool_runtime::{
    CallOutcome, Dialect, RunContext, ToolCall, Toolbox,
    builder::ExternalTool,
    context::{Budget, ConfirmationAnswer},
    definition::{Permission, Prepared, Redirect, Redirection, ToolDefinition, ToolName},
    event::EventKind,
    hook::CallView,
    policy::{PermissionRequest, RetryPolicy, Rule, Rules},
    prelude::*,
    registry::RegistryBuilder,
    schema::{Arguments, InputSchema},
    toolbox::Visibility,
};

use super::{AT_ONCE, Counter, On, building, echo, one, run, texts, ways::each_way};

/// A tool whose calls are those of the tool `name`.
pub(super) struct Caller(pub(super) ToolDefinition);

pub(super) fn caller(name: &str) -> Caller {
    let properties = json!({ "name": { "type": "string" }, "arguments": { "type": "object" } });
    let schema = json!({ "type": "object", "properties": properties, "required": ["name"] });
    let name = ToolName::new(name.to_owned()).unwrap();
    Caller(ToolDefinition::new(name, "Calls a tool.", InputSchema::new(schema).unwrap()))
}

fn named_call(arguments: &Arguments<'_>) -> Result<Redirection, ToolError> {
    let call = arguments.to_value().map_err(|error| ToolError::failed(error.to_string()))?;
    let name = call["name"].as_str().unwrap_or_default();
    let arguments = call.get("arguments").map_or_else(|| "{}".to_owned(), Value::to_string);
    Ok(Redirection::new(name, arguments))
}

impl Tool for Caller {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| {
            Box::pin(async { panic!("the body of a tool that redirects ran") })
        }))
    }

    fn redirect(&self) -> Option<Redirect> {
        Some(named_call)
    }
}

/// Runs a command.
#[tool(register = false)]
fn bash(counter: &Counter, command: String) -> String {
    counter.count();
    format!("ran {command}")
}

/// Removes a file, if a person agrees.
#[tool(register = false, confirm)]
fn remove(counter: &Counter, path: String) -> String {
    counter.count();
    format!("removed {path}")
}

/// Logs in.
#[tool(register = false)]
fn login(user: String, #[arg(secret)] pin: String) -> String {
    format!("{user} has {} digits", pin.len())
}

/// Fails twice.
#[tool(register = false, read_only)]
fn flaky(counter: &Counter) -> Result<String, ToolError> {
    match counter.count() {
        ..3 => Err(ToolError::failed("not yet").retryable(true)),
        _ => Ok("done".to_owned()),
    }
}

pub(super) fn tools(counter: &Counter) -> RegistryBuilder {
    Registry::builder()
        .add(caller("call_tool"))
        .add(caller("other_caller"))
        .tool::<bash>()
        .tool::<remove>()
        .tool::<login>()
        .tool::<flaky>()
        .tool::<echo>()
        .provide(counter.clone())
}

fn yes() -> ConfirmationAnswer {
    ConfirmationAnswer { confirmed: true, payload: Value::Null }
}

fn redirected(name: &str, arguments: Value) -> Vec<ToolCall> {
    one("call_tool", &json!({ "name": name, "arguments": arguments }).to_string())
}

pub(super) fn bash_call() -> Vec<ToolCall> {
    redirected("bash", json!({ "command": "ls" }))
}

// T11
#[test]
fn a_redirected_call_is_one_of_the_tool_that_it_names() {
    each_way(async |way| {
        let executor = way.executor(tools(&Counter::default()));
        let outcomes = executor.run(bash_call()).await;
        let result = outcomes[0].result().unwrap();
        assert_eq!(
            (result.text().as_ref(), &*result.name, result.called_name()),
            ("ran ls", "bash", "call_tool")
        );
        assert_eq!(result.id.to_string(), "0");
        let Some(events) = executor.events() else { return };
        let [started, finished] = &events[..] else { panic!() };
        let EventKind::Started { call } = &started.kind else { panic!() };
        assert_eq!((&*call.name, call.arguments.as_str()), ("bash", r#"{"command":"ls"}"#));
        let EventKind::Finished { result } = &finished.kind else { panic!() };
        assert_eq!((&*result.name, result.redirected_from.as_deref()), ("bash", Some("call_tool")));
        assert!(events.iter().all(|event| event.id().to_string() == "0"));
    });
}

// T11
#[test]
fn a_rule_about_a_tool_holds_for_redirected_calls() {
    each_way(async |way| {
        let counter = Counter::default();
        let by_name = Rules::new([Rule::deny("bash")]);
        let by_arguments = Rules::new([Rule::deny("bash:ls")]);
        let of_caller = Rules::new([Rule::deny("call_tool")]);
        for rules in [by_name, by_arguments, of_caller] {
            let executor = way.of(building(tools(&counter)).rules(rules));
            let outcomes = executor.run(bash_call()).await;
            assert!(texts(&outcomes)[0].starts_with("Denied"), "{:?}", texts(&outcomes));
        }
        assert_eq!(counter.get(), 0);
        // An allowing rule for the tool that redirects does not allow what it calls.
        let rules = Rules::new([Rule::deny("bash"), Rule::allow("call_tool")]);
        let executor = way.of(building(tools(&counter)).rules(rules));
        assert!(texts(&executor.run(bash_call()).await)[0].starts_with("Denied"));
        assert_eq!(counter.get(), 0);
    });
}

// T11
#[test]
fn a_rule_that_asks_about_either_tool_asks() {
    each_way(async |way| {
        for rule in ["bash", "call_tool"] {
            let counter = Counter::default();
            let rules = Rules::new([Rule::ask(rule)]);
            let executor = way.of(building(tools(&counter)).rules(rules).pending_approvals(true));
            let outcomes = executor.run(bash_call()).await;
            let CallOutcome::Pending(pending) = &outcomes[0] else { panic!("{rule}: {:?}", outcomes[0]) };
            assert_eq!((&*pending.call.name, counter.get()), ("bash", 0));
            let outcomes = executor.drive(executor.resume([("0", yes())]).await.unwrap()).await;
            assert_eq!((texts(&outcomes), counter.get()), (vec!["ran ls".to_owned()], 1));
        }
    });
}

// T11
#[test]
fn an_approval_is_bound_to_the_call_that_runs() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.of(building(tools(&counter)).pending_approvals(true));
        let direct = executor.run(one("remove", r#"{"path":"a"}"#)).await;
        let other = executor.run(redirected("remove", json!({ "path": "b" }))).await;
        let same = executor.run(redirected("remove", json!({ "path": "a" }))).await;
        let request = |outcomes: &[CallOutcome]| match &outcomes[0] {
            CallOutcome::Pending(pending) => match &pending.operation {
                tool_runtime::call::Operation::Confirmation(request) => request.clone(),
                _ => panic!(),
            },
            other => panic!("{other:?}"),
        };
        let (direct, other, same) = (request(&direct), request(&other), request(&same));
        assert_eq!((&*same.call.name, same.call.arguments.as_str()), ("remove", r#"{"path":"a"}"#));
        assert_ne!(direct.hash, other.hash);
        assert_eq!(counter.get(), 0);
        let outcomes = executor.drive(executor.resume([(same.address.clone(), yes())]).await.unwrap()).await;
        let result = outcomes[0].result().unwrap();
        assert_eq!((result.text().as_ref(), result.called_name()), ("removed a", "call_tool"));
        assert_eq!(counter.get(), 1);
    });
}

// T11
#[test]
fn policies_hooks_budgets_and_retries_see_the_tool_that_is_called() {
    each_way(async |way| {
        let (counter, seen) = (Counter::default(), Arc::new(Mutex::new(Vec::new())));
        let notes = Arc::clone(&seen);
        let admitted = move |call: &CallView<'_>| {
            notes.lock().unwrap().push(call.tool().to_owned());
            true
        };
        let notes = Arc::clone(&seen);
        let policy = move |request: &PermissionRequest<'_>| {
            notes.lock().unwrap().push(request.tool().to_string());
            Permission::Allow
        };
        let builder = building(tools(&counter)).hook(On::admit(admitted)).permission(policy);
        let executor = way.of(builder.retry(RetryPolicy::new(AT_ONCE)));
        let budget = RunContext::new().with_budget(Budget { calls: Some(1), ..Budget::default() });
        let budget = Arc::new(budget);
        let batch = executor.batch(redirected("flaky", json!({}))).with_run(Arc::clone(&budget));
        let outcomes = executor.drive(batch).await;
        assert_eq!((texts(&outcomes), counter.get()), (vec!["done".to_owned()], 3));
        assert_eq!(*seen.lock().unwrap(), ["flaky", "flaky"]);
        let batch = executor.batch(bash_call()).with_run(Arc::clone(&budget));
        assert!(executor.drive(batch).await[0].result().unwrap().is_error());
        assert_eq!(counter.get(), 3);
    });
}

// T11
#[test]
fn secrets_of_the_tool_that_is_called_are_hidden() {
    each_way(async |way| {
        let executor = way.executor(tools(&Counter::default()));
        let mut calls = redirected("login", json!({ "user": "ada", "pin": "hunter2" }));
        // A call that stands for none, and one of an unknown tool, may have them, too.
        calls.push(
            ToolCall::new("call_tool", r#"{"nam":"login","arguments":{"pin":"hunter2"}}"#).with_id("1"),
        );
        calls.push(ToolCall::new("call_tool", r#"{"name":"login","arguments":"hunter2"}"#).with_id("2"));
        calls.push(
            ToolCall::new("call_tool", r#"{"name":"logon","arguments":{"pin":"hunter2"}}"#).with_id("3"),
        );
        let outcomes = executor.run(calls).await;
        assert_eq!(texts(&outcomes)[0], "ada has 7 digits");
        for event in executor.events().unwrap_or_default() {
            let text = serde_json::to_string(&event).unwrap();
            assert!(!text.contains("hunter2"), "{text}");
        }
    });
}

// T11
#[test]
fn a_call_is_redirected_once_and_not_to_external_tools() {
    let (external, _) = ExternalTool::list(&json!([{ "name": "pick_color" }]));
    let external: Vec<_> = external.into_iter().map(|tool| tool.external()).collect();
    each_way(async |way| {
        let counter = Counter::default();
        let builder = external.iter().cloned().fold(tools(&counter), |builder, tool| builder.add(tool));
        let is_external = |call: &CallView<'_>| call.tool() == "echo";
        let executor = way.of(building(builder).external(is_external));
        let nested = json!({ "name": "bash", "arguments": { "command": "ls" } });
        for (name, arguments, expected) in [
            ("call_tool", nested.clone(), "`call_tool` cannot call `call_tool`"),
            ("other_caller", nested, "`call_tool` cannot call `other_caller`"),
            (
                "pick_color",
                json!({}),
                "`call_tool` cannot call `pick_color`, whose calls the caller executes",
            ),
            (
                "echo",
                json!({ "text": "a" }),
                "`call_tool` cannot call `echo`, whose calls the caller executes",
            ),
        ] {
            let outcomes = executor.run(redirected(name, arguments)).await;
            let result = outcomes[0].result().unwrap();
            assert!(result.text().contains(expected), "{name}: {}", result.text());
            assert_eq!(result.id.to_string(), "0");
        }
        assert_eq!((counter.get(), executor.open_calls().await.unwrap().len()), (0, 0));
        // Without redirection, they are left to the caller.
        assert!(matches!(executor.run(one("pick_color", "{}")).await[0], CallOutcome::External(..)));
    });
}

#[test]
fn a_call_is_not_redirected_to_tools_of_the_framework() {
    each_way(async |way| {
        let counter = Counter::default();
        let registry = tools(&counter).build().unwrap();
        let own = Registry::builder().tool::<echo>().provide(counter.clone()).build().unwrap();
        let registry = registry.with_framework_tools(&[own], &[]).unwrap().0;
        let executor = way.of(tool_runtime::Executor::builder(registry.clone()));
        let expected = "`call_tool` cannot call `echo`, a tool of the framework; call `echo` itself";
        let outcomes = executor.run(redirected("echo", json!({ "text": "a" }))).await;
        let result = outcomes[0].result().unwrap();
        assert!(result.text().contains(expected), "{}", result.text());
        assert_eq!(&*result.name, "call_tool");
        let outcomes = executor.run(one("echo", r#"{ "text": "a" }"#)).await;
        assert_eq!((texts(&outcomes)[0].as_str(), counter.get()), ("a", 1));
        let call = json!({ "name": "echo", "arguments": { "text": "a" } });
        let error = registry.call("call_tool", call).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    });
}

// T11
#[test]
fn an_unknown_name_and_arguments_that_do_not_fit_are_answered_as_by_a_direct_call() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(tools(&counter));
        for (name, arguments) in
            [("bush", json!({})), ("bash", json!({})), ("bash", json!({ "command": {} }))]
        {
            let direct = executor.run(one(name, &arguments.to_string())).await;
            let outcomes = executor.run(redirected(name, arguments)).await;
            assert_eq!(texts(&outcomes), texts(&direct));
        }
        assert_eq!(
            texts(&executor.run(redirected("bush", json!({}))).await)[0],
            "Tool not found: bush\nDid you mean `bash`?"
        );
        let invalid = executor.run(one("call_tool", r#"{"tool":"bash"}"#)).await;
        assert!(texts(&invalid)[0].starts_with("Invalid arguments"), "{:?}", texts(&invalid));
        assert_eq!(counter.get(), 0);
    });
}

// T08, T11
#[test]
fn a_hidden_tool_is_unknown_to_redirected_calls() {
    run(async {
        let counter = Counter::default();
        let toolbox = Toolbox::from_registry(&tools(&counter).build().unwrap());
        toolbox.show(Visibility::all().except(["bash"]));
        let snapshot = toolbox.snapshot(&RunContext::new()).await.unwrap();
        let executor = tool_runtime::Executor::new(snapshot.into_tools());
        let outcomes = executor.run(bash_call()).await;
        assert!(texts(&outcomes)[0].starts_with("Tool not found: bash"), "{:?}", texts(&outcomes));
        assert_eq!(counter.get(), 0);
    });
}

// T11
#[test]
fn calls_of_a_batch_are_redirected_one_by_one() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(tools(&counter));
        let mut calls = bash_call();
        calls.push(ToolCall::new("bash", r#"{"command":"pwd"}"#).with_id("1"));
        calls.push(ToolCall::new("call_tool", r#"{"name":"echo","arguments":{"text":"hi"}}"#).with_id("2"));
        calls.push(ToolCall::new("call_tool", "{}").with_id("3"));
        let outcomes = executor.run(calls).await;
        let texts = texts(&outcomes);
        assert_eq!(texts[..3], ["ran ls", "ran pwd", "hi"]);
        assert!(texts[3].starts_with("Invalid arguments"));
        let names: Vec<_> = outcomes.iter().map(|it| it.result().unwrap().called_name().to_owned()).collect();
        assert_eq!(names, ["call_tool", "bash", "call_tool", "call_tool"]);
    });
}

// T11
#[test]
fn the_result_has_the_wire_name_that_the_model_called() {
    run(async {
        let registry = tools(&Counter::default()).build().unwrap();
        let dialect = Dialect::gemini();
        let bound = dialect.bind_tools(&registry);
        let outcomes = tool_runtime::Executor::new(registry).run(bash_call()).await;
        let results: Vec<_> = outcomes.iter().filter_map(|it| it.result().cloned()).collect();
        let message: Value = serde_json::to_value(bound.results(&results)).unwrap();
        assert!(message.to_string().contains(r#""name":"call_tool""#), "{message}");
        // The stored form keeps both names.
        let stored = serde_json::to_string(&results[0]).unwrap();
        let restored: tool_runtime::ToolResult = serde_json::from_str(&stored).unwrap();
        assert_eq!((&*restored.name, restored.called_name()), ("bash", "call_tool"));
    });
}
