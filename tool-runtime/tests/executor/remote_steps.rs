//! Tools whose code is in another process, which prepares calls before they are judged.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use tool_runtime::{
    BoxFuture, CallOutcome, Executor, RunContext, Tool, ToolCall, Toolbox,
    context::Budget,
    definition::{
        Checks, Confirmation, Metadata, Permission, Prepared, Redirection, RemotePreparation, RemoteSteps,
        StepError, ToolDefinition, ToolName, ToolSteps,
    },
    executor::{ExecutorBuilder, RunSettings},
    hook::{Before, BeforeCall, Hook},
    policy::{Rule, Rules},
    prelude::*,
    request::ModelRequest,
    schema::{Arguments, InputSchema},
    toolset::{NamedTools, ToolSetExt},
};

use super::run;

type Answer = dyn Fn(&str) -> Result<RemotePreparation, ToolError> + Send + Sync;

/// A tool that asks another process.
struct Proxy {
    definition: ToolDefinition,
    answer: Box<Answer>,
    asked: Arc<AtomicUsize>,
}

impl Tool for Proxy {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |arguments, _| {
            Box::pin(async move { Ok(ToolOutput::from(arguments.as_str().to_owned())) })
        }))
    }

    fn checks(&self) -> Checks {
        Checks::ALL
    }

    fn remote_steps(&self) -> Option<&dyn RemoteSteps> {
        Some(self)
    }
}

impl RemoteSteps for Proxy {
    fn owner(&self) -> usize {
        7
    }

    fn steps(&self) -> ToolSteps {
        ToolSteps { prepares_arguments: true, ..ToolSteps::default() }
    }

    fn has_checks(&self) -> bool {
        true
    }

    fn prepare_call<'a>(
        &'a self,
        arguments: Arguments<'a>,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<RemotePreparation, StepError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            tokio::task::yield_now().await;
            (self.answer)(arguments.as_str()).map_err(|error| match error.kind() {
                ErrorKind::Unavailable => StepError::Unanswered(error),
                _ => StepError::Refused(error),
            })
        })
    }

    fn redirect_call<'a>(&'a self, _: Arguments<'a>) -> BoxFuture<'a, Result<Redirection, StepError>> {
        Box::pin(async { Err(StepError::Refused(ToolError::failed("it redirects no call"))) })
    }

    fn announce_request(&self, _: &ModelRequest) {}
}

/// A process that writes all texts in capitals, permits what has no `9`, and asks about what has an `8`.
fn usual(text: &str) -> Result<RemotePreparation, ToolError> {
    let text = text.replace("rome", "ROME").replace("oslo", "OSLO");
    let permission = match text.contains('9') {
        true => Permission::deny("no nines"),
        false => Permission::Allow,
    };
    Ok(RemotePreparation {
        confirmation: Some(Ok(text.contains('8'))),
        permission: Some(Ok(permission)),
        canonical: Some(text.clone()),
        arguments: Some(text),
    })
}

fn proxy(answer: impl Fn(&str) -> Result<RemotePreparation, ToolError> + Send + Sync + 'static) -> Proxy {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let metadata =
        Metadata { permission: true, confirmation: Confirmation::Sometimes, ..Metadata::default() };
    let definition = ToolDefinition::new(
        ToolName::new("stay").unwrap(),
        "Stays somewhere.",
        InputSchema::new(schema).unwrap(),
    );
    Proxy { definition: definition.with_metadata(metadata), answer: Box::new(answer), asked: Arc::default() }
}

fn executor(proxy: Proxy, configure: impl FnOnce(ExecutorBuilder) -> ExecutorBuilder) -> Executor {
    let tools = Registry::builder().add(proxy).build().unwrap();
    configure(Executor::builder(tools)).build().unwrap()
}

fn stay(executor: &Executor, city: &str) -> CallOutcome {
    run(executor.run(vec![ToolCall::new("stay", json!({ "city": city }))])).remove(0)
}

fn text(outcome: &CallOutcome) -> String {
    outcome.result().map(|result| result.text().into_owned()).unwrap_or_default()
}

#[test]
fn rules_judge_the_arguments_that_another_process_prepared() {
    let executor = executor(proxy(usual), |it| it.rules(Rules::new([Rule::deny("stay:ROME")])));
    assert!(text(&stay(&executor, "rome")).starts_with("Denied: a rule denies it"));
    assert_eq!(text(&stay(&executor, "oslo")), r#"{"city":"OSLO"}"#);
    assert_eq!(text(&stay(&executor, "oslo 9")), "Denied: no nines");
    assert!(!stay(&executor, "oslo 8").is_finished());
}

/// Sends all calls to Rome, and remembers what it saw.
struct ToRome(Arc<Mutex<Vec<String>>>);

impl Hook for ToRome {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.0.lock().unwrap().push(call.arguments().as_str().to_owned());
        Ok(Before::Rewrite(json!({ "city": "rome" }).into()))
    }
}

