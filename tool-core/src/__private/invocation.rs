//! One call of a function: its slots and the closure that runs it.

use std::{borrow::Cow, future::Future};

use super::slot::Slot;
use crate::{
    Arguments, BoxFuture, FunctionTool, Permission, ToolContext, ToolError, ToolOutput, tool::add_corrections,
};

/// The text of the arguments, into which borrowed parameters point, and the context.
pub struct Call<'a> {
    text: Cow<'a, str>,
    cx: Cx<'a>,
}

enum Cx<'a> {
    Borrowed(&'a ToolContext),
    Owned(Box<ToolContext>),
}

impl<'a> Call<'a> {
    #[inline]
    pub(crate) fn new(text: Cow<'a, str>, cx: &'a ToolContext) -> Self {
        Self { text, cx: Cx::Borrowed(cx) }
    }

    /// Creates the call of a closure without borrowed parameters.
    #[must_use]
    pub fn of(cx: &'a ToolContext) -> Self {
        Self::new(Cow::Borrowed(""), cx)
    }

    #[inline]
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    #[inline]
    pub fn context(&self) -> &ToolContext {
        match &self.cx {
            Cx::Borrowed(cx) => cx,
            Cx::Owned(cx) => cx,
        }
    }

    /// Converts the call for a body that runs on another thread.
    #[must_use]
    pub fn into_owned(self) -> OwnedCall {
        let cx = self.context().clone().for_blocking_body();
        Call { text: Cow::Owned(self.text.into_owned()), cx: Cx::Owned(Box::new(cx)) }
    }
}

/// A call without borrows.
pub type OwnedCall = Call<'static>;

/// The slots of a parameter list: a tuple of up to 16.
pub trait Slots: Send + 'static {
    /// Calls `visit` with the slots in the order of the parameters, and returns its result.
    fn visit<T>(&mut self, visit: impl FnOnce(&mut [&mut dyn Slot]) -> T) -> T;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        #[allow(non_snake_case, reason = "a variable is named like its type")]
        impl<$($name: Slot + 'static),*> Slots for ($($name,)*) {
            #[inline]
            fn visit<T>(&mut self, visit: impl FnOnce(&mut [&mut dyn Slot]) -> T) -> T {
                let ($($name,)*) = self;
                visit(&mut [$($name as &mut dyn Slot),*])
            }
        }
    };
}

tuples!();
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
tuples!(A B C D E F G H I J K L M);
tuples!(A B C D E F G H I J K L M N);
tuples!(A B C D E F G H I J K L M N O);
tuples!(A B C D E F G H I J K L M N O P);

/// One call of a function before it runs.
pub trait Invocation: Send {
    /// Passes the slots to `visit`, in the order of the parameters.
    fn slots(&mut self, visit: &mut dyn FnMut(&mut [&mut dyn Slot]));

    fn confirm(&self, call: &Call<'_>) -> Result<bool, ToolError>;

    fn permission(&self, call: &Call<'_>) -> Result<Permission, ToolError>;

    fn run<'a>(self: Box<Self>, call: Call<'a>) -> BoxFuture<'a>;
}

pub type BoxInvocation = Box<dyn Invocation>;

/// The way in which a function is called.
pub enum InvocationMode<'u, 'a> {
    /// Keep the call, to be filled and run later.
    Prepare,
    /// Fill and run the call at once: filled values are moved directly into the future.
    Run(RunInputs<'u, 'a>),
}

/// The tool, the arguments and the context of a call.
pub struct RunInputs<'u, 'a> {
    pub(crate) tool: &'u FunctionTool,
    pub(crate) arguments: Arguments<'a>,
    pub(crate) cx: &'a ToolContext,
}

/// The result of either way.
pub enum Invoked<'a> {
    Prepared(BoxInvocation),
    Running(Result<BoxFuture<'a>, ToolError>),
}

/// An [`Invocation`] made of slots and a closure.
struct SlotInvocation<S, R> {
    slots: S,
    run: R,
    confirm: ArgumentCheck<S, bool>,
    permission: ArgumentCheck<S, Permission>,
}

/// A check of the arguments by a function of the user.
type ArgumentCheck<S, T> = fn(&S, &Call<'_>) -> Result<T, ToolError>;

/// Creates a call that fills `slots` and runs `run`.
pub fn invocation<'a, S, R>(mode: InvocationMode<'_, 'a>, slots: S, run: R) -> Invoked<'a>
where
    S: Slots,
    R: for<'r> FnOnce(S, Call<'r>) -> BoxFuture<'r> + Send + 'static,
{
    guarded(mode, slots, run, never, allow)
}

/// Creates the call of a tool with its own confirmation or permission check.
pub fn guarded<'a, S, R>(
    mode: InvocationMode<'_, 'a>,
    mut slots: S,
    run: R,
    confirm: ArgumentCheck<S, bool>,
    permission: ArgumentCheck<S, Permission>,
) -> Invoked<'a>
where
    S: Slots,
    R: for<'r> FnOnce(S, Call<'r>) -> BoxFuture<'r> + Send + 'static,
{
    match mode {
        InvocationMode::Prepare => {
            Invoked::Prepared(Box::new(SlotInvocation { slots, run, confirm, permission }))
        }
        InvocationMode::Run(RunInputs { tool, mut arguments, cx }) => {
            let filled = slots.visit(|slots| tool.fill_slots(slots, &mut arguments));
            Invoked::Running(filled.map(|()| {
                let (text, corrections) = arguments.into_parts();
                add_corrections(run(slots, Call::new(text, cx)), corrections)
            }))
        }
    }
}

/// The confirmation check of a tool without one.
pub fn never<S>(_: &S, _: &Call<'_>) -> Result<bool, ToolError> {
    Ok(false)
}

/// The permission check of a tool without one.
pub fn allow<S>(_: &S, _: &Call<'_>) -> Result<Permission, ToolError> {
    Ok(Permission::Allow)
}

impl<S, R> Invocation for SlotInvocation<S, R>
where
    S: Slots,
    R: for<'a> FnOnce(S, Call<'a>) -> BoxFuture<'a> + Send + 'static,
{
    fn slots(&mut self, visit: &mut dyn FnMut(&mut [&mut dyn Slot])) {
        self.slots.visit(visit);
    }

    fn confirm(&self, call: &Call<'_>) -> Result<bool, ToolError> {
        (self.confirm)(&self.slots, call)
    }

    fn permission(&self, call: &Call<'_>) -> Result<Permission, ToolError> {
        (self.permission)(&self.slots, call)
    }

    fn run<'a>(self: Box<Self>, call: Call<'a>) -> BoxFuture<'a> {
        (self.run)(self.slots, call)
    }
}

/// Boxes the future of a call. A future that is not `Send` is a compile error here.
pub fn boxed<'a, F>(future: F) -> BoxFuture<'a>
where
    F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'a,
{
    Box::pin(future)
}
