use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{Flow, Sink};
use crate::arguments::plan::{
    location::Location,
    messages::limit_message,
    node::{CountRange, NumberRules, TextRules},
    number::ExactNumber,
};

pub(super) fn check_number<S: Sink>(
    rules: Option<&NumberRules>,
    number: &Number,
    value: &Value,
    at: &Location<'_>,
    sink: &mut S,
) -> Flow {
    let Some(rules) = rules else { return Flow::Continue(()) };
    for (limit, words) in rules.violated_limits(ExactNumber::from(number)) {
        sink.report_violation(at, Some(value), || format!("{words} {limit}"))?;
    }
    match &rules.multiple_of {
        Some(divisor) if !divisor.divides(number) => {
            sink.report_violation(at, Some(value), || format!("a multiple of {divisor}"))
        }
        _ => Flow::Continue(()),
    }
}

pub(super) fn check_text<S: Sink>(
    rules: Option<&TextRules>,
    text: &str,
    value: &Value,
    at: &Location<'_>,
    sink: &mut S,
) -> Flow {
    let Some(rules) = rules else { return Flow::Continue(()) };
    if !rules.length.admits_length_of(text) {
        let expected = || limit_message(rules.length, text.chars().count(), "character", "characters");
        sink.report_violation(at, Some(value), expected)?;
    }
    match &rules.pattern {
        Some(pattern) if !pattern.is_match(text) => sink.report_violation(at, Some(value), || {
            format!("a string that matches the pattern `{}`", pattern.source)
        }),
        _ => Flow::Continue(()),
    }
}

impl NumberRules {
    /// Returns the limits that a number violates, with their descriptions.
    fn violated_limits(&self, exact: ExactNumber) -> impl Iterator<Item = (ExactNumber, &'static str)> {
        let limits = [
            (self.minimum, "at least", [Ordering::Greater, Ordering::Equal]),
            (self.exclusive_minimum, "more than", [Ordering::Greater; 2]),
            (self.maximum, "at most", [Ordering::Less, Ordering::Equal]),
            (self.exclusive_maximum, "less than", [Ordering::Less; 2]),
        ];
        limits.into_iter().filter_map(move |(limit, words, allowed)| {
            let limit = limit?;
            let is_within = |it: ExactNumber| it.compare(limit).is_some_and(|it| allowed.contains(&it));
            let is_within = is_within(exact) && exact.represented_range_end().is_none_or(is_within);
            (!is_within).then_some((limit, words))
        })
    }

    /// Returns `true` if a number violates none of these rules.
    pub(in crate::arguments::plan) fn admits(
        &self,
        exact: ExactNumber,
        number: impl FnOnce() -> Number,
    ) -> bool {
        let is_divided = || self.multiple_of.as_ref().is_none_or(|divisor| divisor.divides(&number()));
        self.violated_limits(exact).next().is_none() && is_divided()
    }
}

impl TextRules {
    /// Returns `true` if a string violates none of these rules.
    pub(in crate::arguments::plan) fn admits(&self, text: &str) -> bool {
        self.length.admits_length_of(text)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }
}

impl CountRange {
    /// Returns `true` if the length of a string is within the limits; characters are counted only if the number of
    /// bytes does not decide.
    fn admits_length_of(self, text: &str) -> bool {
        if self == Self::ANY {
            return true;
        }
        let (fewest, most) = (text.len().div_ceil(4), text.len());
        if fewest >= self.least && most <= self.most {
            return true;
        }
        let count = text.chars().count();
        self.least <= count && count <= self.most
    }
}
