//! A property test: each call of a batch has exactly one outcome.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
    time::Duration,
};

use proptest::prelude::*;
use tokio::time::sleep;
use tool_runtime::{
    CallOutcome, Executor, RunContext, ToolCall,
    definition::Permission,
    event::{EventKind, ToolEvent},
    executor::{ExecutionStrategy, Finish, StreamItem},
    policy::PermissionRequest,
    prelude::*,
};

/// The behaviour of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Ok,
    Error,
    Panic,
    Hang,
    Nap,
    Obey,
    Report,
    Flaky,
    Deny,
    Confirm,
    Unknown,
    BadArguments,
    External,
    LongRunning,
    Alone,
}

const KINDS: [Kind; 15] = [
    Kind::Ok,
    Kind::Error,
    Kind::Panic,
    Kind::Hang,
    Kind::Nap,
    Kind::Obey,
    Kind::Report,
    Kind::Flaky,
    Kind::Deny,
    Kind::Confirm,
    Kind::Unknown,
    Kind::BadArguments,
    Kind::External,
    Kind::LongRunning,
    Kind::Alone,
];

/// The number of bodies that run.
#[derive(Default)]
struct Alive(AtomicI64);

struct Guard<'a>(&'a Alive);

impl Alive {
    fn enter(&self) -> Guard<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Guard(self)
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Has the given behaviour.
#[tool(register = false, timeout = "500ms", retry(attempts = 2, initial = "10ms", jitter = false))]
async fn act(alive: &Alive, kind: String, cx: &ToolContext) -> Result<String, ToolError> {
    let _guard = alive.enter();
    match kind.as_str() {
        "Error" => return Err(ToolError::failed("failed")),
        "Panic" => panic!("boom"),
        "Hang" => std::future::pending().await,
        "Nap" => sleep(Duration::from_millis(20)).await,
        "Obey" => cx.cancellation().cancelled().await,
        "Report" => {
            cx.update("half").await;
            tokio::task::yield_now().await;
            let _ = cx.progress(tool_runtime::context::Progress::new(1.0));
            let late = cx.clone();
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                late.update("late").await;
            });
        }
        "Flaky" if cx.attempt() == 1 => return Err(ToolError::failed("not yet").retryable(true)),
        _ => {}
    }
    Ok(kind)
}

/// Requires confirmation.
#[tool(register = false, confirm)]
fn confirmed() {}

/// Is external.
#[tool(register = false)]
fn external() {}

/// Runs as a long-running call.
#[tool(register = false, long_running)]
fn begin() {}

/// Never runs in parallel with other calls.
#[tool(register = false, sequential)]
async fn alone(alive: &Alive) {
    let _guard = alive.enter();
    assert_eq!(alive.0.load(Ordering::SeqCst), 1, "another one runs");
    tokio::task::yield_now().await;
}

impl Kind {
    fn call(self, at: usize) -> ToolCall {
        let call = match self {
            Self::Confirm => ToolCall::new("confirmed", "{}"),
            Self::Unknown => ToolCall::new("nothing", "{}"),
            Self::BadArguments => ToolCall::new("act", r#"{"kind":["Ok"]"#),
            Self::External => ToolCall::new("external", "{}"),
            Self::LongRunning => ToolCall::new("begin", "{}"),
            Self::Alone => ToolCall::new("alone", "{}"),
            kind => ToolCall::new("act", json!({ "kind": format!("{kind:?}") })),
        };
        call.with_id(at.to_string())
    }
}

/// One run of a batch.
#[derive(Debug, Clone)]
struct Case {
    kinds: Vec<Kind>,
    strategy: ExecutionStrategy,
    finish: Finish,
    /// The time until it is cancelled, in milliseconds.
    cancel_after: Option<u64>,
    /// The wave from which on it is skipped.
    steer_after: Option<u32>,
    /// The number of events after which its stream is dropped.
    drop_after: Option<usize>,
    multi_thread: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let strategies = prop_oneof![
        Just(ExecutionStrategy::Sequential),
        Just(ExecutionStrategy::Parallel),
        (1_usize..4).prop_map(|size| ExecutionStrategy::Batched { size }),
    ];
    let finishes = prop_oneof![Just(Finish::InOrder), Just(Finish::AsCompleted)];
    (
        prop::collection::vec(prop::sample::select(&KINDS[..]), 0..7),
        strategies,
        finishes,
        prop::option::of(0_u64..30),
        prop::option::of(1_u32..4),
        prop::option::weighted(0.2, 0_usize..8),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(kinds, strategy, finish, cancel_after, steer_after, drop_after, multi_thread)| {
            Case {
                kinds,
                strategy,
                finish,
                // Real time: a hang has to end soon.
                cancel_after: if multi_thread { cancel_after.or(Some(5)) } else { cancel_after },
                steer_after,
                drop_after,
                multi_thread,
            }
        })
}

fn executor(case: &Case, alive: &Arc<Alive>) -> Executor {
    let tools = Registry::builder().tool::<act>().tool::<confirmed>().tool::<external>();
    let tools = tools.tool::<begin>().tool::<alone>().provide_shared(Arc::clone(alive)).build().unwrap();
    Executor::builder(tools)
        .strategy(case.strategy)
        .finish(case.finish)
        .external(|call| call.tool() == "external")
        .permission(|request: &PermissionRequest<'_>| {
            let denied = request.arguments.as_str().contains("Deny");
            if denied { Permission::deny("no") } else { Permission::Allow }
        })
        .build()
        .unwrap()
}

