//! Settings of a run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tool_runtime::{
    CallOutcome, ErrorKind, Executor, RunContext, ToolCall, Toolbox,
    context::ConfirmationAnswer,
    definition::Permission,
    executor::{ExecutionStrategy, ExecutorError, RunSettings},
    hook::Before,
    policy::{Approval, Limits, PathPattern, PermissionRequest, ResultBudget, RetryPolicy, Rule, Rules},
    prelude::*,
    registry::AvailableTools,
    schema::Repair,
    toolbox::{Origin, Visibility},
};

use super::{
    AT_ONCE, Counter, Noting, On, Timeline, building, calls, echo, obey, one, texts,
    ways::{Observed, Watch, each_way, each_way_paused},
};

/// Fails temporarily.
#[tool(register = false, read_only)]
fn flaky(counter: &Counter) -> Result<(), ToolError> {
    counter.count();
    Err(ToolError::failed("not yet").retryable(true))
}

/// Pays.
#[tool(register = false, confirm)]
fn pay(counter: &Counter, amount: u32) -> String {
    counter.count();
    format!("paid {amount}")
}

const ECHO: &str = r#"{"text":"a"}"#;

fn echoing() -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<echo>().provide(Counter::default())
}

/// Returns the outcomes of `calls` in a run with `settings`.
pub(super) async fn run(
    executor: &Observed,
    settings: RunSettings,
    calls: Vec<ToolCall>,
) -> Vec<CallOutcome> {
    let run = RunContext::new().with_user("u-7");
    let of_run = executor.with_settings(&run, settings).unwrap();
    executor.drive(of_run.batch(calls).with_run(run)).await
}

/// Returns the text for the model of a call of `echo`.
async fn echoed(executor: &Observed, settings: RunSettings) -> String {
    texts(&run(executor, settings, one("echo", ECHO)).await).remove(0)
}

fn says(permission: &Permission) -> Rules {
    Rules::new(match permission {
        Permission::Deny { reason } => Some(Rule::deny("echo").reason(reason.clone())),
        Permission::Ask { reason } => Some(Rule::ask("echo").reason(reason.clone())),
        _ => None,
    })
}

// I09, J01
#[test]
fn rules_and_policies_of_executor_and_run_must_both_allow() {
    let (ask, deny) = (|who: &str| Permission::ask(who), |who: &str| Permission::deny(who));
    let cases = [
        (Permission::Allow, Permission::Allow, "a"),
        (deny("executor"), Permission::Allow, "Denied: executor"),
        (Permission::Allow, deny("run"), "Denied: run"),
        (ask("executor"), Permission::Allow, "Denied: the \"echo\" call is rejected: executor"),
        (Permission::Allow, ask("run"), "Denied: the \"echo\" call is rejected: run"),
        (ask("executor"), ask("run"), "Denied: the \"echo\" call is rejected: executor"),
        // An approval of one does not bypass the other.
        (ask("executor"), deny("run"), "Denied: run"),
        (deny("executor"), ask("run"), "Denied: executor"),
    ];
    each_way(async |way| {
        for (of_executor, of_run, expected) in cases.clone() {
            let rejecting = || {
                building(echoing())
                    .approver_fn(|request| async move { Ok(Approval::Rejected(request.hint.clone())) })
            };
            let executor = way.of(rejecting().rules(says(&of_executor)));
            let settings = RunSettings::new().rules(says(&of_run));
            assert_eq!(echoed(&executor, settings.clone()).await, expected, "rules");
            let (first, second) = (of_executor.clone(), of_run.clone());
            let executor = way.of(rejecting().permission_fn(move |_| std::future::ready(Ok(first.clone()))));
            let policy = RunSettings::new().permission_fn(move |_| std::future::ready(Ok(second.clone())));
            assert_eq!(echoed(&executor, policy).await, expected, "policies");
            // The executor itself is unchanged.
            let alone = texts(&executor.run(one("echo", ECHO)).await).remove(0);
            let expected_alone = match &of_executor {
                Permission::Allow => "a".to_owned(),
                Permission::Ask { reason } => format!("Denied: the \"echo\" call is rejected: {reason}"),
                Permission::Deny { reason } => format!("Denied: {reason}"),
                _ => unreachable!(),
            };
            assert_eq!(alone, expected_alone);
        }
    });
}

