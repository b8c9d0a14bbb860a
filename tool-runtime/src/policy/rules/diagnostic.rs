//! Rules that match no tool, no argument or no value.

use std::fmt;

use serde::Serialize;
use tool_core::{ToolDefinition, internals::ValueTypes};

use super::{NumberPattern, Rule, Rules, Verdict};
use crate::{
    Registry,
    diagnostic::{Diagnostic, Location, Severity},
};

/// A diagnostic about a rule that matches no tool, no argument or no value of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum RuleDiagnostic {
    /// The rule matches the name of no tool.
    NoTool {
        /// The text of the rule.
        rule: String,
    },
    /// The rule is a `deny` or `ask` that matches the name of no tool, and a tool has nearly the same name. Reported for
    /// registries that were built; for the tools of a [`Toolbox`](crate::Toolbox), which may change, it is `NoTool`.
    MisspelledTool {
        /// The text of the rule.
        rule: String,
        /// The name of the tool.
        similar: String,
    },
    /// The rule compares an argument with a pattern that no valid value of any matching tool can match.
    WrongMatcher {
        /// The text of the rule.
        rule: String,
        /// The JSON pointer to the argument.
        pointer: String,
        /// The pattern, as it was written.
        pattern: String,
        /// The values that the pattern compares: `text`, `path`, `url` or `number`.
        compares: &'static str,
        /// The values of the argument: `string`, `number`, `boolean`, or several of these, separated by ` or `.
        values: String,
        /// The names of the tools that the rule matches.
        tools: Vec<String>,
    },
    /// The rule compares an argument that no matching tool has.
    NoProperty {
        /// The text of the rule.
        rule: String,
        /// The JSON pointer to the argument.
        pointer: String,
        /// The names of the tools that the rule matches.
        tools: Vec<String>,
    },
}

impl RuleDiagnostic {
    /// Returns the stable code: the name of the variant in snake case.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoTool { .. } => "no_tool",
            Self::MisspelledTool { .. } => "misspelled_tool",
            Self::WrongMatcher { .. } => "wrong_matcher",
            Self::NoProperty { .. } => "no_property",
        }
    }

    /// Returns the severity. An executor whose rules have a diagnostic of [`Severity::Error`] is not built. A missing
    /// tool is a [`Severity::Warning`], because it may be added later.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::NoTool { .. } => Severity::Warning,
            Self::MisspelledTool { .. } | Self::WrongMatcher { .. } | Self::NoProperty { .. } => {
                Severity::Error
            }
        }
    }

    /// Returns what to do about it.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::NoTool { .. } => None,
            Self::MisspelledTool { similar, .. } => Some(format!("did you mean `{similar}`?")),
            Self::NoProperty { .. } => Some("correct the pointer".to_owned()),
            Self::WrongMatcher { values, pattern, .. } if values == "number" => {
                let pattern = if NumberPattern::new(pattern).is_ok() { pattern } else { "> 100" };
                Some(format!("write a number matcher, such as `{{ \"number\": \"{pattern}\" }}`"))
            }
            Self::WrongMatcher { values, .. } if values == "boolean" => {
                Some("write `true` or `false`".to_owned())
            }
            Self::WrongMatcher { .. } => Some("write a text pattern".to_owned()),
        }
    }
}

impl From<&RuleDiagnostic> for Diagnostic {
    fn from(it: &RuleDiagnostic) -> Self {
        let location = match it {
            RuleDiagnostic::NoTool { .. } => Location::default(),
            RuleDiagnostic::MisspelledTool { similar, .. } => {
                Location { tool: Some(similar.clone()), ..Location::default() }
            }
            RuleDiagnostic::NoProperty { pointer, tools, .. }
            | RuleDiagnostic::WrongMatcher { pointer, tools, .. } => {
                Location { tool: tools.first().cloned(), pointer: pointer.clone(), ..Location::default() }
            }
        };
        Self { location, severity: it.severity(), code: it.code(), message: it.to_string(), help: it.help() }
    }
}

/// The maximum number of tools that a message names.
const SHOWN: usize = 3;

impl fmt::Display for RuleDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTool { rule } | Self::MisspelledTool { rule, .. } => {
                write!(f, "the rule `{rule}` fits no tool")
            }
            Self::WrongMatcher { rule, pointer, pattern, compares, values, .. } => write!(
                f,
                "the rule `{rule}` compares `{pointer}` with the {compares} pattern `{pattern}`, which matches no {values}"
            ),
            Self::NoProperty { rule, pointer, .. } if !pointer.is_empty() && !pointer.starts_with('/') => {
                write!(
                    f,
                    "the rule `{rule}` compares `{pointer}`, which is not a JSON pointer: it does not begin with `/`"
                )
            }
            Self::NoProperty { rule, pointer, tools } if tools.len() > SHOWN => write!(
                f,
                "the rule `{rule}` compares `{pointer}`, and none of the {} tools that it fits has such an argument",
                tools.len()
            ),
            Self::NoProperty { rule, pointer, tools } => {
                let tools: Vec<_> = tools.iter().map(|tool| format!("`{tool}`")).collect();
                write!(
                    f,
                    "the rule `{rule}` compares `{pointer}`, and {} has no such argument",
                    tools.join(" or ")
                )
            }
        }
    }
}

