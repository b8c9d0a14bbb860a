//! Decisions that follow from the type of a parameter or of a result.
//!
//! Each is taken by method resolution at the concrete type, which is why expansions are written as
//! method calls: an inherent method of `Of<&str>` is found before a trait's of `Of<&T>`, and that
//! before one of `&Of<T>`. (The idea is `anyhow`'s, known as autoref specialisation.) Aliases and
//! renamed imports make no difference to it.

use std::{
    borrow::Cow,
    future::Future,
    io,
    marker::PhantomData,
    ops::Deref,
    path::Path,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    MayBeProvided, Owned, Provides, Refused, TheContext, TheState, Whole,
    injected::{AlwaysThere, Shared},
    items::Piece,
    slot::{Argument, OptionalSlice, Slice, TextSlot, TheProvided},
    text::{CowText, Optional, PathText, Text},
};
use crate::{State, ToolContext, ToolError, ToolOutput};

/// Stands for the type `T`, so that it can be asked questions.
pub struct Of<T> {
    is_stream: bool,
    of: Anything<T>,
}

/// Stands for `T` where nothing more particular fits: found last, through [`Deref`].
pub struct Anything<T>(PhantomData<fn() -> T>);

impl<T> Deref for Of<T> {
    type Target = Anything<T>;

    fn deref(&self) -> &Anything<T> {
        &self.of
    }
}

impl<T> Of<T> {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "written by expansions only")]
    pub fn new() -> Self {
        Self { is_stream: false, of: Anything(PhantomData) }
    }

    /// Stands for `U`, which `T` consists of.
    fn then<U>(&self) -> Of<U> {
        Of { is_stream: self.is_stream, ..Of::new() }
    }

    /// Returns `true` behind `items()` of a stream.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.is_stream
    }

    pub(super) fn described(&self, schema: Option<Schema>) -> Described {
        Described { schema, is_stream: self.is_stream }
    }

    /// The slot of an argument struct.
    pub fn whole(self) -> Whole<T>
    where
        T: Argument,
    {
        Whole(None)
    }
}

/// The schema of a result, where its type has one.
pub struct Described {
    pub(super) schema: Option<Schema>,
    /// Whether the result is a stream; the schema is that of its items together.
    pub(super) is_stream: bool,
}

/// A type that has no name: `impl Trait`, of which nothing is known.
pub struct Opaque;

/// The same where it is a stream of `T`.
pub struct Items<T>(PhantomData<fn() -> T>);

impl<T> Stream for Items<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        Poll::Ready(None)
    }
}

/// What all items of type `T` are together.
pub struct All<T>(PhantomData<fn() -> T>);

/// What they are merged.
pub struct One<T>(PhantomData<fn() -> T>);

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
    &'a State => TheState = TheState;
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

macro_rules! always_there {
    ($($of:ty)*) => { $(
        impl<'a> Of<Option<&'a $of>> {
            #[must_use]
            pub fn slot(self) -> Refused<Option<&'a $of>>
            where
                Option<&'a $of>: AlwaysThere,
            {
                Refused::new()
            }
        }
    )* };
}

always_there!(ToolContext State);

impl<T> Of<Option<&[T]>> {
    #[must_use]
    pub fn slot(self) -> OptionalSlice<T>
    where
        T: Argument,
    {
        OptionalSlice(None)
    }
}

// Errors that say which failures are temporary: the tool's own word, and the kind of an I/O error.

macro_rules! seeing {
    ($($result:ty;)*) => { $(
        impl<T> Of<$result> {
            #[must_use]
            pub fn fails_blindly(self) -> bool {
                false
            }
        }
    )* };
}

seeing! {
    Result<T, ToolError>;
    Option<Result<T, ToolError>>;
    Result<T, io::Error>;
    Option<Result<T, io::Error>>;
}

/// The traits behind the decisions.
pub(super) mod traits {
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

    pub trait ByOptionalReference {
        type Value: ?Sized;
        fn slot(self) -> MayBeProvided<Self::Value>
        where
            Self::Value: Provides;
    }

    impl<T: ?Sized> ByOptionalReference for Of<Option<&T>> {
        type Value = T;

        fn slot(self) -> MayBeProvided<T>
        where
            T: Provides,
        {
            MayBeProvided::new()
        }
    }

