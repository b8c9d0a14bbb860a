use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{Flow, Sink};
use crate::arguments::plan::{
    node::{Count, NumberRules, TextRules},
    number::Exact,
    place::Place,
    words::bound,
};

pub(super) fn number<S: Sink>(
    rules: Option<&NumberRules>,
    number: &Number,
    value: &Value,
    at: &Place<'_>,
    sink: &mut S,
) -> Flow {
    let Some(rules) = rules else { return Flow::Continue(()) };
    let exact = Exact::from(number);
    let is =
        |limit: Exact, allowed: [Ordering; 2]| exact.compare(limit).is_some_and(|it| allowed.contains(&it));
    let (less, equal, greater) = (Ordering::Less, Ordering::Equal, Ordering::Greater);
    if let Some(limit) = rules.minimum.filter(|limit| !is(*limit, [greater, equal])) {
        sink.wrong(at, Some(value), || format!("at least {limit}"))?;
    }
    if let Some(limit) = rules.exclusive_minimum.filter(|limit| !is(*limit, [greater; 2])) {
        sink.wrong(at, Some(value), || format!("more than {limit}"))?;
    }
    if let Some(limit) = rules.maximum.filter(|limit| !is(*limit, [less, equal])) {
        sink.wrong(at, Some(value), || format!("at most {limit}"))?;
    }
    if let Some(limit) = rules.exclusive_maximum.filter(|limit| !is(*limit, [less; 2])) {
        sink.wrong(at, Some(value), || format!("less than {limit}"))?;
    }
    match &rules.multiple_of {
        Some(divisor) if !divisor.divides(number) => {
            sink.wrong(at, Some(value), || format!("a multiple of {divisor}"))
        }
        _ => Flow::Continue(()),
    }
}

pub(super) fn text<S: Sink>(
    rules: Option<&TextRules>,
    text: &str,
    value: &Value,
    at: &Place<'_>,
    sink: &mut S,
) -> Flow {
    let Some(rules) = rules else { return Flow::Continue(()) };
    if !is_length(text, rules.length) {
        let expected = || bound(rules.length, text.chars().count(), "character", "characters");
        sink.wrong(at, Some(value), expected)?;
    }
    match &rules.pattern {
        Some(pattern) if !pattern.is_match(text) => {
            sink.wrong(at, Some(value), || format!("a string that matches the pattern `{}`", pattern.source))
        }
        _ => Flow::Continue(()),
    }
}

/// Whether a text has so many characters; they are counted only where their bytes leave a doubt.
fn is_length(text: &str, length: Count) -> bool {
    if length == Count::ANY {
        return true;
    }
    let (fewest, most) = (text.len().div_ceil(4), text.len());
    if fewest >= length.least && most <= length.most {
        return true;
    }
    let count = text.chars().count();
    length.least <= count && count <= length.most
}
