//! The texts of violations.

use std::io;

use serde_json::Value;

use crate::nearest::closest;

use super::{
    Plan,
    branches::Branches,
    node::{CountRange, Node, NodeId, ObjectRules, TypeSet},
};

/// The maximum number of listed values or names; the rest is counted.
pub(super) const LISTED: usize = 20;

/// The maximum number of shown characters of a received value.
const SHOWN: usize = 80;

/// Formats a string as JSON.
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Formats a value as compact JSON; a long one is truncated and its length appended.
pub fn received(value: &Value) -> String {
    if let Value::String(text) = value {
        let Some(start) = beginning(text, SHOWN) else { return quoted(text) };
        let mut shown = quoted(start);
        shown.pop();
        return format!("{shown}…\" ({} characters)", text.chars().count());
    }
    let mut start = Start(Vec::new());
    let complete = serde_json::to_writer(&mut start, value).is_ok();
    let text = String::from_utf8_lossy(&start.0);
    match beginning(&text, SHOWN) {
        None if complete => text.into_owned(),
        cut => {
            let shown = cut.unwrap_or(&text);
            let size = match value {
                Value::Array(items) => counted(items.len(), "item", "items"),
                Value::Object(map) => counted(map.len(), "property", "properties"),
                _ => return text.into_owned(),
            };
            format!("{shown}… ({size})")
        }
    }
}

/// Returns the first `most` characters of `text` if it is longer.
pub fn beginning(text: &str, most: usize) -> Option<&str> {
    if text.as_bytes().get(..=most)?.is_ascii() {
        return text.get(..most);
    }
    let (end, _) = text.char_indices().nth(most)?;
    text.get(..end)
}

/// A writer that keeps the beginning of a text and fails on the rest, so that a long value is not formatted
/// completely.
struct Start(Vec<u8>);

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A character has at most four bytes. The first ones are a bracket and a quote of one byte, so that the text is longer than
        // what is shown, and a character that is split is not shown.
        let room = SHOWN * 4;
        if self.0.len() >= room {
            return Err(io::Error::other("enough"));
        }
        self.0.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Formats as `1 item`, `2 items`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Formats with thousands separators, as in `29,980`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Describes the limit that `actual` violates.
pub(super) fn limit_message(count: CountRange, actual: usize, one: &str, many: &str) -> String {
    if actual < count.least {
        format!("at least {}", counted(count.least, one, many))
    } else {
        format!("at most {}", counted(count.most, one, many))
    }
}

/// Lists the permitted values; of many, suggests the closest one.
pub fn one_of(values: &[Value], received: Option<&Value>) -> String {
    let name = received.and_then(Value::as_str).filter(|_| values.len() > LISTED);
    one_of_with_suggestion(
        values,
        name.and_then(|name| closest(name, values.iter().filter_map(Value::as_str))),
    )
}

/// Lists the permitted values and suggests `meant`.
pub(super) fn one_of_with_suggestion(values: &[Value], meant: Option<&str>) -> String {
    match values {
        [] => "no value at all".to_owned(),
        [only] => permitted_value_text(only),
        _ => {
            let meant = meant.map(|meant| format!("; did you mean {}?", quoted_if_short(meant)));
            let meant = meant.unwrap_or_default();
            let list = join_items_that_fit(
                values.iter().map(permitted_value_text),
                values.len(),
                meant.chars().count(),
            );
            format!("one of {list}{meant}")
        }
    }
}

/// Formats a permitted value; a string is shown completely if there is room, since the model must repeat it.
fn permitted_value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| received(value), quoted_if_short)
}

fn quoted_if_short(text: &str) -> String {
    match beginning(text, MAX_NAME_CHARS) {
        None => quoted(text),
        Some(_) => received(&Value::from(text)),
    }
}

/// The maximum length of a name that is shown completely, in characters.
const MAX_NAME_CHARS: usize = 120;

/// The maximum length of a list including the text beside it, in characters.
const LIST: usize = 150;

/// Lists as many of the `count` items as fit beside `beside` characters, but at least one, and counts the others.
fn join_items_that_fit(items: impl Iterator<Item = String>, count: usize, beside: usize) -> String {
    let mut text = String::new();
    let (mut length, mut listed) = (beside, 0);
    for item in items.take(LISTED) {
        length += item.chars().count() + 2;
        if listed > 0 && length > LIST {
            break;
        }
        if listed > 0 {
            text.push_str(", ");
        }
        text.push_str(&item);
        listed += 1;
    }
    if count > listed {
        text.push_str(&format!(", … ({count} in all)"));
    }
    text
}

/// Describes the expected property in place of the unknown `name`; the object has the names for which `is_present`
/// returns `true`.
pub fn unknown(known: &[&str], is_present: impl Fn(&str) -> bool, name: &str) -> String {
    if known.is_empty() {
        return "no such property".to_owned();
    }
    // A property that is already present is not suggested.
    let meant = closest(name, known.iter().copied().filter(|it| !is_present(it)));
    let meant = meant
        .map(|meant| format!(" did you mean {}?", shortened_name_in_backticks(meant)))
        .unwrap_or_default();
    let start = format!("a property that the schema knows;{meant} known: ");
    let list = join_items_that_fit(
        known.iter().map(|it| shortened_name_in_backticks(it)),
        known.len(),
        start.chars().count(),
    );
    format!("{start}{list}")
}

