//! Which calls may happen at all, as data.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use tool_core::Permission;

/// Rules over names and arguments, read from a configuration. They stand above hooks and policies: what
/// they deny, no hook is asked about.
///
/// The last rule that fits a call decides; a call that no rule fits is allowed. A denial cannot be
/// taken back by a hook: arguments that a hook has rewritten are judged again.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Permission, Rules, prelude::*};
///
/// let rules: Rules = tool_runtime::serde_json::from_value(json!([
///     { "deny": "bash", "reason": "no shell here" },
///     { "allow": "bash:git *" },
///     { "ask": "delete_*" },
///     { "deny": "write", "where": { "/path": "/etc/*" } },
/// ]))?;
/// assert_eq!(rules.judge("bash", &json!({ "command": "rm -r /" })), Permission::deny("no shell here"));
/// assert_eq!(rules.judge("bash", &json!({ "command": "git log" })), Permission::Allow);
/// assert_eq!(rules.judge("delete_user", &json!({})), Permission::ask("a rule asks for it: delete_*"));
/// assert_eq!(rules.judge("write", &json!({ "path": "/tmp/a" })), Permission::Allow);
/// # Ok::<(), tool_runtime::serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules(Vec<Rule>);

/// One rule: what it fits, and what it says of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    verdict: Verdict,
    calls: CallPattern,
    arguments: BTreeMap<String, Pattern>,
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allow,
    Ask,
    Deny,
}

impl Rules {
    /// The rules in their order; the last that fits decides.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self(rules.into_iter().collect())
    }

    /// What the rules say of a call.
    #[must_use]
    pub fn judge(&self, tool: &str, arguments: &Value) -> Permission {
        let rule = self.0.iter().rev().find(|rule| rule.fits(tool, arguments));
        rule.map_or(Permission::Allow, Rule::permission)
    }

    /// Whether the rules deny every call of `tool`, whatever its arguments.
    pub(crate) fn denial(&self, tool: &str) -> Option<Permission> {
        let mut deciding = None;
        for rule in self.0.iter().filter(|rule| rule.calls.tool.fits(tool)) {
            match (rule.verdict, rule.looks_at_arguments()) {
                (Verdict::Deny, false) => deciding = Some(rule),
                // Another denial of some calls leaves those denied that were.
                (Verdict::Deny, true) => {}
                _ => deciding = None,
            }
        }
        deciding.map(Rule::permission)
    }
}

impl Rule {
    /// Allows calls that fit `pattern`: the name of a tool, or `name:arguments`, with `*` for anything.
    ///
    /// All that is among the arguments has to fit, in place of some; [`at`](Self::at) looks at one of
    /// them. A pattern is no parser: `git *` also fits `git log; rm -r /`.
    #[must_use]
    pub fn allow(pattern: &str) -> Self {
        Self::new(Verdict::Allow, pattern)
    }

    /// Has a person asked about calls that fit `pattern`, as some text among the arguments does.
    #[must_use]
    pub fn ask(pattern: &str) -> Self {
        Self::new(Verdict::Ask, pattern)
    }

    /// Denies calls that fit `pattern`, as some text among the arguments does.
    #[must_use]
    pub fn deny(pattern: &str) -> Self {
        Self::new(Verdict::Deny, pattern)
    }

    /// Narrows the rule to calls whose argument at `pointer` (a JSON pointer) fits `pattern`.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>, pattern: &str) -> Self {
        self.arguments.insert(pointer.into(), Pattern(pattern.to_owned()));
        self
    }

    /// Says why, for the model or the person.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    fn new(verdict: Verdict, pattern: &str) -> Self {
        Self { verdict, calls: CallPattern::new(pattern), arguments: BTreeMap::new(), reason: None }
    }

    fn looks_at_arguments(&self) -> bool {
        self.calls.arguments.is_some() || !self.arguments.is_empty()
    }

    fn fits(&self, tool: &str, arguments: &Value) -> bool {
        self.calls.fits(tool, arguments, self.verdict)
            && self.arguments.iter().all(|(pointer, pattern)| {
                arguments.pointer(pointer).is_some_and(|value| pattern.fits_value(value))
            })
    }

    fn permission(&self) -> Permission {
        let reason = |word: &str| {
            let said = self.reason.clone();
            said.unwrap_or_else(|| format!("a rule {word} it: {}", self.calls))
        };
        match self.verdict {
            Verdict::Allow => Permission::Allow,
            Verdict::Ask => Permission::ask(reason("asks for")),
            Verdict::Deny => Permission::deny(reason("denies")),
        }
    }
}