// G06: hooks of the run run last.
#[test]
fn hooks_of_the_run_follow_those_of_the_executor() {
    each_way(async |way| {
        let timeline = Timeline::default();
        let executor = way.of(building(echoing()).hook(Noting(timeline.clone(), "executor ")));
        let noting = timeline.clone();
        let settings = RunSettings::new().hook(Noting(timeline.clone(), "run ")).before(move |call| {
            noting.note(format!("closure {}", call.id()));
            std::future::ready(Ok(Before::Continue))
        });
        assert_eq!(echoed(&executor, settings).await, "a");
        let expected = [
            "executor gate 0",
            "run gate 0",
            "executor before 0",
            "run before 0",
            "closure 0",
            "executor after 0",
            "run after 0",
            "executor done 0",
            "run done 0",
        ];
        assert_eq!(timeline.all(), expected);
    });
}

// I06, I25: the checks, policies and rules of the executor see the final arguments.
#[test]
fn guards_of_the_executor_see_arguments_that_hooks_of_the_run_rewrote() {
    each_way(async |way| {
        let cases = [
            (json!({ "text": "secret" }), "Denied: a rule denies it: echo"),
            (json!({ "text": "private" }), "Denied: the policy saw private"),
            (json!({ "text": 7, "more": [] }), "Invalid arguments:"),
            (json!({ "text": "fine" }), "fine"),
        ];
        for (rewritten, said) in cases {
            let counter = Counter::default();
            let builder = building(Registry::builder().tool::<echo>().provide(counter.clone()))
                .rules(Rules::new([Rule::deny("echo").at("/text", "secret")]))
                .permission(|request: &PermissionRequest<'_>| {
                    match request.arguments.as_str().contains("private") {
                        true => Permission::deny("the policy saw private"),
                        false => Permission::Allow,
                    }
                });
            let executor = way.of(builder.hook(On::before(|call| {
                assert_eq!(call.arguments().as_str(), ECHO);
                Ok(Before::Continue)
            })));
            let rewrites = On::before(move |_| Ok(Before::rewrite(rewritten.clone())));
            let told = echoed(&executor, RunSettings::new().hook(rewrites)).await;
            assert!(told.starts_with(said), "{told}");
            assert_eq!(counter.get(), usize::from(said == "fine"));
        }
    });
}

// F17, F20
#[test]
fn repair_and_coercion_of_the_run_apply() {
    /// Declares its own coercion.
    #[tool(register = false, strict = false)]
    fn lenient(n: u32) -> u32 {
        n
    }
    /// Declares no coercion.
    #[tool(register = false)]
    fn plain(n: u32) -> u32 {
        n
    }
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<plain>().tool::<lenient>());
        let broken = "{n: 7}";
        let text = async |settings, name, arguments| {
            texts(&run(&executor, settings, one(name, arguments)).await).remove(0)
        };
        assert!(text(RunSettings::new(), "plain", broken).await.starts_with("Invalid arguments"));
        assert_eq!(text(RunSettings::new().repair(Repair::AllTools), "plain", broken).await, "7");
        assert!(
            text(RunSettings::new().repair(Repair::ReadOnlyTools), "plain", broken)
                .await
                .starts_with("Invalid arguments")
        );
        let almost = r#"{"n":"7"}"#;
        assert_eq!(text(RunSettings::new(), "plain", almost).await, "7");
        let strict = RunSettings::new().strict(true);
        assert!(text(strict.clone(), "plain", almost).await.starts_with("Invalid arguments"));
        // The declaration of a tool overrides the setting.
        assert_eq!(text(strict, "lenient", almost).await, "7");
    });
}

