//! Text patterns: tool names, and arguments that are plain text.

use std::{collections::HashSet, fmt};

use serde_json::Value;
use tool_core::{ToolDefinition, internals::ExactValue};

use super::{
    Match, NumberPattern, Verdict,
    number_pattern::{Rounding, is_canonical},
};

/// A pattern in which `*` matches any characters, including none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextPattern(pub(super) String);

impl TextPattern {
    /// Returns `true` if the pattern matches the whole of `text`. In the worst case, the time is proportional to the
    /// product of both lengths: only the last `*` is tried again.
    pub(super) fn matches_text(&self, text: &str) -> bool {
        matches_wildcard(&self.0, text)
    }

    /// Returns `true` if the pattern contains a `*`.
    pub(super) fn has_star(&self) -> bool {
        self.0.contains('*')
    }

    /// Returns `true` if the pattern may match the canonical spelling of a number.
    pub(super) fn may_be_number(&self) -> bool {
        let pattern = self.0.strip_prefix('-').unwrap_or(&self.0);
        let (Some((first, _)), Some((_, last))) = (pattern.split_once('*'), pattern.rsplit_once('*')) else {
            return is_canonical(&self.0);
        };
        let has_one = |c: char| pattern.matches(c).count() <= 1;
        let is_begun = match first.as_bytes() {
            [b'0', next, ..] => *next == b'.',
            [b'.' | b'e' | b'-', ..] => false,
            _ => true,
        };
        let is_fraction = last.contains('.') && !last.contains('e');
        pattern.chars().all(|c| c.is_ascii_digit() || "*-.e".contains(c))
            && has_one('.')
            && has_one('e')
            && is_begun
            && !last.ends_with(['.', 'e', '-'])
            && !(is_fraction && last.ends_with('0'))
    }

    /// Returns `true` if the pattern may match the spelling of a boolean.
    pub(super) fn may_be_boolean(&self) -> bool {
        self.matches_text("true") || self.matches_text("false")
    }

    /// Compares one value. A boolean is compared by its spelling; a number by its value if the pattern is a number, and
    /// otherwise by its canonical spelling. A value without a text, such as `null` or an object, is unclear, and so is a
    /// number of which the argument's type makes another one with another result.
    pub(super) fn match_value(&self, value: &ExactValue<'_>, rounding: Rounding) -> Match {
        match value {
            ExactValue::String(text) => Match::of(self.matches_text(text)),
            ExactValue::Number(number) => self.match_number(number, rounding),
            ExactValue::Bool(truth) => Match::of(self.matches_text(if *truth { "true" } else { "false" })),
            ExactValue::Null | ExactValue::List(_) | ExactValue::Object(_) => Match::Unclear,
        }
    }

    fn match_number(&self, number: &str, rounding: Rounding) -> Match {
        if let Some(pattern) = NumberPattern::equal_to(&self.0) {
            return pattern.match_number(number, rounding);
        }
        let Some(spellings) = rounding.spellings(number) else {
            return if self.matches_text(number) && self.0.trim_matches('*').is_empty() {
                Match::Yes
            } else {
                Match::Unclear
            };
        };
        match spellings.iter().filter(|spelling| self.matches_text(spelling)).count() {
            0 => Match::No,
            fitting if fitting == spellings.len() => Match::Yes,
            _ => Match::Unclear,
        }
    }

    /// Returns `true` if any text in `value`, at any depth, or any key that is not in `names`, matches.
    fn matches_any_text_in(&self, value: &ExactValue<'_>, names: &SchemaNames<'_>) -> bool {
        match value {
            ExactValue::List(items) => items.iter().any(|item| self.matches_any_text_in(item, names)),
            ExactValue::Object(members) => members.iter().any(|(key, member)| {
                (!names.contain(key) && self.matches_text(key)) || self.matches_any_text_in(member, names)
            }),
            ExactValue::Null => self.matches_text("null"),
            scalar => self.match_value(scalar, names.rounding) != Match::No,
        }
    }

