//! Templates of URIs: literals, and variables in braces.

use std::{collections::BTreeMap, error::Error, fmt};

/// A template of a URI that cannot be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    template: String,
    problem: &'static str,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the URI template `{}` {}", self.template, self.problem)
    }
}

impl Error for TemplateError {}

/// A template: text, then variables, each with the text after it.
#[derive(Debug, Clone)]
pub(super) struct UriTemplate {
    start: String,
    variables: Vec<Variable>,
}

#[derive(Debug, Clone)]
struct Variable {
    name: String,
    /// `{+name}`: the value may contain slashes.
    is_path: bool,
    after: String,
}

impl UriTemplate {
    /// Parses a template of RFC 6570 with simple variables, `{name}` and `{+name}`.
    pub(super) fn parse(template: &str) -> Result<Self, TemplateError> {
        let invalid = |problem| TemplateError { template: template.to_owned(), problem };
        let mut parts = template.split('{');
        let start = parts.next().unwrap_or_default().to_owned();
        let mut variables = Vec::new();
        for part in parts {
            let (name, after) = part.split_once('}').ok_or_else(|| invalid("has `{` without `}`"))?;
            let (is_path, name) = match name.strip_prefix('+') {
                Some(name) => (true, name),
                None => (false, name),
            };
            if name.is_empty() || !name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_') {
                return Err(invalid("has a variable that is neither `{name}` nor `{+name}`"));
            }
            variables.push(Variable { name: name.to_owned(), is_path, after: after.to_owned() });
        }
        let inner = variables.len().saturating_sub(1);
        if variables.iter().take(inner).any(|it| it.after.is_empty()) {
            return Err(invalid("has two variables with nothing between them"));
        }
        Ok(Self { start, variables })
    }

    /// The values of the variables, decoded, if `uri` has the form of the template.
    pub(super) fn matched_variables(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut rest = uri.strip_prefix(&*self.start)?;
        let mut values = BTreeMap::new();
        for (at, variable) in self.variables.iter().enumerate() {
            let is_last = at + 1 == self.variables.len();
            let end = match is_last {
                true => rest.strip_suffix(&*variable.after)?.len(),
                false => rest.find(&*variable.after)?,
            };
            let value = &rest[..end];
            if value.is_empty() || (!variable.is_path && value.contains('/')) {
                return None;
            }
            let value = percent_decoded(value).filter(|value| is_safe_path_value(value, variable.is_path))?;
            values.insert(variable.name.clone(), value);
            rest = &rest[end + variable.after.len()..];
        }
        rest.is_empty().then_some(values)
    }
}

/// Returns `false` for a decoded value that leaves its place when it becomes a part of a path.
fn is_safe_path_value(value: &str, is_path: bool) -> bool {
    let separators = ['/', '\\'];
    !value.contains('\0')
        && (is_path || !value.contains(separators))
        && value.split(separators).all(|segment| segment != "..")
}

/// Decodes `%20` and its like.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digit = |it: u8| char::from(it).to_digit(16);
                u8::try_from(digit(bytes.next()?)? * 16 + digit(bytes.next()?)?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let values = UriTemplate::parse(template).ok().and_then(|template| template.matched_variables(uri));
        let expected = expected.map(|values| {
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        });
        assert_eq!(values, expected, "{template} {uri}");
    }

    #[test]
    fn uris_of_a_template_give_its_variables() {
        check("t://x/{id}/data", "t://x/123/data", Some(&[("id", "123")]));
        check("t://x/{id}/data", "t://x/a%20b/data", Some(&[("id", "a b")]));
        check("t://x/{id}/data", "t://x/1/2/data", None);
        check("t://x/{id}/data", "t://x//data", None);
        check("t://x/{id}/data", "t://x/1/data/more", None);
        check("f:///{+path}", "f:///a/b.txt", Some(&[("path", "a/b.txt")]));
        check("{a}-{b}", "1-2-3", Some(&[("a", "1"), ("b", "2-3")]));
        check("t://x", "t://x", Some(&[]));
        check("t://{a", "t://1", None);
        check("t://{a}{b}", "t://1", None);
        check("t://{?a}", "t://1", None);
        check("t://{a}", "t://%zz", None);
        check("t://{a}", "t://%e", None);
        check("f:///{name}", "f:///a%2Fb", None);
        check("f:///{name}", "f:///..%5Cb", None);
        check("f:///{name}", "f:///..", None);
        check("f:///{name}", "f:///%2E%2e", None);
        check("f:///{name}", "f:///a..b", Some(&[("name", "a..b")]));
        check("f:///{+path}", "f:///a/../../b", None);
        check("f:///{+path}", "f:///a%2f%2e./b", None);
        check("f:///{+path}", "f:///a%00", None);
        check("f:///{+path}", "f:///a%2Fb..c/.d", Some(&[("path", "a/b..c/.d")]));
    }
}
