//! Detection of changed tool definitions.
//!
//! [`Pins`] are the names, hashes and definitions of the tools of a registry, in a file beside the code.
//! [`Pins::of`] creates them, [`Pins::to_json`] and [`Pins::parse`] write and read the file, and
//! [`Pins::check`] returns each [`Change`] since: a description that a server changed, a hint that was removed,
//! a parameter that became required.
//!
//! ```
//! use tool_runtime::{pin::Pins, prelude::*};
//!
//! #[tool_args]
//! struct Nothing {}
//!
//! fn tools(description: &'static str) -> Result<Registry, tool_runtime::registry::BuildError> {
//!     let ping = ToolBuilder::new("ping").description(description);
//!     let ping = ping.expect_handler(|_: Nothing, _| async { Ok::<_, ToolError>("pong") });
//!     Registry::builder().add(ping).build()
//! }
//!
//! let file = Pins::of(&tools("Answers.")?).to_json();
//!
//! // Later, in a test or before a run.
//! let pins = Pins::parse(&file)?;
//! assert!(pins.check(&tools("Answers.")?).is_empty());
//! assert_eq!(
//!     pins.check(&tools("Answers. Call it before any other tool.")?)[0].to_string(),
//!     "ping: changed\n  \
//!        description\n    \
//!          \"Answers.\" → \"Answers. Call it before any other tool.\"",
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A file contains the definitions beside their hashes, so that a review shows the differences. It is not
//! signed: a person with write access can pin any definition. Keep it under version control, where changes are
//! reviewed.

mod change;
mod compare;
mod difference_text;

mod version_1;

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::Value;
use tool_core::{ContentHash, ToolDefinition};

pub use self::change::{Change, ChangeKind, Difference, Part};
use crate::{Registry, policy::Escape};

/// The file format version that is written, and the newest that is read.
const VERSION: u64 = 2;

/// Pinned names, hashes and definitions of tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Pins {
    tools: BTreeMap<String, Pin>,
    /// The format version of the file.
    version: u64,
}

/// One tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    hash: String,
    definition: Value,
}

impl Pins {
    /// Creates pins of the current tools of `registry`.
    #[must_use]
    pub fn of(registry: &Registry) -> Self {
        Self::of_definitions(registry.all_definitions())
    }

    /// Creates pins of `definitions`, such as those of a remote server before they are part of a registry. Of
    /// definitions with the same name, the last is pinned.
    #[must_use]
    pub fn of_definitions<'a>(definitions: impl IntoIterator<Item = &'a ToolDefinition>) -> Self {
        let pin = |definition: &ToolDefinition| {
            let written = serde_json::to_value(definition).unwrap_or_default();
            // The hash is of the written form, since that is the content of the file.
            let hash = ContentHash::of(&written).to_string();
            (definition.name().to_string(), Pin { hash, definition: written })
        };
        Self { tools: definitions.into_iter().map(pin).collect(), version: VERSION }
    }

    /// Returns the text of a file: sorted by name, one line for each part that can change.
    #[must_use]
    pub fn to_json(&self) -> String {
        let file = File { version: VERSION, tools: Tools(self.tools.clone()) };
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// Returns an error if the text was not written by [`to_json`](Self::to_json): it has another format or a
    /// newer version, a duplicate key, or definitions that do not match their hashes.
    pub fn parse(text: &str) -> Result<Self, PinsError> {
        let unreadable = |why: serde_json::Error| PinsError::Unreadable { message: why.to_string() };
        let Version { version } = serde_json::from_str(text).map_err(unreadable)?;
        if version > VERSION {
            return Err(PinsError::Newer { version });
        }
        let File { tools: Tools(mut tools), .. } = serde_json::from_str(text).map_err(unreadable)?;
        // Of duplicate keys, a reviewer reads the first and the parser the last.
        let read = tools.values().map(|pin| 3 + count_keys(&pin.definition)).sum::<usize>() + 2;
        if count_written_keys(text) != read {
            return Err(PinsError::Unreadable { message: "a definition has a duplicate key".to_owned() });
        }
        let edited = tools.iter().filter(|(name, pin)| !pin.is_of(name, version));
        let edited: Vec<_> = edited.map(|(name, _)| name.clone()).collect();
        if !edited.is_empty() {
            return Err(PinsError::Edited { tools: edited });
        }
        if version < VERSION {
            tools.values_mut().for_each(|pin| pin.hash = ContentHash::of(&pin.definition).to_string());
        }
        Ok(Self { tools, version })
    }

    /// Returns `true` if the file was written by an older version of this crate: its hashes do not distinguish
    /// integers beyond 2^53, so that such an edit of the file is not detected. Pin again.
    ///
    /// [`check`](Self::check) compares definitions and is exact for such a file, too.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.version < VERSION
    }

    /// Returns the changes, sorted by name; empty if there are none.
    #[must_use]
    pub fn check(&self, registry: &Registry) -> Vec<Change> {
        self.check_definitions(registry.all_definitions())
    }

    /// Returns the changes of `definitions`, sorted by name; empty if there are none.
    #[must_use]
    pub fn check_definitions<'a>(
        &self,
        definitions: impl IntoIterator<Item = &'a ToolDefinition>,
    ) -> Vec<Change> {
        let now = Self::of_definitions(definitions);
        let removed = self.tools.keys().filter(|name| !now.tools.contains_key(*name));
        let mut changes: Vec<_> = removed.map(|name| Change::removed(name)).collect();
        changes.extend(now.tools.iter().filter_map(|(name, now)| match self.tools.get(name) {
            None => Some(Change::added(name, &now.definition)),
            Some(pin) if pin.hash == now.hash => None,
            Some(pin) => Some(Change::changed(name, &pin.definition, &now.definition)),
        }));
        changes.sort_by(|one, other| one.tool.cmp(&other.tool));
        changes
    }
}

