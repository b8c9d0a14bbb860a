//! Path templates.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use tool_runtime::ToolError;

use super::{
    In, Parameter,
    expression::{Expression, Form},
    json::Members,
};

/// Characters of a template that are not written as they are; an escape of the document stays.
const LITERAL: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'?').add(b'`').add(b'\\');

/// The path of an operation, such as `/pets/{petId}`.
#[derive(Debug)]
pub(crate) struct PathTemplate {
    parts: Vec<Part>,
    /// The query that some documents have in the path, such as `/things?action=list`.
    query: Option<Box<str>>,
}

#[derive(Debug)]
enum Part {
    Literal(Box<str>),
    Parameter { name: Box<str>, form: Form },
}

impl PathTemplate {
    /// Reads a template, of which the document declares the parameters `declared`. A parameter may have more than its name within
    /// its braces.
    pub(crate) fn parse(path: &str, declared: &[&str]) -> Result<Self, String> {
        if !path.starts_with('/') {
            return Err(format!("the path `{path}` does not begin with `/`"));
        }
        // A fragment distinguishes operations of one path in some documents, and is not sent.
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = match question_mark(path) {
            Some((_, query)) if query.contains(['{', '}']) => {
                return Err(format!("the path `{path}` has a parameter in its query"));
            }
            Some((path, query)) => (path, Some(utf8_percent_encode(query, LITERAL).to_string().into())),
            None => (path, None),
        };
        let (mut parts, mut rest) = (Vec::new(), path);
        while let Some((before, after)) = rest.split_once('{') {
            let Some(end) = closing_brace(after) else {
                return Err(format!("the path `{path}` has a `{{` without its `}}`"));
            };
            let (text, after) = (&after[..end], &after[end + 1..]);
            parts.push(Part::literal(before));
            parts.push(Part::parameter(text, declared));
            rest = after;
        }
        parts.push(Part::literal(rest));
        Ok(Self { parts, query })
    }

    /// Returns the query that the path has in the document.
    pub(crate) fn query(&self) -> Option<&str> {
        self.query.as_deref().filter(|it| !it.is_empty())
    }

    /// Returns `true` if that query has a pair of the name `name`.
    pub(crate) fn has_query(&self, name: &str) -> bool {
        let names = self.query.iter().flat_map(|it| it.split('&')).filter_map(|it| it.split('=').next());
        names.into_iter().any(|it| percent_decode_str(it).decode_utf8_lossy() == name)
    }

    /// Returns the names of the parameters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Parameter { name, .. } => Some(&**name),
            Part::Literal(_) => None,
        })
    }

    /// Adds the path with the values of `arguments`, percent-encoded.
    pub(super) fn fill(
        &self,
        path: &mut String,
        parameters: &[Parameter],
        arguments: &Members<'_>,
    ) -> Result<(), ToolError> {
        for part in &self.parts {
            match part {
                Part::Literal(text) => path.push_str(text),
                Part::Parameter { name, form } => {
                    let parameter = parameters.iter().find(|it| it.location == In::Path && it.name == *name);
                    let parameter =
                        parameter.ok_or_else(|| ToolError::failed("a parameter of the path is missing"))?;
                    let value =
                        arguments.get(&parameter.property).ok_or_else(|| parameter.unfit("has no value"))?;
                    let text = parameter.styled().path(value).map_err(|problem| parameter.unfit(&problem))?;
                    if text.is_empty() {
                        return Err(parameter.unfit("is empty, which would be the path of another resource"));
                    }
                    let text = form.applied(&text).map_err(|problem| parameter.unfit(&problem))?;
                    path.push_str(&text);
                }
            }
        }
        Ok(())
    }
}

/// Splits a path at the `?` outside of braces.
fn question_mark(path: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let at = path.find(|it| {
        match it {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        it == '?' && depth == 0
    })?;
    Some((&path[..at], &path[at + 1..]))
}

/// The place of the `}` that ends a parameter, whose expression may have braces, too.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, it) in text.char_indices() {
        match it {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    // A single brace in an expression.
    text.find('}')
}

impl Part {
    /// The parameter with `text` between its braces. Its name is the one that the document declares: the text as it is, or the name
    /// within it.
    fn parameter(text: &str, declared: &[&str]) -> Self {
        let Expression { name, form } = Expression::read(text);
        let is_same = |it: &&&str| **it == text;
        let is_name = |it: &&&str| **it == name;
        let has_name = |it: &&&str| Expression::read(it).name == name;
        let known = declared.iter().find(is_same).or_else(|| declared.iter().find(is_name));
        let name = known.or_else(|| declared.iter().find(has_name)).copied().unwrap_or(name);
        Self::Parameter { name: name.into(), form }
    }

    fn literal(text: &str) -> Self {
        Self::Literal(utf8_percent_encode(text, LITERAL).to_string().into())
    }
}
