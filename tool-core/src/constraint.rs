//! Traits of the types that support each constraint.
//!
//! A constraint without effect, such as `#[schemars(range(..))]` on a string, is a compile error. A custom type that
//! is serialised as a number, string or list may implement the required trait.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    num,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

/// A number, which supports `range`.
#[diagnostic::on_unimplemented(
    message = "`range` requires a number, but `{Self}` is not one; remove the key or change the type",
    label = "not a number",
    note = "`length` limits a string or a list"
)]
pub trait Ranged {}

/// A string or a list, which supports `length`.
#[diagnostic::on_unimplemented(
    message = "`length` requires a string or a list, but `{Self}` is neither; remove the key or change the type",
    label = "neither a string nor a list",
    note = "`range` limits a number"
)]
pub trait Measured {}

/// A string, which supports a pattern or a format.
#[diagnostic::on_unimplemented(
    message = "a pattern or a format requires a string, but `{Self}` is not one; remove the key or change the type",
    label = "not a string"
)]
pub trait Textual {}

macro_rules! implement {
    ($name:ident: $($of:ty),* $(,)?) => { $(impl $name for $of {})* };
}

implement!(Ranged: i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);
implement!(Ranged: num::NonZeroI8, num::NonZeroI16, num::NonZeroI32, num::NonZeroI64, num::NonZeroIsize);
implement!(Ranged: num::NonZeroU8, num::NonZeroU16, num::NonZeroU32, num::NonZeroU64, num::NonZeroUsize);
implement!(Measured: str, String, Path, PathBuf);
implement!(Textual: str, String, Path, PathBuf, char);

impl<T> Measured for [T] {}
impl<T, const N: usize> Measured for [T; N] {}
impl<T> Measured for Vec<T> {}
impl<T> Measured for VecDeque<T> {}
impl<T, S> Measured for HashSet<T, S> {}
impl<T> Measured for BTreeSet<T> {}
impl<K, V, S> Measured for HashMap<K, V, S> {}
impl<K, V> Measured for BTreeMap<K, V> {}

macro_rules! through {
    ($($name:ident)*) => { $(
        impl<T: $name> $name for Option<T> {}
        impl<T: $name + ?Sized> $name for &T {}
        impl<T: $name + ?Sized> $name for Box<T> {}
        impl<T: $name + ?Sized> $name for Rc<T> {}
        impl<T: $name + ?Sized> $name for Arc<T> {}
        impl<T: $name + ToOwned + ?Sized> $name for Cow<'_, T> {}
    )* };
}

through!(Ranged Measured Textual);
