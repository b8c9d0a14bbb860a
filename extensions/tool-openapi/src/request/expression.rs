//! Expressions within the braces of a path template.
//!
//! The specification has names only. Documents also have what frameworks and generators write: `{+path}` ([RFC
//! 6570](https://www.rfc-editor.org/rfc/rfc6570)), `{name=projects/*/items/*}` ([HTTP rules of
//! gRPC](https://docs.cloud.google.com/endpoints/docs/grpc-service-config/reference/rpc/google.api#path-template-syntax)),
//! `{id:[0-9]+}` and `{ id }`.

use std::borrow::Cow;

/// An expression within braces.
#[derive(Debug)]
pub(super) struct TemplateExpression<'t> {
    pub(super) name: &'t str,
    pub(super) form: SegmentForm,
}

/// The segments that the value of a parameter may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SegmentForm {
    /// One segment, in which `/` is escaped.
    Segment,
    /// Any number of segments.
    Segments,
    /// Segments as in `projects/*/items/*`: `*` is one segment, and `**` any number of them.
    Pattern(Box<str>),
}

/// The operator of [RFC 6570](https://www.rfc-editor.org/rfc/rfc6570#section-2.2) at the start of an expression that is not, or not alone, a
/// value in the path.
pub(super) enum ExpressionOperator<'t> {
    /// The names of parameters in the query, which are sent as the document declares them.
    Query(Vec<&'t str>),
    /// A fragment, which is never sent.
    Fragment,
    /// The text before the value, and the rest of the expression.
    Prefix(&'static str, &'t str),
    None,
}

impl<'t> ExpressionOperator<'t> {
    /// Returns the operator of the text between braces.
    pub(super) fn of(text: &'t str) -> Self {
        let text = text.trim();
        let mut letters = text.chars();
        // A single operator is a name.
        match letters.next().filter(|_| !letters.as_str().is_empty()) {
            Some('?' | '&') => {
                let names = letters.as_str().split(',').map(|it| it.trim().trim_end_matches('*'));
                Self::Query(names.filter(|it| !it.is_empty()).collect())
            }
            Some('#') => Self::Fragment,
            Some('/') => Self::Prefix("/", letters.as_str()),
            Some('.') => Self::Prefix(".", letters.as_str()),
            _ => Self::None,
        }
    }
}

impl<'t> TemplateExpression<'t> {
    /// Reads the text between braces.
    pub(super) fn parse(text: &'t str) -> Self {
        let text = text.trim();
        // Doubled braces, and the mark of an optional segment.
        let text = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')).map_or(text, str::trim);
        let text = text.strip_suffix('?').filter(|it| !it.is_empty() && !it.contains(':')).unwrap_or(text);
        let (text, is_reserved) = match text.strip_prefix('+').or_else(|| text.strip_prefix('*')) {
            Some(rest) => (rest.trim_start_matches('*'), true),
            None => (text, false),
        };
        let (name, form) = match text.find(['=', ':']).map(|at| text.split_at(at)) {
            Some((name, pattern)) => match pattern.strip_prefix('=') {
                Some(pattern) => (name, SegmentForm::of_pattern(pattern.trim())),
                // An expression or a type; those of any text are of any number of segments.
                None if matches!(pattern[1..].trim(), "path" | ".*" | ".+" | "*" | "**") => {
                    (name, SegmentForm::Segments)
                }
                None => (name, SegmentForm::Segment),
            },
            None => match text.strip_suffix("...").or_else(|| text.strip_suffix('*')) {
                Some(name) => (name.trim_end_matches('*'), SegmentForm::Segments),
                None => (text, SegmentForm::Segment),
            },
        };
        let form = if is_reserved && form == SegmentForm::Segment { SegmentForm::Segments } else { form };
        match name.trim() {
            // Nothing but an operator.
            "" => Self { name: text, form: SegmentForm::Segment },
            name => Self { name, form },
        }
    }
}

impl SegmentForm {
    fn of_pattern(pattern: &str) -> Self {
        match pattern {
            "" | "*" => Self::Segment,
            "**" => Self::Segments,
            pattern => Self::Pattern(pattern.into()),
        }
    }

