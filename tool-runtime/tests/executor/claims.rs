//! Tools that declare a check before their calls, and the implementations of these checks.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tool_runtime::{
    Executor, RunContext, Tool, ToolBuilder, ToolDefinition, ToolName, Toolbox,
    definition::{Checks, Confirmation, Metadata, Permission, Prepared},
    executor::ExecutionStrategy,
    prelude::*,
    registry::{BuildDiagnostic, Check},
    schema::{Arguments, InputSchema},
    toolbox::RunDiagnostic,
    toolset::{NamedTools, ToolSetExt},
};

use super::{Counter, On, building, executor, one, registry, texts, told};

/// A hand-written tool that declares the checks of `metadata`, and implements them or not.
struct ByHand {
    definition: ToolDefinition,
    ran: Counter,
    says: Checks,
    /// `true` if calls implement the check that the tool declares.
    answering: Arc<AtomicBool>,
}

impl ByHand {
    fn new(metadata: Metadata, says: Checks) -> Self {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let name = ToolName::new("wipe").unwrap();
        let definition = ToolDefinition::new(name, "Wipes the disk.", schema).with_metadata(metadata);
        Self { definition, ran: Counter::default(), says, answering: Arc::new(AtomicBool::new(true)) }
    }
}

impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let harmless = arguments.to_value()?["harmless"] == true;
        let call = Prepared::new(arguments, |_, _| {
            self.ran.count();
            Box::pin(async { Ok("wiped".into()) })
        });
        Ok(match self.answering.load(Ordering::SeqCst) {
            false => call,
            true => call.with_confirmation(move |_| Ok(!harmless)).with_permission(move |cx| {
                let is_admin = cx.run().is_some_and(|run| run.user() == Some("admin"));
                Ok(if is_admin || harmless { Permission::Allow } else { Permission::deny("not yours") })
            }),
        })
    }

    fn checks(&self) -> Checks {
        self.says
    }
}

fn permitted() -> Metadata {
    Metadata { permission: true, ..Metadata::default() }
}

fn sometimes() -> Metadata {
    Metadata { confirmation: Confirmation::Sometimes, ..Metadata::default() }
}

fn claims() -> [(Metadata, Check); 2] {
    [(permitted(), Check::Permission), (sometimes(), Check::Confirmation)]
}

#[tool_args]
struct Nothing {}

fn closure(metadata: Metadata) -> impl Tool {
    let builder = ToolBuilder::new("wipe").description("Wipes the disk.").metadata(metadata);
    builder.expect_handler(|_: Nothing, _| async { Ok::<_, ToolError>("wiped") })
}

fn unanswered(problems: &[BuildDiagnostic]) -> Vec<Check> {
    let claim = |problem: &BuildDiagnostic| match problem {
        BuildDiagnostic::MissingCheck { tool, check, .. } if tool == "wipe" => *check,
        other => panic!("{other}"),
    };
    problems.iter().map(claim).collect()
}

// I04, I14
#[test]
fn a_declared_check_without_an_implementation_is_a_build_error() {
    for (metadata, claim) in claims() {
        let by_hand = Registry::builder().add(ByHand::new(metadata.clone(), Checks::NONE)).build();
        let closure = Registry::builder().add(closure(metadata)).build();
        for refused in [by_hand.unwrap_err(), closure.unwrap_err()] {
            assert_eq!(unanswered(refused.diagnostics()), [claim]);
        }
    }
    let both = Metadata { confirmation: Confirmation::Sometimes, ..permitted() };
    let refused = Registry::builder().add(ByHand::new(both, Checks::NONE)).build().unwrap_err();
    assert_eq!(unanswered(refused.diagnostics()), [Check::Permission, Check::Confirmation]);
    assert!(refused.to_string().contains(
        "tool `wipe` claims `permission: true`, and its calls do not answer; implement `Tool::checks` and use \
         `Prepared::with_permission`, or remove the claim"
    ));
}

// I04, I14
#[test]
fn a_toolbox_refuses_a_tool_without_its_declared_check() {
    for (metadata, claim) in claims() {
        let toolbox = Toolbox::new();
        let tool = || ByHand::new(metadata.clone(), Checks::NONE);
        assert_eq!(unanswered(toolbox.add(tool()).unwrap_err().diagnostics()), [claim]);
        assert_eq!(unanswered(toolbox.replace(tool()).unwrap_err().diagnostics()), [claim]);
        let tools: [Arc<dyn Tool>; 1] = [Arc::new(tool())];
        assert_eq!(unanswered(toolbox.set_tools(tools).unwrap_err().diagnostics()), [claim]);
        let snapshot = crate::run(toolbox.snapshot(&RunContext::new())).unwrap();
        assert!(snapshot.tools().is_empty() && snapshot.diagnostics().is_empty());
    }
}

