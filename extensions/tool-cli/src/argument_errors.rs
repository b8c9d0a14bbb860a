//! Messages about invalid arguments, with the line and the flag of each violation.

use std::{collections::BTreeMap, ops::Range};

use console::measure_text_width;
use serde_json::value::RawValue;
use tool_runtime::{ToolError, policy::Escape, schema::Violation};

use crate::{
    flags::{CallArguments, Property, flag_name},
    page::{Page, TextStyle},
    sanitize::escaped_line,
    terminal::Terminal,
};

/// The blanks before a line of arguments.
const LINE_INDENT: &str = "    ";

/// The least number of columns for a line of arguments after its place.
const MIN_LINE_COLUMNS: usize = 20;

/// The message about all violations of `arguments`.
pub(crate) fn invalid_arguments_page(
    terminal: &Terminal,
    properties: &[Property],
    error: &ToolError,
    arguments: &CallArguments,
    hide_values: bool,
) -> Page {
    let tool = escaped_line(error.tool().unwrap_or("the tool"));
    let mut page = terminal.error_page();
    let message = format!("`{tool}` does not accept these arguments; nothing was run");
    page.add_message(TextStyle::Error, "error:", &message);
    let mut shown: Vec<(&str, String)> = Vec::new();
    for violation in error.violations() {
        // Several branches of a schema may report the same problem.
        let key = (&*violation.pointer, format!("{} {}", violation.expected, violation.received));
        if shown.contains(&key) {
            continue;
        }
        shown.push(key);
        page.add("\n");
        add_violation(&mut page, terminal.width(), properties, violation, arguments, hide_values);
    }
    if error.violations().is_empty() {
        page.add("\n").add_item(TextStyle::Plain, "", &escaped_line(&error.reason()));
    }
    if let Some(example) = error.example() {
        let example = escaped_line(&example.to_string());
        page.add("\n").add_item(TextStyle::Plain, "Example of valid arguments: ", &example);
    }
    page
}

fn add_violation(
    page: &mut Page,
    width: usize,
    properties: &[Property],
    violation: &Violation,
    arguments: &CallArguments,
    hide_values: bool,
) {
    let pointer = if violation.pointer.is_empty() { "the arguments" } else { violation.pointer.as_str() };
    let is_missing = serde_json::from_str(&arguments.text)
        .is_ok_and(|value: serde_json::Value| value.pointer(&violation.pointer).is_none());
    // Where arguments are hidden, a missing one would be, too.
    let received = if is_missing { "nothing" } else { violation.received.as_ref() };
    let (expected, received) = (escaped_line(&violation.expected.to_string()), escaped_line(received));
    page.add_item(TextStyle::Name, &escaped_line(pointer), &format!(": expected {expected}, got {received}"));
    // Without arguments, there is nothing to mark.
    if !hide_values && arguments.text != "{}" {
        let range = value_range(&arguments.text, &violation.pointer).unwrap_or(0..arguments.text.len());
        add_marked_line(page, width, arguments, range);
    }
    let steps = pointer_tokens(&violation.pointer);
    let around = properties.iter().filter(|it| steps.starts_with(&it.path));
    let Some(property) = around.max_by_key(|it| it.path.len()) else { return };
    // A missing object is made of the flags of its members.
    let is_member = |it: &&Property| {
        it.has_flag && it.is_always_required && !it.has_inner_flags && it.path.starts_with(&property.path)
    };
    let members: Vec<_> = match property.has_inner_flags && is_missing {
        true => properties.iter().filter(is_member).collect(),
        false => Vec::new(),
    };
    match members.is_empty() {
        true => add_flag_line(page, property),
        false => members.into_iter().for_each(|member| add_flag_line(page, member)),
    }
}

/// Adds the flag of a property with its description.
fn add_flag_line(page: &mut Page, property: &Property) {
    let placeholder = property.placeholder();
    let flag = if property.has_flag {
        format!("{} <{placeholder}>", flag_name(property))
    } else {
        property.path.join(".")
    };
    let about = escaped_line(&property.summary_line());
    let about = if about.is_empty() { about } else { format!(" {about}") };
    page.add_indented_item("    ", TextStyle::Name, &escaped_line(&flag), &about);
}

fn pointer_tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

