//! Decisions that follow from the type of a parameter or of a result.
//!
//! Each is taken by method resolution at the concrete type, which is why expansions are written as
//! method calls: an inherent method of `Of<&str>` is found before a trait's of `Of<&T>`, and that
//! before one of `&Of<T>`. (The idea is `anyhow`'s, known as autoref specialisation.) Aliases and
//! renamed imports make no difference to it.

mod described;
mod parameter;
mod returned;

use std::{
    borrow::Cow,
    io,
    marker::PhantomData,
    ops::Deref,
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use schemars::Schema;

use super::{
    Owned, Refused, TheContext, TheState, Whole,
    injected::{AlwaysThere, InjectedByValue, OwnedItems, SharedArgument},
    slot::{Argument, OptionalSlice, Slice, TextSlot},
    text::{CowText, Optional, PathText, Text},
};
use crate::{State, ToolContext, ToolError};

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

macro_rules! by_reference_only {
    ($($of:ty)*) => { $(
        impl Of<$of> {
            #[must_use]
            pub fn slot<'a>(self) -> Refused<$of>
            where
                $of: InjectedByValue<'a>,
            {
                Refused::new()
            }
        }
    )* };
}

by_reference_only!(ToolContext State);

impl<T: ?Sized> Of<Arc<T>> {
    #[must_use]
    pub fn slot(self) -> Owned<Arc<T>>
    where
        Arc<T>: SharedArgument<T>,
    {
        Owned::new(None)
    }
}

impl<'a, T: ?Sized> Of<Vec<&'a T>> {
    #[must_use]
    pub fn slot(self) -> Refused<Vec<&'a T>>
    where
        Vec<&'a T>: OwnedItems,
    {
        Refused::new()
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
    pub use super::{described::*, parameter::*, returned::*};
}
