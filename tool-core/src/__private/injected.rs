//! Slots for optional provided values and for values of the call itself.

use std::{marker::PhantomData, sync::Arc};

use serde::de::Error as _;
use tool_schema::__private::{Checked, DecodeError};

use super::{
    Call, Provides, Slot, Source,
    slot::{Argument, read_twice_error},
};
use crate::{State, ToolContext, ToolError};

/// A value that the program may have provided.
pub struct OptionalProvidedSlot<T: ?Sized>(fn(&ToolContext) -> Option<&T>);

impl<T: ?Sized + Provides> OptionalProvidedSlot<T> {
    pub(super) fn new() -> Self {
        Self(ToolContext::get::<T>)
    }
}

impl<T: ?Sized> OptionalProvidedSlot<T> {
    /// Takes the value for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<Option<&'a T>, ToolError> {
        self.peek(call)
    }

    /// Borrows the value before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<Option<&'a T>, ToolError> {
        Ok((self.0)(call.context()))
    }
}

/// A slot for a parameter that cannot be filled; its constructor has an unmet bound.
pub struct RefusedSlot<T>(PhantomData<fn() -> T>);

impl<T> RefusedSlot<T> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }

    /// Returns an error.
    pub fn get(&mut self, call: &Call<'_>) -> Result<T, ToolError> {
        self.peek(call)
    }

    /// Returns an error.
    pub fn peek(&self, _: &Call<'_>) -> Result<T, ToolError> {
        Err(read_twice_error())
    }
}

/// A marker without implementations, required for optional parameters of values that every call has.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is never `None`, because every call has a `ToolContext` and a `State`; remove the `Option`",
    label = "never `None`"
)]
pub trait NeverAbsent {}

/// A marker without implementations, required for mutable references, which calls cannot share.
#[diagnostic::on_unimplemented(
    message = "a tool cannot take `{Self}`; take a shared reference (`&`)",
    label = "concurrent calls share this value",
    note = "`State` is changed through `&State`; a value that the program provides can contain a `Mutex`"
)]
pub trait SharedByCalls {}

/// A marker without implementations, required for values of the call taken by value instead of by reference. The
/// lifetime defers the check of the bound to the expansion.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is injected by reference; take `&{Self}`",
    label = "taken by value",
    note = "a parameter by value is an argument from the model"
)]
pub trait InjectedByValue<'a> {}

/// A marker for arguments in an `Arc`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool argument; for a value that the program provides, take `&{T}`",
    label = "a parameter by value is an argument from the model",
    note = "provide the `Arc` itself with `.provide_shared(arc)`; the tool receives `&{T}`"
)]
pub trait SharedArgument<T: ?Sized> {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> SharedArgument<T> for Arc<T> where Arc<T>: Argument {}

/// A marker without implementations, required for lists of references.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool argument, because its items are references; use owned items",
    label = "a list of references",
    note = "take `Vec<String>` or `&[String]` for a list of strings"
)]
pub trait OwnedItems {}

/// The slot of the call's state.
pub struct StateSlot;

impl StateSlot {
    /// Returns the state for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<&'a State, ToolError> {
        self.peek(call)
    }

    /// Returns the state before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<&'a State, ToolError> {
        Ok(call.context().state())
    }
}

/// The slot of the call's context.
pub struct ContextSlot;

impl ContextSlot {
    /// Returns the context for the call.
    pub fn get<'a>(&mut self, call: &'a Call<'_>) -> Result<&'a ToolContext, ToolError> {
        self.peek(call)
    }

    /// Returns the context before the call.
    pub fn peek<'a>(&self, call: &'a Call<'_>) -> Result<&'a ToolContext, ToolError> {
        Ok(call.context())
    }
}

/// Implements the slots for values of the call itself.
macro_rules! of_the_call {
    ($([$($parameter:tt)*] $slot:ty),*) => { $(
        impl<$($parameter)*> Slot for $slot {
            fn source(&self) -> Source {
                Source::Call
            }

            fn decode<'t>(&mut self, _: Checked<'_, 't, '_>, _: &'t str) -> Result<(), DecodeError> {
                Err(DecodeError::custom("not the model's"))
            }

            fn leave_out(&mut self) -> bool {
                true
            }
        }
    )* };
}

of_the_call!([] StateSlot, [] ContextSlot, [T: ?Sized] OptionalProvidedSlot<T>, [T] RefusedSlot<T>);