    pub trait ByMutableReference {
        type Reference;
        fn slot(self) -> Refused<Self::Reference>
        where
            Self::Reference: Shared;
    }

    impl<'a, T: ?Sized> ByMutableReference for Of<&'a mut T> {
        type Reference = &'a mut T;

        fn slot(self) -> Refused<&'a mut T>
        where
            &'a mut T: Shared,
        {
            Refused::new()
        }
    }

    pub trait ByOption<T> {
        fn slot(self) -> Owned<Option<T>>
        where
            T: Argument;
    }

    impl<T> ByOption<T> for &Of<Option<T>> {
        fn slot(self) -> Owned<Option<T>>
        where
            T: Argument,
        {
            Owned::new(Some(|| None))
        }
    }

    pub trait ByValue<T> {
        fn slot(self) -> Owned<T>
        where
            T: Argument;
    }

    impl<T> ByValue<T> for &Anything<T> {
        fn slot(self) -> Owned<T>
        where
            T: Argument,
        {
            Owned::new(None)
        }
    }

    // Whether a failure of a function can be known to be temporary.

    pub trait Failing {
        fn fails_blindly(self) -> bool;
    }

    impl<T, E> Failing for Of<Result<T, E>> {
        fn fails_blindly(self) -> bool {
            true
        }
    }

    impl<T, E> Failing for Of<Option<Result<T, E>>> {
        fn fails_blindly(self) -> bool {
            true
        }
    }

    pub trait Unfailing {
        fn fails_blindly(self) -> bool;
    }

    impl<T> Unfailing for &Of<T> {
        fn fails_blindly(self) -> bool {
            false
        }
    }

    // The type of a success, as `outcome` splits what a function gives. One trait and no inherent
    // method, so that a type which is not known yet (since something else is wrong) has one
    // `payload` and not two.

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

    // The type that the body of a closure gives: that of a future's output, or its own.

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
        fn merged(self) -> Of<T>;
    }

    impl<T> MergedValue<T> for &Of<T> {
        fn merged(self) -> Of<T> {
            self.then()
        }
    }

    // The schema of that, in the order in which `items` decides what items are together.

    pub trait OfSchema {
        fn schema(self, generator: &mut SchemaGenerator) -> Described;
    }

    impl<T: JsonSchema> OfSchema for &&&&&Of<T> {
        fn schema(self, generator: &mut SchemaGenerator) -> Described {
            self.described(Some(generator.subschema_for::<T>()))
        }
    }

    pub trait OfPieces {
        fn schema(self, generator: &mut SchemaGenerator) -> Described;
    }

    impl<T: Piece> OfPieces for &&&&Of<All<T>> {
        fn schema(self, generator: &mut SchemaGenerator) -> Described {
            self.described(Some(generator.subschema_for::<str>()))
        }
    }

    impl<T: Piece> OfPieces for &&&&Of<One<T>> {
        fn schema(self, generator: &mut SchemaGenerator) -> Described {
            self.described(Some(generator.subschema_for::<str>()))
        }
    }

    pub trait OfOutputs {
        fn schema(self, generator: &mut SchemaGenerator) -> Described;
    }

    impl<T: Into<ToolOutput>> OfOutputs for &&&Of<All<T>> {
        fn schema(self, _: &mut SchemaGenerator) -> Described {
            self.described(None)
        }
    }

    impl<T: Into<ToolOutput>> OfOutputs for &&&Of<One<T>> {
        fn schema(self, _: &mut SchemaGenerator) -> Described {
            self.described(None)
        }
    }

    pub trait OfList {
        fn schema(self, generator: &mut SchemaGenerator) -> Described;
    }

    impl<T: JsonSchema> OfList for &&Of<All<T>> {
        fn schema(self, generator: &mut SchemaGenerator) -> Described {
            self.described(Some(crate::schema::list_of(generator.subschema_for::<T>())))
        }
    }

    impl<T: JsonSchema> OfList for &&Of<One<T>> {
        fn schema(self, generator: &mut SchemaGenerator) -> Described {
            self.described(Some(generator.subschema_for::<T>()))
        }
    }

    pub trait Undescribed {
        fn schema(self, generator: &mut SchemaGenerator) -> Described;
    }

    impl<T> Undescribed for &Of<T> {
        fn schema(self, _: &mut SchemaGenerator) -> Described {
            self.described(None)
        }
    }
}
