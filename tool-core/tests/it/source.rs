//! Budgets that another process keeps.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use tool_core::{BoxFuture, Budget, BudgetItem, BudgetSource, ErrorKind, RunContext, ToolError};

fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("not ready at once"),
    }
}

/// A source that grants a number of items, and records each request and all tokens.
struct Granting {
    left: Mutex<u32>,
    requests: Mutex<Vec<BudgetItem>>,
    tokens: Mutex<Vec<u64>>,
}

impl Granting {
    fn new(left: u32) -> Arc<Self> {
        Arc::new(Self { left: Mutex::new(left), requests: Mutex::default(), tokens: Mutex::default() })
    }
}

impl BudgetSource for Granting {
    fn request(&self, item: BudgetItem) -> BoxFuture<'_, Result<(), ToolError>> {
        self.requests.lock().unwrap().push(item);
        let mut left = self.left.lock().unwrap();
        let granted = left.checked_sub(1);
        *left = granted.unwrap_or(0);
        let refused = || ToolError::new(ErrorKind::OverBudget, "the process may do no more");
        Box::pin(std::future::ready(granted.map(|_| ()).ok_or_else(refused)))
    }

    fn count_tokens(&self, tokens: u64) {
        self.tokens.lock().unwrap().push(tokens);
    }
}

fn usage(run: &RunContext) -> (u64, u64, u64) {
    (run.spent().calls, run.spent().rounds, run.spent().tokens)
}

fn reason(result: Result<(), ToolError>) -> String {
    result.unwrap_err().reason().into_owned()
}

#[test]
fn the_first_call_is_granted_and_each_further_item_is_requested() {
    let source = Granting::new(3);
    let run = RunContext::new().with_budget_source(source.clone());
    assert!(run.has_budget() && run.has_budget_source());
    assert_eq!(usage(&run), (0, 0, 0));
    now(run.obtain_call()).unwrap();
    assert!(source.requests.lock().unwrap().is_empty());
    // A run with a source has a call left, since more may be granted.
    run.has_call_left().unwrap();
    assert_eq!(reason(run.count_call()), "the run may make 1 call");
    now(run.obtain_round()).unwrap();
    now(run.obtain_call()).unwrap();
    assert_eq!(reason(run.count_call()), "the run may make 2 calls");
    assert_eq!(reason(run.count_round()), "the run may take 1 round");
    now(run.obtain_call()).unwrap();
    assert_eq!(reason(now(run.obtain_call())), "the process may do no more");
    assert_eq!(reason(now(run.obtain_round())), "the process may do no more");
    assert_eq!(usage(&run), (3, 1, 0));
    use BudgetItem::{Call, Round};
    assert_eq!(*source.requests.lock().unwrap(), [Round, Call, Call, Call, Round]);
    // Tokens have no limit here; the source counts them.
    run.count_tokens(5_u64).unwrap();
    run.child("a").count_tokens(u64::MAX).unwrap();
    assert_eq!((usage(&run).2, &**source.tokens.lock().unwrap()), (u64::MAX, &[5, u64::MAX][..]));
}

#[test]
fn a_level_without_a_source_is_not_asked_and_refuses() {
    let budget = Budget { calls: Some(1), rounds: Some(1), tokens: Some(10) };
    let source = Granting::new(9);
    let run = RunContext::new().with_budget_source(source.clone());
    let child = run.child("a").with_budget(budget);
    assert!(child.has_budget_source() && !RunContext::new().with_budget(budget).has_budget_source());
    assert!(!RunContext::new().has_budget() && !RunContext::new().has_budget_source());
    now(child.obtain_call()).unwrap();
    assert_eq!(reason(now(child.obtain_call())), "the run may make 1 call");
    assert_eq!(reason(child.has_call_left()), "the run may make 1 call");
    now(child.obtain_round()).unwrap();
    assert_eq!(reason(now(child.obtain_round())), "the run may take 1 round");
    assert_eq!(*source.requests.lock().unwrap(), [BudgetItem::Round]);
    // Without tokens, no round is requested; neither after a stop.
    let tired = run.child("b").with_budget(Budget { tokens: Some(1), ..Budget::default() });
    tired.count_tokens(1_u64).unwrap();
    assert_eq!(reason(now(tired.obtain_round())), "the run may use 1 token, and has used 1");
    let stopped = run.child("c");
    stopped.stop(ToolError::stop("enough"));
    assert_eq!(now(stopped.obtain_round()).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(source.requests.lock().unwrap().len(), 1);
    // A run without a budget may do everything.
    let free = RunContext::new();
    now(free.obtain_call()).and_then(|()| now(free.obtain_round())).unwrap();
    assert_eq!(usage(&free), (0, 0, 0));
}
