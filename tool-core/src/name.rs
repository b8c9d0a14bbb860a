//! The name of a tool.
//!
//! All names follow one grammar, the narrowest that any supported provider accepts, so that names need no conversion.
//! Every [`ToolName`] is valid by construction.

use std::{
    borrow::{Borrow, Cow},
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

use serde::{Deserialize, Serialize, Serializer};

use crate::ContentHash;

/// The maximum number of characters of a name.
const MAX_LENGTH: usize = 64;

/// A valid name: `[A-Za-z_][A-Za-z0-9_-]{0,63}`.
///
/// Names are compared exactly and sorted by bytes.
///
/// # Examples
///
/// ```
/// use tool_runtime::ToolName;
///
/// assert_eq!(ToolName::new("get_weather")?.as_str(), "get_weather");
/// assert!(ToolName::new("get weather").is_err());
/// # Ok::<(), tool_runtime::definition::InvalidName>(())
/// ```
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct ToolName(Text);

/// Cloned for every call, so cloning must not copy the text.
#[derive(Clone)]
enum Text {
    Static(&'static str),
    Shared(Arc<str>),
    /// A name that differs from the name of the tool at its origin.
    Foreign(Arc<Foreign>),
}

struct Foreign {
    name: Box<str>,
    raw: Box<str>,
}

impl ToolName {
    /// Validates `name`.
    ///
    /// # Errors
    ///
    /// Returns an error that names the violated rule if `name` is invalid.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Result<Self, InvalidName> {
        let name = name.into();
        match violated_rule(&name) {
            None => Ok(Self(match name {
                Cow::Borrowed(name) => Text::Static(name),
                Cow::Owned(name) => Text::Shared(name.into()),
            })),
            Some(rule) => Err(InvalidName { name: name.into_owned(), rule }),
        }
    }

    /// Creates a name for a tool that another program, such as an MCP server or an OpenAPI document, calls `raw`. A
    /// valid name is unchanged. Any other name becomes its valid characters, truncated if necessary, followed by the
    /// first ten digits of a hash of `raw`. The result depends on `raw` alone, not on other tools. [`raw`](Self::raw)
    /// returns the original name.
    ///
    /// Two raw names can map to one name only if one of them is spelled like the hashed form of the other. A registry
    /// or toolbox that contains both reports an error that names them.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolName;
    ///
    /// assert_eq!(ToolName::from_foreign("get_weather").as_str(), "get_weather");
    /// let name = ToolName::from_foreign("weather.get");
    /// assert_eq!(name.as_str(), "weather_get_f5dd09ac87");
    /// assert_eq!(name.raw(), "weather.get");
    /// ```
    #[must_use]
    pub fn from_foreign(raw: &str) -> Self {
        match violated_rule(raw) {
            None => Self(Text::Shared(raw.into())),
            Some(_) => Self::rewritten(raw, raw),
        }
    }

    /// Returns the name with `prefix` in front, as a namespace. An invalid result is rewritten as by
    /// [`from_foreign`](Self::from_foreign). The [raw](Self::raw) name stays.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolName;
    ///
    /// let name = ToolName::from_foreign("search").prefixed("files__");
    /// assert_eq!((name.as_str(), name.raw()), ("files__search", "search"));
    /// ```
    #[must_use]
    pub fn prefixed(&self, prefix: &str) -> Self {
        let full = format!("{prefix}{self}");
        match violated_rule(&full) {
            None => Self::with_raw_name(full.into(), self.raw()),
            Some(_) => Self::rewritten(&full, self.raw()),
        }
    }

    /// Sets the [raw](Self::raw) name: the one of the tool at its origin.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolName;
    ///
    /// let name = ToolName::new("get_weather")?.with_raw("weather/get");
    /// assert_eq!((name.as_str(), name.raw()), ("get_weather", "weather/get"));
    /// # Ok::<(), tool_runtime::definition::InvalidName>(())
    /// ```
    #[must_use]
    pub fn with_raw(self, raw: &str) -> Self {
        match self.raw() == raw {
            true => self,
            false => Self::with_raw_name(self.as_str().into(), raw),
        }
    }

    fn rewritten(foreign: &str, raw: &str) -> Self {
        let allows = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
        let may_start = |it: char| it.is_ascii_alphabetic() || it == '_';
        Self::with_raw_name(rewritten(foreign, 0, MAX_LENGTH, allows, may_start).into(), raw)
    }

    fn with_raw_name(name: Box<str>, raw: &str) -> Self {
        Self(match *name == *raw {
            true => Text::Shared(name.into()),
            false => Text::Foreign(Arc::new(Foreign { name, raw: raw.into() })),
        })
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Static(name) => name,
            Text::Shared(name) => name,
            Text::Foreign(foreign) => &foreign.name,
        }
    }

    /// Returns the name of the tool at its origin, without a prefix. Equal to the name unless the two differ; a
    /// deserialised name has no separate raw name.
    #[must_use]
    pub fn raw(&self) -> &str {
        match &self.0 {
            Text::Foreign(foreign) => &foreign.raw,
            _ => self.as_str(),
        }
    }
}