    /// Returns the encoded text of a value with its `/` as they are, if the parameter has several segments. The error is a clause after
    /// the name of the parameter.
    pub(super) fn restore_slashes<'e>(&self, encoded: &'e str) -> Result<Cow<'e, str>, String> {
        let pattern = match self {
            Self::Segment => return Ok(Cow::Borrowed(encoded)),
            Self::Segments => "**",
            Self::Pattern(pattern) => pattern,
        };
        // An escape in the value itself begins with `%25`.
        let text = encoded.replace("%2F", "/");
        let segments: Vec<&str> = text.split('/').collect();
        let (last, first) = segments.split_last().unwrap_or((&"", &[]));
        if first.iter().any(|it| it.is_empty()) {
            return Err("has an empty segment, which would be the path of another resource".to_owned());
        }
        if segments.iter().any(|it| matches!(*it, "." | "..")) {
            return Err("has the segment `.` or `..`, which would be the path of another resource".to_owned());
        }
        let patterns: Vec<&str> = pattern.split('/').collect();
        let is_folder = last.is_empty() && self == &Self::Segments;
        match is_folder || matches_path_pattern(&segments, &patterns) {
            true => Ok(Cow::Owned(text)),
            false => {
                Err(format!("does not have the form `{pattern}`, in which `*` is one segment of the path"))
            }
        }
    }
}