// I04, I14
#[test]
fn a_listed_tool_without_its_declared_check_is_omitted_with_a_notice() {
    for (metadata, claim) in claims() {
        let wipe: Arc<dyn Tool> = Arc::new(ByHand::new(metadata, Checks::NONE));
        let harmless: Arc<dyn Tool> = Arc::new(harmless());
        let toolbox = Toolbox::new();
        // A wrapper implements its own check, but not the check of the wrapped tool.
        let set = NamedTools::new("disk", [wipe, harmless]).confirmed(|_, _| false).prefixed();
        toolbox.add_toolset(set).unwrap();
        let snapshot = crate::run(toolbox.snapshot(&RunContext::new())).unwrap();
        let names: Vec<_> = snapshot.tools().definitions().iter().map(|it| it.name().as_str()).collect();
        assert_eq!(names, ["disk__harmless"]);
        let [RunDiagnostic::Unusable { cause, .. }] = snapshot.diagnostics() else { panic!() };
        assert!(
            matches!(cause, BuildDiagnostic::MissingCheck { tool, check: c, .. } if tool == "disk__wipe" && *c == claim)
        );
    }
}

fn harmless() -> impl Tool {
    ToolBuilder::new("harmless")
        .description("Does nothing.")
        .expect_handler(|_: Nothing, _| async { Ok::<_, ToolError>("nothing") })
}