// I08, J01, J02, X01, G01
#[test]
fn other_settings_of_the_run_override_the_executor() {
    each_way(async |way| {
        let counter = Counter::default();
        let tools = || {
            let tools = Registry::builder().tool::<echo>().tool::<flaky>().tool::<pay>();
            tools.provide(counter.clone())
        };
        let executor = way.of(building(tools())
            .approver_fn(|_| async { Ok(Approval::Rejected("executor".to_owned())) })
            .external(|call| call.tool() == "echo")
            .retry(AT_ONCE)
            .budget(ResultBudget::new(1)));
        let settings = RunSettings::new()
            .approver_fn(|request| async move {
                assert_eq!(request.run().and_then(|run| run.user()), Some("u-7"));
                Ok(Approval::Approved)
            })
            .external(|call| call.tool() == "flaky" && call.run().is_none())
            .retry(RetryPolicy::new(tool_runtime::definition::Retry { attempts: 2, ..AT_ONCE }))
            .budget(ResultBudget::new(100));
        let three = || {
            let mut all = one("pay", r#"{"amount":7}"#);
            all.extend(calls(&["unknown", "flaky"]).split_off(1));
            all.push(ToolCall::new("echo", ECHO).with_id("2"));
            all
        };
        let outcomes = run(&executor, settings, three()).await;
        assert_eq!(texts(&outcomes), ["paid 7", "not yet", "a"]);
        assert_eq!(outcomes[1].result().unwrap().attempts, 2);
        // Unchanged.
        let outcomes = executor.run(three()).await;
        let denied = outcomes[0].result().unwrap().outcome.as_ref().unwrap_err();
        assert_eq!(
            (denied.kind(), denied.reason().contains("..")),
            (ErrorKind::Denied, true),
            "cut: {denied}"
        );
        assert_eq!(outcomes[1].result().unwrap().attempts, 3);
        assert!(matches!(outcomes[2], CallOutcome::External(..)));
    });
}

// J09, G01, G02
#[test]
fn timeouts_and_strategy_of_the_run_apply() {
    each_way_paused(async |way| {
        let executor = way.of(building(Registry::builder().tool::<obey>()).timeout(Duration::from_secs(60)));
        let settings = RunSettings::new().timeout(Duration::from_secs(2));
        let start = tokio::time::Instant::now();
        let outcomes = run(&executor, settings.clone(), one("obey", "{}")).await;
        assert_eq!(outcomes[0].result().unwrap().outcome.as_ref().unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 2);
        // Sequential, whatever the strategy of the executor.
        let start = tokio::time::Instant::now();
        let sequential = settings.strategy(ExecutionStrategy::Sequential);
        run(&executor, sequential, calls(&["obey", "obey"])).await;
        assert_eq!(start.elapsed().as_secs(), 4);
    });
}

#[test]
fn settings_without_effect_are_reported_or_refused() {
    let executor = building(echoing()).build().unwrap();
    let run = RunContext::new();
    let refused = |settings: RunSettings| executor.with_settings(&run, settings).map(|_| ()).unwrap_err();
    let strategy = ExecutionStrategy::Batched { size: 0 };
    assert!(matches!(refused(RunSettings::new().strategy(strategy)), ExecutorError::Strategy(_)));
    let nowhere = Rules::new([Rule::deny("echo").at("/pth", PathPattern::new("/etc/**").unwrap())]);
    let message = refused(RunSettings::new().rules(nowhere)).to_string();
    assert_eq!(
        message,
        "the rule `deny echo` compares `/pth`, and `echo` has no such argument; correct the pointer"
    );
    let settings = RunSettings::new().rules(Rules::new([Rule::deny("bash")]));
    let of_run = executor.with_settings(&run, settings).unwrap();
    assert_eq!(of_run.diagnostics()[0].to_string(), "the rule `deny bash` fits no tool");
    assert!(executor.diagnostics().is_empty());
    let panics = Visibility::all().when(|_, _| panic!("boom"));
    let of_run = executor.with_settings(&run, RunSettings::new().show(panics)).unwrap();
    assert_eq!(of_run.tools().len(), 0, "a tool whose visibility is unknown is not shown");
    assert!(of_run.diagnostics()[0].to_string().ends_with("could not be decided: boom"));
}

/// Returns the number of calls that run when it starts.
#[tool(register = false)]
async fn crowd(running: &Arc<AtomicUsize>) -> usize {
    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    running.fetch_sub(1, Ordering::SeqCst);
    now
}

// G13, I12, I17, X06
#[test]
fn a_subset_of_the_tools_keeps_the_open_calls_and_the_limits() {
    each_way(async |way| {
        let counter = Counter::default();
        let tools = Registry::builder().tool::<echo>().tool::<pay>().tool::<flaky>().tool::<crowd>();
        let tools = tools.provide(counter.clone()).provide(Arc::<AtomicUsize>::default());
        let builder =
            building(tools).external(|call| call.tool() == "flaky").limits(Limits::new().overall(1));
        let executor = way.of(builder);
        let mut open = one("pay", r#"{"amount":7}"#);
        open.extend(calls(&["unknown", "flaky"]).split_off(1));
        let outcomes = executor.run(open).await;
        assert!(outcomes.iter().all(|outcome| !outcome.is_finished()));

        let run = RunContext::new();
        let only = Visibility::all().only(["echo", "crowd"]);
        let narrow = executor.with_settings(&run, RunSettings::new().show(only)).unwrap();
        // A hidden tool is unknown, except to a call of it that is already pending.
        let hidden = executor.drive(narrow.batch(one("pay", r#"{"amount":8}"#))).await;
        assert_eq!(texts(&hidden), ["Tool not found: pay"]);
        assert_eq!(narrow.open_calls().await.unwrap().len(), 2);
        assert_eq!(narrow.submit_result("1", Ok("opened".into())).await.unwrap().text(), "opened");
        let yes = ConfirmationAnswer { confirmed: true, payload: Value::Null };
        let resumed = executor.drive(narrow.resume([("0", yes)]).await.unwrap()).await;
        assert_eq!(texts(&resumed), ["paid 7"]);
        assert_eq!((executor.open_calls().await.unwrap().len(), counter.get()), (0, 1));
        // Listeners receive events of both.
        if way.watch == Watch::Listener {
            let told = executor.texts().unwrap();
            assert_eq!(told.iter().filter(|it| *it == "finished 0").count(), 3, "{told:?}");
        }
        // A call of either waits for the calls of the other.
        let crowds = |by: &Executor| executor.drive(by.batch(vec![ToolCall::new("crowd", "{}")]));
        let (wide, narrow) = futures_util::join!(crowds(&executor), crowds(&narrow));
        assert_eq!([texts(&wide), texts(&narrow)], [["1"], ["1"]]);
    });
}

/// Lists the available tools, from a parameter and from the context.
#[tool(register = false)]
fn look(tools: &AvailableTools, cx: &ToolContext) -> Vec<String> {
    let also = cx.get::<AvailableTools>().unwrap();
    assert_eq!(also.definitions().len(), tools.definitions().len());
    assert!(tools.get("nothing").is_none() && tools.origin("nothing").is_none());
    let origin = |name: &str| tools.origin(name).map(Origin::to_string).unwrap_or_default();
    tools.definitions().iter().map(|it| format!("{}: {}", it.name(), origin(it.name().as_str()))).collect()
}

#[test]
fn a_tool_sees_the_tools_of_its_run_and_their_origins() {
    let tools =
        Registry::builder().tool::<look>().tool::<echo>().provide(Counter::default()).build().unwrap();
    let alone = crate::run(tools.call("look", "{}")).unwrap();
    assert_eq!(alone.text(), r#"["echo: a direct tool","look: a direct tool"]"#);
    each_way(async |way| {
        let toolbox = Toolbox::from_registry(&tools);
        let named =
            |name: &'static str| ToolBuilder::new(name).description("Does nothing.").expect_handler(nothing);
        toolbox.add_framework_tool(named("plan")).unwrap();
        let files =
            tool_runtime::toolset::NamedTools::new("files", vec![std::sync::Arc::new(named("read")) as _]);
        toolbox.add_toolset(files).unwrap();
        let run = RunContext::new();
        let snapshot = toolbox.snapshot(&run).await.unwrap();
        assert_eq!(snapshot.origin("plan"), Some(&Origin::Framework));
        let executor = way.of(Executor::builder(snapshot.into_tools()));
        let listed = texts(&executor.run(one("look", "{}")).await).remove(0);
        let all = [
            "echo: a direct tool",
            "look: a direct tool",
            "plan: a tool of the framework",
            "read: a tool of the set `files`",
        ];
        assert_eq!(listed, json!(all).to_string());
        // Only visible tools of the run; tools of the framework are always visible.
        let settings = RunSettings::new().show(Visibility::all().only(["look"])).repair(Repair::AllTools);
        let narrow = executor.with_settings(&run, settings).unwrap();
        let listed = texts(&executor.drive(narrow.batch(one("look", "{}"))).await).remove(0);
        assert_eq!(listed, json!([all[1], all[2]]).to_string());
        assert_eq!(narrow.tools().origin("read"), None);
    });
}

#[tool_args]
struct Nothing {}

async fn nothing(_: Nothing, _: ToolContext) -> Result<&'static str, ToolError> {
    Ok("done")
}
