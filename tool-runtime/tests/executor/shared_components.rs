//! Components of any type within components of a program.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tool_runtime::{
    definition::Permission,
    policy::{
        Approval, ApprovalHandle, ApprovalRequest, Approver, PermissionPolicy, PermissionRequest, RetryInfo,
        RetryPolicy, RetryRule, SharedApprover, SharedPermissionPolicy, SharedRetryRule,
    },
    prelude::*,
};

use super::{AT_ONCE, Counter, building, one, run, texts};

/// Passes each question to the component within, and counts it.
struct Counting<T>(T, Arc<AtomicUsize>);

impl<T> Counting<T> {
    fn count(&self) -> &T {
        self.1.fetch_add(1, Ordering::SeqCst);
        &self.0
    }
}

impl PermissionPolicy for Counting<SharedPermissionPolicy> {
    async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        PermissionPolicy::decide(self.count(), request).await
    }
}

impl Approver for Counting<SharedApprover> {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        Approver::ask(self.count(), request).await
    }
}

impl RetryRule for Counting<SharedRetryRule> {
    async fn again(&self, info: &RetryInfo<'_>) -> Result<bool, ToolError> {
        RetryRule::again(self.count(), info).await
    }
}

/// Fails until it was tried three times.
#[tool(register = false, read_only)]
fn work(counter: &Counter) -> Result<usize, ToolError> {
    match counter.count() {
        ..3 => Err(ToolError::failed("busy")),
        attempts => Ok(attempts),
    }
}

#[test]
fn components_of_any_type_decide_within_components_of_a_program() {
    let asked = Arc::new(AtomicUsize::new(0));
    let policy = SharedPermissionPolicy::new(|_: &PermissionRequest<'_>| Permission::ask("really?"));
    let approver = SharedApprover::new(|_: &ApprovalRequest| Approval::Approved);
    let rule = SharedRetryRule::new(|info: &RetryInfo<'_>| info.attempt < 3);
    let executor = building(Registry::builder().tool::<work>().provide(Counter::default()))
        .permission(Counting(policy, Arc::clone(&asked)))
        .approver(Counting(approver, Arc::clone(&asked)))
        .retry(RetryPolicy::new(AT_ONCE).rule(Counting(rule, Arc::clone(&asked))))
        .build()
        .unwrap();
    assert_eq!(texts(&run(executor.run(one("work", "{}")))), ["3"]);
    // One permission, one approval, and a decision after each failure.
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    let refusing = SharedApprover::new(|_: &ApprovalRequest| Approval::Rejected("no".to_owned()));
    let asking = SharedPermissionPolicy::new(|_: &PermissionRequest<'_>| Permission::ask("really?"));
    let executor = building(Registry::builder().tool::<work>().provide(Counter::default()))
        .permission(Counting(asking, Arc::clone(&asked)))
        .approver(Counting(refusing, Arc::clone(&asked)))
        .build()
        .unwrap();
    assert!(run(executor.run(one("work", "{}")))[0].result().unwrap().is_error());
}