/// The range of the value at `pointer` in `text`; if it is missing, the end of the object or list around it.
pub(crate) fn value_range(text: &str, pointer: &str) -> Option<Range<usize>> {
    let mut here = serde_json::from_str::<&RawValue>(text).ok()?.get();
    for step in pointer_tokens(pointer) {
        let inner = match here.as_bytes().first() {
            Some(b'{') => serde_json::from_str::<BTreeMap<String, &RawValue>>(here).ok()?.get(&step).copied(),
            Some(b'[') => {
                serde_json::from_str::<Vec<&RawValue>>(here).ok()?.get(step.parse::<usize>().ok()?).copied()
            }
            _ => None,
        };
        let Some(inner) = inner else {
            // The closing bracket: a missing value would stand before it.
            let end = here.as_ptr().addr().checked_sub(text.as_ptr().addr())? + here.len();
            return Some(end.saturating_sub(1)..end);
        };
        here = inner.get();
    }
    // Borrowed from the text: the difference of the addresses is the offset.
    let start = here.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    Some(start..start + here.len())
}

/// Adds the line in which `range` starts, with a mark below.
fn add_marked_line(page: &mut Page, width: usize, arguments: &CallArguments, range: Range<usize>) {
    let text = &arguments.text;
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.start..].find('\n').map_or(text.len(), |at| range.start + at);
    let number = text[..start].matches('\n').count() + 1;
    let (before, rest) = (&text[start..range.start], &text[range.start..end]);
    let value = &rest[..rest.len().min(range.len())];
    let after = &rest[value.len()..];
    let place = match &arguments.origin {
        Some(origin) => format!("{origin}:{number}:{}: ", before.chars().count() + 1),
        None if text.contains('\n') => format!("line {number}: "),
        None => String::new(),
    };
    let place = escaped_line(&place);
    let before_line = LINE_INDENT.len() + measure_text_width(&place);
    let room = width.saturating_sub(before_line).max(MIN_LINE_COLUMNS);
    // Escapes are wider than the characters.
    let escaped = |text: &str| Escape::LINE.text(&text.replace('\t', " "));
    let (before, value, after) = shorten_line(&escaped(before), &escaped(value), &escaped(after), room);
    let blanks = before_line + measure_text_width(&before);
    let marks = "^".repeat(measure_text_width(&value).max(1));
    page.add(LINE_INDENT).add_styled_text(TextStyle::Dim, &place).add(&format!("{before}{value}{after}\n"));
    page.add_blanks(blanks).add_styled_text(TextStyle::Error, &marks).add("\n");
}

/// Shortens the line to `max_columns` columns, and keeps at least a part of the value.
fn shorten_line(before: &str, value: &str, after: &str, max_columns: usize) -> (String, String, String) {
    let before = before.trim_start();
    if measure_text_width(before) + measure_text_width(value) + measure_text_width(after) <= max_columns {
        return (before.to_owned(), value.to_owned(), after.to_owned());
    }
    let value: String = shorten_to_columns(value.chars(), max_columns * 2 / 3).into_iter().collect();
    let left = (max_columns - measure_text_width(&value)) / 2;
    let before: String = shorten_to_columns(before.chars().rev(), left).into_iter().rev().collect();
    let right = max_columns - measure_text_width(&value) - measure_text_width(&before);
    (before, value, shorten_to_columns(after.chars(), right).into_iter().collect())
}

/// Shortens `text` to `max_columns` columns, with an ellipsis.
fn shorten_to_columns(text: impl Iterator<Item = char> + Clone, max_columns: usize) -> Vec<char> {
    let width = |c: char| measure_text_width(c.encode_utf8(&mut [0; 4]));
    if text.clone().map(width).sum::<usize>() <= max_columns {
        return text.collect();
    }
    let mut room = max_columns.saturating_sub(1);
    let fits = |c: &char| room.checked_sub(width(*c)).map(|less| room = less).is_some();
    text.take_while(fits).chain(['…']).collect()
}