/// The number of hash digits in a rewritten name.
const HASH: usize = 10;

/// Returns `name` with `_` in place of invalid characters and a hash at its end. Two names do not become equal in
/// practice, and the result is deterministic. A different `attempt` gives a different result.
#[must_use]
pub fn rewritten(
    name: &str,
    attempt: u32,
    longest: usize,
    allows: impl Fn(char) -> bool,
    may_start: impl Fn(char) -> bool,
) -> String {
    let hash = ContentHash::of(&(name, attempt)).to_string();
    let mut cleaned: String =
        name.chars().take(longest).map(|it| if allows(it) { it } else { '_' }).collect();
    if !cleaned.chars().next().is_some_and(may_start) {
        cleaned.insert(0, '_');
    }
    cleaned.truncate(longest - HASH - 1);
    cleaned.push('_');
    cleaned.extend(hash.chars().take(HASH));
    cleaned
}

/// Returns the rule that `name` violates.
fn violated_rule(name: &str) -> Option<Rule> {
    let Some(&first) = name.as_bytes().first() else { return Some(Rule::Empty) };
    if name.len() > MAX_LENGTH {
        return Some(Rule::TooLong { characters: name.chars().count() });
    }
    if !(first.is_ascii_alphabetic() || first == b'_') {
        return Some(Rule::Start);
    }
    let wrong = |c: &char| !(c.is_ascii_alphanumeric() || *c == '_' || *c == '-');
    name.chars().find(wrong).map(|found| Rule::Character { found })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Empty,
    TooLong { characters: usize },
    Start,
    Character { found: char },
}

/// An invalid tool name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidName {
    name: String,
    rule: Rule,
}

impl InvalidName {
    /// Returns the text.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Rule::Empty => f.write_str("a tool needs a name; this one is empty"),
            Rule::TooLong { characters } => {
                write!(
                    f,
                    "the tool name `{}` has {characters} characters; at most {MAX_LENGTH} are allowed",
                    self.name
                )
            }
            Rule::Start => write!(f, "the tool name `{}` must start with a letter or `_`", self.name),
            Rule::Character { found } => write!(
                f,
                "the tool name `{}` has the character {found:?}; only letters, digits, `_` and `-` are allowed",
                self.name
            ),
        }
    }
}

impl std::error::Error for InvalidName {}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Deref for ToolName {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for ToolName {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        self
    }
}

impl TryFrom<String> for ToolName {
    type Error = InvalidName;

    fn try_from(name: String) -> Result<Self, InvalidName> {
        Self::new(name)
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.as_str().to_owned()
    }
}

impl Serialize for ToolName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

// Compared and hashed like the text, so that maps keyed by names can be searched by text.

impl PartialEq for ToolName {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ToolName {}

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for ToolName {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for ToolName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ToolName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for ToolName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}
