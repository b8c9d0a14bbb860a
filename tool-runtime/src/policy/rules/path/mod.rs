//! Path patterns, compared name by name without the file system.

mod normalize;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

use tool_core::internals::ExactValue;

#[cfg(feature = "url-rules")]
pub(super) use self::normalize::decode_url_name;
use self::normalize::{
    Location, PathRoot, PathStyle, normalize_path, split_drive, split_root_and_names, unambiguous_name,
};
use super::{InvalidRule, Match, text};
use crate::policy::escape::is_invisible;

/// A pattern of paths, such as `/etc/**`.
///
/// `*` matches any characters within a name; `**` matches any number of names, including none: `/etc/**` matches `/etc`
/// itself. A pattern that begins with `**`, such as `**/.env`, matches under every root.
///
/// A path is normalized before it is compared: `.`, `..` and repeated separators are resolved, and a `file:` URL is
/// decoded. A pattern with a drive or a share (`C:/work/**`, `//?/C:/work/**`, `\\server\share\**`), and every pattern
/// on Windows, is compared by the rules of Windows: `\` is a separator, and dots and spaces at the end of a name are
/// ignored. [Case](Self::ignore_case) is ignored on Windows and macOS. A relative path is resolved against the
/// [base](Self::base); without one, relative paths are only comparable with relative patterns.
///
/// A value whose meaning is not clear matches every `deny` and `ask`, and no `allow`:
///
/// - a value that is not a string
/// - a path that is empty, contains control characters (including NUL), `*` or `?`, or is surrounded by blanks
/// - a path that begins with `~`, `$` or `%`
/// - a relative path without a base, or with more `..` than names
/// - a URL other than `file:`, or an incorrectly encoded one
/// - a device, a stream (`a.txt:b`) or a short name (`PROGRA~1`) of Windows
/// - `\` or a drive, if the pattern is one of Unix; a share, if the pattern has a drive
/// - if case is ignored: a name that matches only without its invisible characters, which some file systems ignore
///
/// # Limits
///
/// The check is lexical and does not access the file system. It does not detect symbolic or hard links, mount points or
/// bind mounts, other names of a file by Unicode normalization, or changes between the check and the access. It
/// compares the path in the argument, not the tool's use of the directories above it. A tool that must not leave a
/// directory should open files relative to that directory, for example with the crate `cap-std`.
///
/// # Examples
///
/// ```
/// use tool_runtime::{definition::Permission, policy::{PathPattern, Rule, Rules}, prelude::*};
///
/// let rules = Rules::new([Rule::deny("read").at("/path", PathPattern::new("/etc/**")?)]);
/// for path in ["/etc/shadow", "//etc/shadow", "/tmp/../etc/shadow", "file:///%65tc/shadow"] {
///     assert!(matches!(rules.judge("read", &json!({ "path": path })), Permission::Deny { .. }));
/// }
/// assert_eq!(rules.judge("read", &json!({ "path": "/tmp/etc" })), Permission::Allow);
/// # Ok::<(), tool_runtime::policy::InvalidRule>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    base_text: Option<String>,
    ignore_case: Option<bool>,
    style: PathStyle,
    base: Option<Location>,
    /// `None` if the pattern begins with `**`, under any root.
    root: Option<PathRoot>,
    names: Vec<Name>,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// One name, in which `*` matches any characters.
    One(String),
    /// `**`
    Any,
}

impl PathPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// Returns an error if `pattern` is not a path, or contains an unsupported element: `**` within a name, `..` after
    /// a wildcard, one of `?[]{}`, or a beginning that a shell would expand.
    pub fn new(pattern: &str) -> Result<Self, InvalidRule> {
        Self::compiled(pattern, None, None)
    }

    /// Sets the directory, an absolute path, against which relative paths are resolved, including the pattern itself
    /// unless it begins with `**`. Default: none.
    ///
    /// # Errors
    ///
    /// Returns an error if `base` is not an absolute path, or not a path of the same system as the pattern.
    pub fn base(self, base: &str) -> Result<Self, InvalidRule> {
        Self::compiled(&self.text, Some(base), self.ignore_case)
    }

    /// Sets whether case is ignored. Default: `true` on Windows and macOS, and for patterns with a drive or a share.
    #[must_use]
    pub fn ignore_case(self, ignore_case: bool) -> Self {
        Self { ignore_case: Some(ignore_case), ..self }
    }

    pub(super) fn compiled(
        text: &str,
        base_text: Option<&str>,
        ignore_case: Option<bool>,
    ) -> Result<Self, InvalidRule> {
        let of_windows =
            |text: &str| split_drive(text).is_some() || text.starts_with("\\\\") || text.starts_with("//?/");
        let is_windows = cfg!(windows) || of_windows(text) || base_text.is_some_and(of_windows);
        let style = if is_windows { PathStyle::Windows } else { PathStyle::Unix };
        Self::compiled_with_style(text, base_text, ignore_case, style)
    }

    fn compiled_with_style(
        text: &str,
        base_text: Option<&str>,
        ignore_case: Option<bool>,
        style: PathStyle,
    ) -> Result<Self, InvalidRule> {
        let base = base_text.map(|base| match normalize_path(base, style, None) {
            Some(location) if !matches!(location.root, PathRoot::Relative) => Ok(location),
            _ => Err(InvalidRule(format!("the base `{base}` is not an absolute path"))),
        });
        let base = base.transpose()?;
        let (root, names) = read(text, style, base.as_ref())
            .map_err(|why| InvalidRule(format!("`{text}` is not a path pattern: {why}")))?;
        let base_text = base_text.map(str::to_owned);
        Ok(Self { text: text.to_owned(), base_text, ignore_case, style, base, root, names })
    }

    /// Returns the pattern as it was written.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the base and the case setting.
    pub(super) fn options(&self) -> (Option<&str>, Option<bool>) {
        (self.base_text.as_deref(), self.ignore_case)
    }

    fn ignores_case(&self) -> bool {
        self.ignore_case.unwrap_or(self.style == PathStyle::Windows || cfg!(target_os = "macos"))
    }

    pub(super) fn match_value(&self, value: &ExactValue<'_>) -> Match {
        match value {
            ExactValue::String(path) => self.match_path(path),
            _ => Match::Unclear,
        }
    }

    fn match_path(&self, path: &str) -> Match {
        let Some(location) = normalize_path(path, self.style, self.base.as_ref()) else {
            return Match::Unclear;
        };
        let most = match (&self.root, &location.root) {
            (None, _) => Match::Yes,
            (Some(root), other) if root == other => Match::Yes,
            (Some(PathRoot::Drive(_)), PathRoot::Drive(_)) => Match::No,
            // The unknown drive may be this one.
            (Some(PathRoot::Slash), PathRoot::Drive(_)) | (Some(PathRoot::Drive(_)), PathRoot::Slash) => {
                Match::Unclear
            }
            // A share may be a local directory, and a server may have several names.
            _ => return Match::Unclear,
        };
        most.min(match_names(&self.names, &location.names, self.ignores_case()))
    }
}

