//! Hooks, policies, approvers and retry rules as traits with `async fn`s, as closures, and as trait objects.

use std::{future::pending, ops::ControlFlow, sync::Arc};

use tokio::{sync::Notify, task::yield_now};
use tool_runtime::{
    CallOutcome, CancellationToken, RunContext, ToolResult,
    definition::Permission,
    executor::ExecutorBuilder,
    hook::{Before, BeforeCall, CallView, Hook, SharedHook},
    policy::{
        Approval, ApprovalHandle, Approver, PermissionPolicy, PermissionRequest, RetryInfo, RetryPolicy,
        RetryRule, SharedApprover, SharedPermissionPolicy, SharedRetryRule,
    },
    prelude::*,
    registry::RegistryBuilder,
};

use super::{
    AT_ONCE, Counter, Timeline, building, one, texts,
    ways::{Observed, each_way},
};

/// Sends an update and fails.
#[tool(register = false, read_only, confirm)]
async fn work(n: u32, cx: &ToolContext) -> Result<u32, ToolError> {
    cx.update(format!("part of {n}")).await;
    Err(ToolError::failed(format!("no {n}")).retryable(true))
}

/// Fails without an update.
#[tool(register = false, read_only, confirm)]
async fn fail(n: u32) -> Result<u32, ToolError> {
    Err(ToolError::failed(format!("no {n}")).retryable(true))
}

fn tools() -> RegistryBuilder {
    Registry::builder().tool::<work>().tool::<fail>()
}

/// Records each stage with the user of the run.
#[derive(Clone, Default)]
struct Spy(Timeline);

impl Spy {
    /// Suspends each future once.
    async fn saw(&self, stage: &str, run: Option<&RunContext>) {
        yield_now().await;
        self.0.note(format!("{stage} {}", run.and_then(RunContext::user).unwrap_or("-")));
    }
}

impl Hook for Spy {
    async fn admit(&self, call: &CallView<'_>) -> bool {
        self.saw("admit", call.run()).await;
        true
    }

    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.saw("before", call.run()).await;
        let n = call.arguments_value()?["n"].as_u64().unwrap_or_default();
        call.rewrite(json!({ "n": n + 1 }));
        Ok(Before::Continue)
    }

    async fn before_update(&self, call: &CallView<'_>, text: &str) -> bool {
        self.saw(&format!("before {text}"), call.run()).await;
        true
    }

    async fn after_update(&self, call: &CallView<'_>, text: &str) {
        self.saw(&format!("after {text}"), call.run()).await;
    }

    async fn recover(&self, call: &CallView<'_>, error: &ToolError) -> Result<Option<ToolOutput>, ToolError> {
        self.saw(&format!("recover {}", error.feedback()), call.run()).await;
        Ok(Some("recovered".into()))
    }

    async fn after(
        &self,
        call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        self.saw(&format!("after {}", result.text()), call.run()).await;
        result.outcome = Ok("changed".into());
        Ok(ControlFlow::Continue(()))
    }

    async fn finished(&self, call: &CallView<'_>, result: &ToolResult) {
        self.saw(&format!("finished {}", result.text()), call.run()).await;
    }
}

impl PermissionPolicy for Spy {
    async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        self.saw(&format!("decide {}", request.arguments.as_str()), request.run()).await;
        Ok(Permission::Allow)
    }
}

impl Approver for Spy {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        assert!(request.definition().metadata().is_read_only());
        let arguments = request.call.arguments.as_str().to_owned();
        self.saw(&format!("ask {arguments}"), request.run().map(AsRef::as_ref)).await;
        Ok(Approval::Approved)
    }
}

impl RetryRule for Spy {
    async fn again(&self, info: &RetryInfo<'_>) -> Result<bool, ToolError> {
        assert_eq!((info.cx.call_id(), info.error().is_some()), (info.id, info.result().is_none()));
        self.saw(&format!("again {} of {}", info.attempt, info.max_attempts), info.run()).await;
        Ok(info.is_transient() && info.attempt < 2)
    }
}

