//! Mistakes, collected so that one compile reports all of them.
//!
//! A stage adds what it finds and goes on with what is right; only the last stage asks whether
//! anything was wrong. The texts that `darling` writes are brought into the wording of all others
//! here, so that a reader cannot tell who found a mistake.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes of one item.
#[derive(Default)]
pub(crate) struct Errors {
    found: RefCell<Vec<syn::Error>>,
}

impl Errors {
    /// Adds a mistake that covers all of `node`.
    pub(crate) fn at(&self, node: &impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(node, message));
    }

    /// Adds a mistake at a place that has no node of its own.
    pub(crate) fn spanned(&self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    /// Adds what a parser found.
    pub(crate) fn add(&self, error: syn::Error) {
        self.found.borrow_mut().push(error);
    }

    /// Adds the mistakes of an attribute's keys.
    pub(crate) fn keys(&self, error: darling::Error) {
        for error in syn::Error::from(error) {
            // Rewording builds a new error, which knows only where the old one started; the others
            // keep their whole span.
            match reworded(&error.to_string()) {
                Some(message) => self.spanned(error.span(), message),
                None => self.add(error),
            }
        }
    }

    /// Unwraps a parser's result, or adds its mistake.
    pub(crate) fn handle<T>(&self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Adds the mistakes of a part.
    pub(crate) fn absorb(&self, part: Self) {
        self.found.borrow_mut().append(&mut part.found.into_inner());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// Every mistake as one `compile_error!` each.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.found.into_inner().into_iter().map(syn::Error::into_compile_error).collect()
    }
}

/// What we say in place of a message of `darling`.
fn reworded(message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("Unknown field: ") {
        return Some(match rest.split_once(". ") {
            Some((key, hint)) => match hint.strip_prefix("Available values: ") {
                Some(keys) => format!("unknown key {key}; the keys are {keys}"),
                None => format!("unknown key {key}; {}", lower_case_start(hint)),
            },
            None => format!("unknown key {rest}; the documentation of the attribute lists the keys"),
        });
    }
    if let Some(rest) = message.strip_prefix("Unknown value: ") {
        return Some(match rest.split_once(". ") {
            Some((value, hint)) => match hint.strip_prefix("Available values: ") {
                Some(values) => format!("unknown value {value}; take one of {values}"),
                None => format!("unknown value {value}; {}", lower_case_start(hint)),
            },
            None => format!("unknown value {rest}"),
        });
    }
    let key = message.strip_prefix("Duplicate field ")?;
    Some(format!("duplicate key {key}; give each key once"))
}

fn lower_case_start(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::reworded;

    #[test]
    fn messages_of_darling_sound_like_ours() {
        let say = |message| reworded(message).unwrap_or_default();
        assert_eq!(
            say("Unknown field: `nam`. Did you mean `name`?"),
            "unknown key `nam`; did you mean `name`?"
        );
        assert_eq!(
            say("Unknown field: `x`. Available values: `max`, `min`"),
            "unknown key `x`; the keys are `max`, `min`"
        );
        assert_eq!(say("Duplicate field `name`"), "duplicate key `name`; give each key once");
        assert_eq!(reworded("anything else"), None);
    }
}
