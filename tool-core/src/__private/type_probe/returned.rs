//! The return type of a function: fallible or not, and the type of its success.

use std::{error::Error, future::Future};

use futures_core::Stream;

use super::{All, Anything, Of, One, Opaque};
use crate::ToolError;

// Selects if a failure of a function is never recognised as temporary. An error that is a `std::error::Error`, or
// converts to one or to a `ToolError`, may be temporary itself or have a temporary source; other errors are texts.

macro_rules! blindness {
    ($($name:ident<$($generic:ident),*> for $of:ty where [$($bound:tt)*] => $is_blind:literal;)*) => { $(
        impl<$($generic),*> $name for $of
        where
            $($bound)*
        {
            fn fails_blindly(self) -> bool {
                $is_blind
            }
        }
    )* };
}

pub trait ErrorWithSources {
    fn fails_blindly(self) -> bool;
}

pub trait ConvertibleError {
    fn fails_blindly(self) -> bool;
}

pub trait TextOnly {
    fn fails_blindly(self) -> bool;
}

pub trait Unfailing {
    fn fails_blindly(self) -> bool;
}

blindness! {
    ErrorWithSources<T, E> for Of<Result<T, E>> where [E: Into<Box<dyn Error + Send + Sync>>] => false;
    ErrorWithSources<T, E> for Of<Option<Result<T, E>>> where [E: Into<Box<dyn Error + Send + Sync>>] => false;
    ConvertibleError<T, E> for &Of<Result<T, E>> where [E: Into<ToolError>] => false;
    ConvertibleError<T, E> for &Of<Option<Result<T, E>>> where [E: Into<ToolError>] => false;
    TextOnly<T, E> for Anything<Result<T, E>> where [] => true;
    TextOnly<T, E> for Anything<Option<Result<T, E>>> where [] => true;
    Unfailing<T> for &Anything<T> where [] => false;
}

// The type of a success, as split by `outcome`. One trait without an inherent method, so that a type that is unknown
// due to another error has a single `payload`.

pub trait PayloadOfResult {
    type Payload;
    fn payload(self) -> Of<Self::Payload>;
}

macro_rules! payloads {
    ($($result:ty => $payload:ty;)*) => { $(
        impl<T, E> PayloadOfResult for Of<$result> {
            type Payload = $payload;

            fn payload(self) -> Of<$payload> {
                self.then()
            }
        }
    )* };
}

payloads! {
    Result<T, E> => T;
    Option<Result<T, E>> => Option<T>;
    All<Result<T, E>> => All<T>;
    All<Option<Result<T, E>>> => All<Option<T>>;
}

pub trait Payload<T> {
    fn payload(self) -> Of<T>;
}

impl<T> Payload<T> for &Of<T> {
    fn payload(self) -> Of<T> {
        self.then()
    }
}

// The return type of a closure's body: the output of a future, or the type itself.

pub trait OfFuture<T> {
    fn awaited(self) -> Of<T>;
}

impl<F: Future> OfFuture<F::Output> for Of<F> {
    fn awaited(self) -> Of<F::Output> {
        self.then()
    }
}

pub trait OfResult<T> {
    fn awaited(self) -> Of<T>;
}

impl<T> OfResult<T> for &Of<T> {
    fn awaited(self) -> Of<T> {
        self.then()
    }
}

pub trait OfStream<T> {
    fn items(self) -> Of<All<T>>;
}

impl<S: Stream> OfStream<S::Item> for Of<S> {
    fn items(self) -> Of<All<S::Item>> {
        Of { is_stream: true, ..Of::new() }
    }
}

pub trait OfValue<T> {
    fn items(self) -> Of<T>;
}

impl<T> OfValue<T> for &Of<T> {
    fn items(self) -> Of<T> {
        self.then()
    }
}

pub trait MergedItems<T> {
    fn merged(self) -> Of<One<T>>;
}

impl<T> MergedItems<T> for Of<All<T>> {
    fn merged(self) -> Of<One<T>> {
        self.then()
    }
}

pub trait MergedValue<T> {
    fn merged(self) -> Of<T>
    where
        T: StreamOfItems;
}

impl<T> MergedValue<T> for &Of<T> {
    fn merged(self) -> Of<T>
    where
        T: StreamOfItems,
    {
        self.then()
    }
}

/// A type whose items can be merged: a marker that only an unnameable type implements, since a stream is selected before.
#[diagnostic::on_unimplemented(
    message = "`merge` requires a stream, but `{Self}` is not one",
    label = "is not a stream",
    note = "return `impl Stream<Item = ..>`, or remove `merge`"
)]
pub trait StreamOfItems {}

impl StreamOfItems for Opaque {}
