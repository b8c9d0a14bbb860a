//! Selection of conversions by the type of a parameter or result.
//!
//! Selection uses method resolution at the concrete type, which is why expansions contain method calls: an inherent
//! method of `TypeProbe<&str>` takes precedence over a trait method of `TypeProbe<&T>`, and that over one of `&TypeProbe<T>` (autoref
//! specialisation, as in `anyhow`). Aliases and renamed imports do not affect it.

mod described;
mod parameter;
mod returned;

use std::{
    borrow::Cow,
    marker::PhantomData,
    ops::Deref,
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use schemars::{Schema, SchemaGenerator};

use super::{
    ContextSlot, Generator, OwnedSlot, RefusedSlot, StateSlot, WholeSlot,
    injected::{InjectedByValue, NeverAbsent, OwnedItems, SharedArgument},
    slices::{OptionalSliceSlot, SliceSlot},
    slot::{Argument, TextSlot},
    text::{CowText, Optional, PathText, Text},
};
use tool_schema::__private::Plain;

use crate::{State, ToolContext};

/// A placeholder for the type `T`.
pub struct TypeProbe<T> {
    is_stream: bool,
    of: FallbackProbe<T>,
}

/// The fallback for `T`, found last, through [`Deref`].
pub struct FallbackProbe<T>(PhantomData<fn() -> T>);

impl<T> Clone for FallbackProbe<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for FallbackProbe<T> {}

impl<T> Deref for TypeProbe<T> {
    type Target = FallbackProbe<T>;

    fn deref(&self) -> &FallbackProbe<T> {
        &self.of
    }
}

impl<T> TypeProbe<T> {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "written by expansions only")]
    pub fn new() -> Self {
        Self { is_stream: false, of: FallbackProbe(PhantomData) }
    }

    /// Creates a placeholder for `U`, a part of `T`.
    fn probe_part<U>(&self) -> TypeProbe<U> {
        TypeProbe { is_stream: self.is_stream, ..TypeProbe::new() }
    }

    /// Returns `true` after `items()` of a stream.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.is_stream
    }

    pub(super) fn describe_as(&self, schema: Option<ResultSchema>) -> Described {
        Described { schema, is_stream: self.is_stream }
    }

    /// Creates the slot of an argument struct.
    pub fn whole(self) -> WholeSlot<T>
    where
        T: Argument,
    {
        WholeSlot(None)
    }
}

/// The schema of a result, if its type has one.
pub struct Described {
    pub(super) schema: Option<ResultSchema>,
    /// `true` for a stream; the schema is then the schema of the combined items.
    pub(super) is_stream: bool,
}

/// The schema of a result.
pub(super) enum ResultSchema {
    Plain(&'static Plain),
    Made(Schema),
}

impl ResultSchema {
    /// Returns the constant schema of `T`, or the one that `make` makes.
    pub(super) fn of<T: 'static>(
        generator: &mut Generator,
        make: fn(&mut SchemaGenerator) -> Schema,
    ) -> Self {
        Plain::of::<T>().map_or_else(|| Self::Made(make(generator.schema_generator())), Self::Plain)
    }
}

/// An unnameable type: `impl Trait`, whose schema is unknown.
pub struct Opaque;

/// An unnameable stream of `T`.
pub struct Items<T>(PhantomData<fn() -> T>);

impl<T> Stream for Items<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        Poll::Ready(None)
    }
}

/// The combination of all items of type `T`.
pub struct AllItems<T>(PhantomData<fn() -> T>);

/// The merged items of type `T`.
pub struct SingleItem<T>(PhantomData<fn() -> T>);

macro_rules! slots {
    ($($of:ty => $slot:ty = $new:expr;)*) => { $(
        impl<'a> TypeProbe<$of> {
            #[must_use]
            pub fn slot(self) -> $slot {
                $new
            }
        }
    )* };
}

slots! {
    &'a ToolContext => ContextSlot = ContextSlot;
    &'a State => StateSlot = StateSlot;
    &'a str => TextSlot<Text> = TextSlot::new();
    &'a Path => TextSlot<PathText> = TextSlot::new();
    Cow<'a, str> => TextSlot<CowText> = TextSlot::new();
    Option<&'a str> => TextSlot<Optional<Text>> = TextSlot::new();
    Option<&'a Path> => TextSlot<Optional<PathText>> = TextSlot::new();
    Option<Cow<'a, str>> => TextSlot<Optional<CowText>> = TextSlot::new();
}

// The bounds are on the methods, so that a type that does not meet them is an error instead of a provided value.

impl<T> TypeProbe<&[T]> {
    #[must_use]
    pub fn slot(self) -> SliceSlot<T>
    where
        T: Argument,
    {
        SliceSlot::new()
    }
}

macro_rules! always_there {
    ($($of:ty)*) => { $(
        impl<'a> TypeProbe<Option<&'a $of>> {
            #[must_use]
            pub fn slot(self) -> RefusedSlot<Option<&'a $of>>
            where
                Option<&'a $of>: NeverAbsent,
            {
                RefusedSlot::new()
            }
        }
    )* };
}

always_there!(ToolContext State);

macro_rules! by_reference_only {
    ($($of:ty)*) => { $(
        impl TypeProbe<$of> {
            #[must_use]
            pub fn slot<'a>(self) -> RefusedSlot<$of>
            where
                $of: InjectedByValue<'a>,
            {
                RefusedSlot::new()
            }
        }
    )* };
}

by_reference_only!(ToolContext State);

impl<T: ?Sized> TypeProbe<Arc<T>> {
    #[must_use]
    pub fn slot(self) -> OwnedSlot<Arc<T>>
    where
        Arc<T>: SharedArgument<T>,
    {
        OwnedSlot::new(None)
    }
}

impl<'a, T: ?Sized> TypeProbe<Vec<&'a T>> {
    #[must_use]
    pub fn slot(self) -> RefusedSlot<Vec<&'a T>>
    where
        Vec<&'a T>: OwnedItems,
    {
        RefusedSlot::new()
    }
}

impl<T> TypeProbe<Option<&[T]>> {
    #[must_use]
    pub fn slot(self) -> OptionalSliceSlot<T>
    where
        T: Argument,
    {
        OptionalSliceSlot(None)
    }
}

// Errors that are a text only are never temporary.

macro_rules! texts {
    ($($result:ty;)*) => { $(
        impl<T> TypeProbe<$result> {
            #[must_use]
            pub fn failures_are_never_temporary(self) -> bool {
                true
            }
        }
    )* };
}

texts! {
    Result<T, String>;
    Option<Result<T, String>>;
    Result<T, &str>;
    Option<Result<T, &str>>;
    Result<T, Cow<'_, str>>;
    Option<Result<T, Cow<'_, str>>>;
}

/// The traits that select the conversions.
pub(super) mod traits {
    pub use super::{described::*, parameter::*, returned::*};
}
