//! Tools whose calls are calls of other tools, as another process knows.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tool_runtime::{
    BoxFuture, Executor, RunContext, Tool, ToolCall,
    call::Incomplete,
    context::Budget,
    definition::{
        Prepared, Redirect, Redirection, RemotePreparation, RemoteSteps, StepError, ToolDefinition, ToolName,
        ToolSteps,
    },
    dialect::Dialect,
    executor::ExecutorBuilder,
    policy::{Rule, Rules},
    prelude::*,
    request::ModelRequest,
    schema::{Arguments, InputSchema, Repair},
};

use super::{Counter, On, building, echo, run, texts};

type Target = dyn Fn() -> Result<Redirection, StepError> + Send + Sync;

/// A tool of another process, whose calls are calls of others.
struct Switch {
    definition: ToolDefinition,
    owner: usize,
    redirects: bool,
    target: Box<Target>,
    asked: Arc<AtomicUsize>,
    announced: Arc<AtomicUsize>,
}

fn definition(name: &str) -> ToolDefinition {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let name = ToolName::new(name.to_owned()).unwrap();
    ToolDefinition::new(name, "Goes somewhere.", InputSchema::new(schema).unwrap())
}

fn switch(target: impl Fn() -> Result<Redirection, StepError> + Send + Sync + 'static) -> Switch {
    Switch {
        definition: definition("switch"),
        owner: 7,
        redirects: true,
        target: Box::new(target),
        asked: Arc::default(),
        announced: Arc::default(),
    }
}

/// A tool of the process `owner` that returns its arguments.
fn station(name: &str, owner: usize) -> Switch {
    let unused = || Err(StepError::Refused(ToolError::failed("it redirects no call")));
    Switch { definition: definition(name), owner, redirects: false, ..switch(unused) }
}

fn to(name: &'static str) -> Switch {
    switch(move || Ok(Redirection::new(name, r#"{"city":"oslo"}"#.to_owned())))
}

impl Tool for Switch {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let name = self.definition.name().to_string();
        Ok(Prepared::new(arguments, move |arguments, _| {
            Box::pin(async move { Ok(ToolOutput::from(format!("{name} {}", arguments.as_str()))) })
        }))
    }

    fn remote_steps(&self) -> Option<&dyn RemoteSteps> {
        Some(self)
    }
}

impl RemoteSteps for Switch {
    fn owner(&self) -> usize {
        self.owner
    }

    fn steps(&self) -> ToolSteps {
        ToolSteps { redirects_calls: self.redirects, adds_to_requests: true, ..ToolSteps::default() }
    }

    fn has_checks(&self) -> bool {
        false
    }

    fn prepare_call<'a>(
        &'a self,
        _: Arguments<'a>,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<RemotePreparation, StepError>> {
        Box::pin(async { Ok(RemotePreparation::default()) })
    }

    fn redirect_call<'a>(&'a self, _: Arguments<'a>) -> BoxFuture<'a, Result<Redirection, StepError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { (self.target)() })
    }

    fn announce_request(&self, request: &ModelRequest) {
        assert_eq!(request.tool_name(), Some(self.definition.name().as_str()));
        self.announced.fetch_add(1, Ordering::SeqCst);
    }
}

/// Looks something up.
#[tool(register = false)]
fn look(city: Option<String>) -> String {
    city.unwrap_or_default()
}

fn registry(switch: Switch) -> Registry {
    let tools = Registry::builder().add(switch).add(station("stay", 7)).add(station("abroad", 8));
    let tools = tools.tool::<look>().tool::<echo>().provide(Counter::default()).build().unwrap();
    tools.with_framework_tool(station("frame", 7)).unwrap()
}

fn executor(switch: Switch, configure: impl FnOnce(ExecutorBuilder) -> ExecutorBuilder) -> Executor {
    configure(Executor::builder(registry(switch))).build().unwrap()
}

fn call() -> ToolCall {
    ToolCall::new("switch", json!({ "city": "rome" })).with_id("0")
}

fn text(executor: &Executor) -> String {
    texts(&run(executor.run(vec![call()]))).remove(0)
}

