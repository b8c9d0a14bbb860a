//! What a function gave, as the result of a call.
//!
//! A `Result` is split first, then each side is converted by what its type can do; see [`Of`] for
//! how that is decided.
//!
//! [`Of`]: super::Of

use std::{
    error::Error,
    fmt::Display,
    future::{Future, Ready, poll_fn, ready},
    marker::PhantomData,
    pin::pin,
};

use futures_core::Stream;
use serde::Serialize;
use serde_json::Value;

use super::Call;
use crate::{ToolError, ToolOutput};

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

    // The success, from the most particular to the most general.

    pub trait IntoOutput<T> {
        fn output(self, value: T) -> Result<ToolOutput, ToolError>;
        fn finish(self, value: T, call: &Call<'_>) -> Ready<Result<ToolOutput, ToolError>>;
    }

    impl<T: Into<ToolOutput>> IntoOutput<T> for &&&&&Tag<T> {
        fn output(self, value: T) -> Result<ToolOutput, ToolError> {
            Ok(value.into())
        }

        fn finish(self, value: T, _: &Call<'_>) -> Ready<Result<ToolOutput, ToolError>> {
            ready(Ok(value.into()))
        }
    }

    pub trait StreamOfResults<S> {
        fn finish(
            self,
            stream: S,
            call: &Call<'_>,
        ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
    }

    impl<S, T, E> StreamOfResults<S> for &&&&Tag<S>
    where
        S: Stream<Item = Result<T, E>> + Send,
        T: Serialize + Send,
        E: Into<Box<dyn Error + Send + Sync>> + Send,
    {
        async fn finish(self, stream: S, call: &Call<'_>) -> Result<ToolOutput, ToolError> {
            collect(stream, call, |item| match item {
                Ok(item) => ToolOutput::json(&item),
                Err(error) => Err(ToolError::from_source(error)),
            })
            .await
        }
    }

    pub trait StreamOfDisplayed<S> {
        fn finish(
            self,
            stream: S,
            call: &Call<'_>,
        ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
    }

    impl<S, T, E> StreamOfDisplayed<S> for &&&Tag<S>
    where
        S: Stream<Item = Result<T, E>> + Send,
        T: Serialize + Send,
        E: Display + Send,
    {
        async fn finish(self, stream: S, call: &Call<'_>) -> Result<ToolOutput, ToolError> {
            collect(stream, call, |item| match item {
                Ok(item) => ToolOutput::json(&item),
                Err(error) => Err(ToolError::failed(error.to_string())),
            })
            .await
        }
    }

    pub trait StreamOfValues<S> {
        fn finish(
            self,
            stream: S,
            call: &Call<'_>,
        ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
    }

    impl<S: Stream<Item: Serialize + Send> + Send> StreamOfValues<S> for &&Tag<S> {
        async fn finish(self, stream: S, call: &Call<'_>) -> Result<ToolOutput, ToolError> {
            collect(stream, call, |item| ToolOutput::json(&item)).await
        }
    }

    pub trait Serialized<T> {
        fn output(self, value: T) -> Result<ToolOutput, ToolError>
        where
            T: Output;
        fn finish(self, value: T, call: &Call<'_>) -> Ready<Result<ToolOutput, ToolError>>
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

        fn finish(self, value: T, _: &Call<'_>) -> Ready<Result<ToolOutput, ToolError>>
        where
            T: Output,
        {
            ready(ToolOutput::json(&value))
        }
    }

    // The failure, likewise.

    pub trait IntoToolError<E> {
        fn error(self, error: E) -> ToolError;
    }

    impl<E: Into<ToolError>> IntoToolError<E> for &&&&Tag<E> {
        fn error(self, error: E) -> ToolError {
            error.into()
        }
    }

    pub trait ViewedError<E> {
        fn error(self, error: E) -> ToolError;
    }

    /// `anyhow::Error` and its like: one of ours inside it is found by looking through it.
    impl<E> ViewedError<E> for &&&Tag<E>
    where
        E: AsRef<dyn Error + Send + Sync> + Into<Box<dyn Error + Send + Sync>>,
    {
        fn error(self, error: E) -> ToolError {
            match error.as_ref().downcast_ref::<ToolError>() {
                Some(ours) => ours.clone(),
                None => ToolError::from_source(error),
            }
        }
    }

    pub trait BoxedError<E> {
        fn error(self, error: E) -> ToolError;
    }

    impl<E: Into<Box<dyn Error + Send + Sync>>> BoxedError<E> for &&Tag<E> {
        fn error(self, error: E) -> ToolError {
            ToolError::from_source(error)
        }
    }

    pub trait DisplayedError<E> {
        fn error(self, error: E) -> ToolError
        where
            E: Failure;
    }

    impl<E> DisplayedError<E> for &Tag<E> {
        fn error(self, error: E) -> ToolError
        where
            E: Failure,
        {
            ToolError::failed(error.to_string())
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

/// What a tool can give back.
#[diagnostic::on_unimplemented(
    message = "a tool cannot give back a value of type `{Self}`",
    label = "needs `Serialize`",
    note = "derive `serde::Serialize`, or return a `ToolOutput`, a stream, or a `Result` of those"
)]
pub trait Output: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Output for T {}

/// What a tool can fail with.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with an error of type `{Self}`",
    label = "needs `Into<ToolError>`, `std::error::Error` or `Display`"
)]
pub trait Failure: Display {}

#[diagnostic::do_not_recommend]
impl<T: Display> Failure for T {}

/// Reports each item as an update, one at a time and as soon as there is room for it, and gives
/// them all: texts in one, other values in a list.
async fn collect<S: Stream + Send>(
    stream: S,
    call: &Call<'_>,
    output: impl Fn(S::Item) -> Result<ToolOutput, ToolError> + Send,
) -> Result<ToolOutput, ToolError>
where
    S::Item: Send,
{
    let mut stream = pin!(stream);
    let mut items = Vec::new();
    let cx = call.context();
    while let Some(item) = poll_fn(|task| stream.as_mut().poll_next(task)).await {
        match output(item) {
            Ok(item) => {
                if cx.has_sink() {
                    cx.update(item.clone()).await;
                }
                items.push(item);
            }
            // What came before is kept, for those who watch.
            Err(error) => {
                let received = crate::output::as_list(&items);
                let details = match error.details() {
                    Some(own) => serde_json::json!({ "received": received, "details": own }),
                    None => received,
                };
                return Err(error.with_details(details));
            }
        }
    }
    Ok(crate::output::merged(items))
}

/// A call's result: any type that a tool may return.
#[doc(hidden)]
#[macro_export]
macro_rules! outcome {
    ($call:expr, $value:expr) => {{
        use $crate::__private::probe::*;
        match $value {
            value => match $crate::__private::Tag::of(&value).split(value) {
                ::core::result::Result::Ok(value) => match $crate::__private::Tag::of(&value).some(value) {
                    ::core::option::Option::Some(value) => {
                        (&&&&&$crate::__private::Tag::of(&value)).finish(value, &$call).await
                    }
                    ::core::option::Option::None => $crate::__private::nothing(),
                },
                ::core::result::Result::Err(error) => {
                    ::core::result::Result::Err((&&&&$crate::__private::Tag::of(&error)).error(error))
                }
            },
        }
    }};
}

/// The same where nothing can be awaited; a stream has no place there.
#[doc(hidden)]
#[macro_export]
macro_rules! outcome_sync {
    ($call:expr, $value:expr) => {{
        use $crate::__private::probe::*;
        match $value {
            value => match $crate::__private::Tag::of(&value).split(value) {
                ::core::result::Result::Ok(value) => match $crate::__private::Tag::of(&value).some(value) {
                    ::core::option::Option::Some(value) => {
                        (&&&&&$crate::__private::Tag::of(&value)).output(value)
                    }
                    ::core::option::Option::None => $crate::__private::nothing(),
                },
                ::core::result::Result::Err(error) => {
                    ::core::result::Result::Err((&&&&$crate::__private::Tag::of(&error)).error(error))
                }
            },
        }
    }};
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
pub fn nothing() -> Result<ToolOutput, ToolError> {
    ToolOutput::json(&())
}