#[test]
fn arguments_that_a_hook_rewrote_are_prepared_and_judged_again() {
    let seen = Arc::new(Mutex::default());
    let proxy = proxy(usual);
    let asked = Arc::clone(&proxy.asked);
    let rules = Rules::new([Rule::deny("stay:ROME")]);
    let executor = executor(proxy, |it| it.rules(rules).hook(ToRome(Arc::clone(&seen))));
    assert!(text(&stay(&executor, "oslo")).starts_with("Denied: a rule denies it"));
    assert_eq!(*seen.lock().unwrap(), [r#"{"city":"OSLO"}"#]);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_call_without_answers_does_not_run() {
    let silent = |text: &str| Ok(RemotePreparation { permission: None, ..usual(text)? });
    assert!(text(&stay(&executor(proxy(silent), |it| it), "oslo")).contains("does not decide on this call"));
    let silent = |text: &str| Ok(RemotePreparation { confirmation: None, ..usual(text)? });
    assert!(text(&stay(&executor(proxy(silent), |it| it), "oslo")).contains("does not decide on this call"));
    let broken = |_: &str| Err(ToolError::new(ErrorKind::Unavailable, "no worker").retryable(true));
    let outcome = stay(&executor(proxy(broken), |it| it), "oslo");
    assert_eq!(outcome.result().unwrap().attempts, 0);
    assert!(text(&outcome).contains("no worker"), "{}", text(&outcome));
}

#[test]
fn a_process_that_does_not_answer_is_asked_once_for_each_batch() {
    let proxy = proxy(|_| Err(ToolError::new(ErrorKind::Unavailable, "no worker").retryable(true)));
    let asked = Arc::clone(&proxy.asked);
    let executor = executor(proxy, |it| it);
    let calls = || vec![ToolCall::new("stay", json!({ "city": "oslo" })); 5];
    for batch in 1..3 {
        let outcomes = run(executor.run(calls()));
        assert!(outcomes.iter().all(|outcome| text(outcome).contains("no worker")));
        assert_eq!(asked.load(Ordering::SeqCst), batch);
    }
}

#[test]
fn a_panic_of_the_connection_is_an_error_of_the_call() {
    let executor = executor(proxy(|_| panic!("out of wire")), |it| it);
    let text = text(&stay(&executor, "oslo"));
    assert!(text.contains("the connection to the tool panicked: out of wire"), "{text}");
}

#[test]
fn a_text_that_changes_each_time_does_not_run() {
    let counter = AtomicUsize::new(0);
    let changing = move |_: &str| {
        let text = format!(r#"{{"city":"{}"}}"#, counter.fetch_add(1, Ordering::SeqCst));
        Ok(RemotePreparation { canonical: Some("{}".to_owned()), arguments: Some(text), ..usual("")? })
    };
    let proxy = proxy(changing);
    let asked = Arc::clone(&proxy.asked);
    let text = text(&stay(&executor(proxy, |it| it), "oslo"));
    assert!(text.contains("must return its own result unchanged"), "{text}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_preparation_counts_in_no_budget() {
    let executor = executor(proxy(usual), |it| it);
    let of_run =
        Arc::new(RunContext::new().with_budget(Budget { calls: Some(1), rounds: None, tokens: None }));
    let calls = ["oslo 9", "oslo"].map(|city| ToolCall::new("stay", json!({ "city": city }))).to_vec();
    let outcomes = run(executor.batch(calls).with_run(Arc::clone(&of_run)).run());
    assert_eq!(text(&outcomes[0]), "Denied: no nines");
    assert_eq!(text(&outcomes[1]), r#"{"city":"OSLO"}"#);
    assert_eq!(of_run.spent().calls, 1);
}

/// The set asks about more than the tool does.
#[test]
fn the_adapters_of_a_set_keep_the_steps_of_its_tools() {
    let tool: Arc<dyn Tool> = Arc::new(proxy(usual));
    let set = NamedTools::new("a", [tool]).renamed([("stay", "lodge")]);
    let set = set.confirmed(|_, arguments| arguments["city"] == "ROME");
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let executor = Executor::new(run(toolbox.snapshot(&RunContext::new())).unwrap().into_tools());
    let lodge =
        |city: &str| run(executor.run(vec![ToolCall::new("lodge", json!({ "city": city }))])).remove(0);
    assert_eq!(text(&lodge("oslo")), r#"{"city":"OSLO"}"#);
    assert!(!lodge("rome").is_finished() && !lodge("oslo 8").is_finished());
}

fn twice(arguments: &mut tool_runtime::serde_json::Map<String, Value>) -> Result<(), ToolError> {
    if let Some(days) = arguments.get("days").and_then(Value::as_u64) {
        arguments.insert("days".to_owned(), json!(days * 2));
    }
    Ok(())
}

/// Counts.
#[tool(register = false, prepare = twice)]
fn count(days: u64) -> u64 {
    days
}

/// For a process that prepared it before.
#[test]
fn a_prepared_call_runs_as_it_is() {
    let executor = Executor::new(Registry::builder().tool::<count>().build().unwrap());
    let settings = RunSettings::new().prepared_calls(true);
    let prepared = executor.with_settings(&RunContext::new(), settings).unwrap();
    let days = |executor: &Executor| {
        text(&run(executor.run(vec![ToolCall::new("count", json!({ "days": 2 }))])).remove(0))
    };
    assert_eq!((days(&executor), days(&prepared)), ("4".to_owned(), "2".to_owned()));
}