/// Returns `true` if the segments are those of the pattern.
fn matches_path_pattern(segments: &[&str], patterns: &[&str]) -> bool {
    let (mut at, mut pattern) = (0, 0);
    // The last `**`, and the segment after those that it took.
    let mut retry = None;
    while at < segments.len() {
        match patterns.get(pattern) {
            Some(&"**") => {
                retry = Some((pattern, at));
                pattern += 1;
                continue;
            }
            Some(it) if !segments[at].is_empty() && (*it == "*" || *it == segments[at]) => {
                (at, pattern) = (at + 1, pattern + 1);
                continue;
            }
            _ => {}
        }
        let Some((star, taken)) = retry else { return false };
        retry = Some((star, taken + 1));
        (at, pattern) = (taken + 1, star + 1);
    }
    patterns.get(pattern..).is_some_and(|rest| rest.iter().all(|it| *it == "**"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::{ExpressionOperator, SegmentForm, TemplateExpression, matches_path_pattern};

    #[test]
    fn an_operator_is_the_first_of_several_characters() {
        for (text, expected) in [
            ("?a,b*, c ", "query a b c"),
            ("&a", "query a"),
            ("?,", "query"),
            ("#a", "fragment"),
            ("/a", "prefix / a"),
            (" .a ", "prefix . a"),
            ("?", "none"),
            ("#", "none"),
            ("/", "none"),
            ("a?", "none"),
            ("", "none"),
        ] {
            let seen = match ExpressionOperator::of(text) {
                ExpressionOperator::Query(names) => {
                    format!("query {}", names.join(" ")).trim_end().to_owned()
                }
                ExpressionOperator::Fragment => "fragment".to_owned(),
                ExpressionOperator::Prefix(prefix, rest) => format!("prefix {prefix} {rest}"),
                ExpressionOperator::None => "none".to_owned(),
            };
            assert_eq!(seen, expected, "{text}");
        }
    }

    #[test]
    fn the_name_is_found_within_an_expression() {
        let pattern = |it: &str| SegmentForm::Pattern(it.into());
        for (text, name, form) in [
            ("id", "id", SegmentForm::Segment),
            (" id ", "id", SegmentForm::Segment),
            ("+path", "path", SegmentForm::Segments),
            ("path*", "path", SegmentForm::Segments),
            ("*path", "path", SegmentForm::Segments),
            ("**path", "path", SegmentForm::Segments),
            ("path...", "path", SegmentForm::Segments),
            ("path:.*", "path", SegmentForm::Segments),
            ("path:path", "path", SegmentForm::Segments),
            ("id:[0-9]+", "id", SegmentForm::Segment),
            ("id : int", "id", SegmentForm::Segment),
            ("id:a=b", "id", SegmentForm::Segment),
            ("name=projects/*/items/*", "name", pattern("projects/*/items/*")),
            ("name=a:b/*", "name", pattern("a:b/*")),
            ("name=**", "name", SegmentForm::Segments),
            ("name=*", "name", SegmentForm::Segment),
            ("name=", "name", SegmentForm::Segment),
            ("+name=a/*", "name", pattern("a/*")),
            ("+id:int", "id", SegmentForm::Segments),
            ("path:.+", "path", SegmentForm::Segments),
            ("path: * ", "path", SegmentForm::Segments),
            ("path:**", "path", SegmentForm::Segments),
            ("path:..", "path", SegmentForm::Segment),
            ("path**", "path", SegmentForm::Segments),
            ("{id}", "id", SegmentForm::Segment),
            ("{ id }", "id", SegmentForm::Segment),
            ("{id", "{id", SegmentForm::Segment),
            ("id?", "id", SegmentForm::Segment),
            ("path*?", "path", SegmentForm::Segments),
            ("path:.*?", "path", SegmentForm::Segment),
            ("?", "?", SegmentForm::Segment),
            ("", "", SegmentForm::Segment),
        ] {
            let read = TemplateExpression::parse(text);
            assert_eq!((read.name, read.form), (name, form), "{text}");
        }
    }

    #[test]
    fn values_have_the_segments_of_their_form() {
        let check = |form: &str, value: &str| {
            TemplateExpression::parse(form).form.restore_slashes(value).map(Cow::into_owned)
        };
        assert_eq!(check("p", "a%2Fb").unwrap(), "a%2Fb");
        assert_eq!(check("+p", "a%2Fb%2F").unwrap(), "a/b/");
        assert_eq!(check("+p", "a%252Fb").unwrap(), "a%252Fb");
        for (form, values) in [
            ("+p", ["..", "a%2F..%2Fb", "%2Fa", "a%2F%2Fb", ".", "a%2F."].as_slice()),
            (
                "p=a/*/b/*",
                &["a%2Fx%2Fb", "a%2Fx%2Fb%2F", "a%2F..%2Fb%2Fy", "c%2Fx%2Fb%2Fy", "a%2Fx%2Fb%2Fy%2Fz"],
            ),
            ("p=a/**", &["b", "b%2Fa", "a%2F..%2Fb"]),
        ] {
            values.iter().for_each(|value| assert!(check(form, value).is_err(), "{form} {value}")); // P08
        }
        assert_eq!(check("p=a/*/b/*", "a%2Fx%2Fb%2Fy").unwrap(), "a/x/b/y");
        assert_eq!(check("p=a/**", "a%2Fx%2Fy").unwrap(), "a/x/y");
        assert_eq!(check("p=**/b", "x%2Fb%2Fb").unwrap(), "x/b/b");
    }

    proptest! {
        #[test]
        fn any_expression_is_read(text in "[ a:=*/+.{}\\[\\]]{0,12}", value in "[ab./%2F]{0,12}") {
            let read = TemplateExpression::parse(&text);
            prop_assert!(text.contains(read.name));
            if let Ok(path) = read.form.restore_slashes(&value) {
                prop_assert!(read.form == SegmentForm::Segment || !path.split('/').any(|it| it == ".."));
            }
        }

        #[test]
        fn stars_take_any_segments(
            segments in prop::collection::vec("[ab]", 0..6), patterns in prop::collection::vec("[ab]|\\*|\\*\\*", 0..6),
        ) {
            fn slow(segments: &[&str], patterns: &[&str]) -> bool {
                match (segments, patterns) {
                    ([], []) => true,
                    (_, ["**", rest @ ..]) => (0..=segments.len()).any(|at| slow(&segments[at..], rest)),
                    ([first, segments @ ..], [pattern, rest @ ..]) => {
                        (*pattern == "*" || pattern == first) && slow(segments, rest)
                    }
                    _ => false,
                }
            }
            let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            prop_assert_eq!(matches_path_pattern(&segments, &patterns), slow(&segments, &patterns));
        }
    }
}
