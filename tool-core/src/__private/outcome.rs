//! Conversion of a function's return value to the result of a call.
//!
//! A `Result` is split first; then each side is converted according to its type (see [`TypeProbe`]). Everything is converted
//! before the first await, so that only a stream has to be `Send`.
//!
//! [`TypeProbe`]: super::TypeProbe

use std::{
    future::{Future, Ready, ready},
    marker::PhantomData,
};

use futures_core::Stream;
use serde::Serialize;
use serde_json::Value;

use super::{
    Call,
    items::{Part, Together, report_and_collect_items},
};
use crate::{BoxFuture, ToolError, ToolOutput};

/// A placeholder for the type of a result, which allows the value to be moved.
pub struct Tag<T>(PhantomData<fn() -> T>);

impl<T> Tag<T> {
    #[must_use]
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

impl<T, E> Tag<Result<T, E>> {
    pub fn split(self, value: Result<T, E>) -> Result<T, E> {
        value
    }
}

impl<T> Tag<Option<T>> {
    pub fn some(self, value: Option<T>) -> Option<T> {
        value
    }
}

/// Serialises a value as JSON.
///
/// A value that cannot be serialised becomes a string with the error, which the validation of the schema reports:
/// this function is only called with values written by the program's author.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_else(|error| Value::String(format!("not JSON: {error}")))
}

/// The traits that select the conversions.
pub(super) mod traits {
    #[allow(clippy::wildcard_imports, reason = "a part of the module above")]
    use super::*;

    // A value other than a `Result` has not failed; a `Result` inside an `Option` is unwrapped.

    pub trait Transposed<T, E> {
        fn split(self, value: Option<Result<T, E>>) -> Result<Option<T>, E>;
    }

    impl<T, E> Transposed<T, E> for Tag<Option<Result<T, E>>> {
        fn split(self, value: Option<Result<T, E>>) -> Result<Option<T>, E> {
            value.transpose()
        }
    }

    pub trait Unsplit<T> {
        fn split(self, value: T) -> Result<T, ToolError>;
    }

    impl<T> Unsplit<T> for &Tag<T> {
        fn split(self, value: T) -> Result<T, ToolError> {
            Ok(value)
        }
    }

    pub trait Always<T> {
        fn some(self, value: T) -> Option<T>;
    }

    impl<T> Always<T> for &Tag<T> {
        fn some(self, value: T) -> Option<T> {
            Some(value)
        }
    }

    // The success value, from the most specific to the most general. The combination of a stream's items is also
    // selected here, where the type of the stream is known.

    /// A value that is still a `Result` after splitting.
    pub trait Unsettled<T> {
        fn output(self, value: T) -> Result<ToolOutput, ToolError>
        where
            T: Settled;
        fn finish<K>(self, value: T, call: &Call<'_>, item: impl NoItem<K>) -> Ending<'static>
        where
            T: Settled;
    }

    impl<T, E> Unsettled<Result<T, E>> for &&&&Tag<Result<T, E>> {
        fn output(self, _: Result<T, E>) -> Result<ToolOutput, ToolError> {
            null_output()
        }

        fn finish<K>(self, _: Result<T, E>, _: &Call<'_>, _: impl NoItem<K>) -> Ending<'static> {
            Ending::Now(null_output())
        }
    }

    impl<T, E> Unsettled<Option<Result<T, E>>> for &&&&Tag<Option<Result<T, E>>> {
        fn output(self, _: Option<Result<T, E>>) -> Result<ToolOutput, ToolError> {
            null_output()
        }

        fn finish<K>(self, _: Option<Result<T, E>>, _: &Call<'_>, _: impl NoItem<K>) -> Ending<'static> {
            Ending::Now(null_output())
        }
    }

    pub trait IntoOutput<T> {
        fn output(self, value: T) -> Result<ToolOutput, ToolError>;
        fn finish<K>(self, value: T, call: &Call<'_>, item: impl NoItem<K>) -> Ending<'static>;
    }

    impl<T: Into<ToolOutput>> IntoOutput<T> for &&&Tag<T> {
        fn output(self, value: T) -> Result<ToolOutput, ToolError> {
            Ok(value.into())
        }

        fn finish<K>(self, value: T, _: &Call<'_>, _: impl NoItem<K>) -> Ending<'static> {
            Ending::Now(Ok(value.into()))
        }
    }

    pub trait Drained<S: Stream> {
        fn finish<'c, K, F>(self, stream: S, call: &'c Call<'_>, item: F) -> Ending<'c>
        where
            S: 'c,
            K: Together + 'c,
            F: FnMut(S::Item) -> Result<Part<K>, ToolError> + Send + 'c;
    }

    impl<S: Stream + Send> Drained<S> for &&Tag<S> {
        fn finish<'c, K, F>(self, stream: S, call: &'c Call<'_>, item: F) -> Ending<'c>
        where
            S: 'c,
            K: Together + 'c,
            F: FnMut(S::Item) -> Result<Part<K>, ToolError> + Send + 'c,
        {
            Ending::Later(Box::pin(report_and_collect_items(stream, call.context(), item)))
        }
    }

    pub trait Serialized<T> {
        fn output(self, value: T) -> Result<ToolOutput, ToolError>
        where
            T: Output;
        fn finish<K>(self, value: T, call: &Call<'_>, item: impl NoItem<K>) -> Ending<'static>
        where
            T: Output;
    }

    impl<T> Serialized<T> for &Tag<T> {
        fn output(self, value: T) -> Result<ToolOutput, ToolError>
        where
            T: Output,
        {
            ToolOutput::json(&value)
        }

