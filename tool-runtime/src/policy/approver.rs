//! Approvers, which decide on calls that require an approval.

use std::{fmt, future::Future, ops::Deref, sync::Arc};

use tool_core::{BoxFuture, RunContext, ToolDefinition, ToolError};

use super::{Approval, ApprovalRequest, shared_handle};
use crate::guard::GuardedArc;

/// Decides on calls that require an approval, for example by asking a person, while the batch waits.
///
/// The method can be written as an `async fn`. A function from an [`ApprovalRequest`] to an [`Approval`] is an
/// approver; [`ExecutorBuilder::approver_fn`](crate::executor::ExecutorBuilder::approver_fn) accepts an asynchronous
/// closure. An approver that is chosen at run time is a [`SharedApprover`].
///
/// Without an approver, a call is [pending](crate::call::Pending) if its tool is marked `confirm` or its body requests
/// a confirmation; [`Executor::resume`](crate::Executor::resume) answers it. A call for which a permission or a rule
/// requires an approval is pending only if [`pending_approvals`](crate::executor::ExecutorBuilder::pending_approvals)
/// is set, and fails otherwise.
///
/// # Examples
///
/// ```
/// use tool_runtime::{
///     Executor, ToolCall,
///     policy::{Approval, ApprovalHandle, Approver, ApprovalCause},
///     prelude::*,
/// };
///
/// /// Pays an amount in euros.
/// #[tool(destructive, confirm)]
/// fn pay(amount: u32, cx: &ToolContext) -> Result<String, ToolError> {
///     let Some(answer) = cx.confirmation() else {
///         return Err(cx.request_confirmation("From which account?", json!({ "amount": amount })));
///     };
///     Ok(format!("{amount} from {}", answer.payload))
/// }
///
/// struct Person;
///
/// impl Approver for Person {
///     async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
///         Ok(match request.cause {
///             ApprovalCause::Tool => Approval::ApprovedWith(json!("savings")), // asked by the body
///             _ => Approval::Approved,
///         })
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let executor = Executor::builder(Registry::builder().tool::<pay>().build()?).approver(Person).build()?;
/// let outcomes = executor.run(vec![ToolCall::new("pay", json!({ "amount": 7 }))]).await;
/// assert_eq!(outcomes[0].result().unwrap().text(), r#"7 from "savings""#);
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an approver",
    label = "does not implement `Approver`",
    note = "give an asynchronous closure to `.approver_fn(|request| async move {{ .. }})`",
    note = "a synchronous closure is `|request: &ApprovalRequest| Approval::Approved`"
)]
pub trait Approver: Send + Sync {
    /// Decides on one request: before a call, or when its body [requests a
    /// confirmation](crate::ToolContext::request_confirmation) and then runs again with the answer. Requests of one
    /// batch are made one after the other.
    ///
    /// # Errors
    ///
    /// If an error is returned, the call fails with it and is not run.
    fn ask(&self, request: &ApprovalHandle) -> impl Future<Output = Result<Approval, ToolError>> + Send;
}

#[diagnostic::do_not_recommend]
impl<F> Approver for F
where
    F: Fn(&ApprovalRequest) -> Approval + Send + Sync,
{
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        Ok(self(request))
    }
}

/// An owned handle to a request for an approval, and to the run and the tool of its call. Cheap to clone. Dereferences
/// to the [`ApprovalRequest`].
#[derive(Clone)]
pub struct ApprovalHandle(Arc<ApprovalParts>);

struct ApprovalParts {
    request: ApprovalRequest,
    definition: ToolDefinition,
    run: Option<Arc<RunContext>>,
}

impl ApprovalHandle {
    pub(crate) fn new(
        request: ApprovalRequest,
        definition: &ToolDefinition,
        run: Option<&Arc<RunContext>>,
    ) -> Self {
        Self(Arc::new(ApprovalParts { request, definition: definition.clone(), run: run.cloned() }))
    }

    /// Returns the definition of the tool.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.0.definition
    }

    /// Returns the run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&Arc<RunContext>> {
        self.0.run.as_ref()
    }

    /// Returns the request, without a copy if this is the only handle.
    pub(crate) fn into_request(self) -> Box<ApprovalRequest> {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Box::new(inner.request),
            Err(shared) => Box::new(shared.request.clone()),
        }
    }
}

impl Deref for ApprovalHandle {
    type Target = ApprovalRequest;

    fn deref(&self) -> &ApprovalRequest {
        &self.0.request
    }
}

impl fmt::Debug for ApprovalHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ApprovalHandle").field(&self.0.request).finish()
    }
}

/// An approver made of a closure that receives an owned handle.
pub(crate) struct Approves<F>(pub(crate) F);

impl<F, R> Approver for Approves<F>
where
    F: Fn(ApprovalHandle) -> R + Send + Sync,
    R: Future<Output = Result<Approval, ToolError>> + Send,
{
    fn ask(&self, request: &ApprovalHandle) -> impl Future<Output = Result<Approval, ToolError>> + Send {
        (self.0)(request.clone())
    }
}

/// An approver of any type, for one that is chosen at run time. Cheap to clone.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, Registry, policy::{Approval, ApprovalRequest, SharedApprover}};
///
/// let all = std::env::args().any(|it| it == "--yes");
/// let approver = match all {
///     true => SharedApprover::new(|_: &ApprovalRequest| Approval::Approved),
///     false => SharedApprover::new(|_: &ApprovalRequest| Approval::Rejected("run it with --yes".to_owned())),
/// };
/// let executor = Executor::builder(Registry::builder().build()?).approver(approver).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedApprover(GuardedArc<dyn ErasedApprover>);

/// The object-safe form of [`Approver`].
pub(crate) trait ErasedApprover: Send + Sync {
    fn ask<'a>(&'a self, request: &'a ApprovalHandle) -> BoxFuture<'a, Result<Approval, ToolError>>;
}

impl<A: Approver> ErasedApprover for A {
    fn ask<'a>(&'a self, request: &'a ApprovalHandle) -> BoxFuture<'a, Result<Approval, ToolError>> {
        Box::pin(Approver::ask(self, request))
    }
}

shared_handle!(SharedApprover(approver: Approver) as ErasedApprover);

impl Approver for SharedApprover {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        self.dynamic().ask(request).await
    }
}
