//! Text patterns: names of tools, and arguments that are plain text.

use std::{collections::HashSet, fmt};

use serde_json::Value;
use tool_core::{__private::ExactValue, ToolDefinition};

use super::{Fit, Verdict};

/// A text in which `*` stands for any characters, also none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextPattern(pub(super) String);

impl TextPattern {
    /// Returns `true` if the whole of `text` fits, in time proportional to the lengths of both at the
    /// worst: only the last `*` is tried again.
    pub(super) fn fits(&self, text: &str) -> bool {
        fits(&self.0, text)
    }

    /// Returns `true` if the pattern stands for several texts.
    pub(super) fn has_star(&self) -> bool {
        self.0.contains('*')
    }

    /// The fit of one value. A number or a boolean is compared as it is written; what has no text of its
    /// own, such as `null` or an object, may mean anything.
    pub(super) fn fit(&self, value: &ExactValue<'_>) -> Fit {
        match scalar(value) {
            Some(text) => Fit::of(self.fits(text)),
            None => Fit::Unclear,
        }
    }

    /// Returns `true` if some text in `value` fits, at any depth, or a key that is none of `names`.
    fn fits_somewhere(&self, value: &ExactValue<'_>, names: &Names<'_>) -> bool {
        match value {
            ExactValue::List(items) => items.iter().any(|item| self.fits_somewhere(item, names)),
            ExactValue::Object(members) => members.iter().any(|(key, member)| {
                (!names.contain(key) && self.fits(key)) || self.fits_somewhere(member, names)
            }),
            ExactValue::Null => self.fits("null"),
            other => scalar(other).is_some_and(|text| self.fits(text)),
        }
    }

    /// Returns `true` if there is something in `value`, and all of it fits, at any depth, with the keys that are none
    /// of `names`; `null` counts as nothing.
    fn fits_everywhere(&self, value: &ExactValue<'_>, names: &Names<'_>) -> bool {
        let mut values = vec![value];
        let mut any = false;
        while let Some(value) = values.pop() {
            match value {
                ExactValue::List(items) => values.extend(items),
                ExactValue::Object(members) => {
                    if !members.iter().all(|(key, _)| names.contain(key) || self.fits(key)) {
                        return false;
                    }
                    values.extend(members.iter().map(|(_, member)| member));
                }
                ExactValue::Null => {}
                other => match scalar(other) {
                    Some(text) if self.fits(text) => any = true,
                    _ => return false,
                },
            }
        }
        any
    }
}

/// The text of a string, a number or a boolean.
fn scalar<'v>(value: &'v ExactValue<'_>) -> Option<&'v str> {
    Some(match value {
        ExactValue::String(text) => text,
        ExactValue::Number(text) => text,
        ExactValue::Bool(true) => "true",
        ExactValue::Bool(false) => "false",
        ExactValue::Null | ExactValue::List(_) | ExactValue::Object(_) => return None,
    })
}

/// Returns `true` if the whole of `text` fits `pattern`, in which `*` stands for any characters.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
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

/// The names of properties, which are not what a model writes: all that a schema has anywhere. Any other key is one
/// that the model chose, as in a map.
struct Names<'d>(Option<HashSet<&'d str>>);

impl<'d> Names<'d> {
    fn of(definition: Option<&'d ToolDefinition>) -> Self {
        Self(definition.map(|definition| {
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
        }))
    }

    /// Returns `true` for every key where no schema is known.
    fn contain(&self, key: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(key))
    }
}

/// `name`, or `name:arguments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallPattern {
    pub(super) tool: TextPattern,
    /// The pattern of some text among the arguments, or of all of them where that is allowed: of what a
    /// model writes, a part that is harmless does not make the rest so.
    pub(super) arguments: Option<TextPattern>,
    /// The whole text, where it has a `:`, which may be a part of a raw name.
    whole: Option<TextPattern>,
}

impl CallPattern {
    pub(super) fn new(text: &str) -> Self {
        let (tool, arguments) = match text.split_once(':') {
            // `bash:*` is any call of it, also one without arguments.
            Some((tool, "*")) => (tool, None),
            Some((tool, arguments)) => (tool, Some(TextPattern(arguments.to_owned()))),
            None => (text, None),
        };
        let whole = text.contains(':').then(|| TextPattern(text.to_owned()));
        Self { tool: TextPattern(tool.to_owned()), arguments, whole }
    }

    /// Returns `true` if the pattern may be about the tool `name`, which is called `raw` at its origin.
    pub(super) fn fits_tool(&self, name: &str, raw: &str, verdict: Verdict) -> bool {
        self.tool.fits(name) || verdict != Verdict::Allow && self.tool.fits(raw) || self.is_raw(raw, verdict)
    }

    /// Returns `true` if the whole pattern is that of the raw name, which has a `:`.
    pub(super) fn is_raw(&self, raw: &str, verdict: Verdict) -> bool {
        verdict != Verdict::Allow && self.whole.as_ref().is_some_and(|whole| whole.fits(raw))
    }

    /// Returns `true` if the arguments of a call fit; the name was compared before.
    pub(super) fn fits_arguments(
        &self,
        arguments: &ExactValue<'_>,
        definition: Option<&ToolDefinition>,
        verdict: Verdict,
    ) -> bool {
        let Some(pattern) = &self.arguments else { return true };
        let names = Names::of(definition);
        match verdict {
            Verdict::Allow => pattern.fits_everywhere(arguments, &names),
            Verdict::Ask | Verdict::Deny => pattern.fits_somewhere(arguments, &names),
        }
    }
}

impl fmt::Display for CallPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.whole.as_ref().unwrap_or(&self.tool).0)
    }
}