/// Checks the events of each call: at most one start, at most one end, and no event before the start or
/// after the end.
fn assert_told(events: &[ToolEvent], case: &Case) -> HashMap<String, (u32, u32)> {
    let mut told: HashMap<String, (u32, u32)> = HashMap::new();
    for event in events {
        let (started, finished) = told.entry(event.id().to_string()).or_default();
        match &event.kind {
            // An external call has no other event.
            EventKind::External { .. } => continue,
            EventKind::Started { .. } => {
                assert_eq!((*started, *finished), (0, 0), "{case:?}: {events:?}");
                *started = 1;
            }
            _ => assert_eq!((*started, *finished), (1, 0), "{case:?}: {events:?}"),
        }
        if matches!(event.kind, EventKind::Finished { .. }) {
            *finished = 1;
        }
    }
    told
}

fn assert_outcomes(outcomes: &[CallOutcome], told: &HashMap<String, (u32, u32)>, case: &Case) {
    assert_eq!(outcomes.len(), case.kinds.len(), "{case:?}");
    for (at, (outcome, kind)) in outcomes.iter().zip(&case.kinds).enumerate() {
        assert_eq!(outcome.id().to_string(), at.to_string(), "{case:?}");
        let expected = match outcome {
            CallOutcome::External(..) => (0, 0),
            // Its end event follows its answer.
            CallOutcome::Pending(pending) if pending.result.is_none() => (1, 0),
            _ => (1, 1),
        };
        let seen = told.get(&at.to_string()).copied().unwrap_or_default();
        assert_eq!(seen, expected, "call {at} of {case:?}: {outcome:?}");
        if case.cancel_after.is_none() && case.steer_after.is_none() {
            assert_undisturbed(*kind, outcome, case);
        }
    }
}

/// Checks the outcome of an undisturbed call.
fn assert_undisturbed(kind: Kind, outcome: &CallOutcome, case: &Case) {
    let text = outcome.result().map(|result| result.text().into_owned()).unwrap_or_default();
    let expected = match kind {
        Kind::Error => "failed",
        Kind::Panic => "The tool act panicked: boom",
        Kind::Hang | Kind::Obey => "Timed out: no result after 500ms",
        Kind::Deny => "Denied: no",
        Kind::Confirm => "requires confirmation: May the tool confirmed be called?",
        Kind::Unknown => "Tool not found: nothing",
        Kind::External | Kind::LongRunning | Kind::Alone => "",
        Kind::BadArguments => return assert!(text.starts_with("Invalid arguments: "), "{text}"),
        kind => return assert_eq!(text, format!("{kind:?}"), "{case:?}"),
    };
    assert_eq!(text, expected, "{case:?}");
}

async fn hold(case: Case) {
    let alive = Arc::<Alive>::default();
    let executor = executor(&case, &alive);
    let mut listener = executor.subscribe();
    let run = Arc::new(RunContext::new());
    let steered = AtomicU32::new(0);
    let calls = case.kinds.iter().enumerate().map(|(at, kind)| kind.call(at)).collect();
    let batch = executor.batch(calls).with_run(Arc::clone(&run)).steering(&super::steered({
        let steer_after = case.steer_after;
        move || steer_after == Some(steered.fetch_add(1, Ordering::SeqCst) + 1)
    }));
    let (mut seen, mut outcomes) = (Vec::new(), None);
    let reading = async {
        let mut stream = batch.stream();
        while case.drop_after.is_none_or(|after| seen.len() < after) {
            match stream.next().await {
                Some(StreamItem::Event(event)) => seen.push(event),
                Some(StreamItem::Outcomes(all)) => {
                    assert!(outcomes.is_none());
                    outcomes = Some(all);
                }
                None => break,
            }
        }
    };
    let cancelling = async {
        match case.cancel_after {
            Some(0) => run.cancellation().cancel(),
            Some(after) => {
                sleep(Duration::from_millis(after)).await;
                run.cancellation().cancel();
            }
            None => {}
        }
    };
    if case.cancel_after == Some(0) {
        cancelling.await;
        reading.await;
    } else {
        tokio::join!(reading, cancelling);
    }
    // No body runs any more, and tasks that the tools spawned end without events.
    assert_eq!(alive.0.load(Ordering::SeqCst), 0, "{case:?}");
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    if !case.multi_thread {
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0, "{case:?}");
    }
    let heard: Vec<_> = std::iter::from_fn(|| listener.try_next()).map(Result::unwrap).collect();
    let told = assert_told(&heard, &case);
    match outcomes {
        Some(outcomes) => {
            assert_outcomes(&outcomes, &told, &case);
            let both = [&heard, &seen].map(|all| all.iter().map(super::short).collect::<Vec<_>>());
            assert_eq!(both[0], both[1], "{case:?}");
        }
        // Dropped: every started call has ended, except long-running ones.
        None => {
            for (id, (started, finished)) in told {
                let kind = case.kinds[id.parse::<usize>().unwrap()];
                assert!(started == finished || kind == Kind::LongRunning, "{id} of {case:?}: {heard:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    // D04, H14, G08, G10, G11, K02
    #[test]
    fn every_call_has_one_outcome_and_one_end(case in cases()) {
        let mut builder = match case.multi_thread {
            true => tokio::runtime::Builder::new_multi_thread(),
            false => tokio::runtime::Builder::new_current_thread(),
        };
        let builder = builder.worker_threads(2).enable_all();
        let runtime = if case.multi_thread { builder } else { builder.start_paused(true) }.build().unwrap();
        runtime.block_on(hold(case));
    }
}
