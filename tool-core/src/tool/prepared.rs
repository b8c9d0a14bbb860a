//! A call whose arguments fit: the half of a call that runs, and what is asked before it does.

use futures_core::Stream;

use super::{BoxFuture, Checks};
use crate::{
    __private::{Boxed, Call, Invocation, Merged, Outputs, Part, Together, collect},
    Arguments, Permission, ToolContext, ToolError, ToolOutput,
    arguments::Corrections,
    guarded::Guarded,
};

/// A call whose arguments fit, and which has not run yet.
#[must_use = "a prepared call does nothing until it is run"]
pub struct Prepared<'a> {
    arguments: Arguments<'a>,
    // Holds decoded arguments, of types of the user's, which are dropped where the call does not run.
    invocation: Guarded<PreparedInvocation<'a>>,
    /// Answers beside those of a function's own attribute, each of which may be the one that counts.
    confirmations: Vec<Guarded<Box<Question<'a, bool>>>>,
    permissions: Vec<Guarded<Box<Question<'a, Permission>>>>,
}

/// A question about a call that a tool, or a wrapper of it, answers.
type Question<'a, T> = dyn Fn(&ToolContext) -> Result<T, ToolError> + Send + 'a;

/// A call of a tool that is written by hand.
type Custom<'a> = dyn FnOnce(Arguments<'a>, &'a ToolContext) -> BoxFuture<'a> + Send + 'a;

enum PreparedInvocation<'a> {
    /// A function, and the questions that it answers.
    Function(Boxed, Checks),
    Custom(Box<Custom<'a>>),
}

impl<'a> Prepared<'a> {
    /// A call with `arguments`, which fit, that `run` answers.
    pub fn new(
        arguments: Arguments<'a>,
        run: impl FnOnce(Arguments<'a>, &'a ToolContext) -> BoxFuture<'a> + Send + 'a,
    ) -> Self {
        Self::of(arguments, PreparedInvocation::Custom(Box::new(run)))
    }

    /// A call with `arguments`, which fit, that a stream answers: each item is an update, and the next one is asked for
    /// when there is room for it. The result has the blocks of all items; an item that is [final](ToolOutput::as_final)
    /// ends the stream and stands in their place, and an error keeps them in its details. A function with `#[tool]` that
    /// returns a stream of outputs does the same.
    ///
    /// An attempt that has opened its stream is never repeated. The tool's [`Metadata`](crate::Metadata) should set
    /// [`streaming`](crate::Metadata::streaming), for those who read definitions.
    pub fn stream<S, T>(
        arguments: Arguments<'a>,
        open: impl FnOnce(Arguments<'a>, &'a ToolContext) -> S + Send + 'a,
    ) -> Self
    where
        S: Stream<Item = Result<T, ToolError>> + Send + 'a,
        T: Into<ToolOutput> + 'a,
    {
        Self::collected(arguments, open, |item| item.map(|item| Part::<Outputs>::from(item.into())))
    }

    /// As [`stream`](Self::stream), where the values of the items are merged into one: strings, numbers and lists
    /// are added, the later of two members of an object counts, and blocks of content are an error.
    pub fn merged_stream<S, T>(
        arguments: Arguments<'a>,
        open: impl FnOnce(Arguments<'a>, &'a ToolContext) -> S + Send + 'a,
    ) -> Self
    where
        S: Stream<Item = Result<T, ToolError>> + Send + 'a,
        T: Into<ToolOutput> + 'a,
    {
        Self::collected(arguments, open, |item| item.and_then(|item| Part::<Merged>::try_from(item.into())))
    }

    /// A call that a stream answers, of whose items `part` makes parts of the result.
    fn collected<S: Stream + Send + 'a, K: Together + 'a>(
        arguments: Arguments<'a>,
        open: impl FnOnce(Arguments<'a>, &'a ToolContext) -> S + Send + 'a,
        part: fn(S::Item) -> Result<Part<K>, ToolError>,
    ) -> Self {
        Self::new(arguments, move |arguments, cx| {
            Box::pin(async move { collect(open(arguments, cx), cx, part).await })
        })
    }

    /// The call of a function whose slots were filled from `arguments`, and which answers `answers`.
    pub(crate) fn function(arguments: Arguments<'a>, invocation: Boxed, answers: Checks) -> Self {
        Self::of(arguments, PreparedInvocation::Function(invocation, answers))
    }

    fn of(arguments: Arguments<'a>, invocation: PreparedInvocation<'a>) -> Self {
        let invocation = Guarded::new(invocation);
        Self { arguments, invocation, confirmations: Vec::new(), permissions: Vec::new() }
    }

