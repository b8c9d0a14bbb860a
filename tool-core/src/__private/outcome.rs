//! Decisions that follow from the type of a parameter or of a result.
//!
//! Each is taken by method resolution at the concrete type, which is why expansions are written as
//! method calls: an inherent method of `Of<&str>` is found before a trait's of `Of<&T>`, and that
//! before one of `&Of<T>`. (The idea is `anyhow`'s, known as autoref specialisation.) Aliases and
//! renamed imports make no difference to it.

use std::{
    borrow::Cow,
    error::Error,
    fmt::Display,
    future::{Future, Ready, poll_fn, ready},
    marker::PhantomData,
    path::Path,
    pin::pin,
};

use futures_core::Stream;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use super::{
    Call, Owned, Provides, TheContext, Whole,
    slot::{Argument, OptionalSlice, Slice, TextSlot, TheProvided},
    text::{CowText, Optional, PathText, Text},
};
use crate::{ToolContext, ToolError, ToolOutput};

/// Stands for the type `T`, so that it can be asked questions.
pub struct Of<T>(PhantomData<fn() -> T>);

impl<T> Of<T> {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "written by expansions only")]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// The slot of an argument struct.
    pub fn whole(self) -> Whole<T>
    where
        T: Argument,
    {
        Whole(None)
    }
}

/// The items of a stream.
pub struct Items<T>(PhantomData<T>);

macro_rules! slots {
    ($($of:ty => $slot:ty = $new:expr;)*) => { $(
        impl<'a> Of<$of> {
            #[must_use]
            pub fn slot(self) -> $slot {
                $new
            }
        }
    )* };
}

slots! {
    &'a ToolContext => TheContext = TheContext;
    &'a str => TextSlot<Text> = TextSlot::new();
    &'a Path => TextSlot<PathText> = TextSlot::new();
    Cow<'a, str> => TextSlot<CowText> = TextSlot::new();
    Option<&'a str> => TextSlot<Optional<Text>> = TextSlot::new();
    Option<&'a Path> => TextSlot<Optional<PathText>> = TextSlot::new();
    Option<Cow<'a, str>> => TextSlot<Optional<CowText>> = TextSlot::new();
}

// The bounds stand on the methods: a type that does not meet them is an error, and not something
// that the program provides.

impl<T> Of<&[T]> {
    #[must_use]
    pub fn slot(self) -> Slice<T>
    where
        T: Argument,
    {
        Slice::new()
    }
}

impl<T> Of<Option<&[T]>> {
    #[must_use]
    pub fn slot(self) -> OptionalSlice<T>
    where
        T: Argument,
    {
        OptionalSlice(None)
    }
}

impl<T: JsonSchema> Of<T> {
    /// The schema of what a function returns.
    #[must_use]
    pub fn schema(self, generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }
}

impl<T, E> Of<Result<T, E>> {
    /// The type of a success.
    #[must_use]
    pub fn payload(self) -> Of<T> {
        Of::new()
    }
}

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

/// The traits by which expansions ask; imported as a whole.
pub mod probe {
    #[allow(clippy::wildcard_imports, reason = "a part of the module above")]
    use super::*;

    pub trait ByReference {
        type Value: ?Sized;
        fn slot(self) -> TheProvided<Self::Value>
        where
            Self::Value: Provides;
    }

    impl<T: ?Sized> ByReference for Of<&T> {
        type Value = T;

        fn slot(self) -> TheProvided<T>
        where
            T: Provides,
        {
            TheProvided::new()
        }
    }

    pub trait ByOption<T> {
        fn slot(self) -> Owned<Option<T>>
        where
            T: Argument;
    }

    impl<T> ByOption<T> for Of<Option<T>> {
        fn slot(self) -> Owned<Option<T>>
        where
            T: Argument,
        {
            Owned::new(true)
        }
    }

    pub trait ByValue<T> {
        fn slot(self) -> Owned<T>
        where
            T: Argument;
    }

    impl<T> ByValue<T> for &Of<T> {
        fn slot(self) -> Owned<T>
        where
            T: Argument,
        {
            Owned::new(false)
        }
    }

    /// A trait and no inherent method, so that a type which is not known yet (since something
    /// else is wrong) has one `payload` and not two.
    pub trait PayloadOfItems<T> {
        fn payload(self) -> Of<Items<T>>;
    }

    impl<T, E> PayloadOfItems<T> for Of<Items<Result<T, E>>> {
        fn payload(self) -> Of<Items<T>> {
            Of::new()
        }
    }

    pub trait Payload<T> {
        fn payload(self) -> Of<T>;
    }

    impl<T> Payload<T> for &Of<T> {
        fn payload(self) -> Of<T> {
            Of::new()
        }
    }

    pub trait Streamed {
        fn schema(self, generator: &mut SchemaGenerator) -> Option<Schema>;
    }

    impl<T: JsonSchema> Streamed for Of<Items<T>> {
        fn schema(self, generator: &mut SchemaGenerator) -> Option<Schema> {
            Some(crate::schema::of_items(generator.subschema_for::<T>()))
        }
    }

    impl<S: Stream<Item: JsonSchema>> Streamed for Of<S> {
        fn schema(self, generator: &mut SchemaGenerator) -> Option<Schema> {
            Some(crate::schema::of_items(generator.subschema_for::<S::Item>()))
        }
    }

    pub trait Undescribed {
        fn schema(self, generator: &mut SchemaGenerator) -> Option<Schema>;
    }

    impl<T> Undescribed for &Of<T> {
        fn schema(self, _: &mut SchemaGenerator) -> Option<Schema> {
            None
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
            Err(error) => return Err(error.with_details(crate::output::as_list(&items))),
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