/// Parses the root and the names of a pattern.
fn read(
    text: &str,
    style: PathStyle,
    base: Option<&Location>,
) -> Result<(Option<PathRoot>, Vec<Name>), String> {
    let behind = ["//?/", r"\\?\"].into_iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    if behind.contains(['?', '[', ']', '{', '}']) {
        return Err("`?`, `[..]` and `{..}` are not supported; use `*` or several rules".to_owned());
    }
    if text.starts_with(['~', '$', '%']) {
        return Err("`~`, `$` and `%` are not expanded; write the directory".to_owned());
    }
    if text.trim() != text || text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:")) {
        return Err("write a plain path without surrounding blanks".to_owned());
    }
    let not_a_path = || "it is empty, a URL, or not a path of this system".to_owned();
    let (root, parts) = split_root_and_names(text, style).ok_or_else(not_a_path)?;
    let is_anywhere = root == PathRoot::Relative && parts.first().is_some_and(|part| part == "**");
    let (root, mut names) = match (root, base) {
        (PathRoot::Relative, Some(base)) if !is_anywhere => {
            (base.root.clone(), base.names.iter().cloned().map(Name::One).collect())
        }
        (PathRoot::Slash, Some(Location { root: root @ PathRoot::Drive(_), .. })) => {
            (root.clone(), Vec::new())
        }
        (root, _) => (root, Vec::new()),
    };
    for part in parts {
        match &*part {
            "" | "." => {}
            ".." => match names.pop() {
                Some(Name::One(name)) if !name.contains('*') => {}
                None if root != PathRoot::Relative => {}
                _ => return Err("`..` must follow a name without wildcards".to_owned()),
            },
            "**" => names.push(Name::Any),
            part if part.contains("**") => return Err("`**` must stand alone between separators".to_owned()),
            part => {
                let name = unambiguous_name(part, style, true)
                    .ok_or_else(|| format!("the name `{part}` is ambiguous"))?;
                names.push(Name::One(name.to_owned()));
            }
        }
    }
    Ok(((!is_anywhere).then_some(root), names))
}

/// Compares all names, in time proportional to the product of both lengths.
pub(super) fn match_names(pattern: &[Name], names: &[String], ignore_case: bool) -> Match {
    // Entry `i` is the fit of the pattern so far with the first `i` names of the path.
    let mut fits = vec![Match::No; names.len() + 1];
    fits[0] = Match::Yes;
    for part in pattern {
        match part {
            Name::Any => {
                for at in 1..fits.len() {
                    fits[at] = fits[at].max(fits[at - 1]);
                }
            }
            Name::One(one) => {
                let one = if ignore_case { one.to_lowercase() } else { one.clone() };
                for at in (1..fits.len()).rev() {
                    fits[at] = match fits[at - 1] {
                        Match::No => Match::No,
                        before => before.min(match_name(&one, &names[at - 1], ignore_case)),
                    };
                }
                fits[0] = Match::No;
            }
        }
    }
    fits[names.len()]
}

/// Compares one name; `pattern` is in lower case if case is ignored.
fn match_name(pattern: &str, name: &str, ignore_case: bool) -> Match {
    if !ignore_case {
        return Match::of(text::matches_wildcard(pattern, name));
    }
    if text::matches_wildcard(pattern, &name.to_lowercase()) {
        return Match::Yes;
    }
    if name.is_ascii() && pattern.is_ascii() {
        return Match::No;
    }
    // A file system that ignores case may also treat `ſ` as `s`, normalize letters with accents, and ignore invisible
    // characters.
    let folded = |text: &str| {
        let seen: String = text.chars().filter(|letter| !is_invisible(*letter)).collect();
        seen.to_uppercase().to_lowercase()
    };
    let is_near = text::matches_wildcard(&folded(pattern), &folded(name));
    let is_composed =
        !pattern.is_ascii() && (pattern.contains(is_combining_mark) || name.contains(is_combining_mark));
    if is_near || is_composed { Match::Unclear } else { Match::No }
}

/// Returns `true` for characters that combine with the preceding one.
fn is_combining_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{1100}'..='\u{11ff}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{3099}' | '\u{309a}' | '\u{fe20}'..='\u{fe2f}')
}

impl FromStr for PathPattern {
    type Err = InvalidRule;

    fn from_str(pattern: &str) -> Result<Self, InvalidRule> {
        Self::new(pattern)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
