//! A call with valid arguments: its checks before the run, and the run itself.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use tool_schema::{__private::Corrections, guard::Guarded};

use super::{BoxFuture, Checks};
use crate::{
    __private::{BoxInvocation, Call, Invocation, Merged, Outputs, Part, Together, report_and_collect_items},
    Arguments, Permission, ToolContext, ToolError, ToolOutput,
};

/// A call with validated arguments that has not run yet.
#[must_use = "a prepared call does nothing until it is run"]
pub struct Prepared<'a> {
    arguments: Arguments<'a>,
    // The decoded arguments have types of the user; their `Drop` runs here if the call never runs.
    invocation: Guarded<PreparedInvocation<'a>>,
    /// Additional confirmation checks of wrappers; one `true` is enough.
    confirmations: Vec<Guarded<Box<CallCheck<'a, bool>>>>,
    permissions: Vec<Guarded<Box<CallCheck<'a, Permission>>>>,
}

/// A check of a call by a tool or a wrapper of it.
type CallCheck<'a, T> = dyn Fn(&ToolContext) -> Result<T, ToolError> + Send + 'a;

/// The body of a call whose tool implements `Tool` by hand.
type CustomBody<'a> = dyn FnOnce(Arguments<'a>, &'a ToolContext) -> BoxFuture<'a> + Send + 'a;

enum PreparedInvocation<'a> {
    /// A function with an attribute, and the checks that it answers.
    Function(BoxInvocation, Checks),
    Custom(Box<CustomBody<'a>>),
}

impl<'a> Prepared<'a> {
    /// Creates a call with valid `arguments`, which `run` executes.
    pub fn new(
        arguments: Arguments<'a>,
        run: impl FnOnce(Arguments<'a>, &'a ToolContext) -> BoxFuture<'a> + Send + 'a,
    ) -> Self {
        Self::of_invocation(arguments, PreparedInvocation::Custom(Box::new(run)))
    }

    /// Creates a call with valid `arguments` whose result is a stream. Each item is an update; the next item is
    /// polled when there is room for it. The result contains the blocks of all items. An item that is
    /// [final](ToolOutput::as_final) ends the stream and replaces them; an error keeps them in its details. A
    /// function with `#[tool]` that returns a stream of outputs behaves in the same way.
    ///
    /// After its stream has begun, an attempt is never retried. The tool's [`Metadata`](crate::Metadata) should set
    /// [`streaming`](crate::Metadata::streaming).
    pub fn stream<S, T>(
        arguments: Arguments<'a>,
        open: impl FnOnce(Arguments<'a>, &'a ToolContext) -> S + Send + 'a,
    ) -> Self
    where
        S: Stream<Item = Result<T, ToolError>> + Send + 'a,
        T: Into<ToolOutput> + 'a,
    {
        Self::from_stream(arguments, open, |item| item.map(|item| Part::<Outputs>::from(item.into())))
    }

    /// Creates a call like [`stream`](Self::stream) and merges the values of the items into one: strings, numbers and
    /// lists are added, the last value of each member of an object wins, and blocks of content are an error.
    pub fn merged_stream<S, T>(
        arguments: Arguments<'a>,
        open: impl FnOnce(Arguments<'a>, &'a ToolContext) -> S + Send + 'a,
    ) -> Self
    where
        S: Stream<Item = Result<T, ToolError>> + Send + 'a,
        T: Into<ToolOutput> + 'a,
    {
        Self::from_stream(arguments, open, |item| item.and_then(|item| Part::<Merged>::try_from(item.into())))
    }

    /// Creates a call from a stream; `convert` turns its items into parts of the result.
    fn from_stream<S: Stream + Send + 'a, K: Together + 'a>(
        arguments: Arguments<'a>,
        open: impl FnOnce(Arguments<'a>, &'a ToolContext) -> S + Send + 'a,
        convert: fn(S::Item) -> Result<Part<K>, ToolError>,
    ) -> Self {
        Self::new(arguments, move |arguments, cx| {
            Box::pin(async move { report_and_collect_items(open(arguments, cx), cx, convert).await })
        })
    }

    /// Creates the call of a function whose slots were filled from `arguments`, and which answers the checks
    /// `answers`.
    pub(crate) fn of_function(arguments: Arguments<'a>, invocation: BoxInvocation, answers: Checks) -> Self {
        Self::of_invocation(arguments, PreparedInvocation::Function(invocation, answers))
    }

    fn of_invocation(arguments: Arguments<'a>, invocation: PreparedInvocation<'a>) -> Self {
        let invocation = Guarded::new(invocation);
        Self { arguments, invocation, confirmations: Vec::new(), permissions: Vec::new() }
    }

    /// Requires a confirmation of this call, in addition to the tool's own check. The tool's
    /// [`Metadata`](crate::Metadata) must claim it by [`Confirmation`](crate::Confirmation).
    pub fn asking(self) -> Self {
        self.with_confirmation(|_| Ok(true))
    }

