//! The return type of a function: fallible or not, and the type of its success.

use std::{error::Error, future::Future};

use futures_core::Stream;

use super::{AllItems, FallbackProbe, Opaque, SingleItem, TypeProbe};
use crate::ToolError;

// Selects if a failure of a function is never recognised as temporary. An error that is a `std::error::Error`, or
// converts to one or to a `ToolError`, may be temporary itself or have a temporary source; other errors are texts.

macro_rules! blindness {
    ($($name:ident<$($generic:ident),*> for $of:ty where [$($bound:tt)*] => $is_blind:literal;)*) => { $(
        impl<$($generic),*> $name for $of
        where
            $($bound)*
        {
            fn failures_are_never_temporary(self) -> bool {
                $is_blind
            }
        }
    )* };
}

pub trait ErrorWithSources {
    fn failures_are_never_temporary(self) -> bool;
}

pub trait ConvertibleError {
    fn failures_are_never_temporary(self) -> bool;
}

pub trait TextError {
    fn failures_are_never_temporary(self) -> bool;
}

pub trait Unfailing {
    fn failures_are_never_temporary(self) -> bool;
}

blindness! {
    ErrorWithSources<T, E> for TypeProbe<Result<T, E>> where [E: Into<Box<dyn Error + Send + Sync>>] => false;
    ErrorWithSources<T, E> for TypeProbe<Option<Result<T, E>>> where [E: Into<Box<dyn Error + Send + Sync>>] => false;
    ConvertibleError<T, E> for &TypeProbe<Result<T, E>> where [E: Into<ToolError>] => false;
    ConvertibleError<T, E> for &TypeProbe<Option<Result<T, E>>> where [E: Into<ToolError>] => false;
    TextError<T, E> for FallbackProbe<Result<T, E>> where [] => true;
    TextError<T, E> for FallbackProbe<Option<Result<T, E>>> where [] => true;
    Unfailing<T> for &FallbackProbe<T> where [] => false;
}

// The type of a success, as split by `outcome`. One trait without an inherent method, so that a type that is unknown
// due to another error has a single `payload`.

pub trait PayloadOfResult {
    type Payload;
    fn payload(self) -> TypeProbe<Self::Payload>;
}

macro_rules! payloads {
    ($($result:ty => $payload:ty;)*) => { $(
        impl<T, E> PayloadOfResult for TypeProbe<$result> {
            type Payload = $payload;

            fn payload(self) -> TypeProbe<$payload> {
                self.probe_part()
            }
        }
    )* };
}

payloads! {
    Result<T, E> => T;
    Option<Result<T, E>> => Option<T>;
    AllItems<Result<T, E>> => AllItems<T>;
    AllItems<Option<Result<T, E>>> => AllItems<Option<T>>;
}

pub trait Payload<T> {
    fn payload(self) -> TypeProbe<T>;
}

impl<T> Payload<T> for &TypeProbe<T> {
    fn payload(self) -> TypeProbe<T> {
        self.probe_part()
    }
}

// The return type of a closure's body: the output of a future, or the type itself.

pub trait OfFuture<T> {
    fn awaited(self) -> TypeProbe<T>;
}

impl<F: Future> OfFuture<F::Output> for TypeProbe<F> {
    fn awaited(self) -> TypeProbe<F::Output> {
        self.probe_part()
    }
}

pub trait OfResult<T> {
    fn awaited(self) -> TypeProbe<T>;
}

impl<T> OfResult<T> for &TypeProbe<T> {
    fn awaited(self) -> TypeProbe<T> {
        self.probe_part()
    }
}

pub trait OfStream<T> {
    fn items(self) -> TypeProbe<AllItems<T>>;
}

impl<S: Stream> OfStream<S::Item> for TypeProbe<S> {
    fn items(self) -> TypeProbe<AllItems<S::Item>> {
        TypeProbe { is_stream: true, ..TypeProbe::new() }
    }
}

pub trait OfValue<T> {
    fn items(self) -> TypeProbe<T>;
}

impl<T> OfValue<T> for &TypeProbe<T> {
    fn items(self) -> TypeProbe<T> {
        self.probe_part()
    }
}

pub trait MergedItems<T> {
    fn merged(self) -> TypeProbe<SingleItem<T>>;
}

impl<T> MergedItems<T> for TypeProbe<AllItems<T>> {
    fn merged(self) -> TypeProbe<SingleItem<T>> {
        self.probe_part()
    }
}

pub trait MergedValue<T> {
    fn merged(self) -> TypeProbe<T>
    where
        T: StreamOfItems;
}

impl<T> MergedValue<T> for &TypeProbe<T> {
    fn merged(self) -> TypeProbe<T>
    where
        T: StreamOfItems,
    {
        self.probe_part()
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