    /// Returns `true` if `value` contains a text, and all its texts and keys that are not in `names` match, at any
    /// depth; `null` contains no text.
    fn matches_all_texts_in(&self, value: &ExactValue<'_>, names: &SchemaNames<'_>) -> bool {
        let mut values = vec![value];
        let mut any = false;
        while let Some(value) = values.pop() {
            match value {
                ExactValue::List(items) => values.extend(items),
                ExactValue::Object(members) => {
                    if !members.iter().all(|(key, _)| names.contain(key) || self.matches_text(key)) {
                        return false;
                    }
                    values.extend(members.iter().map(|(_, member)| member));
                }
                ExactValue::Null => {}
                scalar if self.match_value(scalar, names.rounding) == Match::Yes => any = true,
                _ => return false,
            }
        }
        any
    }
}

/// Returns `true` if the whole of `text` matches `pattern`, in which `*` matches any characters.
pub(super) fn matches_wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match &mut star {
                Some((at, taken)) => {
                    *taken += 1;
                    (p, t) = (*at + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// The property names that a schema contains anywhere, and the rounding of its numbers. Other keys are chosen by the
/// model, as in a map.
struct SchemaNames<'d> {
    /// `None` if no schema is known.
    names: Option<HashSet<&'d str>>,
    rounding: Rounding,
}

impl<'d> SchemaNames<'d> {
    fn of(definition: Option<&'d ToolDefinition>) -> Self {
        let has_single = definition.is_some_and(|definition| definition.input_schema().has_single());
        let names = definition.map(|definition| {
            let (mut names, mut open) = (HashSet::new(), vec![definition.input_schema().as_value()]);
            while let Some(value) = open.pop() {
                match value {
                    Value::Array(items) => open.extend(items),
                    Value::Object(members) => {
                        let properties = members.get("properties").and_then(Value::as_object);
                        names.extend(properties.into_iter().flatten().map(|(name, _)| name.as_str()));
                        open.extend(members.values());
                    }
                    _ => {}
                }
            }
            names
        });
        Self { names, rounding: Rounding::unknown(has_single) }
    }

    /// Returns `true` for every key if no schema is known.
    fn contain(&self, key: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(key))
    }
}

/// A pattern `name` or `name:arguments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallPattern {
    pub(super) tool: TextPattern,
    /// The pattern of the texts in the arguments: any of them, or all of them for an `allow`, since one harmless part
    /// does not make the others harmless.
    pub(super) arguments: Option<TextPattern>,
    /// The whole pattern if it contains a `:`, which may be part of a raw name.
    whole: Option<TextPattern>,
}

impl CallPattern {
    pub(super) fn new(text: &str) -> Self {
        let (tool, arguments) = match text.split_once(':') {
            // `bash:*` matches any call, including one without arguments.
            Some((tool, "*")) => (tool, None),
            Some((tool, arguments)) => (tool, Some(TextPattern(arguments.to_owned()))),
            None => (text, None),
        };
        let whole = text.contains(':').then(|| TextPattern(text.to_owned()));
        Self { tool: TextPattern(tool.to_owned()), arguments, whole }
    }

    /// Returns `true` if the pattern may match the tool `name` with the raw name `raw`.
    pub(super) fn matches_tool(&self, name: &str, raw: &str, verdict: Verdict) -> bool {
        self.tool.matches_text(name)
            || verdict != Verdict::Allow && self.tool.matches_text(raw)
            || self.matches_raw_name(raw, verdict)
    }

    /// Returns `true` if the whole pattern matches the raw name, which contains a `:`.
    pub(super) fn matches_raw_name(&self, raw: &str, verdict: Verdict) -> bool {
        verdict != Verdict::Allow && self.whole.as_ref().is_some_and(|whole| whole.matches_text(raw))
    }

    /// Returns `true` if the arguments of a call match; the name was compared before.
    pub(super) fn matches_arguments(
        &self,
        arguments: &ExactValue<'_>,
        definition: Option<&ToolDefinition>,
        verdict: Verdict,
    ) -> bool {
        let Some(pattern) = &self.arguments else { return true };
        let names = SchemaNames::of(definition);
        match verdict {
            Verdict::Allow => pattern.matches_all_texts_in(arguments, &names),
            Verdict::Ask | Verdict::Deny => pattern.matches_any_text_in(arguments, &names),
        }
    }
}

impl fmt::Display for CallPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.whole.as_ref().unwrap_or(&self.tool).0)
    }
}