    /// The same call, which requires a confirmation, whatever the tool itself answers. The tool's
    /// [`Metadata`](crate::Metadata) has to claim it, by [`Confirmation`](crate::Confirmation).
    pub fn asking(self) -> Self {
        self.with_confirmation(|_| Ok(true))
    }

    /// The same call, with an answer to [`wants_confirmation`](Self::wants_confirmation). Of several answers, a
    /// `true` counts.
    pub fn with_confirmation(
        mut self,
        wants: impl Fn(&ToolContext) -> Result<bool, ToolError> + Send + 'a,
    ) -> Self {
        self.confirmations.push(Guarded::new(Box::new(wants)));
        self
    }

    /// The same call, with an answer to [`permission`](Self::permission). Of several answers, the first that is not
    /// [`Permission::Allow`] counts.
    pub fn with_permission(
        mut self,
        permission: impl Fn(&ToolContext) -> Result<Permission, ToolError> + Send + 'a,
    ) -> Self {
        self.permissions.push(Guarded::new(Box::new(permission)));
        self
    }

    /// The arguments, as they fit.
    #[must_use]
    pub fn arguments(&self) -> &Arguments<'a> {
        &self.arguments
    }

    /// Runs the call. Nothing happens until the future is polled, and dropping it cancels. The output
    /// says what was corrected in the arguments.
    pub fn run(self, cx: &'a ToolContext) -> BoxFuture<'a> {
        let Self { arguments, mut invocation, .. } = self;
        match invocation.take() {
            Some(PreparedInvocation::Function(invocation, _)) => {
                let (text, corrections) = arguments.into_parts();
                corrected(invocation.run(Call::new(text, cx)), corrections)
            }
            Some(PreparedInvocation::Custom(run)) => {
                let corrections = arguments.kept_corrections();
                corrected(run(arguments, cx), corrections)
            }
            // It is taken here alone.
            None => Box::pin(std::future::ready(Err(ToolError::cancelled()))),
        }
    }

    /// Returns `true` if this call requires a confirmation, by the tool's answer from its typed arguments or by
    /// that of a [wrapper](Self::with_confirmation); `None` if neither answers. A call of a tool that claims
    /// [`Confirmation::Sometimes`](crate::Confirmation::Sometimes) must not run without an answer.
    ///
    /// # Errors
    ///
    /// If the question cannot be answered, for instance because a provided value is missing; the call must not run.
    pub fn wants_confirmation(&self, cx: &ToolContext) -> Result<Option<bool>, ToolError> {
        let own = self.own(|answers| answers.confirmation, |call, asked| call.confirm(asked), cx)?;
        self.confirmations.iter().filter_map(Guarded::get).try_fold(own, |answer, wants| match answer {
            Some(true) => Ok(answer),
            _ => wants(cx).map(Some),
        })
    }

    /// Returns the answer of the tool's own permission check to this call; `None` if it has none. A call of a tool
    /// that claims [`permission`](crate::Metadata::permission) must not run without an answer.
    ///
    /// # Errors
    ///
    /// If the question cannot be answered; the call must not run.
    pub fn permission(&self, cx: &ToolContext) -> Result<Option<Permission>, ToolError> {
        let own = self.own(|answers| answers.permission, |call, asked| call.permission(asked), cx)?;
        self.permissions.iter().filter_map(Guarded::get).try_fold(own, |answer, permission| match answer {
            None | Some(Permission::Allow) => permission(cx).map(Some),
            _ => Ok(answer),
        })
    }

    /// The answer of a function's own attribute, if it has one.
    fn own<T>(
        &self,
        answers: impl FnOnce(Checks) -> bool,
        question: impl FnOnce(&dyn Invocation, &Call<'_>) -> Result<T, ToolError>,
        cx: &ToolContext,
    ) -> Result<Option<T>, ToolError> {
        match self.invocation.get() {
            Some(PreparedInvocation::Function(invocation, given)) if answers(*given) => {
                question(&**invocation, &Call::new(self.arguments.as_str().into(), cx)).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// As `running`, with what was corrected in the arguments beside its output.
#[inline]
pub(crate) fn corrected<'a>(running: BoxFuture<'a>, corrections: Corrections) -> BoxFuture<'a> {
    match corrections {
        None => running,
        Some(corrections) => {
            Box::pin(async move { running.await.map(|output| output.with_corrections(*corrections)) })
        }
    }
}

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}
