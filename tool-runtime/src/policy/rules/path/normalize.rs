//! Lexical normalization of paths.
//!
//! A path is normalized only if its meaning to an operating system is clear. Other texts, such as `~`, NTFS streams and
//! devices, have no normal form, and the caller has to assume the worst.

use std::borrow::Cow;

/// The syntax of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathStyle {
    Unix,
    /// `/` and `\` are separators; drives, shares and the prefix `\\?\` are recognised.
    Windows,
}

/// The root of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathRoot {
    /// An unknown directory.
    Relative,
    /// `/`; in the Windows style, the root of an unknown drive.
    Slash,
    /// The root of a drive; its letter is in upper case.
    Drive(char),
    /// A server and a share, both in lower case.
    Share(String, String),
}

/// A normalized path: no `.`, no `..`, no empty name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) root: PathRoot,
    pub(super) names: Vec<String>,
}

/// Normalizes `text`; `None` if its meaning is not clear.
pub(super) fn normalize_path(text: &str, style: PathStyle, base: Option<&Location>) -> Option<Location> {
    if text.trim() != text || may_be_expanded_by_shell(text) {
        return None;
    }
    let (root, names) = split_root_and_names(text, style)?;
    let mut location = match (&root, base) {
        (PathRoot::Relative, Some(base)) => base.clone(),
        (PathRoot::Slash, Some(Location { root: drive @ PathRoot::Drive(_), .. })) => {
            Location { root: drive.clone(), names: Vec::new() }
        }
        _ => Location { root, names: Vec::new() },
    };
    for name in names {
        match &*name {
            "" | "." => {}
            ".." => {
                // The parent of a root is the root.
                if location.names.pop().is_none() && location.root == PathRoot::Relative {
                    return None;
                }
            }
            _ => location.names.push(unambiguous_name(&name, style, false)?.to_owned()),
        }
    }
    location.is_clear().then_some(location)
}

impl Location {
    /// Returns `false` if the text of this path would be parsed as something else.
    fn is_clear(&self) -> bool {
        let first = self.names.first().filter(|_| self.root == PathRoot::Relative);
        let ends_plainly = self.names.last().is_none_or(|name| name.trim_end() == name);
        ends_plainly
            && first.is_none_or(|name| {
                !may_be_expanded_by_shell(name) && !name.contains(':') && name.trim_start() == name
            })
    }
}

/// Returns `true` if a shell, or a library with similar rules, may expand the beginning of `text`.
fn may_be_expanded_by_shell(text: &str) -> bool {
    text.starts_with(['~', '$', '%'])
}

/// Splits a path into its root and the names that follow it, unchanged.
pub(super) fn split_root_and_names(text: &str, style: PathStyle) -> Option<(PathRoot, Vec<Cow<'_, str>>)> {
    if text.is_empty() {
        return None;
    }
    if text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:")) {
        return split_file_url(&text[5..], style);
    }
    if has_scheme(text) {
        return None;
    }
    match style {
        PathStyle::Unix if split_drive(text).is_some() => None,
        PathStyle::Unix => {
            let root = if text.starts_with('/') { PathRoot::Slash } else { PathRoot::Relative };
            Some((root, text.split('/').map(Cow::Borrowed).collect()))
        }
        PathStyle::Windows => split_windows(text),
    }
}

/// Returns `true` if `text` begins like a URL: a scheme of at least two characters, and `:/` or `:\`.
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.len() > 1
            && rest.starts_with(['/', '\\'])
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// Splits off the letter of a drive at the beginning of `text`.
pub(super) fn split_drive(text: &str) -> Option<(char, &str)> {
    let (letter, rest) = text.split_once(':')?;
    let mut letters = letter.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphabetic() => Some((letter.to_ascii_uppercase(), rest)),
        _ => None,
    }
}