    /// Adds a check for [`wants_confirmation`](Self::wants_confirmation). The call requires a confirmation if any
    /// check returns `true`: a check that returns `false` does not lift the requirement of another check or of
    /// [`Confirmation::Always`](crate::Confirmation::Always).
    pub fn with_confirmation(
        mut self,
        wants: impl Fn(&ToolContext) -> Result<bool, ToolError> + Send + 'a,
    ) -> Self {
        self.confirmations.push(Guarded::new(Box::new(wants)));
        self
    }

    /// Adds a check for [`permission`](Self::permission). The first result other than [`Permission::Allow`] counts.
    pub fn with_permission(
        mut self,
        permission: impl Fn(&ToolContext) -> Result<Permission, ToolError> + Send + 'a,
    ) -> Self {
        self.permissions.push(Guarded::new(Box::new(permission)));
        self
    }

    /// Returns the validated arguments.
    #[must_use]
    pub fn arguments(&self) -> &Arguments<'a> {
        &self.arguments
    }

    /// Runs the call when the future is polled; dropping the future cancels the call. The output lists the
    /// corrections of the arguments.
    pub fn run(self, cx: &'a ToolContext) -> BoxFuture<'a> {
        let Self { arguments, mut invocation, .. } = self;
        match invocation.take() {
            Some(PreparedInvocation::Function(invocation, _)) => {
                let (text, corrections) = arguments.into_parts();
                add_corrections(invocation.run(Call::new(text, cx)), corrections)
            }
            Some(PreparedInvocation::Custom(run)) => {
                let corrections = arguments.kept_corrections();
                add_corrections(Box::pin(DeferredBody::Waiting(Some((run, arguments, cx)))), corrections)
            }
            // Only `run` takes the invocation, so it is always present.
            None => Box::pin(std::future::ready(Err(ToolError::cancelled()))),
        }
    }

    /// Returns `true` if this call requires a confirmation, by the tool's own check of the typed arguments or by a
    /// check of a [wrapper](Self::with_confirmation); `None` if there is no check. A call of a tool that claims
    /// [`Confirmation::Sometimes`](crate::Confirmation::Sometimes) must not run if this returns `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if a check fails, for example because a provided value is missing; the call must not run.
    pub fn wants_confirmation(&self, cx: &ToolContext) -> Result<Option<bool>, ToolError> {
        let own = self.run_attribute_check(
            |answers| answers.confirmation,
            |invocation, call| invocation.confirm(call),
            cx,
        )?;
        self.confirmations.iter().filter_map(Guarded::get).try_fold(own, |answer, wants| match answer {
            Some(true) => Ok(answer),
            _ => wants(cx).map(Some),
        })
    }

    /// Returns the result of the tool's own permission check; `None` if it has none. A call of a tool that claims
    /// [`permission`](crate::Metadata::permission) must not run if this returns `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if a check fails; the call must not run.
    pub fn permission(&self, cx: &ToolContext) -> Result<Option<Permission>, ToolError> {
        let own = self.run_attribute_check(
            |answers| answers.permission,
            |invocation, call| invocation.permission(call),
            cx,
        )?;
        self.permissions.iter().filter_map(Guarded::get).try_fold(own, |answer, permission| match answer {
            None | Some(Permission::Allow) => permission(cx).map(Some),
            _ => Ok(answer),
        })
    }

    /// Returns the result of the check in a function's own attribute, if it has one.
    fn run_attribute_check<T>(
        &self,
        answers: impl FnOnce(Checks) -> bool,
        question: impl FnOnce(&dyn Invocation, &Call<'_>) -> Result<T, ToolError>,
        cx: &ToolContext,
    ) -> Result<Option<T>, ToolError> {
        match self.invocation.get() {
            Some(PreparedInvocation::Function(invocation, checks)) if answers(*checks) => {
                question(&**invocation, &Call::new(self.arguments.as_str().into(), cx)).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Adds the corrections of the arguments to the output of `running`.
#[inline]
pub(crate) fn add_corrections<'a>(running: BoxFuture<'a>, corrections: Corrections) -> BoxFuture<'a> {
    match corrections {
        None => running,
        Some(corrections) => {
            Box::pin(async move { running.await.map(|output| output.with_corrections(*corrections)) })
        }
    }
}

/// The call of a tool that implements `Tool` by hand. Its body starts when the call is first polled, after every check,
/// and its future is dropped with the call, not when it completes.
enum DeferredBody<'a> {
    Waiting(Option<(Box<CustomBody<'a>>, Arguments<'a>, &'a ToolContext)>),
    Running(BoxFuture<'a>),
}

impl Future for DeferredBody<'_> {
    type Output = Result<ToolOutput, ToolError>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        if let Self::Waiting(body) = &mut *self {
            // Only a body that panicked is missing.
            let Some((run, arguments, cx)) = body.take() else {
                return Poll::Ready(Err(ToolError::cancelled()));
            };
            *self = Self::Running(run(arguments, cx));
        }
        match &mut *self {
            Self::Running(running) => running.as_mut().poll(task),
            Self::Waiting(_) => Poll::Ready(Err(ToolError::cancelled())),
        }
    }
}

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}