/// Formats the name of a property in backticks.
fn shortened_name_in_backticks(name: &str) -> String {
    let mut text = String::new();
    push_shortened_in_backticks(&mut text, name);
    text
}

fn push_shortened_in_backticks(text: &mut String, name: &str) {
    let (shown, end) = beginning(name, MAX_NAME_CHARS).map_or((name, "`"), |start| (start, "…`"));
    text.push('`');
    text.push_str(shown);
    text.push_str(end);
}

/// Describes a missing required property; `beside` is the property that requires it.
pub fn missing(name: &str, beside: Option<&str>, kind: Option<&str>) -> String {
    const USUAL_BYTES: usize = 80;
    let mut text = String::with_capacity(USUAL_BYTES);
    text.push_str("the property ");
    push_shortened_in_backticks(&mut text, name);
    text.push_str(", which is required");
    if let Some(beside) = beside {
        text.push_str(" beside ");
        push_shortened_in_backticks(&mut text, beside);
    }
    if let Some(kind) = kind {
        let bare = kind.strip_prefix("a ").or_else(|| kind.strip_prefix("an ")).unwrap_or(kind);
        for part in [" (", bare, ")"] {
            text.push_str(part);
        }
    }
    text
}

/// Lists several types.
pub fn either(kinds: &[&str]) -> String {
    match kinds {
        [] => "no value at all".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

impl TypeSet {
    /// Lists the types with articles.
    pub(super) fn names_with_articles(self) -> String {
        let number = if self.contains(Self::FRACTION) {
            (Self::NUMBER, "a number")
        } else {
            (Self::INTEGER, "an integer")
        };
        let names = [
            (Self::STRING, "a string"),
            number,
            (Self::BOOLEAN, "a boolean"),
            (Self::ARRAY, "an array"),
            (Self::OBJECT, "an object"),
            (Self::NULL, "null"),
        ];
        let names: Vec<_> = names.iter().filter(|it| self.contains(it.0)).map(|it| it.1).collect();
        either(&names)
    }
}

impl Plan {
    /// Describes a missing required property; `beside` is the property that requires it.
    pub(super) fn missing_message(&self, name: &str, beside: Option<&str>, node: Option<NodeId>) -> String {
        let kind = node.map(|node| self.node_summary(node)).filter(|it| it != ANYTHING);
        missing(name, beside, kind.as_deref())
    }

    /// Summarises the values that a node admits.
    pub(super) fn node_summary(&self, id: NodeId) -> String {
        self.node_summary_within(id, 3)
    }

    /// Lists the branches.
    pub(super) fn branch_list_text(&self, branches: &Branches) -> String {
        self.branches_summary(branches, 2)
    }

    fn branches_summary(&self, branches: &Branches, levels: usize) -> String {
        let mut words: Vec<_> =
            branches.node_ids().take(LISTED).map(|node| self.node_summary_within(node, levels)).collect();
        words.dedup();
        if branches.list.len() > LISTED {
            words.push(format!("… ({} in all)", branches.list.len()));
        }
        words.join("; ")
    }

    fn node_summary_within(&self, id: NodeId, levels: usize) -> String {
        let node = self.node(id);
        if let Some(values) = &node.values {
            return one_of(values, None);
        }
        if let Some(object) = node.object.as_deref().filter(|_| node.types == TypeSet::OBJECT) {
            return self.object_summary(object);
        }
        if node.types != TypeSet::ALL || levels == 0 {
            return if node.types == TypeSet::ALL {
                ANYTHING.to_owned()
            } else {
                node.types.names_with_articles()
            };
        }
        self.combined_summary(node, levels - 1).unwrap_or_else(|| ANYTHING.to_owned())
    }

    fn combined_summary(&self, node: &Node, levels: usize) -> Option<String> {
        let combined = node.combined.as_deref()?;
        if let Some(branches) = combined.any.as_ref().or(combined.one.as_ref()) {
            return Some(format!("any of: {}", self.branches_summary(branches, levels)));
        }
        combined.all.iter().map(|node| self.node_summary_within(*node, levels)).find(|it| it != ANYTHING)
    }

    /// Describes an object by its required properties; a constant property distinguishes it from similar ones.
    fn object_summary(&self, object: &ObjectRules) -> String {
        let required = object.properties.iter().filter(|it| it.required).take(4).map(|it| {
            match it.node.and_then(|node| self.node(node).values.as_deref()) {
                Some([only]) => format!("`{}` {}", it.name, permitted_value_text(only)),
                _ => format!("`{}`", it.name),
            }
        });
        let required: Vec<_> = required.collect();
        if required.is_empty() {
            "an object".to_owned()
        } else {
            format!("an object with {}", required.join(", "))
        }
    }
}

/// The description of a schema without rules.
const ANYTHING: &str = "anything";
