//! Templates of URIs that have one reading.

use std::{collections::BTreeMap, fmt, sync::Arc};

use tool_runtime::policy::Escape;

use super::{ResourceError, ResourceUri};

/// The characters of a URI that a value of `{name}` has in escaped form only.
const RESERVED: &str = ":/?#[]@!$&'()*+,;=";

/// A template of URIs (RFC 6570) that can be matched backwards: with `{name}`, whose value has no slash, and `{+name}`, whose value may have
/// slashes and is the last one.
///
/// The text between two variables has a character that no value has, such as `/`, so that a URI has one reading. Values are decoded. A URI does
/// not match if a value is empty, is no UTF-8, or has a NUL, a segment `..`, or, for `{name}`, a slash or backslash in any notation: no value
/// leaves its place when it becomes a part of a path.
///
/// # Examples
///
/// ```
/// use tool_kit::resource::{ResourceUri, UriTemplate};
///
/// let notes = UriTemplate::parse("notes://{year}/{+path}")?;
/// let values = notes.matched_variables(&ResourceUri::parse("notes://2026/a/b%20c.md")?).unwrap();
/// assert_eq!((&*values["year"], &*values["path"]), ("2026", "a/b c.md"));
/// assert_eq!(notes.matched_variables(&ResourceUri::parse("notes://2026/a/%2E%2E/b")?), None);
/// assert!(UriTemplate::parse("notes://{year}-{month}").is_err());
/// # Ok::<(), tool_kit::resource::ResourceError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct UriTemplate {
    text: Arc<str>,
    scheme: String,
    /// Between the scheme and the first variable.
    start: String,
    variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    /// `{+name}`: the value may have slashes.
    is_path: bool,
    after: String,
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// Returns an error if it is no template of an absolute URI, has a variable of another form, or has several readings.
    pub fn parse(template: &str) -> Result<Self, ResourceError> {
        let invalid = |problem: &str| {
            let shown = Escape::LINE.at_most(100).text(template);
            ResourceError::new(format!("the URI template `{shown}` {problem}"))
        };
        let mut parts = template.split('{');
        let start = parts.next().unwrap_or_default().to_owned();
        let mut variables: Vec<Variable> = Vec::new();
        for part in parts {
            let (name, after) = part.split_once('}').ok_or_else(|| invalid("has `{` without `}`"))?;
            let (is_path, name) = match name.strip_prefix('+') {
                Some(name) => (true, name),
                None => (false, name),
            };
            if name.is_empty() || !name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_') {
                return Err(invalid("has a variable that is neither `{name}` nor `{+name}`"));
            }
            if variables.iter().any(|earlier| earlier.name == name) {
                return Err(invalid("has two variables of one name; rename one"));
            }
            if let Some(previous) = variables.last() {
                if previous.is_path {
                    return Err(invalid("has a variable after `{+..}`, which takes all that follows"));
                }
                if !previous.after.contains(|it| RESERVED.contains(it)) {
                    return Err(invalid(
                        "has no character between two variables that separates them, such as `/`",
                    ));
                }
            }
            variables.push(Variable { name: name.to_owned(), is_path, after: after.to_owned() });
        }
        // With values, it is an absolute URI.
        let with_values: String = std::iter::once(start.as_str())
            .chain(variables.iter().flat_map(|variable| ["1", variable.after.as_str()]))
            .collect();
        let Some((scheme, start)) = start.split_once(':') else {
            return Err(invalid("is not absolute; begin with a scheme, as in `notes://{day}`"));
        };
        ResourceUri::parse(&with_values)?;
        Ok(Self { text: template.into(), scheme: scheme.to_owned(), start: start.to_owned(), variables })
    }

    /// Returns the template as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the variables, in their order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| variable.name.as_str())
    }

    /// Returns the decoded values of the variables if `uri` matches as it is written; the scheme may have any case.
    #[must_use]
    pub fn matched_variables(&self, uri: &ResourceUri) -> Option<BTreeMap<String, String>> {
        let (scheme, after) = uri.as_str().split_once(':')?;
        let rest = after.strip_prefix(&*self.start).filter(|_| scheme.eq_ignore_ascii_case(&self.scheme))?;
        self.match_values_after_start(rest)
    }

    /// Returns the number of bytes that a URI must have as they are written.
    pub(crate) fn literal_byte_count(&self) -> usize {
        self.scheme.len()
            + self.start.len()
            + self.variables.iter().map(|variable| variable.after.len()).sum::<usize>()
    }

    /// Returns the values in the part of a URI after the start.
    fn match_values_after_start(&self, mut rest: &str) -> Option<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        for (at, variable) in self.variables.iter().enumerate() {
            let is_last = at + 1 == self.variables.len();
            let end = match is_last {
                true => rest.strip_suffix(&*variable.after)?.len(),
                false => rest.find(&*variable.after)?,
            };
            let (value, after) = rest.split_at_checked(end)?;
            values.insert(variable.name.clone(), decode_safe_value(value, variable.is_path)?);
            rest = after.get(variable.after.len()..)?;
        }
        rest.is_empty().then_some(values)
    }
}

