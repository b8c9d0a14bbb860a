//! The slot of a parameter without a more specific one.

use super::{FallbackProbe, TypeProbe};
use crate::__private::{
    OptionalProvidedSlot, OwnedSlot, Provides, RefusedSlot,
    injected::SharedByCalls,
    slot::{Argument, ProvidedSlot},
};

pub trait ByReference {
    type Value: ?Sized;
    fn slot(self) -> ProvidedSlot<Self::Value>
    where
        Self::Value: Provides;
}

impl<T: ?Sized> ByReference for TypeProbe<&T> {
    type Value = T;

    fn slot(self) -> ProvidedSlot<T>
    where
        T: Provides,
    {
        ProvidedSlot::new()
    }
}

pub trait ByOptionalReference {
    type Value: ?Sized;
    fn slot(self) -> OptionalProvidedSlot<Self::Value>
    where
        Self::Value: Provides;
}

impl<T: ?Sized> ByOptionalReference for TypeProbe<Option<&T>> {
    type Value = T;

    fn slot(self) -> OptionalProvidedSlot<T>
    where
        T: Provides,
    {
        OptionalProvidedSlot::new()
    }
}

pub trait ByMutableReference {
    type Reference;
    fn slot(self) -> RefusedSlot<Self::Reference>
    where
        Self::Reference: SharedByCalls;
}

impl<'a, T: ?Sized> ByMutableReference for TypeProbe<&'a mut T> {
    type Reference = &'a mut T;

    fn slot(self) -> RefusedSlot<&'a mut T>
    where
        &'a mut T: SharedByCalls,
    {
        RefusedSlot::new()
    }
}

pub trait ByOption<T> {
    fn slot(self) -> OwnedSlot<Option<T>>
    where
        T: Argument;
}

impl<T> ByOption<T> for &TypeProbe<Option<T>> {
    fn slot(self) -> OwnedSlot<Option<T>>
    where
        T: Argument,
    {
        OwnedSlot::new(Some(|| None))
    }
}

pub trait ByValue<T> {
    fn slot(self) -> OwnedSlot<T>
    where
        T: Argument;
}

impl<T> ByValue<T> for &FallbackProbe<T> {
    fn slot(self) -> OwnedSlot<T>
    where
        T: Argument,
    {
        OwnedSlot::new(None)
    }
}
