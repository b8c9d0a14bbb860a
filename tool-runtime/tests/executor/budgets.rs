//! Budgets of runs: calls, rounds and tokens.

use std::sync::Arc;

use tool_runtime::{
    BoxFuture, ErrorKind, RunContext, ToolCall, ToolDefinition, ToolName,
    context::{Budget, BudgetItem, BudgetSource, BudgetUsage},
    definition::Prepared,
    dialect::Usage,
    policy::RetryPolicy,
    prelude::*,
    schema::{Arguments, InputSchema},
};

use super::{AT_ONCE, Counter, building, calls, echo, texts, ways::each_way};

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

/// Calls `counted` three times, in a child run.
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
fn a_call_over_budget_has_an_error_and_does_not_run() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(tools(&counter));
        let run = Arc::new(RunContext::new().with_budget(of_calls(3)));
        // Invalid calls and calls of unknown tools are not counted.
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
        // Another run has no budget.
        let other = executor.drive(executor.batch(calls(&["counted"])).with_run(RunContext::new())).await;
        assert_eq!(texts(&other), ["4"]);
    });
}

/// A tool written by hand, which counts when its body is called, before the future is polled.
struct Eager {
    definition: ToolDefinition,
    counter: Counter,
}

impl Tool for Eager {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| {
            self.counter.count();
            Box::pin(std::future::ready(Ok("done".into())))
        }))
    }
}

#[test]
fn the_body_of_a_tool_written_by_hand_is_not_called_over_budget() {
    each_way(async |way| {
        let counter = Counter::default();
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let definition = ToolDefinition::new(ToolName::new("eager").unwrap(), "Counts at once.", schema);
        let eager = Eager { definition, counter: counter.clone() };
        let executor = way.executor(Registry::builder().add(eager));
        let run = RunContext::new().with_budget(of_calls(1));
        let outcomes = executor.drive(executor.batch(calls(&["eager", "eager"])).with_run(run)).await;
        let over = "Over budget: the run may make 1 call. Nothing was executed.";
        assert_eq!(texts(&outcomes), ["done", over]);
        assert_eq!(counter.get(), 1);
    });
}

#[test]
fn all_attempts_of_a_call_count_as_one_call() {
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
fn a_child_run_uses_its_own_budget_and_the_budgets_of_its_parents() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(tools(&counter));
        // Three calls: the call of `nested`, and the two calls of the child's own budget.
        let run = Arc::new(RunContext::new().with_budget(of_calls(4)));
        let outcomes = executor.drive(executor.batch(calls(&["child"])).with_run(Arc::clone(&run))).await;
        let own = "Over budget: the run may make 2 calls. Nothing was executed.";
        assert_eq!(texts(&outcomes), [json!(["1", "2", own]).to_string()]);
        assert_eq!((run.spent().calls, counter.get()), (3, 2));
        // One call is left: the call of `nested`.
        let outcomes = executor.drive(executor.batch(calls(&["child"])).with_run(Arc::clone(&run))).await;
        let above = "Over budget: the run may make 4 calls. Nothing was executed.";
        assert_eq!(texts(&outcomes), [json!([above, above, above]).to_string()]);
        assert_eq!((run.spent().calls, counter.get()), (4, 2));
    });
}

#[test]
fn no_approval_is_requested_for_a_call_over_budget() {
    /// Requires confirmation.
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
fn rounds_and_tokens_of_a_run_count_for_all_its_parents() {
    let budget = Budget { rounds: Some(2), tokens: Some(100), ..Budget::default() };
    let run = RunContext::new().with_budget(budget);
    let child = run.child("researcher").with_budget(Budget { tokens: Some(10), ..Budget::default() });
    child.count_round().unwrap();
    let usage: Usage = serde_json::from_value(json!({ "input": 7, "output": 5 })).unwrap();
    let over = child.count_tokens(usage).unwrap_err();
    assert_eq!(over.kind(), ErrorKind::OverBudget);
    assert_eq!(&*over.reason(), "the run may use 10 tokens, and has used 12");
    // The tokens are used up, so that the child must not send another request.
    assert_eq!((child.spent().tokens, run.spent().tokens), (12, 12));
    assert_eq!(&*child.count_round().unwrap_err().reason(), "the run may use 10 tokens, and has used 12");
    assert_eq!((child.spent().rounds, run.spent().rounds), (1, 1));
    run.count_round().unwrap();
    assert_eq!(&*run.count_round().unwrap_err().reason(), "the run may take 2 rounds");
    // A round that a parent refuses is not counted in the child.
    let other = run.child("writer").with_budget(Budget { rounds: Some(9), ..Budget::default() });
    assert!(other.count_round().is_err());
    assert_eq!((other.spent().rounds, run.spent().rounds), (0, 2));
    run.count_tokens(88_u64).unwrap();
    assert!(run.count_tokens(u64::MAX).is_err());
    assert_eq!(run.spent().tokens, u64::MAX);
    // Without a budget, nothing is limited.
    let free = RunContext::new();
    free.count_round().and_then(|()| free.count_tokens(7_u64)).and_then(|()| free.count_call()).unwrap();
    assert_eq!(free.spent(), BudgetUsage::default());
    // A stopped run must not send a request.
    free.stop(ToolError::stop("enough"));
    assert_eq!(free.count_round().unwrap_err().kind(), ErrorKind::Stopped);
}

#[test]
fn concurrent_calls_never_exceed_the_budget() {
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
fn a_run_that_is_nested_too_deeply_runs_no_calls() {
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

/// A process that grants one call more than the one that it has counted already.
#[derive(Default)]
struct OneMore(Counter);

impl BudgetSource for OneMore {
    fn request(&self, item: BudgetItem) -> BoxFuture<'_, Result<(), ToolError>> {
        assert_eq!(item, BudgetItem::Call);
        let granted = match self.0.count() {
            1 => Ok(()),
            _ => Err(ToolError::new(ErrorKind::Unavailable, "no call is left")),
        };
        Box::pin(async move {
            tokio::task::yield_now().await;
            granted
        })
    }

    fn count_tokens(&self, _: u64) {}
}

#[test]
fn another_process_grants_each_call_of_a_run() {
    each_way(async |way| {
        let counter = Counter::default();
        let executor = way.executor(Registry::builder().tool::<echo>().provide(counter.clone()));
        let run = RunContext::new().with_budget_source(Arc::new(OneMore::default()));
        let call = |id: &str| ToolCall::new("echo", r#"{"text":"a"}"#).with_id(id);
        let batch = executor.batch(vec![call("0"), call("1"), call("2")]).with_run(run);
        let outcomes = executor.drive(batch).await;
        assert_eq!(texts(&outcomes), ["a", "a", "Tool unavailable: no call is left"]);
        assert_eq!(counter.get(), 2);
    });
}
