//! Matchers of argument values, and the values that a JSON pointer selects.

use tool_core::internals::{ExactValue, ValueTypes};

use super::{
    Match, NumberPattern, PathPattern, UrlPattern, Verdict, number_pattern::Rounding, text::TextPattern,
};

/// A comparison of one argument: a text pattern, a [path](PathPattern), a [URL](UrlPattern) or a
/// [number](NumberPattern).
///
/// A string is a text pattern, in which `*` matches any characters. It compares booleans by their spelling. A pattern
/// that is a number compares numbers by their values; any other one compares their canonical spelling: without
/// exponent, trailing zeros of a fraction, or a fraction of zero.
///
/// # Examples
///
/// ```
/// use tool_runtime::policy::{Matcher, PathPattern};
///
/// let text = Matcher::from("git *");
/// let path = Matcher::from(PathPattern::new("/etc/**")?);
/// # Ok::<(), tool_runtime::policy::InvalidRule>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher(pub(super) Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Text(TextPattern),
    Path(PathPattern),
    Url(UrlPattern),
    Number(NumberPattern),
}

impl Matcher {
    /// Returns `true` if a rule with `verdict` applies to `value`. For a list, it applies if any item matches; an
    /// `allow` requires all items to match. `rounding` returns the rounding of a number.
    pub(super) fn applies_to(
        &self,
        value: &ExactValue<'_>,
        verdict: Verdict,
        rounding: &dyn Fn() -> Rounding,
    ) -> bool {
        let fits = |item| self.applies_to(item, verdict, rounding);
        match (value, verdict) {
            (ExactValue::List(items), Verdict::Allow) => !items.is_empty() && items.iter().all(fits),
            (ExactValue::List(items), _) => items.iter().any(fits),
            (value, _) => verdict.applies(self.match_value(value, rounding)),
        }
    }

    /// Returns `true` if the matcher may match a value of one of `types`. Objects are never clear, and not considered.
    pub(super) fn may_match(&self, types: ValueTypes) -> bool {
        let is_scalar = types.may_be_string() || types.may_be_number() || types.may_be_boolean();
        if types.may_be_object() || !is_scalar {
            return true;
        }
        match &self.0 {
            Kind::Text(pattern) => {
                types.may_be_string()
                    || types.may_be_boolean() && pattern.may_be_boolean()
                    || types.may_be_number() && pattern.may_be_number()
            }
            Kind::Path(_) | Kind::Url(_) => types.may_be_string(),
            Kind::Number(_) => types.may_be_number(),
        }
    }

    /// Returns the kind of the pattern, and the pattern as it was written.
    pub(super) fn kind_and_pattern(&self) -> (&'static str, &str) {
        match &self.0 {
            Kind::Text(pattern) => ("text", &pattern.0),
            Kind::Path(pattern) => ("path", pattern.as_str()),
            Kind::Url(pattern) => ("url", pattern.as_str()),
            Kind::Number(pattern) => ("number", pattern.as_str()),
        }
    }

    /// Applies [`applies_to`](Self::applies_to) to a selected value.
    pub(super) fn applies_to_selected(
        &self,
        found: SelectedValue<'_, '_>,
        verdict: Verdict,
        rounding: &dyn Fn() -> Rounding,
    ) -> bool {
        match found {
            SelectedValue::Value(value) => self.applies_to(value, verdict, rounding),
            SelectedValue::Odd => verdict.applies(Match::Unclear),
            SelectedValue::Absent(_) => false,
        }
    }

    fn match_value(&self, value: &ExactValue<'_>, rounding: &dyn Fn() -> Rounding) -> Match {
        let rounding = || match value {
            ExactValue::Number(_) => rounding(),
            _ => Rounding::default(),
        };
        match &self.0 {
            Kind::Text(pattern) => pattern.match_value(value, rounding()),
            Kind::Path(pattern) => pattern.match_value(value),
            Kind::Url(pattern) => pattern.match_value(value),
            Kind::Number(pattern) => pattern.match_value(value, rounding()),
        }
    }
}

/// A value that a pointer selects.
#[derive(Debug, Clone, Copy)]
pub(super) enum SelectedValue<'v, 't> {
    Value(&'v ExactValue<'t>),
    /// No value, from this step on.
    Absent(usize),
    /// A step into a value that has no members or items.
    Odd,
}

/// Adds the values selected by `steps`, of which `at` were taken, to `found`. A step that is not an index selects all
/// items of a list.
pub(super) fn select_values<'v, 't>(
    value: &'v ExactValue<'t>,
    steps: &[String],
    at: usize,
    found: &mut Vec<SelectedValue<'v, 't>>,
) {
    let Some(step) = steps.get(at) else { return found.push(SelectedValue::Value(value)) };
    let absent = SelectedValue::Absent(at);
    match value {
        ExactValue::Object(members) => {
            let mut named = members.iter().filter(|(name, _)| name == step).peekable();
            if named.peek().is_none() {
                found.push(absent);
            }
            named.for_each(|(_, member)| select_values(member, steps, at + 1, found));
        }
        ExactValue::List(items) => match step.parse::<usize>() {
            Ok(index) => match items.get(index) {
                Some(item) => select_values(item, steps, at + 1, found),
                None => found.push(absent),
            },
            Err(_) => items.iter().for_each(|item| select_values(item, steps, at, found)),
        },
        ExactValue::Null => found.push(absent),
        _ => found.push(SelectedValue::Odd),
    }
}

impl From<&str> for Matcher {
    fn from(pattern: &str) -> Self {
        Self(Kind::Text(TextPattern(pattern.to_owned())))
    }
}

impl From<&String> for Matcher {
    fn from(pattern: &String) -> Self {
        Self::from(pattern.as_str())
    }
}

impl From<String> for Matcher {
    fn from(pattern: String) -> Self {
        Self(Kind::Text(TextPattern(pattern)))
    }
}

impl From<PathPattern> for Matcher {
    fn from(pattern: PathPattern) -> Self {
        Self(Kind::Path(pattern))
    }
}

impl From<UrlPattern> for Matcher {
    fn from(pattern: UrlPattern) -> Self {
        Self(Kind::Url(pattern))
    }
}

impl From<NumberPattern> for Matcher {
    fn from(pattern: NumberPattern) -> Self {
        Self(Kind::Number(pattern))
    }
}