fn split_windows(text: &str) -> Option<(PathRoot, Vec<Cow<'_, str>>)> {
    let parts = |rest: &str| rest.split('/').map(|part| Cow::Owned(part.to_owned())).collect();
    let text = text.replace('\\', "/");
    let verbatim = text.strip_prefix("//?/");
    if let Some(rest) = verbatim {
        if rest.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("unc/")) {
            return split_share(&rest[4..]);
        }
        let (letter, rest) = split_drive(rest)?;
        return rest.starts_with('/').then(|| (PathRoot::Drive(letter), parts(rest)));
    }
    if let Some(rest) = text.strip_prefix("//") {
        return split_share(rest);
    }
    match split_drive(&text) {
        // Relative to the current directory of that drive.
        Some((_, rest)) if !rest.starts_with('/') => None,
        Some((letter, rest)) => Some((PathRoot::Drive(letter), parts(rest))),
        None if text.starts_with('/') => Some((PathRoot::Slash, parts(&text))),
        None => Some((PathRoot::Relative, parts(&text))),
    }
}

/// Splits `server/share/..`, the text after the two separators.
fn split_share(text: &str) -> Option<(PathRoot, Vec<Cow<'static, str>>)> {
    let mut parts = text.split('/').map(|part| Cow::Owned(part.to_owned()));
    let root = share_root(&parts.next()?, &parts.next()?)?;
    Some((root, parts.collect()))
}

/// Returns the root of a share; `None` if one of the names is ambiguous.
fn share_root(server: &str, share: &str) -> Option<PathRoot> {
    let is_name =
        |name: &str| unambiguous_name(name, PathStyle::Windows, false).is_some_and(|checked| checked == name);
    (is_name(server) && is_name(share)).then(|| PathRoot::Share(server.to_lowercase(), share.to_lowercase()))
}

/// Splits the path of a `file:` URL, the text after its scheme.
fn split_file_url(after_scheme: &str, style: PathStyle) -> Option<(PathRoot, Vec<Cow<'_, str>>)> {
    if after_scheme.contains(['\\', '?', '#']) {
        return None;
    }
    let (host, path) = match after_scheme.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/')?),
        None => ("", after_scheme),
    };
    let path = path.strip_prefix('/')?;
    let decoded = |name| decode_url_name(name).map(Cow::<str>::Owned);
    let mut names = path.split('/').map(decoded).collect::<Option<Vec<_>>>()?;
    if !(host.is_empty() || host.eq_ignore_ascii_case("localhost")) {
        let is_server = style == PathStyle::Windows && !host.contains(['@', '%']);
        let root = share_root(host, names.first().filter(|_| is_server)?)?;
        names.remove(0);
        return Some((root, names));
    }
    let first = names.first().map_or("", |name| &**name);
    // `C|` is an obsolete spelling of `C:` in URLs.
    match (split_drive(&first.replace('|', ":")), style) {
        (Some((letter, "")), PathStyle::Windows) => {
            names.remove(0);
            Some((PathRoot::Drive(letter), names))
        }
        (None, PathStyle::Windows) if path.starts_with('/') => None,
        (None, _) => Some((PathRoot::Slash, names)),
        (Some(_), _) => None,
    }
}

/// Decodes a name of a URL; `None` if the encoding is invalid, or the result contains a separator.
pub(in crate::policy::rules) fn decode_url_name(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        bytes.push(match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                rest = after;
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
                digit(*high)? << 4 | digit(*low)?
            }
            (b'%', _) => return None,
            (byte, _) => *byte,
        });
    }
    let name = String::from_utf8(bytes).ok()?;
    (!name.contains(['/', '\\'])).then_some(name)
}

/// Returns an unambiguous name, without the trailing characters that Windows ignores; `None` if it is ambiguous.
pub(super) fn unambiguous_name(name: &str, style: PathStyle, is_pattern: bool) -> Option<&str> {
    let is_special = |letter: char| letter.is_control() || !is_pattern && matches!(letter, '*' | '?');
    if name.contains(is_special) {
        return None;
    }
    match style {
        PathStyle::Unix => (!name.contains('\\')).then_some(name),
        PathStyle::Windows => {
            let trimmed = name.trim_end_matches(['.', ' ']);
            // `a~1` may be the short name of another file; a colon precedes the name of a stream.
            let is_short =
                trimmed.split('~').skip(1).any(|rest| rest.starts_with(|it: char| it.is_ascii_digit()));
            let is_odd = trimmed.is_empty() || is_short || trimmed.contains([':', '<', '>', '"', '|']);
            (!is_odd).then_some(trimmed)
        }
    }
}
