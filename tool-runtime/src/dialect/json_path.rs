//! Locations in a value under construction, as JSON paths that address one value each ([RFC
//! 9535](https://www.rfc-editor.org/rfc/rfc9535#name-singular-query)).

use tool_core::internals::ExactValue;

/// The maximum number of steps: the nesting limit of the JSON parser.
const MAX_STEPS: usize = 128;

enum Step {
    Name(String),
    Index(usize),
}

/// Returns the location at `path`; missing containers on the way are created. `None` where another kind of
/// value is on the way, an item is skipped, or `path` does not address a single value.
pub(super) fn value_at_path_or_insert<'v>(
    root: &'v mut ExactValue<'static>,
    path: &str,
) -> Option<&'v mut ExactValue<'static>> {
    let steps = path_steps(path)?;
    steps.into_iter().try_fold(root, |value, step| match step {
        Step::Name(name) => {
            if value.is_null() {
                *value = ExactValue::Object(Vec::new());
            }
            value.entry(&name)
        }
        Step::Index(index) => {
            if value.is_null() {
                *value = ExactValue::List(Vec::new());
            }
            let ExactValue::List(items) = value else { return None };
            if index == items.len() {
                items.push(ExactValue::Null);
            }
            items.get_mut(index)
        }
    })
}

fn path_steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step;
        (step, rest) = if let Some(name) = rest.strip_prefix('.') {
            let (name, rest) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
            (Step::Name(Some(name).filter(|it| !it.is_empty())?.to_owned()), rest)
        } else {
            split_bracketed(rest.strip_prefix('[')?)?
        };
        steps.push(step);
        if steps.len() > MAX_STEPS {
            return None;
        }
    }
    Some(steps)
}

/// Splits a selector in brackets from the rest of the path.
fn split_bracketed(text: &str) -> Option<(Step, &str)> {
    let Some(quote) = text.chars().next().filter(|it| "'\"".contains(*it)) else {
        let (index, rest) = text.split_once(']')?;
        let is_index = !index.is_empty() && index.bytes().all(|it| it.is_ascii_digit());
        return Some((Step::Index(index.parse().ok().filter(|_| is_index)?), rest));
    };
    // A single-quoted selector is rewritten as a JSON string.
    let mut json = String::from('"');
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            it if it == quote => {
                json.push('"');
                let rest = text[at + 1..].strip_prefix(']')?;
                return Some((Step::Name(serde_json::from_str(&json).ok()?), rest));
            }
            '\\' => match characters.next()? {
                (_, '\'') => json.push('\''),
                (_, escaped) => json.extend(['\\', escaped]),
            },
            '"' => json.push_str("\\\""),
            other => json.push(other),
        }
    }
    None
}

#[cfg(test)]
#[path = "json_path_tests.rs"]
mod tests;