/// Returns the decoded value of a variable, unless it would leave its place as a part of a path.
fn decode_safe_value(text: &str, is_path: bool) -> Option<String> {
    let separators = ['/', '\\'];
    let value = percent_decoded(text)?;
    let is_safe = !value.is_empty()
        && !value.contains('\0')
        && (is_path || !value.contains(separators))
        && value.split(separators).all(|segment| segment != "..");
    is_safe.then_some(value)
}

/// Decodes `%20` and its like.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digit = |it: u8| char::from(it).to_digit(16);
                u8::try_from(digit(bytes.next()?)? * 16 + digit(bytes.next()?)?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn problem(template: &str) -> String {
        UriTemplate::parse(template).unwrap_err().to_string()
    }

    #[test]
    fn a_template_that_is_refused_is_named_with_its_problem() {
        let form = "has a variable that is neither `{name}` nor `{+name}`";
        for (template, expected) in [
            ("a://{day", "has `{` without `}`"),
            ("a://{}", form),
            ("a://{+}", form),
            ("a://{a-b}", form),
            ("a://{a}/{a}", "has two variables of one name; rename one"),
            ("a://{+a}/{b}", "has a variable after `{+..}`, which takes all that follows"),
            ("a://{a}-{b}", "has no character between two variables that separates them, such as `/`"),
            ("a/{day}", "is not absolute; begin with a scheme, as in `notes://{day}`"),
        ] {
            assert_eq!(problem(template), format!("the URI template `{template}` {expected}"));
        }
        // Where it is no URI with values.
        assert!(problem("a://{a} b").contains("a://1 b"), "{}", problem("a://{a} b"));
        let of_length = |length: usize| "x".repeat(length);
        assert!(problem(&of_length(100)).contains(&format!("`{}`", of_length(100))));
        assert!(!problem(&of_length(101)).contains(&of_length(101)));
    }

    #[test]
    fn each_reserved_character_separates_two_variables() {
        for separator in RESERVED.chars().filter(|it| !['[', ']', '#'].contains(it)) {
            let template = UriTemplate::parse(&format!("a:{{x}}{separator}{{y}}"));
            let uri = ResourceUri::parse(&format!("a:1{separator}2")).unwrap();
            let values = template.unwrap().matched_variables(&uri).unwrap();
            assert_eq!((&*values["x"], &*values["y"]), ("1", "2"), "{separator}");
        }
        for (name, is_name) in [("a_1", true), ("_", true), ("é", false), ("a.b", false)] {
            assert_eq!(UriTemplate::parse(&format!("a:{{{name}}}")).is_ok(), is_name, "{name}");
        }
    }

    #[test]
    fn the_written_bytes_of_a_uri_are_those_outside_of_variables_and_the_colon() {
        for (template, bytes) in [("ab:c", 3), ("ab://{x}", 4), ("ab://{x}/c{y}.md", 9), ("ab:{+x}", 2)] {
            let parsed = UriTemplate::parse(template).unwrap();
            assert_eq!(parsed.literal_byte_count(), bytes, "{template}");
            assert_eq!((parsed.as_str(), parsed.to_string()), (template, template.to_owned()));
        }
    }

    #[test]
    fn values_are_decoded_and_leave_no_place() {
        for (text, name, path) in [
            ("a%2Db%7e%4A", Some("a-b~J"), Some("a-b~J")),
            ("%C3%A4", Some("ä"), Some("ä")),
            ("a/b", None, Some("a/b")),
            ("a%5cb", None, Some("a\\b")),
            ("..", None, None),
            ("...", Some("..."), Some("...")),
            ("a/../b", None, None),
            ("a/..b", None, Some("a/..b")),
            ("a%00", None, None),
            ("%ff", None, None),
            ("%4", None, None),
            ("%", None, None),
            ("%g0", None, None),
            ("%0g", None, None),
            ("", None, None),
        ] {
            let values = [false, true].map(|is_path| decode_safe_value(text, is_path));
            assert_eq!(values, [name, path].map(|value| value.map(str::to_owned)), "{text}");
        }
    }
}
