//! Path templates.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use tool_runtime::ToolError;

use super::{
    ParameterLocation, RequestParameter,
    expression::{ExpressionOperator, SegmentForm, TemplateExpression},
    json::Members,
};

/// Characters of a template that are not written as they are; an escape of the document stays.
const LITERAL: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'?').add(b'`').add(b'\\');

/// The path of an operation, such as `/pets/{petId}`.
#[derive(Debug)]
pub(crate) struct PathTemplate {
    parts: Vec<TemplatePart>,
    /// The query that some documents have in the path, such as `/things?action=list`.
    query: Option<Box<str>>,
    /// The names of parameters that expressions such as `{?page,size}` place in the query.
    query_names: Vec<Box<str>>,
}

#[derive(Debug)]
enum TemplatePart {
    Literal(Box<str>),
    Parameter { name: Box<str>, form: SegmentForm },
}

impl PathTemplate {
    /// Reads a template, of which the document declares the parameters `declared`. A parameter may have more than its name within
    /// its braces.
    pub(crate) fn parse(path: &str, declared: &[&str]) -> Result<Self, String> {
        if !path.starts_with('/') {
            return Err(format!("the path `{path}` does not begin with `/`"));
        }
        let decoded = decode_parameter_braces(path, declared);
        // A fragment distinguishes operations of one path in some documents, and is not sent.
        let path = split_outside_braces(&decoded, '#').map_or(&*decoded, |(path, _)| path);
        let (path, query) = match split_outside_braces(path, '?') {
            Some((_, query)) if query.contains(['{', '}']) => {
                return Err(format!("the path `{path}` has a parameter in its query"));
            }
            Some((path, query)) => (path, Some(utf8_percent_encode(query, LITERAL).to_string().into())),
            None => (path, None),
        };
        let (mut parts, mut rest, mut query_names) = (Vec::new(), path, Vec::new());
        while let Some((before, after)) = rest.split_once('{') {
            let Some(end) = closing_brace(after) else {
                return Err(format!("the path `{path}` has a `{{` without its `}}`"));
            };
            let (text, after) = (&after[..end], &after[end + 1..]);
            parts.push(TemplatePart::literal_part(before));
            rest = after;
            match ExpressionOperator::of(text) {
                ExpressionOperator::Query(names) => query_names.extend(names.into_iter().map(Box::from)),
                ExpressionOperator::Fragment => {}
                ExpressionOperator::Prefix(prefix, text) => {
                    parts.push(TemplatePart::literal_part(prefix));
                    parts.push(TemplatePart::parameter_part(text, declared)?);
                }
                ExpressionOperator::None => parts.push(TemplatePart::parameter_part(text, declared)?),
            }
        }
        parts.push(TemplatePart::literal_part(rest));
        Ok(Self { parts, query, query_names })
    }

    /// Returns the query that the path has in the document.
    pub(crate) fn literal_query(&self) -> Option<&str> {
        self.query.as_deref().filter(|it| !it.is_empty())
    }

    /// Returns `true` if that query has a pair of the name `name`.
    pub(crate) fn has_literal_query_name(&self, name: &str) -> bool {
        let names = self.query.iter().flat_map(|it| it.split('&')).filter_map(|it| it.split('=').next());
        names.into_iter().any(|it| percent_decode_str(it).decode_utf8_lossy() == name)
    }

    /// Returns the names of the parameters.
    pub(crate) fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Parameter { name, .. } => Some(&**name),
            TemplatePart::Literal(_) => None,
        })
    }

    /// Returns the names of parameters that expressions place in the query.
    pub(crate) fn query_parameter_names(&self) -> impl Iterator<Item = &str> {
        self.query_names.iter().map(|it| &**it)
    }

    /// Adds the path with the values of `arguments`, percent-encoded.
    pub(super) fn append_filled_path(
        &self,
        path: &mut String,
        parameters: &[RequestParameter],
        arguments: &Members<'_>,
    ) -> Result<(), ToolError> {
        for part in &self.parts {
            match part {
                TemplatePart::Literal(text) => path.push_str(text),
                TemplatePart::Parameter { name, form } => {
                    let parameter = parameters
                        .iter()
                        .find(|it| it.location == ParameterLocation::Path && it.name == *name);
                    let parameter =
                        parameter.ok_or_else(|| ToolError::failed("a parameter of the path is missing"))?;
                    let value = arguments
                        .get(&parameter.property)
                        .ok_or_else(|| parameter.unfit_value_error("has no value"))?;
                    let text = parameter
                        .parameter_encoding()
                        .path_text(value)
                        .map_err(|problem| parameter.unfit_value_error(&problem))?;
                    if text.is_empty() {
                        return Err(parameter
                            .unfit_value_error("is empty, which would be the path of another resource"));
                    }
                    let text = form
                        .restore_slashes(&text)
                        .map_err(|problem| parameter.unfit_value_error(&problem))?;
                    path.push_str(&text);
                }
            }
        }
        Ok(())
    }
}

