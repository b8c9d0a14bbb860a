//! The slots of a function whose arguments are the variables of a URI: a parameter is a variable, or injected.

use super::{
    ContextSlot, OptionalProvidedSlot, OwnedSlot, RefusedSlot, StateSlot,
    slot::{ProvidedSlot, TextSlot},
    text::TextView,
};

/// A slot that the program or the call fills.
#[diagnostic::on_unimplemented(
    message = "this parameter is an argument, but the URI has no variable of its name",
    label = "no variable of the URI",
    note = "add it to the URI, as in `#[resource(uri = \"notes://{{day}}\")]`, or remove the parameter",
    note = "a value that the program provides is taken by reference: `&T`"
)]
pub trait InjectedSlot {}

impl InjectedSlot for ContextSlot {}
impl InjectedSlot for StateSlot {}
impl<T: ?Sized> InjectedSlot for ProvidedSlot<T> {}
impl<T: ?Sized> InjectedSlot for OptionalProvidedSlot<T> {}
// Its own error was reported.
impl<T> InjectedSlot for RefusedSlot<T> {}

/// A slot that a text of a client fills.
#[diagnostic::on_unimplemented(
    message = "the value of a variable is a text of the client, which this type cannot be",
    label = "not the type of a variable",
    note = "take `&str`, or an owned type such as `String` or `u32`; a value that the program provides has another name"
)]
pub trait VariableSlot {}

impl<T> VariableSlot for OwnedSlot<T> {}
impl<V: TextView> VariableSlot for TextSlot<V> {}
impl<T> VariableSlot for RefusedSlot<T> {}

/// Returns the slot of a parameter that is no variable of the URI.
#[must_use]
pub fn injected<S: InjectedSlot>(slot: S) -> S {
    slot
}

/// Returns the slot of a parameter that is a variable of the URI.
#[must_use]
pub fn variable<S: VariableSlot>(slot: S) -> S {
    slot
}
