//! Budgets of runs: calls, rounds, tokens.

use std::sync::Arc;

use tool_runtime::{
    ErrorKind, RunContext, ToolCall,
    context::{Budget, BudgetUsage},
    dialect::Usage,
    policy::RetryPolicy,
    prelude::*,
};

use super::{AT_ONCE, Counter, building, calls, texts, ways::each_way};

/// Counts.
#[tool(register = false)]
fn counted(counter: &Counter) -> usize {
    counter.count()
}

/// Fails.
#[tool(register = false)]
fn busy(counter: &Counter) -> Result<(), ToolError> {
    counter.count();
    Err(ToolError::failed("busy").retryable(true))
}

fn tools(counter: &Counter) -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<counted>().tool::<busy>().tool::<child>().provide(counter.clone())
}

/// Calls `counted` three times, in a run below.
#[tool(register = false)]
async fn child(counter: &Counter, cx: &ToolContext) -> Result<Vec<String>, ToolError> {
    let executor = super::executor(tools(counter));
    let run = cx.child_run("child")?.with_budget(Budget { calls: Some(2), ..Budget::default() });
    let outcomes = executor.batch(calls(&["counted"; 3])).with_run(run).run().await;
    Ok(texts(&outcomes))
}

fn of_calls(calls: u64) -> Budget {
    Budget { calls: Some(calls), ..Budget::default() }
}

const OVER: &str = "Over budget: the run may make 3 calls. Nothing was executed.";

#[test]
fn a_call_above_the_budget_is_answered_and_not_run() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(tools(&counter));
        let run = Arc::new(RunContext::new().with_budget(of_calls(3)));
        // Calls that do not fit, or are of no tool, cost nothing.
        let mut asked = calls(&["counted", "nope", "counted"]);
        asked.push(ToolCall::new("counted", r#"{"a":1}"#).with_id("3"));
        let first = executor.drive(executor.batch(asked).with_run(Arc::clone(&run))).await;
        assert_eq!(texts(&first)[0], "1");
        assert_eq!((counter.get(), run.spent().calls), (2, 2));
        let asked = calls(&["counted", "counted", "counted"]);
        let outcomes = executor.drive(executor.batch(asked).with_run(Arc::clone(&run))).await;
        assert_eq!(texts(&outcomes), ["3", OVER, OVER]);
        let error = outcomes[1].result().unwrap().outcome.as_ref().unwrap_err();
        assert_eq!((error.kind(), error.kind().name()), (ErrorKind::OverBudget, "over_budget"));
        assert_eq!((counter.get(), run.spent().calls), (3, 3));
        // Another run has none.
        let other = executor.drive(executor.batch(calls(&["counted"])).with_run(RunContext::new())).await;
        assert_eq!(texts(&other), ["4"]);
    });
}

#[test]
fn attempts_of_a_call_are_one_call_of_the_budget() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.of(building(tools(&counter)).retry(RetryPolicy::new(AT_ONCE).any_tool()));
        let run = Arc::new(RunContext::new().with_budget(of_calls(1)));
        let outcomes =
            executor.drive(executor.batch(calls(&["busy", "busy"])).with_run(Arc::clone(&run))).await;
        let over = "Over budget: the run may make 1 call. Nothing was executed.";
        assert_eq!(texts(&outcomes), ["busy", over]);
        assert_eq!((counter.get(), run.spent().calls), (3, 1));
    });
}

#[test]
fn a_run_below_uses_the_budget_of_the_run_above_and_its_own() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(tools(&counter));
        // Three calls: that of the child, and the two that its own budget has.
        let run = Arc::new(RunContext::new().with_budget(of_calls(4)));
        let outcomes = executor.drive(executor.batch(calls(&["child"])).with_run(Arc::clone(&run))).await;
        let own = "Over budget: the run may make 2 calls. Nothing was executed.";
        assert_eq!(texts(&outcomes), [json!(["1", "2", own]).to_string()]);
        assert_eq!((run.spent().calls, counter.get()), (3, 2));
        // One is left: that of the child itself.
        let outcomes = executor.drive(executor.batch(calls(&["child"])).with_run(Arc::clone(&run))).await;
        let above = "Over budget: the run may make 4 calls. Nothing was executed.";
        assert_eq!(texts(&outcomes), [json!([above, above, above]).to_string()]);
        assert_eq!((run.spent().calls, counter.get()), (4, 2));
    });
}

