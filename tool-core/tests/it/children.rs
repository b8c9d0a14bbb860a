//! Runs below a call, contexts of attempts, and the budgets of both.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};
use tool_core::{
    Actions, Budget, BudgetUsage, CallAddress, CallSink, Dependency, ErrorKind, ProvidedValues, RunContext,
    ToolContext, ToolError, ToolOutput, Trigger,
};

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn nested(run: &RunContext, levels: usize) -> RunContext {
    (0..levels).fold(run.child("a"), |run, _| run.child("a"))
}

#[test]
fn a_run_has_at_most_sixteen_levels_below_or_those_that_it_permits() {
    let stop = |run: &RunContext| run.stopped().map(|error| error.reason().into_owned());
    for (most, run) in [
        (16, RunContext::new()),
        (2, RunContext::new().with_max_depth(2)),
        (0, RunContext::new().with_max_depth(0)),
    ] {
        if most > 0 {
            assert_eq!((stop(&nested(&run, most - 1)), nested(&run, most - 1).depth()), (None, most));
        }
        let message = format!("a run below this run would be on level {}, and {most} are allowed", most + 1);
        assert_eq!(stop(&nested(&run, most)), Some(message));
    }
    // A run below another one permits fewer levels, and never more.
    let child = || RunContext::new().with_max_depth(3).child("a");
    assert_eq!(stop(&nested(&child().with_max_depth(1), 0)), None);
    assert!(stop(&nested(&child().with_max_depth(1), 1)).is_some());
    assert_eq!(stop(&nested(&child().with_max_depth(9), 1)), None);
    assert!(stop(&nested(&child().with_max_depth(9), 2)).is_some());
    assert!(stop(&nested(&child().with_max_depth(usize::MAX), 2)).is_some());
    // The root may permit more than the default.
    assert_eq!(stop(&nested(&RunContext::new().with_max_depth(20), 19)), None);
}

#[test]
fn a_run_below_a_call_has_its_trigger_its_deadline_and_the_sink_of_the_call() {
    struct Silent;
    impl CallSink for Silent {}

    let now = Instant::now();
    let (early, late) = (now + Duration::from_secs(10), now + Duration::from_secs(60));
    let run = Arc::new(RunContext::new().with_id("r").with_agent("clerk").with_deadline(late));
    let cx = ToolContext::for_test().with_call_id("c").with_run(Arc::clone(&run)).with_deadline(early);
    let child = cx.child_run("researcher").unwrap();
    let Some(Trigger::Call { id, tool, address, .. }) = child.trigger() else { panic!("{child:?}") };
    assert_eq!((id.to_string(), tool.as_str()), ("c".to_owned(), "test"));
    assert_eq!(*address, CallAddress { run: Some("r".into()), call_id: "c".into(), serial: 0 });
    assert_eq!((child.deadline(), child.parent_id(), child.depth()), (Some(early), Some(run.id()), 1));
    assert!(
        child
            .key()
            .is_some_and(|key| key.starts_with("researcher-") && key.ends_with(&child.id().to_string()))
    );
    assert!(child.above().is_none() && run.key().is_none() && run.trigger().is_none());
    // Runs below that one have no trigger, and the same sink above.
    let shown = cx.clone().with_sink(Arc::new(Silent)).child_run("a").unwrap();
    assert!(
        shown.above().is_some() && shown.child("b").above().is_some() && shown.child("b").trigger().is_none()
    );
    assert!(shown.without_above().above().is_none());
    // A cancelled call cancels it, and not the reverse.
    child.cancellation().cancel();
    assert!(!cx.should_stop() && !run.cancellation().is_cancelled());
    let other = cx.child_run("other").unwrap();
    cx.cancel();
    assert!(other.cancellation().is_cancelled() && !run.cancellation().is_cancelled());
    assert!(!cx.wants_grace(), "the body did not ask");
    // Without a run, it is below a new one.
    let alone = ToolContext::for_test().child_run("a").unwrap();
    assert_eq!((alone.depth(), alone.branch(), alone.deadline()), (1, Some("a"), None));
    let deep = ToolContext::for_test().with_run(Arc::new(RunContext::new().with_max_depth(0)));
    let error = deep.child_run("a").unwrap_err();
    assert_eq!((error.kind(), error.tool()), (ErrorKind::Unavailable, Some("test")));
    assert_eq!(error.reason(), "a run below this call would be on level 1, and 0 are allowed");
}

