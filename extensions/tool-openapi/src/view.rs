//! The members of a response that a model sees.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Value, value::RawValue};

use crate::request::Members;

/// The part of the JSON of an operation that a model sees.
#[derive(Clone)]
pub(crate) enum View {
    Pointers(Arc<ViewNode>),
    Closure(Arc<dyn Fn(Value) -> Value + Send + Sync>),
}

/// The pointers that lead through one value.
#[derive(Debug, Default)]
pub(crate) struct ViewNode {
    whole: bool,
    members: BTreeMap<String, ViewNode>,
    /// The members and items that `*` names.
    each: Option<Box<ViewNode>>,
}

impl View {
    /// Reads JSON pointers, of which `*` names each item of a list.
    ///
    /// # Errors
    ///
    /// Returns the first text that is not a JSON pointer.
    pub(crate) fn of_pointers(pointers: &[String]) -> Result<Self, String> {
        let mut root = ViewNode::default();
        for pointer in pointers {
            let mut node = &mut root;
            let rest = match pointer.strip_prefix('/') {
                Some(rest) => Some(rest),
                None if pointer.is_empty() => None,
                None => return Err(pointer.clone()),
            };
            for token in rest.into_iter().flat_map(|it| it.split('/')) {
                let token = token.replace("~1", "/").replace("~0", "~");
                node = match &*token {
                    "*" => &mut **node.each.get_or_insert_default(),
                    _ => node.members.entry(token).or_default(),
                };
            }
            node.whole = true;
        }
        Ok(Self::Pointers(Arc::new(root)))
    }

    /// Returns the JSON that a model sees of `text`, which is valid JSON; empty if it sees nothing.
    pub(crate) fn apply_view(&self, text: &str) -> Result<String, serde_json::Error> {
        match self {
            Self::Closure(view) => Ok(view(serde_json::from_str(text)?).to_string()),
            // Values keep their text, so that no number changes.
            Self::Pointers(node) => {
                let mut shown = String::new();
                node.write_visible_members(serde_json::from_str(text)?, &mut shown)?;
                Ok(shown)
            }
        }
    }
}

impl ViewNode {
    fn child_node(&self, token: &str) -> Option<&Self> {
        self.members.get(token).or(self.each.as_deref())
    }

    /// Writes what the pointers leave of `value`; returns `false` if that is nothing.
    fn write_visible_members(&self, value: &RawValue, shown: &mut String) -> Result<bool, serde_json::Error> {
        if self.whole {
            shown.push_str(value.get());
            return Ok(true);
        }
        let (mut is_first, open) = (true, value.get().as_bytes().first());
        let mut next = |shown: &mut String| match std::mem::take(&mut is_first) {
            true => {}
            false => shown.push(','),
        };
        match open {
            Some(b'{') => {
                shown.push('{');
                for (name, value) in Members::of(value.get())?.iter() {
                    let Some(child) = self.child_node(name) else { continue };
                    let mut part = String::new();
                    if child.write_visible_members(value, &mut part)? {
                        next(shown);
                        shown.push_str(&serde_json::to_string(name)?);
                        shown.push(':');
                        shown.push_str(&part);
                    }
                }
                shown.push('}');
            }
            Some(b'[') => {
                shown.push('[');
                for (at, item) in serde_json::from_str::<Vec<&RawValue>>(value.get())?.into_iter().enumerate()
                {
                    let Some(child) = self.child_node(&at.to_string()) else { continue };
                    let mut part = String::new();
                    if child.write_visible_members(item, &mut part)? {
                        next(shown);
                        shown.push_str(&part);
                    }
                }
                shown.push(']');
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointers(node) => node.fmt(f),
            Self::Closure(_) => f.write_str(".."),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::sync::Arc;

    use super::View;

    #[test]
    fn pointers_leave_the_values_that_they_name() {
        let text = r#"{"id": 1.10, "pets": [{"name": "Rex", "age": 3}, 7, {"age": 4}], "a/b~c": {"d": [1, 2]}, "none": null}"#;
        for (pointers, expected) in [
            (&[][..], "{}"),
            (&[""], text),
            (&["/id"], r#"{"id":1.10}"#),
            (&["/none", "/id"], r#"{"id":1.10,"none":null}"#),
            (&["/pets/0"], r#"{"pets":[{"name": "Rex", "age": 3}]}"#),
            (&["/pets/*/age"], r#"{"pets":[{"age":3},{"age":4}]}"#),
            (&["/pets/*/name", "/pets/2"], r#"{"pets":[{"name":"Rex"},{"age": 4}]}"#),
            (&["/a~1b~0c/d/1"], r#"{"a/b~c":{"d":[2]}}"#),
            // Below a value that has no members, there is nothing.
            (&["/id/x"], "{}"),
            (&["/id/x", "/none"], r#"{"none":null}"#),
            (&["/pets/1/x", "/pets/2/age"], r#"{"pets":[{"age":4}]}"#),
            (&["/*/d"], r#"{"pets":[],"a/b~c":{"d":[1, 2]}}"#),
            (&["/absent"], "{}"),
        ] {
            let pointers: Vec<_> = pointers.iter().map(|it| (*it).to_owned()).collect();
            let view = View::of_pointers(&pointers).unwrap();
            assert_eq!(view.apply_view(text).unwrap(), expected, "{pointers:?}");
        }
        let view = View::of_pointers(&["/a".to_owned()]).unwrap();
        assert_eq!(view.apply_view("3").unwrap(), "");
        let child = "\"a\": ViewNode { whole: true, members: {}, each: None }";
        assert_eq!(
            format!("{view:?}"),
            format!("ViewNode {{ whole: false, members: {{{child}}}, each: None }}")
        );
        assert_eq!(format!("{:?}", View::Closure(Arc::new(|it: serde_json::Value| it))), "..");
        for wrong in ["id", "#/id", " "] {
            assert_eq!(View::of_pointers(&["/a".to_owned(), wrong.to_owned()]).unwrap_err(), wrong);
        }
    }
}