/// The message about arguments that are not valid JSON.
pub(crate) fn invalid_json_page(
    terminal: &Terminal,
    arguments: &CallArguments,
    error: &serde_json::Error,
    hide_values: bool,
) -> Page {
    let problem = error.to_string();
    let problem = problem.split(" at line ").next().unwrap_or_default();
    let mut page = terminal.error_page();
    let message = format!("the arguments are not valid JSON: {}", escaped_line(problem));
    page.add_message(TextStyle::Error, "error:", &message);
    if hide_values {
        return page;
    }
    let line_start: usize =
        arguments.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (line_start + error.column().saturating_sub(1)).min(arguments.text.len());
    let at = (0..=at).rev().find(|at| arguments.text.is_char_boundary(*at)).unwrap_or_default();
    let length = arguments.text[at..].chars().next().map_or(0, char::len_utf8);
    page.add("\n");
    add_marked_line(&mut page, terminal.width(), arguments, at..at + length);
    page
}

#[cfg(test)]
mod tests {
    use super::{shorten_line, shorten_to_columns, value_range};

    #[test]
    fn a_long_line_is_shortened_to_the_width() {
        let wide = "東京".repeat(20);
        for (before, value, after) in
            [("", &*wide, "}"), (&wide, "1", &wide), (&wide, &wide, &wide), ("abc", "d", "e")]
        {
            let (before, value, after) = shorten_line(before, value, after, 21);
            let columns = console::measure_text_width(&format!("{before}{value}{after}"));
            assert!(columns <= 21 && !value.is_empty(), "{before}{value}{after}: {columns}");
        }
        let cut = |before: usize, value: usize, after: usize, room: usize| {
            let (before, value, after) =
                shorten_line(&"b".repeat(before), &"v".repeat(value), &"a".repeat(after), room);
            format!("{before} {value} {after}")
        };
        // The value takes two thirds at most, and what is before it half of the rest.
        for (before, value, after, room, expected) in [
            (30, 30, 30, 21, "…bb vvvvvvvvvvvvv… aaa…"),
            (30, 30, 0, 21, "…bb vvvvvvvvvvvvv… "),
            (2, 30, 30, 21, "bb vvvvvvvvvvvvv… aaaa…"),
            (30, 3, 30, 21, "…bbbbbbbb vvv aaaaaaaa…"),
            (30, 4, 30, 21, "…bbbbbbb vvvv aaaaaaaa…"),
            (7, 7, 7, 21, "bbbbbbb vvvvvvv aaaaaaa"),
            (7, 7, 8, 21, "bbbbbbb vvvvvvv aaaaaa…"),
        ] {
            assert_eq!(cut(before, value, after, room), expected, "{before} {value} {after} {room}");
        }
        let cut = shorten_line("some words before ", "the value", " and after", 21);
        assert_eq!(cut, ("…fore ".to_owned(), "the value".to_owned(), " and …".to_owned()));
    }

    #[test]
    fn text_is_shortened_to_whole_characters() {
        let short = |text: &str, most| shorten_to_columns(text.chars(), most).into_iter().collect::<String>();
        for (text, most, expected) in [
            ("abc", 3, "abc"),
            ("abc", 2, "a…"),
            ("abc", 1, "…"),
            ("", 0, ""),
            ("東京", 4, "東京"),
            ("東京", 3, "東…"),
            ("東京", 2, "…"),
        ] {
            assert_eq!(short(text, most), expected, "{text} to {most}");
        }
        for (room, expected) in [(7, ["ab", "cde", "fg"]), (6, ["…", "cde", "fg"]), (5, ["…", "cde", "…"])]
        {
            let (before, value, after) = shorten_line("  ab", "cde", "fg", room);
            assert_eq!([&*before, &*value, &*after], expected, "{room}");
        }
    }

    #[test]
    fn the_place_of_a_value_is_found_by_its_pointer() {
        let text = r#" {"a": [1, {"b/~c": "x"}], "d": null} "#;
        for (pointer, expected) in [
            ("", Some(text.trim())),
            ("/a", Some(r#"[1, {"b/~c": "x"}]"#)),
            ("/a/0", Some("1")),
            ("/a/1/b~1~0c", Some(r#""x""#)),
            ("/d", Some("null")),
            // The closing bracket of the value around a missing one.
            ("/e", Some("}")),
            ("/a/2", Some("]")),
            ("/a/1/e", Some("}")),
            ("/d/e", Some("l")),
            ("/a/x", None),
        ] {
            let range = value_range(text, pointer);
            assert_eq!(range.clone().map(|range| &text[range]), expected, "{pointer}");
        }
        assert_eq!(value_range(text, "/e"), Some(36..37));
        assert_eq!(value_range(text, "/a/2"), Some(24..25));
        assert_eq!(value_range("{", "/a"), None);
    }
}
