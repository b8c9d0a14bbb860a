//! The tools that a skill allows.

use std::fmt;

use serde_json::Value;
use tool_runtime::{
    definition::Permission,
    policy::{Rule, Rules},
};

use super::{SkillError, error::short_line};

/// The tools that can be called while a skill is active: the member `allowed-tools` of its header.
///
/// An entry is the name of a tool as the model sees it, with `*` for any characters, or a name with a pattern of its arguments:
/// `bash(git *)` allows calls all of whose texts match, as [`Rule::allow`] compares them; `bash(git:*)` is the same for `git` alone and `git ` with
/// anything behind it. A pattern compares texts and does not parse commands.
///
/// # Examples
///
/// ```
/// use tool_agent::skills::AllowedTools;
/// use tool_runtime::prelude::*;
///
/// let tools = AllowedTools::parse("read_file bash(git:*)")?;
/// assert!(tools.allows("read_file", &json!({ "path": "a.txt" })));
/// assert!(tools.allows("bash", &json!({ "command": "git log" })));
/// assert!(!tools.allows("bash", &json!({ "command": "rm a.txt" })));
/// assert!(!tools.allows("write_file", &json!({})));
/// # Ok::<(), tool_agent::skills::SkillError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedTools {
    entries: Vec<String>,
    rules: Rules,
    compares_arguments: bool,
}

impl AllowedTools {
    /// Reads entries between blanks or commas; none if the text is blank, which allows no tool.
    ///
    /// # Errors
    ///
    /// Returns an error if a parenthesis has no counterpart, an entry has no name, or there are more than 256.
    pub fn parse(text: &str) -> Result<Self, SkillError> {
        Self::new(split_entries(text)?)
    }

    /// Creates a list of entries.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn new(entries: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, SkillError> {
        const MAX_ENTRIES: usize = 256;
        let entries: Vec<String> = entries.into_iter().map(Into::into).take(MAX_ENTRIES + 1).collect();
        if entries.len() > MAX_ENTRIES {
            let problem =
                format!("`allowed-tools` has more than {MAX_ENTRIES} entries; use patterns with `*`");
            return Err(SkillError::invalid(problem));
        }
        let mut rules = vec![Rule::deny("*")];
        let mut compares_arguments = false;
        for entry in &entries {
            let (name, pattern) = entry_parts(entry)?;
            let Some(pattern) = pattern else {
                rules.push(Rule::allow(name));
                continue;
            };
            compares_arguments = true;
            match pattern.strip_suffix(":*") {
                Some(command) => {
                    rules.push(Rule::allow(&format!("{name}:{command}")));
                    rules.push(Rule::allow(&format!("{name}:{command} *")));
                }
                None => rules.push(Rule::allow(&format!("{name}:{pattern}"))),
            }
        }
        Ok(Self { entries, rules: Rules::new(rules), compares_arguments })
    }

    /// Returns the entries.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Returns `true` if a call can be made.
    #[must_use]
    pub fn allows(&self, tool: &str, arguments: &Value) -> bool {
        matches!(self.rules.judge(tool, arguments), Permission::Allow)
    }

    /// Creates a list that allows no tool.
    pub(super) fn none() -> Self {
        let rules = Rules::new([Rule::deny("*")]);
        Self { entries: Vec::new(), rules, compares_arguments: false }
    }

    /// Returns `true` if some calls of a tool can be made.
    pub(super) fn may_allow_tool(&self, tool: &str) -> bool {
        let names = self.entries.iter().filter_map(|entry| entry_parts(entry).ok()).map(|(name, _)| name);
        let rules = std::iter::once(Rule::deny("*")).chain(names.map(Rule::allow));
        matches!(Rules::new(rules).judge(tool, &Value::Null), Permission::Allow)
    }

    /// Returns `true` if the answer depends on the arguments of a call.
    pub(super) fn compares_arguments(&self) -> bool {
        self.compares_arguments
    }
}

/// States the entries in one line.
impl fmt::Display for AllowedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN: usize = 40;
        if self.entries.is_empty() {
            return f.write_str("no other tool");
        }
        for (at, entry) in self.entries.iter().take(MAX_SHOWN).enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}`{}`", short_line(entry))?;
        }
        match self.entries.len().saturating_sub(MAX_SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Divides a text at blanks and commas outside of parentheses.
fn split_entries(text: &str) -> Result<Vec<String>, SkillError> {
    let (mut entries, mut entry, mut depth) = (Vec::new(), String::new(), 0_u32);
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(|| unbalanced_parenthesis_error(text))?,
            _ => {}
        }
        match depth == 0 && (character.is_whitespace() || character == ',') {
            true if entry.is_empty() => {}
            true => entries.push(std::mem::take(&mut entry)),
            false => entry.push(character),
        }
    }
    if depth > 0 {
        return Err(unbalanced_parenthesis_error(text));
    }
    entries.extend(Some(entry).filter(|entry| !entry.is_empty()));
    Ok(entries)
}

fn unbalanced_parenthesis_error(text: &str) -> SkillError {
    let text = short_line(text);
    SkillError::invalid(format!("a parenthesis of `allowed-tools` has no counterpart in `{text}`; close it"))
}

/// Returns the name of an entry, and the pattern of its arguments.
fn entry_parts(entry: &str) -> Result<(&str, Option<&str>), SkillError> {
    let is_name_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.' | '*' | '/');
    let (name, pattern) = match entry.split_once('(') {
        None => (entry, None),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(pattern) => (name, Some(pattern.trim())),
            None => return Err(unbalanced_parenthesis_error(entry)),
        },
    };
    if name.is_empty() || !name.chars().all(is_name_part) {
        let entry = short_line(entry);
        let problem =
            format!("`{entry}` of `allowed-tools` is no name of a tool; write one such as `read_file`");
        return Err(SkillError::invalid(problem));
    }
    Ok((name, pattern.filter(|pattern| !matches!(*pattern, "" | "*"))))
}