#[test]
fn nobody_is_asked_about_a_call_for_which_the_budget_has_no_room() {
    /// Asks before.
    #[tool(register = false, confirm)]
    fn confirmed() {}

    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<confirmed>());
        let run = RunContext::new().with_budget(of_calls(0));
        let outcomes = executor.drive(executor.batch(calls(&["confirmed"])).with_run(run)).await;
        assert_eq!(texts(&outcomes), ["Over budget: the run may make 0 calls. Nothing was executed."]);
        assert!(executor.open_calls().await.unwrap().is_empty());
    });
}

#[test]
fn rounds_and_tokens_are_counted_by_the_loop_for_all_runs_above() {
    let budget = Budget { rounds: Some(2), tokens: Some(100), ..Budget::default() };
    let run = RunContext::new().with_budget(budget);
    let child = run.child("researcher").with_budget(Budget { tokens: Some(10), ..Budget::default() });
    child.count_round().unwrap();
    let usage: Usage = serde_json::from_value(json!({ "input": 7, "output": 5 })).unwrap();
    let over = child.count_tokens(usage).unwrap_err();
    assert_eq!(over.kind(), ErrorKind::OverBudget);
    assert_eq!(&*over.reason(), "the run may use 10 tokens, and has used 12");
    // They were used, and no other request of the child is to be sent.
    assert_eq!((child.spent().tokens, run.spent().tokens), (12, 12));
    assert_eq!(&*child.count_round().unwrap_err().reason(), "the run may use 10 tokens, and has used 12");
    assert_eq!((child.spent().rounds, run.spent().rounds), (1, 1));
    run.count_round().unwrap();
    assert_eq!(&*run.count_round().unwrap_err().reason(), "the run may take 2 rounds");
    // What was refused above is not counted below.
    let other = run.child("writer").with_budget(Budget { rounds: Some(9), ..Budget::default() });
    assert!(other.count_round().is_err());
    assert_eq!((other.spent().rounds, run.spent().rounds), (0, 2));
    run.count_tokens(88_u64).unwrap();
    assert!(run.count_tokens(u64::MAX).is_err());
    assert_eq!(run.spent().tokens, u64::MAX);
    // Without a budget nothing is counted.
    let free = RunContext::new();
    free.count_round().and_then(|()| free.count_tokens(7_u64)).and_then(|()| free.count_call()).unwrap();
    assert_eq!(free.spent(), BudgetUsage::default());
    // A run that was stopped sends no request.
    free.stop(ToolError::stop("enough"));
    assert_eq!(free.count_round().unwrap_err().kind(), ErrorKind::Stopped);
}

#[test]
fn calls_of_many_threads_never_use_more_than_there_is() {
    let run = RunContext::new().with_budget(of_calls(100));
    let taken = Counter::default();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let run = run.child("child").with_budget(of_calls(90));
                for _ in 0..50 {
                    if run.count_call().is_ok() {
                        taken.count();
                    }
                }
            });
        }
    });
    assert_eq!((taken.get(), run.spent().calls), (100, 100));
}

// Q32
#[test]
fn a_run_that_is_nested_too_deeply_without_a_call_runs_nothing() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(tools(&counter));
        let run = RunContext::new().with_max_depth(1);
        let below = run.child("a");
        assert!(below.stopped().is_none());
        let too_deep = below.child("b");
        let message = "a run below this run would be on level 2, and 1 are allowed";
        assert_eq!(&*too_deep.count_round().unwrap_err().reason(), message);
        let outcomes = executor.drive(executor.batch(calls(&["counted"])).with_run(too_deep)).await;
        assert_eq!(texts(&outcomes), [format!("Skipped: the run was stopped: {message}")]);
        assert_eq!(counter.get(), 0);
    });
}
