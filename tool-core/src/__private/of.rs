//! Decisions that follow from the type of a parameter or of a result.
//!
//! Each is taken by method resolution at the concrete type, which is why expansions are written as
//! method calls: an inherent method of `Of<&str>` is found before a trait's of `Of<&T>`, and that
//! before one of `&Of<T>`. (The idea is `anyhow`'s, known as autoref specialisation.) Aliases and
//! renamed imports make no difference to it.

use std::{borrow::Cow, marker::PhantomData, path::Path};

use futures_core::Stream;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{
    Owned, Provides, TheContext, Whole,
    slot::{Argument, OptionalSlice, Slice, TextSlot, TheProvided},
    text::{CowText, Optional, PathText, Text},
};
use crate::ToolContext;

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
            Owned::new(Some(|| None))
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
            Owned::new(None)
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
}