/// `name`, or `name:arguments`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CallPattern {
    tool: Pattern,
    /// What some text among the arguments fits, or all of them where that is allowed: of what a model
    /// writes, a part that is harmless does not make the rest so.
    arguments: Option<Pattern>,
}

impl CallPattern {
    fn new(text: &str) -> Self {
        let (tool, arguments) = match text.split_once(':') {
            // `bash:*` is any call of it, also one without arguments.
            Some((tool, "*")) => (tool, None),
            Some((tool, arguments)) => (tool, Some(Pattern(arguments.to_owned()))),
            None => (text, None),
        };
        Self { tool: Pattern(tool.to_owned()), arguments }
    }

    fn fits(&self, tool: &str, arguments: &Value, verdict: Verdict) -> bool {
        self.tool.fits(tool)
            && self.arguments.as_ref().is_none_or(|pattern| match verdict {
                Verdict::Allow => pattern.fits_everywhere(arguments),
                Verdict::Ask | Verdict::Deny => pattern.fits_somewhere(arguments),
            })
    }
}

impl fmt::Display for CallPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool.0)?;
        self.arguments.as_ref().map_or(Ok(()), |arguments| write!(f, ":{}", arguments.0))
    }
}

/// A text in which `*` stands for any characters, also none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern(String);

impl Pattern {
    /// In time proportional to the lengths of both at the worst: only the last `*` is tried again.
    fn fits(&self, text: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), text.as_bytes());
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

    fn fits_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.fits(text),
            other => self.fits(&other.to_string()),
        }
    }

    /// Whether some text in `value` fits, however deep.
    fn fits_somewhere(&self, value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| self.fits_somewhere(item)),
            Value::Object(members) => members.values().any(|member| self.fits_somewhere(member)),
            scalar => self.fits_value(scalar),
        }
    }

    /// Whether there is something in `value`, and all of it fits, however deep; what is `null` is not there.
    fn fits_everywhere(&self, value: &Value) -> bool {
        let mut values = vec![value];
        let mut any = false;
        while let Some(value) = values.pop() {
            match value {
                Value::Array(items) => values.extend(items),
                Value::Object(members) => values.extend(members.values()),
                Value::Null => {}
                scalar if self.fits_value(scalar) => any = true,
                _ => return false,
            }
        }
        any
    }
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRule(String);

impl fmt::Display for InvalidRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidRule {}

impl FromStr for Rule {
    type Err = InvalidRule;

    /// `allow PATTERN`, `ask PATTERN` or `deny PATTERN`.
    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        match text.trim().split_once(' ').map(|(word, pattern)| (word, pattern.trim())) {
            Some(("allow", pattern)) => Ok(Self::allow(pattern)),
            Some(("ask", pattern)) => Ok(Self::ask(pattern)),
            Some(("deny", pattern)) => Ok(Self::deny(pattern)),
            _ => Err(InvalidRule(format!("expected `allow`, `ask` or `deny` and a pattern, got {text:?}"))),
        }
    }
}

/// As it is written: an object, or a text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deny: Option<String>,
    #[serde(rename = "where", default, skip_serializing_if = "BTreeMap::is_empty")]
    arguments: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pattern = |verdict| (self.verdict == verdict).then(|| self.calls.to_string());
        let arguments = self.arguments.iter().map(|(pointer, it)| (pointer.clone(), it.0.clone())).collect();
        let (allow, ask, deny) = (pattern(Verdict::Allow), pattern(Verdict::Ask), pattern(Verdict::Deny));
        Wire { allow, ask, deny, arguments, reason: self.reason.clone() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Object(Wire),
        }
        let Wire { allow, ask, deny, arguments, reason } = match Either::deserialize(deserializer)? {
            Either::Text(text) => return text.parse().map_err(D::Error::custom),
            Either::Object(wire) => wire,
        };
        let rule = match (allow, ask, deny) {
            (Some(pattern), None, None) => Self::allow(&pattern),
            (None, Some(pattern), None) => Self::ask(&pattern),
            (None, None, Some(pattern)) => Self::deny(&pattern),
            _ => return Err(D::Error::custom("a rule says one of `allow`, `ask` and `deny`")),
        };
        let rule = arguments.iter().fold(rule, |rule, (pointer, pattern)| rule.at(pointer.as_str(), pattern));
        Ok(Self { reason, ..rule })
    }
}
