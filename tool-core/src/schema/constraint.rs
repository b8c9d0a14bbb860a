//! Which types can have which constraints.
//!
//! `#[schemars(range(..))]` on a text would do nothing; that is a mistake of the program, and the
//! compiler reports it. A type of your own that is written as a number, a text or a list may
//! implement the trait that it needs.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    num,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

/// A number, which can have a `range`.
#[diagnostic::on_unimplemented(
    message = "`range` needs a number; `{Self}` is none",
    label = "not a number",
    note = "`length` limits a text or a list"
)]
pub trait Ranged {}

/// A text or a list, which can have a `length`.
#[diagnostic::on_unimplemented(
    message = "`length` needs a text or a list; `{Self}` is neither",
    label = "neither a text nor a list",
    note = "`range` limits a number"
)]
pub trait Measured {}

/// A text, which can have a pattern or a format.
#[diagnostic::on_unimplemented(
    message = "a pattern or a format needs a text; `{Self}` is none",
    label = "not a text"
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