#[test]
fn a_budget_counts_at_each_level_and_is_refused_by_the_first_that_is_full() {
    let budget = |calls: u64| Budget { calls: Some(calls), ..Budget::default() };
    let run = RunContext::new().with_budget(budget(3));
    let child = run.child("a").with_budget(budget(2));
    for spent in 1..=2 {
        assert!(child.has_call_left().is_ok() && child.count_call().is_ok());
        assert_eq!((child.spent().calls, run.spent().calls), (spent, spent));
    }
    let reason = |result: Result<(), ToolError>| result.unwrap_err().reason().into_owned();
    assert_eq!(reason(child.has_call_left()), "the run may make 2 calls");
    assert_eq!(reason(child.count_call()), "the run may make 2 calls");
    assert_eq!((child.spent().calls, run.spent().calls), (2, 2));
    run.count_call().unwrap();
    // What the run above refuses is counted nowhere.
    let other = run.child("b").with_budget(budget(9));
    assert_eq!(reason(other.has_call_left()), "the run may make 3 calls");
    assert_eq!(reason(other.count_call()), "the run may make 3 calls");
    assert_eq!((other.spent().calls, run.spent().calls), (0, 3));
    // What was spent elsewhere is added to each level, beyond its limit.
    other.count_spent(
        serde_json::from_value::<BudgetUsage>(json!({ "calls": 4, "rounds": 5, "tokens": 6 })).unwrap(),
    );
    let usage = |run: &RunContext| (run.spent().calls, run.spent().rounds, run.spent().tokens);
    assert_eq!((usage(&other), usage(&run)), ((4, 5, 6), (7, 5, 6)));
    for (limit, used, error) in
        [(1, 0, None), (1, 1, None), (1, 2, Some("the run may use 1 token, and has used 2"))]
    {
        let run = RunContext::new().with_budget(Budget {
            tokens: Some(limit),
            rounds: Some(1),
            ..Budget::default()
        });
        let counted = run.count_tokens(used).err().map(|error| error.reason().into_owned());
        assert_eq!(counted.as_deref(), error);
        assert_eq!(run.count_round().is_ok(), used < limit, "a round needs a token that is left");
    }
    let once = RunContext::new().with_budget(Budget { calls: Some(1), rounds: Some(1), ..Budget::default() });
    once.count_call().and_then(|()| once.count_round()).unwrap();
    assert_eq!(reason(once.count_call()), "the run may make 1 call");
    assert_eq!(reason(once.count_round()), "the run may take 1 round");
}

#[test]
fn the_reason_of_an_absence_is_the_one_of_the_uppermost_layer_that_gives_one() {
    let reason = |run: RunContext, below: ProvidedValues| {
        let cx = ToolContext::for_test().with_run(Arc::new(run.provide('x')));
        let provided = cx.run().unwrap().provided().on(Arc::new(below));
        let cx = ToolContext::new(cx.tool_name().clone(), Arc::new(provided));
        let error = cx.require::<u8>().copied();
        error.map_err(|error| (error.reason().into_owned(), error.feedback()))
    };
    let absent = |text: &str| Err((format!("Tool unavailable: {text}"), format!("Tool unavailable: {text}")));
    let mut below = ProvidedValues::default();
    below.explain_absence::<u8>("no store");
    below.explain_absence::<u16>("other");
    assert!(!below.is_empty() && !below.contains(&Dependency::of::<u8>()));
    assert_eq!(reason(RunContext::new(), below.clone()), absent("no store"));
    let above = || RunContext::new().explain_absence::<u8>("first").explain_absence::<u8>("later");
    assert_eq!(reason(above(), below.clone()), absent("later"));
    // A value replaces a reason, and a reason a value of its layer.
    assert_eq!(reason(above().provide(1_u8), below.clone()), Ok(1));
    below.insert(Arc::new(2_u8));
    assert_eq!(reason(RunContext::new(), below.clone()), Ok(2));
    below.explain_absence::<u8>("gone");
    assert_eq!(reason(RunContext::new(), below), absent("gone"));
}

#[test]
fn the_result_of_a_body_has_what_it_requested_unless_it_failed() {
    let state = |value: u8| map(&json!({ "n": value }));
    let asking = || Actions {
        transfer: Some("b".to_owned()),
        state: map(&json!({ "n": 1, "m": 1 })),
        ..Actions::default()
    };
    let cx = || ToolContext::for_test().with_state(state(0));
    // Nothing was requested.
    let plain = ToolOutput::from("x");
    assert_eq!(cx().conclude(Ok(plain.clone())).unwrap(), plain);
    let read = cx();
    assert_eq!(read.state().get::<u8>("n").unwrap(), Some(0));
    assert_eq!(read.conclude(Ok(plain.clone())).unwrap(), plain);
    // Requested actions, changes of the state, and the actions of the output, which come last.
    let all = cx();
    all.add_actions(Actions {
        terminate: true,
        state: map(&json!({ "n": 5, "k": 5 })),
        ..Actions::default()
    })
    .unwrap();
    all.state().set("n", 7).unwrap();
    let own = plain.clone().with_actions(asking());
    let done = all.conclude(Ok(own)).unwrap();
    let actions = done.actions().unwrap();
    assert_eq!((actions.terminate, actions.transfer.as_deref()), (true, Some("b")));
    assert_eq!(json!(actions.state), json!({ "n": 1, "k": 5, "m": 1 }));
    // The call has ended.
    let late = all.add_actions(asking()).unwrap_err();
    assert_eq!(late.reason(), "the call has ended; it can no longer request actions");
    // A failure requests nothing, whether it is an error or an output.
    for failed in [Err(ToolError::failed("no")), Ok(plain.as_failure())] {
        let cx = cx();
        cx.add_actions(asking()).unwrap();
        let done = cx.conclude(failed.clone());
        assert!(done.as_ref().ok().and_then(ToolOutput::actions).is_none_or(Actions::is_empty));
        assert_eq!(done.is_ok(), failed.is_ok());
    }
}

#[test]
fn progress_has_a_total_that_is_finite_and_positive() {
    use tool_core::Progress;
    for (total, expected) in [
        (4.0, Some(4.0)),
        (0.5, Some(0.5)),
        (0.0, None),
        (-1.0, None),
        (f64::NAN, None),
        (f64::INFINITY, None),
    ] {
        assert_eq!(Progress::new(1.0).of(total).total, expected, "{total}");
    }
    let told = Progress::new(1.0).of(2.0).message("half");
    assert_eq!((told.done, told.message.as_deref()), (1.0, Some("half")));
}
