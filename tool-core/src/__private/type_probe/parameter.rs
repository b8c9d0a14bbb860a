//! The slot of a parameter without a more specific one.

use super::{Anything, Of};
use crate::__private::{
    MayBeProvided, Owned, Provides, Refused,
    injected::Shared,
    slot::{Argument, TheProvided},
};

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
