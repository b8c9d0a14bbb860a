//! A collector of errors, so that one compile reports all of them.
//!
//! A stage adds its errors and continues with the valid parts; only the last stage checks if there are errors. Messages
//! of `darling` are reworded here, so that all messages have one style.

use std::cell::RefCell;
use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The errors of one item.
#[derive(Default)]
pub(crate) struct Errors {
    found: RefCell<Vec<syn::Error>>,
}

impl Errors {
    /// Adds an error that covers all of `node`.
    pub(crate) fn report_at(&self, node: &impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(node, message));
    }

    /// Adds an error at `span`.
    pub(crate) fn report_at_span(&self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    /// Adds the error of a parser.
    pub(crate) fn add(&self, error: syn::Error) {
        self.found.borrow_mut().push(error);
    }

    /// Adds the errors of the keys of an attribute; `names` are the valid ones, which the error of an unknown key lists.
    pub(crate) fn report_key_errors(&self, error: darling::Error, names: &[&str]) {
        for error in syn::Error::from(error) {
            // A reworded error has only the first span of the original; an unchanged one keeps all of it.
            match reworded_darling_message(&error.to_string(), names) {
                Some(message) => self.report_at_span(error.span(), message),
                None => self.add(error),
            }
        }
    }

    /// Returns the value of `result`, or adds its error.
    pub(crate) fn value_or_report<T>(&self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// Adds the errors of a part.
    pub(crate) fn add_all(&self, errors: Self) {
        self.found.borrow_mut().append(&mut errors.found.into_inner());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// One `compile_error!` for each error.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.found.into_inner().into_iter().map(syn::Error::into_compile_error).collect()
    }
}

/// The text that replaces a message of `darling`, which lists the keys of small attributes only.
fn reworded_darling_message(message: &str, names: &[&str]) -> Option<String> {
    if let Some(rest) = message.strip_prefix("Unknown field: ") {
        return Some(match rest.split_once(". ") {
            Some((key, hint)) => match hint.strip_prefix("Available values: ") {
                Some(keys) => match nearest_key(key, keys) {
                    Some(near) => format!("unknown key {key}; did you mean {near}?"),
                    None => format!("unknown key {key}; the keys are {keys}"),
                },
                None => format!("unknown key {key}; {}", lower_case_start(hint)),
            },
            None if names.is_empty() => {
                format!("unknown key {rest}; the documentation of the attribute lists the keys")
            }
            None => format!("unknown key {rest}; the keys are {}", quoted_names(names)),
        });
    }
    if let Some(rest) = message.strip_prefix("Unknown value: ") {
        return Some(match rest.split_once(". ") {
            Some((value, hint)) => match hint.strip_prefix("Available values: ") {
                Some(values) => format!("unknown value {value}; use one of {values}"),
                None => format!("unknown value {value}; {}", lower_case_start(hint)),
            },
            None => format!("unknown value {rest}"),
        });
    }
    let key = message.strip_prefix("Duplicate field ")?;
    Some(format!("duplicate key {key}; give each key once"))
}

/// The names in alphabetical order, each in backticks. The field `krate` is the key `crate`.
fn quoted_names(names: &[&str]) -> String {
    let mut names: Vec<&str> =
        names.iter().map(|name| if *name == "krate" { "crate" } else { name }).collect();
    names.sort_unstable();
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The key of `keys` that differs from `key` by one letter, where it is the only one: `darling` compares long words only.
fn nearest_key<'a>(key: &str, keys: &'a str) -> Option<&'a str> {
    let mut near = keys.split(", ").filter(|it| is_one_letter_off(key, it));
    near.next().filter(|_| near.next().is_none())
}

/// Returns `true` if one letter was left out, added or replaced, or two neighbours were swapped.
fn is_one_letter_off(one: &str, other: &str) -> bool {
    let same = |(one, other): &(char, char)| one == other;
    let start = one.chars().zip(other.chars()).take_while(same).count();
    let left = one.chars().count() - start;
    let right = other.chars().count() - start;
    let end = one.chars().rev().zip(other.chars().rev()).take_while(same).count().min(left.min(right));
    let (left, right) = (left - end, right - end);
    let middle = |text: &str, length| -> Vec<char> { text.chars().skip(start).take(length).collect() };
    let swapped = || middle(one, 2).iter().rev().eq(middle(other, 2).iter());
    left.max(right) == 1 || left == 2 && right == 2 && swapped()
}

fn lower_case_start(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::reworded_darling_message;

    #[test]
    fn messages_of_darling_are_reworded() {
        let say = |message: &str| reworded_darling_message(message, &[]).unwrap_or_default();
        assert_eq!(
            say("Unknown field: `nam`. Did you mean `name`?"),
            "unknown key `nam`; did you mean `name`?"
        );
        assert_eq!(
            say("Unknown field: `x`. Available values: `max`, `min`"),
            "unknown key `x`; the keys are `max`, `min`"
        );
        for (key, near) in [("mn", "min"), ("mini", "min"), ("mxa", "max"), ("maz", "max")] {
            assert_eq!(
                say(&format!("Unknown field: `{key}`. Available values: `equal`, `max`, `min`")),
                format!("unknown key `{key}`; did you mean `{near}`?")
            );
        }
        assert_eq!(
            say("Unknown field: `mix`. Available values: `max`, `min`"),
            "unknown key `mix`; the keys are `max`, `min`"
        );
        assert_eq!(say("Duplicate field `name`"), "duplicate key `name`; give each key once");
        assert_eq!(reworded_darling_message("anything else", &[]), None);
    }
}