/// Decodes `%7B` and `%7D` around the name of a declared parameter, which some generators escape.
fn decode_parameter_braces<'p>(path: &'p str, declared: &[&str]) -> Cow<'p, str> {
    let mut decoded = Cow::Borrowed(path);
    if !path.contains("%7") {
        return decoded;
    }
    for name in declared {
        for (open, close) in [("%7B", "%7D"), ("%7b", "%7d")] {
            let escaped = format!("{open}{name}{close}");
            if decoded.contains(&escaped) {
                decoded = decoded.replace(&escaped, &format!("{{{name}}}")).into();
            }
        }
    }
    decoded
}

/// Splits a path at the first `mark` outside of braces.
fn split_outside_braces(path: &str, mark: char) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let at = path.find(|it| {
        match it {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        it == mark && depth == 0
    })?;
    Some((&path[..at], &path[at + mark.len_utf8()..]))
}

/// The position of the `}` that ends a parameter. Its regular expression may have braces, too: in pairs, after a backslash, or between
/// brackets.
fn closing_brace(text: &str) -> Option<usize> {
    let (mut depth, mut is_pattern, mut is_escaped) = (0_usize, false, false);
    // The number of characters since the `[` of a set of characters, in which a `]` at the beginning is a character.
    let mut set = None;
    for (at, it) in text.char_indices() {
        let was_escaped = std::mem::take(&mut is_escaped);
        match (it, set) {
            _ if was_escaped => {}
            ('\\', _) if is_pattern => is_escaped = true,
            (']', Some(1..)) => set = None,
            ('^', Some(0)) => {}
            (_, Some(count)) => set = Some(count + 1),
            ('[', None) if is_pattern && text[at..].contains(']') => set = Some(0),
            (':', None) => is_pattern = true,
            ('{', None) => depth += 1,
            ('}', None) if depth == 0 => return Some(at),
            ('}', None) => depth -= 1,
            _ => {}
        }
    }
    // A single brace in an expression.
    text.find('}')
}

impl TemplatePart {
    /// The parameter with `text` between its braces. Its name is the one that the document declares: the text as it is, or the name
    /// within it, in the same letter case or another one.
    fn parameter_part(text: &str, declared: &[&str]) -> Result<Self, String> {
        let TemplateExpression { name, form } = TemplateExpression::parse(text);
        let is_same = |it: &&&str| **it == text;
        let is_name = |it: &&&str| **it == name;
        let has_name = |it: &&&str| TemplateExpression::parse(it).name == name;
        let is_similar = |it: &&&str| it.eq_ignore_ascii_case(name);
        let known = declared.iter().find(is_same).or_else(|| declared.iter().find(is_name));
        let known = known.or_else(|| declared.iter().find(has_name));
        let name = known.or_else(|| declared.iter().find(is_similar)).copied().unwrap_or(name);
        if name.is_empty() {
            return Err("a parameter of the path has no name".to_owned());
        }
        Ok(Self::Parameter { name: name.into(), form })
    }

    fn literal_part(text: &str) -> Self {
        Self::Literal(utf8_percent_encode(text, LITERAL).to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::{closing_brace, decode_parameter_braces, split_outside_braces};

    #[test]
    fn a_mark_within_braces_separates_nothing() {
        for (path, parts) in [
            ("/a?b", Some(("/a", "b"))),
            ("/a?b?c", Some(("/a", "b?c"))),
            ("/a", None),
            ("/{a?}", None),
            ("/{a}?b", Some(("/{a}", "b"))),
            ("/{a}/{b?c}?d", Some(("/{a}/{b?c}", "d"))),
            ("/{a:{2}?}", None),
            ("/{a:{2}}?b", Some(("/{a:{2}}", "b"))),
            // A brace that closes nothing.
            ("/a}?b", Some(("/a}", "b"))),
            ("/a}{?b", None),
        ] {
            assert_eq!(split_outside_braces(path, '?'), parts, "{path}");
        }
        assert_eq!(split_outside_braces("aéb", 'é'), Some(("a", "b")));
    }

    #[test]
    fn only_escaped_braces_of_declared_parameters_are_decoded() {
        for (path, expected) in [
            ("/a/%7Bid%7D", "/a/{id}"),
            ("/a/%7bid%7d", "/a/{id}"),
            ("/a/%7Bid%7d", "/a/%7Bid%7d"),
            ("/%7Bid%7D/%7Bid%7D/%7Bother%7D", "/{id}/{id}/%7Bother%7D"),
            ("/a/%7Aid", "/a/%7Aid"),
            ("/a/{id}", "/a/{id}"),
        ] {
            assert_eq!(decode_parameter_braces(path, &["id"]), expected, "{path}");
        }
    }

    #[test]
    fn a_brace_of_an_expression_ends_no_parameter() {
        for (text, at) in [
            ("id}/x", Some(2)),
            ("id:{1}}", Some(6)),
            ("id:\\}}", Some(5)),
            ("id\\}}", Some(3)),
            ("id:[}]}", Some(6)),
            ("id:[]}]}", Some(7)),
            ("id:[^]}]}", Some(8)),
            ("id:[^^]}", Some(7)),
            ("id[}", Some(3)),
            // Without its end, a bracket begins no set.
            ("id:[}", Some(4)),
            ("id", None),
            ("id:{}", Some(4)),
            ("é}", Some(2)),
        ] {
            assert_eq!(closing_brace(text), at, "{text}");
        }
    }
}