impl Rules {
    /// Returns a diagnostic for each rule that matches none of `tools`, and for each argument that a rule compares, if
    /// none of the tools that the rule matches has it, or has it with a type that the pattern cannot match.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{policy::{PathPattern, Rule, Rules}, prelude::*};
    ///
    /// /// Reads a file.
    /// #[tool]
    /// fn read(path: String) -> String {
    ///     path
    /// }
    ///
    /// let rules = Rules::new([Rule::deny("read").at("/pth", PathPattern::new("/etc/**")?)]);
    /// let diagnostics = rules.diagnostics(&Registry::builder().tool::<read>().build()?);
    /// let message = "the rule `deny read` compares `/pth`, and `read` has no such argument";
    /// assert_eq!(diagnostics[0].to_string(), message);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn diagnostics(&self, tools: &Registry) -> Vec<RuleDiagnostic> {
        self.0.iter().flat_map(|rule| rule.diagnostics(tools)).collect()
    }
}

impl Rule {
    fn diagnostics(&self, tools: &Registry) -> Vec<RuleDiagnostic> {
        let fits = |it: &&ToolDefinition| self.calls.matches_tool(it.name(), it.raw_name(), self.verdict);
        let fitting = tools.all_definitions().iter().filter(fits);
        let fitting: Vec<_> = fitting.collect();
        let names = || fitting.iter().map(|it| it.name().to_string()).collect();
        if fitting.is_empty() {
            let rule = self.to_string();
            return vec![match self.likely_meant_tool(tools) {
                Some(similar) => RuleDiagnostic::MisspelledTool { rule, similar },
                None => RuleDiagnostic::NoTool { rule },
            }];
        }
        let mut diagnostics = Vec::new();
        for (pointer, matchers) in &self.arguments {
            let types = fitting.iter().filter_map(|it| it.input_schema().value_types(pointer));
            let types: Vec<_> = types.collect();
            if types.is_empty() {
                let (rule, pointer) = (self.to_string(), pointer.clone());
                diagnostics.push(RuleDiagnostic::NoProperty { rule, pointer, tools: names() });
            }
            for matcher in matchers.iter().filter(|it| !types.iter().any(|types| it.may_match(*types))) {
                if types.is_empty() {
                    break;
                }
                let (compares, pattern) = matcher.kind_and_pattern();
                diagnostics.push(RuleDiagnostic::WrongMatcher {
                    rule: self.to_string(),
                    pointer: pointer.clone(),
                    pattern: pattern.to_owned(),
                    compares,
                    values: type_list(&types),
                    tools: names(),
                });
            }
        }
        diagnostics
    }

    /// Returns the tool that a `deny` or `ask` without effect was probably written for, if the tools do not change.
    fn likely_meant_tool(&self, tools: &Registry) -> Option<String> {
        if self.verdict == Verdict::Allow || tools.is_live() || self.calls.tool.has_star() {
            return None;
        }
        let written = &self.calls.tool.0;
        // Short names and numbered names are near to each other without a mistake.
        let most = match written.chars().count() {
            ..4 => return None,
            4..8 => 1,
            _ => 2,
        };
        let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
        let names = tools.all_definitions().iter().map(|it| it.name().as_str());
        let names = names.filter(|name| digits(name) == digits(written));
        let (distance, nearest) = names.map(|name| (edit_distance(written, name), name)).min()?;
        (distance <= most).then(|| nearest.to_owned())
    }
}

/// Returns the types as a text, joined by `or`.
fn type_list(types: &[ValueTypes]) -> String {
    let may_be = |is: fn(ValueTypes) -> bool| types.iter().any(|types| is(*types));
    let named = [
        ("string", may_be(ValueTypes::may_be_string)),
        ("number", may_be(ValueTypes::may_be_number)),
        ("boolean", may_be(ValueTypes::may_be_boolean)),
    ];
    let named: Vec<_> = named.into_iter().filter_map(|(name, is)| is.then_some(name)).collect();
    named.join(" or ")
}

/// Returns the number of characters to insert, delete, replace or swap with their neighbour that turns `left` into
/// `right`, without regard to case.
fn edit_distance(left: &str, right: &str) -> usize {
    let letters = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    let (left, right) = (letters(left), letters(right));
    let mut before = Vec::new();
    let mut row: Vec<_> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                let swapped: &Vec<usize> = &before;
                least = least.min(swapped[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        };
        write!(f, "{verdict} {}", self.calls)
    }
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    // I25
    #[test]
    fn edits_are_characters_to_insert_delete_replace_or_swap() {
        for (left, right, count) in [
            ("", "", 0),
            ("", "abc", 3),
            ("ABC", "abc", 0),
            ("é", "e", 1),
            ("read", "rea", 1),
            ("read", "ead", 1),
            ("read", "reed", 1),
            ("read", "raed", 1),
            ("ab", "ba", 1),
            ("aab", "aba", 1),
            ("abcd", "badc", 2),
            ("abc", "cab", 2),
            ("ab", "bc", 2),
            ("ab", "ca", 2),
            ("abc", "ca", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(left, right), count, "{left} {right}");
            assert_eq!(edit_distance(right, left), count, "{right} {left}");
        }
    }
}