impl Pin {
    /// Returns `true` if the hash, in the format of `version`, matches the definition, and the definition is of
    /// the tool `name`.
    fn is_of(&self, name: &str, version: u64) -> bool {
        let hash = match version {
            ..=1 => version_1::definition_hash(&self.definition),
            _ => ContentHash::of(&self.definition).to_string(),
        };
        self.definition["name"] == name && hash == self.hash
    }
}

/// Returns the number of keys in `value`.
fn count_keys(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(count_keys).sum::<usize>(),
        Value::Array(items) => items.iter().map(count_keys).sum(),
        _ => 0,
    }
}

/// Returns the number of keys in `json`, which is valid: each is followed by a colon, and all other colons are
/// in texts.
fn count_written_keys(json: &str) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b':' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

/// The error of reading a file of pins.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinsError {
    /// The text is not valid JSON, or has another format.
    Unreadable {
        /// The reason and the location.
        message: String,
    },
    /// The file was written by a newer version of this crate.
    Newer {
        /// Its format version.
        version: u64,
    },
    /// Some definitions do not match their hashes or names.
    Edited {
        /// The names of these tools.
        tools: Vec<String>,
    },
}

impl fmt::Display for PinsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { message } => {
                write!(f, "not a file of pins: {}", Escape::LINE.text(message))
            }
            Self::Newer { version } => write!(
                f,
                "the pins have format version {version}, and this program supports up to {VERSION}; \
                 update the program, or pin again with it"
            ),
            Self::Edited { tools } => {
                let names: Vec<_> =
                    tools.iter().map(|name| format!("`{}`", Escape::LINE.text(name))).collect();
                let names = names.join(", ");
                write!(
                    f,
                    "the pins were edited by hand: the definitions of {names} do not match their hashes; \
                     restore the file, or pin again"
                )
            }
        }
    }
}

impl std::error::Error for PinsError {}

/// The version, which every format begins with.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u64,
    tools: Tools,
}

/// Tools by name. Duplicates are rejected: after a merge, the last would silently win.
#[derive(Serialize)]
struct Tools(BTreeMap<String, Pin>);

impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnceEach;

        impl<'de> Visitor<'de> for OnceEach {
            type Value = Tools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tools by their names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tools, A::Error> {
                let mut tools = BTreeMap::new();
                while let Some(name) = map.next_key::<String>()? {
                    if tools.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("`{name}` is a duplicate")));
                    }
                    tools.insert(name, map.next_value()?);
                }
                Ok(Tools(tools))
            }
        }

        deserializer.deserialize_map(OnceEach)
    }
}
