//! What a function gave, as the result of a call.
//!
//! A `Result` is split first, then each side is converted by what its type can do; see [`Of`] for
//! how that is decided. All of it is decided and converted before anything is awaited, so that of
//! what a function gives only a stream has to be `Send`.
//!
//! [`Of`]: super::Of

use std::{
    future::{Future, Ready, ready},
    marker::PhantomData,
};

use futures_core::Stream;
use serde::Serialize;
use serde_json::Value;

use super::{
    Call,
    items::{Part, Together, collect},
};
use crate::{BoxFuture, ToolError, ToolOutput};

/// A result on its way: stands for its type, so that the value can be moved.
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

/// A value as JSON.
///
/// A value that cannot be written as JSON stands as a text that says so, where the schema's own
/// check will find it: this is only called with what a program's author wrote.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_else(|error| Value::String(format!("not JSON: {error}")))
}

/// The traits behind the decisions.
pub(super) mod traits {
    #[allow(clippy::wildcard_imports, reason = "a part of the module above")]
    use super::*;

    // What is no `Result` has not failed; one inside of an `Option` is still one.

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

    // The success, from the most particular to the most general. What the items of a stream become
    // is decided where the type of the stream is known, too; what is no stream has no use for it.

    /// What was split, and is a `Result` still.
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
            nothing()
        }

        fn finish<K>(self, _: Result<T, E>, _: &Call<'_>, _: impl NoItem<K>) -> Ending<'static> {
            Ending::Now(nothing())
        }
    }

    impl<T, E> Unsettled<Option<Result<T, E>>> for &&&&Tag<Option<Result<T, E>>> {
        fn output(self, _: Option<Result<T, E>>) -> Result<ToolOutput, ToolError> {
            nothing()
        }

        fn finish<K>(self, _: Option<Result<T, E>>, _: &Call<'_>, _: impl NoItem<K>) -> Ending<'static> {
            Ending::Now(nothing())
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
            Ending::Later(Box::pin(collect(stream, call.context(), item)))
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

    // The body of a closure: a future, or its result at once.

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

    // A default in the schema, where it can be written.

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

/// What a success became, whatever its type: so that what awaits it is `Send` for every type.
pub enum Ending<'c> {
    Now(Result<ToolOutput, ToolError>),
    Later(BoxFuture<'c>),
}

/// What is done with an item where there are none: never called.
pub trait NoItem<K>: Fn(String) -> Result<Part<K>, ToolError> {}

impl<K, F: Fn(String) -> Result<Part<K>, ToolError>> NoItem<K> for F {}

/// What a tool can give back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "needs `Serialize`",
    note = "derive `serde::Serialize`, or return a `ToolOutput`, a stream, or a `Result` of those"
)]
pub trait Output: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Output for T {}

/// What is no `Result`: implemented by nothing, and asked of a `Result` that is one too many.
#[diagnostic::on_unimplemented(
    message = "an `Err` inside of `{Self}` would be reported as a success",
    label = "a `Result` inside of a `Result`",
    note = "merge them into one `Result`: with `?`, `and_then`, or an error type for both errors"
)]
pub trait Settled {}

/// Splits what a function gave: `Ok` is what `$finish` makes of a success, if there is one.
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

/// A call's result: any type that a tool may return.
#[doc(hidden)]
#[macro_export]
macro_rules! outcome {
    ($call:expr, $value:expr) => {
        $crate::finished!($call, $value, part)
    };
}

/// The same, where the items of a stream become one value of their type.
#[doc(hidden)]
#[macro_export]
macro_rules! merged {
    ($call:expr, $value:expr) => {
        $crate::finished!($call, $value, merged_part)
    };
}

/// What both have in common.
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

/// The same where nothing can be awaited; a stream has no place there.
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

/// An argument of a function of `confirm` or `permission`. With the macro, the compiler suggests no conversion of the
/// path of the function.
#[doc(hidden)]
#[macro_export]
macro_rules! takes_its_parameters_by_reference {
    ($argument:ident) => {
        match $argument {
            argument => argument,
        }
    };
}

/// The end of a call whose result was split: most of them are there at once.
#[inline]
pub fn conclude(outcome: Result<Option<Ending<'_>>, ToolError>) -> Ending<'_> {
    match outcome {
        Ok(Some(ending)) => ending,
        Ok(None) => Ending::Now(nothing()),
        Err(error) => Ending::Now(Err(error)),
    }
}

/// The same where nothing is left to be done.
pub fn conclude_sync(
    outcome: Result<Option<Result<ToolOutput, ToolError>>, ToolError>,
) -> Result<ToolOutput, ToolError> {
    outcome?.unwrap_or_else(nothing)
}

/// A reference to a value as JSON, where its type can be written.
#[doc(hidden)]
#[macro_export]
macro_rules! to_json {
    ($value:expr) => {{
        use $crate::__private::probe::*;
        (&&$crate::__private::Tag::of($value)).json($value)
    }};
}

/// What `None` gives: the JSON value `null`.
fn nothing() -> Result<ToolOutput, ToolError> {
    ToolOutput::json(&())
}