/// Returns the expected notes of one call.
fn noted(user: &str) -> Vec<String> {
    let stages = [
        "admit",
        "before",
        r#"decide {"n":2}"#,
        r#"ask {"n":2}"#,
        "before part of 2",
        "after part of 2",
        "again 1 of 3",
        "before part of 2",
        "after part of 2",
        "again 2 of 3",
        "recover no 2",
        "after recovered",
        "finished changed",
    ];
    stages.map(|stage| format!("{stage} {user}")).into()
}

async fn run_as(executor: &Observed, name: &str, user: &str) -> Vec<CallOutcome> {
    let run = RunContext::new().with_user(user);
    executor.drive(executor.batch(one(name, r#"{"n":1}"#)).with_run(run)).await
}

// C12, H16, H17, I08, J05
#[test]
fn async_fns_of_every_stage_see_the_run() {
    each_way(async |way| {
        let spy = Spy::default();
        let policy = RetryPolicy::new(AT_ONCE).rule(spy.clone());
        let builder = building(tools()).hook(spy.clone()).permission(spy.clone()).approver(spy.clone());
        let executor = way.of(builder.retry(policy));
        assert_eq!(texts(&run_as(&executor, "work", "u-7").await), ["changed"]);
        assert_eq!(spy.0.all(), noted("u-7"));
    });
}

// H16
#[test]
fn hook_policy_approver_and_rule_can_be_chosen_at_run_time() {
    each_way(async |way| {
        for is_chosen in [true, false] {
            let (spy, quiet) = (Spy::default(), RetryPolicy::new(AT_ONCE));
            let hook = if is_chosen { SharedHook::new(spy.clone()) } else { SharedHook::new(Plain) };
            let policy = if is_chosen {
                SharedPermissionPolicy::new(spy.clone())
            } else {
                SharedPermissionPolicy::new(Plain)
            };
            let approver =
                if is_chosen { SharedApprover::new(spy.clone()) } else { SharedApprover::new(Plain) };
            let rule =
                if is_chosen { SharedRetryRule::new(spy.clone()) } else { SharedRetryRule::new(Plain) };
            // A boxed value implements the trait and is not boxed again.
            let hook = Passes(SharedHook::new(hook));
            let builder = building(tools()).hook(hook).permission(policy).approver(approver);
            let executor = way.of(builder.retry(quiet.rule(rule)));
            let outcomes = run_as(&executor, "work", "u-7").await;
            assert_eq!(texts(&outcomes), [if is_chosen { "changed" } else { "no 1" }]);
            assert_eq!(spy.0.all(), if is_chosen { noted("u-7") } else { Vec::new() });
        }
    });
}

/// Permits and approves everything, and retries nothing.
struct Plain;

impl Hook for Plain {}

impl PermissionPolicy for Plain {
    async fn decide(&self, _: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        Ok(Permission::Allow)
    }
}

impl Approver for Plain {
    async fn ask(&self, _: &ApprovalHandle) -> Result<Approval, ToolError> {
        Ok(Approval::Approved)
    }
}

impl RetryRule for Plain {
    async fn again(&self, _: &RetryInfo<'_>) -> Result<bool, ToolError> {
        Ok(false)
    }
}

/// A hook that forwards to an inner hook.
struct Passes(SharedHook);

impl Hook for Passes {
    async fn admit(&self, call: &CallView<'_>) -> bool {
        self.0.admit(call).await
    }

    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.0.before(call).await
    }

    async fn before_update(&self, call: &CallView<'_>, text: &str) -> bool {
        self.0.before_update(call, text).await
    }

    async fn after_update(&self, call: &CallView<'_>, text: &str) {
        self.0.after_update(call, text).await;
    }

    async fn recover(&self, call: &CallView<'_>, error: &ToolError) -> Result<Option<ToolOutput>, ToolError> {
        self.0.recover(call, error).await
    }

    async fn after(
        &self,
        call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        self.0.after(call, result).await
    }

    async fn finished(&self, call: &CallView<'_>, result: &ToolResult) {
        self.0.finished(call, result).await;
    }
}

/// Adds a closure for every stage to `builder`, each of which is suspended once.
fn with_closures(builder: ExecutorBuilder, spy: &Spy) -> ExecutorBuilder {
    // Shared by the closures, which may be called many times.
    macro_rules! saw {
        ($spy:ident, $call:ident, $($stage:tt)+) => {{
            let (spy, stage) = ($spy.clone(), format!($($stage)+));
            async move {
                spy.saw(&stage, $call.run().map(AsRef::as_ref)).await;
                $call
            }
        }};
    }
    let [a, b, c, d, e, f, g, h, i, j] = std::array::from_fn(|_| spy.clone());
    let policy = RetryPolicy::new(AT_ONCE).retry_if(move |attempt| {
        let saw = saw!(a, attempt, "again {} of {}", attempt.attempt(), attempt.max_attempts());
        async move {
            let attempt = saw.await;
            assert_eq!(attempt.error().unwrap().feedback(), "no 2");
            assert!(attempt.result().is_none() && !attempt.is_result_failure());
            Ok(attempt.is_transient() && attempt.attempt() < 2)
        }
    });
    builder
        .retry(policy)
        .admit(move |call| {
            let saw = saw!(b, call, "admit");
            async move { saw.await.tool() == "work" }
        })
        .before(move |call| {
            let saw = saw!(c, call, "before");
            async move {
                let call = saw.await;
                let n = call.arguments_value()?["n"].as_u64().unwrap_or_default();
                assert!(call.definition().is_some() && call.get::<Counter>().is_some());
                Ok(Before::rewrite(json!({ "n": n + 1 })))
            }
        })
        .permission_fn(move |call| {
            let saw = saw!(d, call, "decide {}", call.arguments().as_str());
            async move {
                assert!(saw.await.metadata().is_read_only());
                Ok(Permission::Allow)
            }
        })
        .approver_fn(move |request| {
            let saw = saw!(e, request, "ask {}", request.call.arguments.as_str());
            async move {
                assert!(saw.await.definition().metadata().is_read_only());
                Ok(Approval::Approved)
            }
        })
        .before_update(move |call, text| {
            let saw = saw!(f, call, "before {text}");
            async move { saw.await.id().to_string() == "0" }
        })
        .after_update(move |call, text| {
            let saw = saw!(g, call, "after {text}");
            async move { drop(saw.await) }
        })
        .recover(move |call, error| {
            let saw = saw!(h, call, "recover {}", error.feedback());
            async move {
                saw.await;
                Ok(Some("recovered".into()))
            }
        })
        .after(move |call, mut result| {
            let saw = saw!(i, call, "after {}", result.text());
            async move {
                saw.await;
                result.outcome = Ok("changed".into());
                Ok(result)
            }
        })
        .finished(move |call, result| {
            let saw = saw!(j, call, "finished {}", result.text());
            async move { drop(saw.await) }
        })
}

// H16, H17, I08, J05
#[test]
fn closures_of_every_stage_receive_a_handle_to_the_run() {
    each_way(async |way| {
        let spy = Spy::default();
        let executor = way.of(with_closures(building(tools().provide(Counter::default())), &spy));
        assert_eq!(texts(&run_as(&executor, "work", "u-7").await), ["changed"]);
        assert_eq!(spy.0.all(), noted("u-7"));
        // An admit closure receives the tool name that the model wrote, even of an unknown tool.
        let outcomes = run_as(&executor, "unknown", "u-8").await;
        assert_eq!(texts(&outcomes), ["Denied: the call was not admitted"]);
        assert_eq!(spy.0.all().last().unwrap(), "admit u-8");
    });
}

#[test]
fn closures_receive_the_name_of_an_unknown_tool() {
    each_way(async |way| {
        let spy = Spy::default();
        let seen = spy.clone();
        let builder = building(tools().provide(Counter::default())).admit(move |call| {
            let spy = seen.clone();
            async move {
                spy.saw(&format!("admit {}", call.tool()), call.run().map(AsRef::as_ref)).await;
                true
            }
        });
        let executor = way.of(builder);
        assert!(run_as(&executor, "unknown", "u-7").await[0].result().unwrap().is_error());
        assert_eq!(spy.0.all(), ["admit unknown u-7"]);
    });
}

// X01
#[test]
fn the_filter_of_external_calls_sees_the_run_and_the_arguments() {
    each_way(async |way| {
        let executor =
            way.of(building(tools()).approver_fn(|_| async { Ok(Approval::Approved) }).external(|call| {
                assert_eq!((call.arguments().as_str(), call.tool()), (r#"{"n":1}"#, "fail"));
                call.run().is_some_and(|run| run.user() == Some("web"))
            }));
        assert!(matches!(run_as(&executor, "fail", "web").await[..], [CallOutcome::External(..)]));
        assert_eq!(texts(&run_as(&executor, "fail", "shell").await), ["no 1"]);
    });
}

/// Makes a closure for a stage, which runs `then` after it was suspended once.
type Stage = fn(ExecutorBuilder, Arc<dyn Fn() + Send + Sync>, Arc<Notify>) -> ExecutorBuilder;

/// Each stage before the end of a call, with its name in messages.
const STAGES: [(&str, Stage); 6] = [
    ("a hook", |builder, act, on| builder.admit(move |_| suspended(Arc::clone(&act), Arc::clone(&on), true))),
    ("a hook", |builder, act, on| {
        builder.before(move |_| suspended(Arc::clone(&act), Arc::clone(&on), Ok(Before::Continue)))
    }),
    ("the permission policy", |builder, act, on| {
        builder.permission_fn(move |_| suspended(Arc::clone(&act), Arc::clone(&on), Ok(Permission::Allow)))
    }),
    ("the approver", |builder, act, on| {
        builder.approver_fn(move |_| suspended(Arc::clone(&act), Arc::clone(&on), Ok(Approval::Approved)))
    }),
    ("it", |builder, act, on| {
        let policy = RetryPolicy::new(AT_ONCE)
            .retry_if(move |_| suspended(Arc::clone(&act), Arc::clone(&on), Ok(true)));
        builder.retry(policy)
    }),
    ("a hook", |builder, act, on| {
        builder.recover(move |_, _| suspended(Arc::clone(&act), Arc::clone(&on), Ok(None)))
    }),
];

async fn suspended<T>(act: Arc<dyn Fn() + Send + Sync>, on: Arc<Notify>, value: T) -> T {
    struct Held(Arc<dyn Fn() + Send + Sync>);
    impl Drop for Held {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let _held = Held(act);
    yield_now().await;
    on.notified().await;
    value
}

// H13, I06, J05: each poll and each drop is inside a panic barrier.
#[test]
fn a_panic_while_polled_fails_only_its_call() {
    each_way(async |way| {
        for (at, (who, stage)) in STAGES.into_iter().enumerate() {
            let on = Arc::new(Notify::new());
            let boom: Arc<dyn Fn() + Send + Sync> = Arc::new(|| panic!("boom"));
            // The first call has a permit, and panics when its state is dropped within a poll.
            on.notify_one();
            let builder = building(tools());
            let builder =
                if at == 3 { builder } else { builder.approver_fn(|_| async { Ok(Approval::Approved) }) };
            let executor = way.of(stage(builder, boom, Arc::clone(&on)));
            let text = texts(&run_as(&executor, "fail", "u-7").await).remove(0);
            assert!(text.contains(&format!("{who} panicked: boom")), "{at}: {text}");
        }
    });
}

// G11, H13: no future of a stage is leaked.
#[test]
fn a_suspended_stage_is_dropped_when_its_batch_is_cancelled() {
    each_way(async |way| {
        for (at, (_, stage)) in STAGES.into_iter().enumerate() {
            let (dropped, token) = (Counter::default(), CancellationToken::new());
            let (dropping, stopping) = (dropped.clone(), token.clone());
            let held: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
                dropping.count();
            });
            let builder = building(tools()).grace_period(std::time::Duration::ZERO);
            let builder =
                if at == 3 { builder } else { builder.approver_fn(|_| async { Ok(Approval::Approved) }) };
            let executor = way.of(stage(builder, held, Arc::default()));
            let run = RunContext::new().with_cancellation(token);
            let batch = executor.batch(one("fail", r#"{"n":1}"#)).with_run(run);
            let stop = async {
                for _ in 0..50 {
                    yield_now().await;
                }
                stopping.cancel();
                pending::<()>().await;
            };
            let outcomes = tokio::select! {
                outcomes = executor.drive(batch) => outcomes,
                () = stop => unreachable!(),
            };
            assert_eq!(texts(&outcomes), ["Cancelled"], "{at}");
            assert_eq!(dropped.get(), 1, "{at}");
        }
    });
}