#[test]
fn a_call_is_the_one_that_another_process_names() {
    let executor = executor(to("stay"), |it| it);
    let outcomes = run(executor.run(vec![call()]));
    let result = outcomes[0].result().unwrap();
    assert_eq!(
        (result.text().as_ref(), &*result.name, result.redirected_from.as_deref()),
        (r#"stay {"city":"oslo"}"#, "stay", Some("switch"))
    );
}

#[test]
fn a_call_leads_to_a_tool_of_the_same_process_alone() {
    let foreign = |name: &str| {
        format!(
            "Invalid arguments: `switch` cannot call `{name}`, which is no tool of its process; call `{name}` \
             itself\nNothing was executed."
        )
    };
    for name in ["abroad", "look"] {
        assert_eq!(text(&executor(to(name), |it| it)), foreign(name));
    }
    assert_eq!(
        text(&executor(to("frame"), |it| it)),
        "Invalid arguments: `switch` cannot call `frame`, a tool of the framework; call `frame` itself\nNothing was executed."
    );
    let unknown = text(&executor(to("nowhere"), |it| it));
    assert!(unknown.contains("nowhere"), "{unknown}");
}

#[test]
fn an_error_of_the_other_process_is_the_answer() {
    let refused = || Err(StepError::Refused(ToolError::failed("no such line")));
    assert_eq!(text(&executor(switch(refused), |it| it)), "no such line");
    let silent = || Err(StepError::Unanswered(ToolError::new(ErrorKind::Unavailable, "no worker")));
    assert_eq!(text(&executor(switch(silent), |it| it)), "Tool unavailable: no worker");
    let crashing = executor(switch(|| panic!("out of wire")), |it| it);
    assert_eq!(text(&crashing), "the connection to the tool panicked: out of wire");
}

#[test]
fn a_call_that_is_denied_or_cut_off_or_over_budget_is_not_asked_about() {
    let to_stay = to("stay");
    let asked = Arc::clone(&to_stay.asked);
    let denying = executor(to_stay, |it| it.rules(Rules::new([Rule::deny("switch").reason("closed")])));
    assert_eq!(text(&denying), "Denied: closed");
    let to_stay = Switch { asked: Arc::clone(&asked), ..to("stay") };
    let executor = executor(to_stay, |it| it);
    let mut cut = call();
    cut.incomplete = Some(Incomplete::new("length"));
    let outcomes = run(executor.run(vec![cut]));
    assert!(outcomes[0].result().unwrap().is_error());
    let budget = RunContext::new().with_budget(Budget { calls: Some(0), ..Budget::default() });
    let outcomes = run(executor.batch(vec![call()]).with_run(budget).run());
    assert!(texts(&outcomes)[0].contains("the run may make 0 calls"), "{:?}", texts(&outcomes));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn hooks_see_the_result_of_a_call_that_leads_nowhere_and_not_of_a_denied_one() {
    let seen = Counter::default();
    let after = |seen: &Counter| {
        let seen = seen.clone();
        On::after(move |_| {
            seen.count();
            Ok(ControlFlow::Continue(()))
        })
    };
    let denied = Rules::new([Rule::deny("switch")]);
    text(&executor(to("stay"), |it| it.rules(denied).hook(after(&seen))));
    assert_eq!(seen.get(), 0);
    text(&executor(to("abroad"), |it| it.hook(after(&seen))));
    assert_eq!(seen.get(), 1);
    let refused = || Err(StepError::Refused(ToolError::new(ErrorKind::Denied, "not you")));
    text(&executor(switch(refused), |it| it.hook(after(&seen))));
    assert_eq!(seen.get(), 2);
}

#[test]
fn a_redirect_of_another_process_is_known_through_an_executor_alone() {
    let registry = registry(to("stay"));
    let redirects = ["switch", "stay", "look", "nowhere"].map(|name| registry.redirects_calls_of(name));
    assert_eq!(redirects, [true, false, false, false]);
    assert!(registry.redirection_target("switch", "{}".into()).is_none());
    assert!(registry.redirection_target("look", "{}".into()).is_none());
    let error = run(registry.call("switch", "{}")).unwrap_err();
    assert_eq!(
        error.reason(),
        "another process knows the call for which this one stands; call it through an executor"
    );
    let executor = Executor::new(registry);
    let redirection = run(executor.redirect_for_peer(&call())).unwrap();
    assert_eq!((&*redirection.name, redirection.arguments.as_str()), ("stay", r#"{"city":"oslo"}"#));
    let error = run(executor.redirect_for_peer(&ToolCall::new("look", "{}"))).unwrap_err();
    assert_eq!(
        (error.kind(), error.reason().as_ref()),
        (ErrorKind::Unavailable, "the tool redirects no call")
    );
    let foreign = Executor::new(self::registry(to("abroad")));
    let error = run(foreign.redirect_for_peer(&call())).unwrap_err();
    assert!(error.reason().contains("which is no tool of its process"), "{error}");
}

/// A tool of this process whose calls are calls of `look`.
struct Signal(ToolDefinition);

fn to_look(_: &Arguments<'_>) -> Result<Redirection, ToolError> {
    Ok(Redirection::new("look", "{city: 'Oslo'}".to_owned()))
}

impl Tool for Signal {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| Box::pin(async { panic!("it redirects") })))
    }

    fn redirect(&self) -> Option<Redirect> {
        Some(to_look)
    }
}

#[test]
fn the_arguments_of_the_call_that_runs_are_repaired() {
    let tools = Registry::builder().add(Signal(definition("signal"))).tool::<look>();
    let signalled = |builder: ExecutorBuilder| {
        texts(&run(builder.build().unwrap().run(vec![ToolCall::new("signal", "{}")]))).remove(0)
    };
    assert_eq!(signalled(building(tools.repair(Repair::AllTools))), "Oslo");
    let tools = Registry::builder().add(Signal(definition("signal"))).tool::<look>();
    assert!(signalled(building(tools)).starts_with("Invalid arguments"));
    let tools = Registry::builder().add(Signal(definition("signal"))).tool::<look>().build().unwrap();
    let target = tools.redirection_target("signal", "{}".into());
    assert_eq!(target.map(|target| target.name().as_str()), Some("look"));
}

#[test]
fn a_call_that_was_cut_off_is_not_redirected() {
    let tools = Registry::builder().add(Signal(definition("signal"))).tool::<look>();
    let executor = building(tools).build().unwrap();
    let mut cut = ToolCall::new("signal", "{}");
    cut.incomplete = Some(Incomplete::new("length"));
    let outcomes = run(executor.run(vec![cut]));
    let result = outcomes[0].result().unwrap();
    assert_eq!((&*result.name, result.redirected_from.as_deref()), ("signal", None));
    assert_eq!(result.outcome.as_ref().unwrap_err().kind(), ErrorKind::Incomplete);
}

#[test]
fn a_request_is_announced_to_each_tool_of_another_process() {
    let to_stay = to("stay");
    let announced = Arc::clone(&to_stay.announced);
    let bound = Dialect::anthropic().bind_tools(&registry(to_stay));
    run(bound.build_request(json!({}), RunContext::new())).unwrap();
    assert_eq!(announced.load(Ordering::SeqCst), 1);
}

#[test]
fn a_framework_tool_takes_its_place_among_the_others_and_is_none_of_them() {
    let tools = registry(to("stay"));
    let names = |tools: &Registry| {
        tools.all_definitions().iter().map(|it| it.name().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&tools), "abroad echo frame look stay switch");
    assert_eq!(tools.origin("frame"), Some(&tool_runtime::registry::Origin::Framework));
    assert_eq!(tools.origin("look"), Some(&tool_runtime::registry::Origin::Direct));
    let described = Switch { definition: definition("frame").with_title("Frame"), ..station("frame", 7) };
    let replaced = tools.with_framework_tool(described).unwrap();
    assert_eq!(names(&replaced), names(&tools));
    assert_eq!(replaced.get("frame").unwrap().definition().title(), "Frame");
    // Nothing in it is secret, so that the arguments of an unknown tool are shown.
    let executor = Executor::new(replaced);
    let mut listener = executor.subscribe();
    run(executor.run(vec![ToolCall::new("nowhere", r#"{"a":1}"#)]));
    let started = super::events(&mut listener).remove(0);
    let tool_runtime::event::EventKind::Started { call } = &started.kind else { panic!("{started:?}") };
    assert_eq!(call.arguments.as_str(), r#"{"a":1}"#);
}
