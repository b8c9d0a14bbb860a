//! Text that a function borrows from the arguments.
//!
//! A parameter of type `&str` points into the JSON text if the string has no escapes, so that a long string is not
//! copied; otherwise, it is decoded once into an owned string.

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range, path::Path};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, Visitor},
};

/// A string within the arguments' text, or decoded from it.
#[derive(Debug)]
pub(super) enum ArgumentText {
    Part(Range<usize>),
    Decoded(String),
}

impl ArgumentText {
    /// Stores `part` by its range in `text`.
    fn of_part(part: &str, text: &str) -> Self {
        let start = part.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        let range = start..start.wrapping_add(part.len());
        match text.get(range.clone()) {
            Some(found) if std::ptr::eq(found, part) => Self::Part(range),
            _ => Self::Decoded(part.to_owned()),
        }
    }

    pub(super) fn get<'a>(&'a self, text: &'a str) -> &'a str {
        match self {
            // In range: created by `of_part` from the same text.
            Self::Part(part) => text.get(part.clone()).unwrap_or_default(),
            Self::Decoded(text) => text,
        }
    }
}

/// Reads a string within `text`.
pub(super) struct TextSeed<'t> {
    pub(super) text: &'t str,
}

impl<'t> DeserializeSeed<'t> for TextSeed<'t> {
    type Value = ArgumentText;

    fn deserialize<D: Deserializer<'t>>(self, decoder: D) -> Result<Self::Value, D::Error> {
        decoder.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for TextSeed<'t> {
    type Value = ArgumentText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, part: &'t str) -> Result<Self::Value, E> {
        Ok(ArgumentText::of_part(part, self.text))
    }

    fn visit_str<E: Error>(self, decoded: &str) -> Result<Self::Value, E> {
        Ok(ArgumentText::Decoded(decoded.to_owned()))
    }

    fn visit_string<E: Error>(self, decoded: String) -> Result<Self::Value, E> {
        Ok(ArgumentText::Decoded(decoded))
    }
}

/// The view of a text as a parameter type. Represented by a type without lifetimes: the future of a call stores it,
/// and is `Send` for every lifetime only if it contains none.
pub trait TextView: Send + 'static {
    /// The parameter type for the lifetime of the call.
    type View<'a>;
    /// `true` if the parameter may be absent.
    const OPTIONAL: bool;
    /// Returns the view; `None` if a required text is missing.
    fn view(text: Option<&str>) -> Option<Self::View<'_>>;
    /// Returns the text of a default.
    fn text(view: Self::View<'static>) -> Option<Cow<'static, str>>;
}

/// `&str`
pub struct Text;
/// `&Path`
pub struct PathText;
/// `Cow<str>`
pub struct CowText;
/// An `Option` of a text type.
pub struct Optional<V>(PhantomData<V>);

macro_rules! views {
    ($($of:ty => $view:ty, $to:expr, $from:expr;)*) => { $(
        impl TextView for $of {
            type View<'a> = $view;
            const OPTIONAL: bool = false;

            fn view(text: Option<&str>) -> Option<Self::View<'_>> {
                text.map($to)
            }

            fn text(view: Self::View<'static>) -> Option<Cow<'static, str>> {
                ($from)(view)
            }
        }
    )* };
}

views! {
    Text => &'a str, |text| text, |text: &'static str| Some(Cow::Borrowed(text));
    PathText => &'a Path, Path::new, |path: &'static Path| path.to_str().map(Cow::Borrowed);
    CowText => Cow<'a, str>, Cow::Borrowed, |text: Cow<'static, str>| Some(text);
}

impl<V: TextView> TextView for Optional<V> {
    type View<'a> = Option<V::View<'a>>;
    const OPTIONAL: bool = true;

    fn view(text: Option<&str>) -> Option<Self::View<'_>> {
        Some(text.and_then(|text| V::view(Some(text))))
    }

    fn text(view: Self::View<'static>) -> Option<Cow<'static, str>> {
        view.and_then(V::text)
    }
}
