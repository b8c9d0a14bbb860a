//! What became of a tool, as a value and as a text.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{compare::compare, shown};
use crate::hook::Sanitizer;

/// What became of a tool since it was pinned.
///
/// Its `Display` is for a reviewer; it spans lines, and what cannot be seen in a text is written out in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The name of the tool.
    pub tool: String,
    /// What became of it.
    pub kind: ChangeKind,
    /// What is not as it was; of a tool that is new, all that it says.
    pub differences: Vec<Difference>,
}

/// What became of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChangeKind {
    /// It is not pinned.
    Added,
    /// It is pinned, and not there.
    Removed,
    /// It is not what is pinned.
    Changed,
}

/// One thing in the definition of a tool that is not as it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The part of the definition.
    pub part: Part,
    /// Where in that part, as a JSON pointer.
    pub pointer: String,
    /// What was there, if there was anything.
    pub before: Option<Value>,
    /// What is there, if there is anything.
    pub after: Option<Value>,
}

/// A part of a definition, in the order in which a reviewer is told of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Part {
    /// The name that people see.
    Title,
    /// What the model is told.
    Description,
    /// Hints, limits and labels.
    Metadata,
    /// What arguments look like.
    InputSchema,
    /// What results look like.
    OutputSchema,
    /// Examples of arguments.
    Examples,
}

impl Part {
    const ALL: [Self; 6] = [
        Self::Title,
        Self::Description,
        Self::Metadata,
        Self::InputSchema,
        Self::OutputSchema,
        Self::Examples,
    ];

    /// What it is called in a definition.
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

    fn of<'v>(self, definition: &'v Value, no_metadata: &'v Value) -> Option<&'v Value> {
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
        let differences = Part::ALL.into_iter().filter_map(whole).collect();
        Self { tool: tool.to_owned(), kind: ChangeKind::Added, differences }
    }

    pub(super) fn changed(tool: &str, before: &Value, now: &Value) -> Self {
        let mut differences = Vec::new();
        // Of hints, each is told for itself, also where there were none before.
        let none = Value::Object(Map::new());
        for part in Part::ALL {
            let (before, now) = (part.of(before, &none), part.of(now, &none));
            compare(before, now, &mut |pointer, before, after| {
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
        write!(f, "{}: {kind}", Sanitizer::reveal(&self.tool))?;
        let mut last = None;
        for difference in &self.differences {
            if last != Some(difference.part) {
                write!(f, "\n  {}", difference.part)?;
            }
            last = Some(difference.part);
            for line in shown::lines(difference, self.kind == ChangeKind::Added) {
                write!(f, "\n    {}", Sanitizer::reveal(&line))?;
            }
        }
        Ok(())
    }
}
