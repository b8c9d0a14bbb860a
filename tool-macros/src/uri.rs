//! URIs of resources, and URI templates that can be matched backwards.
//!
//! Of RFC 6570, `{name}` and `{+name}` are supported: the others have several values, optional parts or several spellings. The text between two
//! variables must contain a character that no value of `{name}` has, so that a URI has one reading.

/// The characters of a URI that a value of `{name}` has in escaped form only.
const RESERVED: &str = ":/?#[]@!$&'()*+,;=";

/// Other characters that a URI may contain.
const UNRESERVED: &str = "-._~%";

/// The URI of a resource, and the names of its variables.
pub(crate) struct ParsedUri {
    pub(crate) uri: syn::LitStr,
    pub(crate) variables: Vec<String>,
}

/// Returns the names of the variables of a URI template, or the reason why it cannot be the URI of a resource.
pub(crate) fn parse_uri_template(template: &str) -> Result<Vec<String>, String> {
    let mut parts = template.split('{');
    let start = parts.next().unwrap_or_default();
    check_scheme(start)?;
    check_literal_text(start)?;
    let (mut names, mut previous): (Vec<String>, Option<(&str, &str)>) = (Vec::new(), None);
    for part in parts {
        let Some((variable, after)) = part.split_once('}') else {
            return Err("the URI has a `{` without `}`; add it, as in `{day}`".to_owned());
        };
        check_literal_text(after)?;
        let name = variable_name(variable)?;
        if names.iter().any(|earlier| earlier == name) {
            return Err(format!("the variable `{name}` is in the URI twice; rename one"));
        }
        if let Some((before, between)) = previous {
            check_separator(before, between, variable)?;
        }
        names.push(name.to_owned());
        previous = Some((variable, after));
    }
    Ok(names)
}

/// "the URI is not absolute"
fn check_scheme(start: &str) -> Result<(), String> {
    let scheme = start.split_once(':').map(|(scheme, _)| scheme);
    let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.');
    let is_scheme =
        |scheme: &str| scheme.starts_with(|it: char| it.is_ascii_alphabetic()) && scheme.chars().all(is_part);
    match scheme.is_some_and(is_scheme) {
        true => Ok(()),
        false => Err("the URI is not absolute; begin with a scheme, as in `notes://today`".to_owned()),
    }
}

/// "a URI cannot contain a space"
fn check_literal_text(text: &str) -> Result<(), String> {
    if text.contains('}') {
        return Err("the URI has a `}` without `{`; remove it, or write `%7D`".to_owned());
    }
    let is_allowed =
        |it: char| it.is_ascii_alphanumeric() || RESERVED.contains(it) || UNRESERVED.contains(it);
    match text.chars().find(|it| !is_allowed(*it)) {
        None => Ok(()),
        Some(other) => {
            let mut buffer = [0; 4];
            let escaped: String =
                other.encode_utf8(&mut buffer).bytes().map(|byte| format!("%{byte:02X}")).collect();
            Err(format!("a URI cannot contain `{}`; write `{escaped}`", other.escape_debug()))
        }
    }
}

/// The name in `{name}` or `{+name}`.
fn variable_name(variable: &str) -> Result<&str, String> {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    let name = variable.strip_prefix('+').unwrap_or(variable);
    if is_name(name) {
        return Ok(name);
    }
    let bare = name.split([':', '*']).next().unwrap_or_default();
    let bare: String = bare.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '_').collect();
    if name.contains(',') {
        return Err(format!("`{{{variable}}}` has several variables; write one in each pair of braces"));
    }
    match bare.is_empty() {
        true => Err(format!("`{{{variable}}}` has no name; write one, as in `{{day}}`")),
        false => Err(format!(
            "`{{{variable}}}` cannot be matched backwards; write `{{{bare}}}`, or `{{+{bare}}}` for a value with slashes"
        )),
    }
}

/// "the URI has several readings"
fn check_separator(before: &str, between: &str, next: &str) -> Result<(), String> {
    if before.starts_with('+') {
        return Err(format!(
            "`{{{before}}}` takes all that follows, so that no variable can be after it; move `{{{next}}}` before it"
        ));
    }
    if between.is_empty() {
        return Err(format!(
            "`{{{before}}}` and `{{{next}}}` have nothing between them; separate them, as by `/`"
        ));
    }
    match between.contains(|it| RESERVED.contains(it)) {
        true => Ok(()),
        false => Err(format!(
            "`{between}` between `{{{before}}}` and `{{{next}}}` may be a part of a value; separate them by another character, as by `/`"
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::parse_uri_template;

    // The same URIs as in the test of `tool_kit::resource::UriTemplate`.
    #[test]
    fn templates_with_one_reading_are_accepted() {
        for (template, names) in [
            ("notes://today", &[][..]),
            ("notes://{day}", &["day"]),
            ("notes://{year}/{month}.md", &["year", "month"]),
            ("files:///{+path}", &["path"]),
            ("files://{root}/{+path}.txt", &["root", "path"]),
            ("notes:{a}-x/{b_2}", &["a", "b_2"]),
            ("notes://a?day={day}&n={n}", &["day", "n"]),
        ] {
            assert_eq!(
                parse_uri_template(template).as_deref(),
                Ok(&*names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
            );
        }
    }

    #[test]
    fn templates_without_one_reading_are_refused() {
        for (template, expected) in [
            ("notes", "the URI is not absolute"),
            ("{scheme}://x", "the URI is not absolute"),
            ("1a:x", "the URI is not absolute"),
            ("notes://a b", "a URI cannot contain ` `; write `%20`"),
            ("notes://ä", "a URI cannot contain `ä`; write `%C3%A4`"),
            ("notes://{day", "has a `{` without `}`"),
            ("notes://day}", "has a `}` without `{`"),
            ("notes://{}", "`{}` has no name"),
            ("notes://{/day}", "`{/day}` cannot be matched backwards; write `{day}`"),
            ("notes://x{?day}", "`{?day}` cannot be matched backwards"),
            ("notes://{day*}", "`{day*}` cannot be matched backwards; write `{day}`"),
            ("notes://{day:3}", "`{day:3}` cannot be matched backwards; write `{day}`"),
            ("notes://{a,b}", "`{a,b}` has several variables"),
            ("notes://{a}/{a}", "the variable `a` is in the URI twice"),
            ("notes://{a}{b}", "`{a}` and `{b}` have nothing between them"),
            ("notes://{a}-{b}", "`-` between `{a}` and `{b}` may be a part of a value"),
            ("notes://{+a}/{b}", "`{+a}` takes all that follows"),
        ] {
            let parsed = parse_uri_template(template);
            let is_refused = parsed.as_ref().is_err_and(|problem| problem.contains(expected));
            assert!(is_refused, "{template}: {parsed:?}");
        }
    }
}