        fn finish<K>(self, value: T, _: &Call<'_>, _: impl NoItem<K>) -> Ending<'static>
        where
            T: Output,
        {
            Ending::Now(ToolOutput::json(&value))
        }
    }

    // The body of a closure: a future, or its result.

    pub trait Asynchronous<F> {
        fn future(self, body: F) -> F;
    }

    impl<F: Future> Asynchronous<F> for &&Tag<F> {
        fn future(self, body: F) -> F {
            body
        }
    }

    pub trait Synchronous<T> {
        fn future(self, body: T) -> Ready<T>;
    }

    impl<T> Synchronous<T> for &Tag<T> {
        fn future(self, body: T) -> Ready<T> {
            ready(body)
        }
    }

    // A default in the schema, if it can be serialised.

    pub trait Writable<T> {
        fn json(self, value: &T) -> Option<Value>;
    }

    impl<T: Serialize> Writable<T> for &&Tag<T> {
        fn json(self, value: &T) -> Option<Value> {
            serde_json::to_value(value).ok()
        }
    }

    pub trait Unwritable<T> {
        fn json(self, value: &T) -> Option<Value>;
    }

    impl<T> Unwritable<T> for &Tag<T> {
        fn json(self, _: &T) -> Option<Value> {
            None
        }
    }
}

/// A converted success value of any type, so that the future awaiting it is `Send`.
pub enum Ending<'c> {
    Now(Result<ToolOutput, ToolError>),
    Later(BoxFuture<'c>),
}

/// The item conversion of a value without items; never called.
pub trait NoItem<K>: Fn(String) -> Result<Part<K>, ToolError> {}

impl<K, F: Fn(String) -> Result<Part<K>, ToolError>> NoItem<K> for F {}

/// A type that a tool can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "needs `Serialize`",
    note = "derive `serde::Serialize`, or return a `ToolOutput`, a stream, or a `Result` of those"
)]
pub trait Output: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Output for T {}

/// A type other than a `Result`: a marker without implementations, required for a nested `Result`.
#[diagnostic::on_unimplemented(
    message = "an `Err` inside of `{Self}` would be reported as a success",
    label = "a `Result` inside of a `Result`",
    note = "merge them into one `Result`: with `?`, `and_then`, or an error type for both errors"
)]
pub trait Settled {}

/// Splits a return value: `Ok` contains the result of `$finish` for the success, if there is one.
#[doc(hidden)]
#[macro_export]
macro_rules! split {
    ($value:expr, |$success:ident| $finish:expr) => {
        match $value {
            value => match $crate::__private::Tag::of(&value).split(value) {
                ::core::result::Result::Ok(value) => {
                    ::core::result::Result::Ok(match $crate::__private::Tag::of(&value).some(value) {
                        ::core::option::Option::Some($success) => ::core::option::Option::Some($finish),
                        ::core::option::Option::None => ::core::option::Option::None,
                    })
                }
                ::core::result::Result::Err(error) => {
                    ::core::result::Result::Err((&&&&$crate::__private::Tag::of(&error)).error(error))
                }
            },
        }
    };
}

/// Converts the result of a call: any type that a tool may return.
#[doc(hidden)]
#[macro_export]
macro_rules! outcome {
    ($call:expr, $value:expr) => {
        $crate::finished!($call, $value, part)
    };
}

/// Converts the result of a call and merges the items of a stream.
#[doc(hidden)]
#[macro_export]
macro_rules! merged {
    ($call:expr, $value:expr) => {
        $crate::finished!($call, $value, merged_part)
    };
}

/// The common part of both.
#[doc(hidden)]
#[macro_export]
macro_rules! finished {
    ($call:expr, $value:expr, $part:ident) => {{
        use $crate::__private::probe::*;
        let outcome = $crate::split!($value, |value| {
            (&&&&$crate::__private::Tag::of(&value)).finish(value, &$call, |item| $crate::$part!(item))
        });
        match $crate::__private::conclude(outcome) {
            $crate::__private::Ending::Now(result) => result,
            $crate::__private::Ending::Later(running) => running.await,
        }
    }};
}

/// Converts a result in synchronous code; streams are not supported.
#[doc(hidden)]
#[macro_export]
macro_rules! outcome_sync {
    ($call:expr, $value:expr) => {{
        use $crate::__private::probe::*;
        let outcome =
            $crate::split!($value, |value| { (&&&&$crate::__private::Tag::of(&value)).output(value) });
        $crate::__private::conclude_sync(outcome)
    }};
}

/// Completes a call whose result was split; most results are complete at once.
#[inline]
pub fn conclude(outcome: Result<Option<Ending<'_>>, ToolError>) -> Ending<'_> {
    match outcome {
        Ok(Some(ending)) => ending,
        Ok(None) => Ending::Now(null_output()),
        Err(error) => Ending::Now(Err(error)),
    }
}

/// Completes a call whose result is already complete.
pub fn conclude_sync(
    outcome: Result<Option<Result<ToolOutput, ToolError>>, ToolError>,
) -> Result<ToolOutput, ToolError> {
    outcome?.unwrap_or_else(null_output)
}

/// Serialises a reference to a value as JSON, if its type supports it.
#[doc(hidden)]
#[macro_export]
macro_rules! to_json {
    ($value:expr) => {{
        use $crate::__private::probe::*;
        (&&$crate::__private::Tag::of($value)).json($value)
    }};
}

/// Returns the result of `None`: the JSON value `null`.
fn null_output() -> Result<ToolOutput, ToolError> {
    ToolOutput::json(&())
}