// I23: the check of a wrapper counts.
#[test]
fn a_wrapper_adds_a_check_to_a_tool_without_one() {
    #[tool_args]
    struct Counted {
        x: u8,
    }
    let tool = ToolBuilder::new("harmless").description("Does nothing.");
    let listed: Arc<dyn Tool> =
        Arc::new(tool.expect_handler(|it: Counted, _| async move { Ok::<_, ToolError>(it.x) }));
    let toolbox = Toolbox::new();
    toolbox
        .add_toolset(NamedTools::new("set", [listed]).confirmed(|_, arguments| arguments["x"] == 1))
        .unwrap();
    let tools = crate::run(toolbox.snapshot(&RunContext::new())).unwrap().into_tools();
    let wrapped = tools.get("harmless").unwrap();
    assert_eq!(wrapped.checks(), Checks { confirmation: true, permission: false });
    let wants = |arguments: &'static str| {
        let cx = tools.context_for("harmless").unwrap();
        wrapped.prepare(arguments.into()).unwrap().wants_confirmation(&cx).unwrap()
    };
    assert_eq!((wants(r#"{"x":0}"#), wants(r#"{"x":1}"#)), (Some(false), Some(true)));
}

// I14: `Always` needs no implementation, and neither does an external tool.
#[test]
fn a_check_that_needs_no_implementation_is_accepted() {
    let always = Metadata { confirmation: Confirmation::Always, ..Metadata::default() };
    let tools = Registry::builder().add(ByHand::new(always, Checks::NONE)).build().unwrap();
    let outcomes = crate::run(Executor::new(tools).run(one("wipe", "{}")));
    assert_eq!(texts(&outcomes), ["requires confirmation: May the tool wipe be called?"]);
    let declared = ToolBuilder::new("wipe").metadata(permitted());
    let declared = declared.input_schema(InputSchema::new(json!({ "type": "object" })).unwrap()).external();
    assert!(Registry::builder().add(declared.unwrap()).build().is_ok());
}

// I14, J11: watched or not, and whatever other calls run.
#[test]
fn a_call_without_its_declared_check_is_refused() {
    let strategies =
        [ExecutionStrategy::Sequential, ExecutionStrategy::Parallel, ExecutionStrategy::Batched { size: 2 }];
    for ((metadata, claim), strategy) in
        claims().into_iter().flat_map(|claim| strategies.map(|it| (claim.clone(), it)))
    {
        for is_watched in [false, true] {
            let tool = ByHand::new(metadata.clone(), Checks::ALL);
            let (ran, answering) = (tool.ran.clone(), Arc::clone(&tool.answering));
            let mut building = building(Registry::builder().add(tool)).strategy(strategy);
            if is_watched {
                building = building.hook(On::finished(|_, _| ()));
            }
            let executor = building.build().unwrap();
            answering.store(false, Ordering::SeqCst);
            let mut listener = is_watched.then(|| executor.subscribe());
            let outcomes = crate::run(executor.run(one("wipe", r#"{"harmless":true}"#)));
            let claim = if claim == Check::Permission { "permission" } else { "confirmation" };
            let refused =
                format!("Denied: the tool claims a {claim} check, but does not decide on this call");
            assert_eq!(texts(&outcomes), [refused]);
            assert_eq!(ran.get(), 0);
            if let Some(listener) = &mut listener {
                assert_eq!(told(listener), ["started 0", "finished 0"]);
            }
        }
    }
}

// I14, I23: a wrapper answers for itself alone.
#[test]
fn a_wrapper_does_not_answer_for_a_tool_that_claims_a_check_and_makes_none() {
    for (is_confirmed, (metadata, claim)) in
        [false, true].into_iter().flat_map(|it| claims().map(|claim| (it, claim)))
    {
        let tool = ByHand::new(metadata, Checks::ALL);
        let (ran, answering) = (tool.ran.clone(), Arc::clone(&tool.answering));
        let listed: Arc<dyn Tool> = Arc::new(tool);
        let set = NamedTools::new("disk", [listed]);
        let toolbox = Toolbox::new();
        match is_confirmed {
            true => toolbox.add_toolset(set.confirmed(|_, _| false).prefixed()).unwrap(),
            false => toolbox.add_toolset(set.prefixed()).unwrap(),
        };
        let tools = crate::run(toolbox.snapshot(&RunContext::new())).unwrap().into_tools();
        answering.store(false, Ordering::SeqCst);
        let outcomes = crate::run(Executor::new(tools).run(one("disk__wipe", r#"{"harmless":true}"#)));
        let claim = if claim == Check::Permission { "permission" } else { "confirmation" };
        let refused = format!("Denied: the tool claims a {claim} check, but does not decide on this call");
        assert_eq!((texts(&outcomes), ran.get()), (vec![refused], 0), "{is_confirmed}");
    }
}

// I04, I14: hand-written tools have the same checks as functions.
#[test]
fn checks_of_a_hand_written_tool_see_arguments_and_context() {
    let run = |metadata: Metadata, arguments: &str, user: &str| {
        let executor = executor(Registry::builder().add(ByHand::new(metadata, Checks::ALL)));
        let batch = executor.batch(one("wipe", arguments)).with_run(RunContext::new().with_user(user));
        texts(&crate::run(batch.run())).concat()
    };
    assert_eq!(run(permitted(), "{}", "guest"), "Denied: not yours");
    assert_eq!(run(permitted(), "{}", "admin"), "wiped");
    assert_eq!(run(sometimes(), r#"{"harmless":true}"#, "guest"), "wiped");
    let asked = "requires confirmation: May the tool wipe be called?";
    assert_eq!(run(sometimes(), "{}", "admin"), asked);
}

// I04, I14: if one of several checks stops the call, it does not run.
#[test]
fn no_check_overrides_another_check() {
    /// Requires confirmation, and is not permitted.
    #[tool(register = false, confirm = always, permission = shut)]
    fn vault() {}
    fn always() -> bool {
        true
    }
    fn shut() -> Permission {
        Permission::deny("shut")
    }
    let tools = registry(Registry::builder().tool::<vault>());
    let cx = tools.context_for("vault").unwrap();
    let call = || tools.get("vault").unwrap().prepare(Arguments::from("{}")).unwrap();
    let softened = call().with_confirmation(|_| Ok(false)).with_permission(|_| Ok(Permission::Allow));
    assert_eq!(softened.wants_confirmation(&cx).unwrap(), Some(true));
    assert_eq!(softened.permission(&cx).unwrap(), Some(Permission::deny("shut")));
    let plain = || Prepared::new(Arguments::from("{}"), |_, _| Box::pin(async { Ok("ran".into()) }));
    assert_eq!((plain().wants_confirmation(&cx).unwrap(), plain().permission(&cx).unwrap()), (None, None));
    let asking = plain().asking().with_confirmation(|_| Ok(false));
    assert_eq!(asking.wants_confirmation(&cx).unwrap(), Some(true));
}
