//! A change of a tool, as a value and as a text.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{compare::visit_differences, difference_text};
use crate::policy::Escape;

/// A change of a tool since it was pinned.
///
/// Its `Display` is for a reviewer; it has several lines, and invisible characters are escaped.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The name of the tool.
    pub tool: String,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The differences; for a new tool, its whole definition.
    pub differences: Vec<Difference>,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The tool is not pinned.
    Added,
    /// The tool is pinned but does not exist.
    Removed,
    /// The tool differs from its pin.
    Changed,
}

/// One difference in the definition of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The part of the definition.
    pub part: Part,
    /// The location in that part, as a JSON pointer.
    pub pointer: String,
    /// The pinned value, if any.
    pub before: Option<Value>,
    /// The current value, if any.
    pub after: Option<Value>,
}

/// A part of a definition, in the order of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Part {
    /// The display name.
    Title,
    /// The description for the model.
    Description,
    /// Hints, limits and labels.
    Metadata,
    /// The schema of the arguments.
    InputSchema,
    /// The schema of the results.
    OutputSchema,
    /// Example arguments.
    Examples,
}

impl Part {
    const COMPARED_PARTS: [Self; 6] = [
        Self::Title,
        Self::Description,
        Self::Metadata,
        Self::InputSchema,
        Self::OutputSchema,
        Self::Examples,
    ];

    /// Returns the key in a definition.
    fn key(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Metadata => "metadata",
            Self::InputSchema => "inputSchema",
            Self::OutputSchema => "outputSchema",
            Self::Examples => "examples",
        }
    }

    fn value_in<'v>(self, definition: &'v Value, no_metadata: &'v Value) -> Option<&'v Value> {
        let part = definition.get(self.key());
        if self == Self::Metadata { part.or(Some(no_metadata)) } else { part }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InputSchema => "input schema",
            Self::OutputSchema => "output schema",
            other => other.key(),
        })
    }
}

impl Change {
    pub(super) fn removed(tool: &str) -> Self {
        Self { tool: tool.to_owned(), kind: ChangeKind::Removed, differences: Vec::new() }
    }

    pub(super) fn added(tool: &str, now: &Value) -> Self {
        let whole = |part: Part| {
            let after = Some(now.get(part.key())?.clone());
            Some(Difference { part, pointer: String::new(), before: None, after })
        };
        let differences = Part::COMPARED_PARTS.into_iter().filter_map(whole).collect();
        Self { tool: tool.to_owned(), kind: ChangeKind::Added, differences }
    }

    pub(super) fn changed(tool: &str, before: &Value, now: &Value) -> Self {
        let mut differences = Vec::new();
        // Each hint is reported separately, also if there were none before.
        let none = Value::Object(Map::new());
        for part in Part::COMPARED_PARTS {
            let (before, now) = (part.value_in(before, &none), part.value_in(now, &none));
            visit_differences(before, now, &mut |pointer, before, after| {
                let (before, after) = (before.cloned(), after.cloned());
                differences.push(Difference { part, pointer: pointer.to_owned(), before, after });
            });
        }
        Self { tool: tool.to_owned(), kind: ChangeKind::Changed, differences }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
        };
        write!(f, "{}: {kind}", Escape::LINE.text(&self.tool))?;
        let mut last = None;
        for difference in &self.differences {
            if last != Some(difference.part) {
                write!(f, "\n  {}", difference.part)?;
            }
            last = Some(difference.part);
            for line in difference_text::difference_lines(difference, self.kind == ChangeKind::Added) {
                write!(f, "\n    {}", Escape::LINE.text(&line))?;
            }
        }
        Ok(())
    }
}
