//! The properties inside a value that is written as JSON, such as those of the items of a list.

use serde_json::Value;

use super::{
    schema::{DEEPEST, is_notable, kind, limits, members, resolve},
    value_kind::shown,
};

/// The limit of properties that are listed for one value.
const MOST: usize = 40;

/// A property inside a value that is written as JSON.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inner {
    /// The number of objects around it, from 0.
    pub(crate) depth: usize,
    pub(crate) name: String,
    /// Its type, default, and `required`.
    pub(crate) takes: String,
    /// The first line of its description, with its limits.
    pub(crate) about: String,
}

/// The properties of `schema`, or of its items, in their order and indented by depth; recursion ends at the first repetition.
pub(super) fn shape(root: &Value, schema: &Value) -> Vec<Inner> {
    let mut found = Vec::new();
    add(root, schema, 0, &mut Vec::new(), &mut found);
    found
}

fn add<'s>(
    root: &'s Value,
    schema: &'s Value,
    depth: usize,
    seen: &mut Vec<&'s str>,
    found: &mut Vec<Inner>,
) {
    let known = seen.len();
    let schema = resolve(root, schema, seen);
    let (outer, new) = seen.split_at(known);
    let is_recursive = new.iter().any(|it| outer.contains(it));
    if depth < DEEPEST && !is_recursive {
        for (name, property, required) in members(root, schema, 0) {
            if found.len() == MOST {
                break;
            }
            found.push(inner(root, name, property, required, depth));
            add(root, property, depth + 1, seen, found);
        }
        let below = ["items", "additionalProperties"].iter().filter_map(|keyword| schema.get(*keyword));
        for items in below.filter(|it| it.is_object()) {
            add(root, items, depth, seen, found);
        }
    }
    seen.truncate(known);
}

fn inner(root: &Value, name: &str, schema: &Value, required: bool, depth: usize) -> Inner {
    let target = resolve(root, schema, &mut Vec::new());
    let word = |keyword: &str| schema.get(keyword).or_else(|| target.get(keyword));
    let mut takes = kind(root, target, 0).words();
    match word("default").filter(|value| is_notable(value)) {
        Some(default) => takes.push_str(&format!(" = {}", shown(default))),
        None if required => takes.push_str(", required"),
        None => {}
    }
    let about = word("description").and_then(Value::as_str).unwrap_or_default().trim();
    let mut about = about.lines().next().unwrap_or_default().to_owned();
    let limits = limits(target);
    if !limits.is_empty() {
        about = format!("{about} [{}]", limits.join("; ")).trim_start().to_owned();
    }
    Inner { depth, name: name.to_owned(), takes, about }
}
