//! Slots of what the program and the call itself bring, beside the values that a tool needs.

use std::{marker::PhantomData, sync::Arc};

use serde::de::Error as _;

use super::{
    Call, Provides, Slot, Source,
    slot::{Argument, unfilled},
};
use crate::{
    State, ToolContext, ToolError,
    arguments::plan::{Checked, Refusal},
};

/// A value that the program may have provided.
pub struct MayBeProvided<T: ?Sized>(fn(&ToolContext) -> Option<&T>);

impl<T: ?Sized + Provides> MayBeProvided<T> {
    pub(super) fn new() -> Self {
        Self(ToolContext::get::<T>)
    }
}

impl<T: ?Sized> MayBeProvided<T> {
    /// The value, for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<Option<&'a T>, ToolError> {
        self.peek(call)
    }

    /// The value, before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<Option<&'a T>, ToolError> {
        Ok((self.0)(call.context()))
    }
}

/// A parameter that nothing can be given for: stands behind a bound that is not met.
pub struct Refused<T>(PhantomData<fn() -> T>);

impl<T> Refused<T> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }

    /// Nothing, for the call.
    pub fn get(&mut self, call: &Call<'_>) -> Result<T, ToolError> {
        self.peek(call)
    }

    /// Nothing, before the call.
    pub fn peek(&self, _: &Call<'_>) -> Result<T, ToolError> {
        Err(unfilled())
    }
}

/// A parameter that may be absent: implemented by nothing, and asked of what every call has.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is never `None`, because every call has a `ToolContext` and a `State`; remove the `Option`",
    label = "never `None`"
)]
pub trait AlwaysThere {}

/// A parameter that calls can share: implemented by nothing, and asked of references that they cannot.
#[diagnostic::on_unimplemented(
    message = "a tool cannot take `{Self}`; take a shared reference (`&`)",
    label = "concurrent calls share this value",
    note = "`State` is changed through `&State`; a value that the program provides can contain a `Mutex`"
)]
pub trait Shared {}

/// A value of the call that a tool may take by value: implemented by nothing, since all are taken by reference. (The
/// lifetime keeps the bound from being checked where it is written.)
#[diagnostic::on_unimplemented(
    message = "`{Self}` is injected by reference; take `&{Self}`",
    label = "taken by value",
    note = "a parameter by value is an argument from the model"
)]
pub trait InjectedByValue<'a> {}

/// An argument in an `Arc`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool argument; for a value that the program provides, take `&{T}`",
    label = "a parameter by value is an argument from the model",
    note = "provide the `Arc` itself with `.provide_shared(arc)`; the tool receives `&{T}`"
)]
pub trait SharedArgument<T: ?Sized> {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> SharedArgument<T> for Arc<T> where Arc<T>: Argument {}

/// A list whose items are owned: implemented by nothing, and required of lists of references.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool argument, because its items are references; use owned items",
    label = "a list of references",
    note = "take `Vec<String>` or `&[String]` for a list of strings"
)]
pub trait OwnedItems {}

/// The state that the call reads and changes.
pub struct TheState;

impl TheState {
    /// The state, for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<&'a State, ToolError> {
        self.peek(call)
    }

    /// The state, before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<&'a State, ToolError> {
        Ok(call.context().state())
    }
}

/// The context of the call.
pub struct TheContext;

impl TheContext {
    /// The context, for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<&'a ToolContext, ToolError> {
        self.peek(call)
    }

    /// The context, before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<&'a ToolContext, ToolError> {
        Ok(call.context())
    }
}

/// The slots of what the call itself brings.
macro_rules! of_the_call {
    ($([$($parameter:tt)*] $slot:ty),*) => { $(
        impl<$($parameter)*> Slot for $slot {
            fn source(&self) -> Source {
                Source::Call
            }

            fn decode<'t>(&mut self, _: Checked<'_, 't, '_>, _: &'t str) -> Result<(), Refusal> {
                Err(Refusal::custom("not the model's"))
            }

            fn leave_out(&mut self) -> bool {
                true
            }
        }
    )* };
}

of_the_call!([] TheState, [] TheContext, [T: ?Sized] MayBeProvided<T>, [T] Refused<T>);
