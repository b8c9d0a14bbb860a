//! The values that `enum` and `const` allow.

use std::ops::Deref;

use serde_json::Value;

use super::{
    equality::equal,
    words::{LISTED, one_of, one_of_or},
};
use crate::nearest::Names;

/// The only values that a schema allows, in its order.
///
/// Of more than are listed in a message there is an index: a wrong text costs no comparison with each
/// of two hundred thousand.
#[derive(Debug)]
pub(super) struct Values {
    list: Box<[Value]>,
    index: Option<Box<Index>>,
}

#[derive(Debug)]
struct Index {
    /// The positions of all texts, sorted by them.
    sorted: Box<[usize]>,
    /// All texts, and nothing in the place of other values.
    names: Names,
    /// Whether all values are texts.
    only_texts: bool,
}

impl Values {
    pub(super) fn new(list: Vec<Value>) -> Self {
        let index = (list.len() > LISTED).then(|| Box::new(Index::new(&list)));
        Self { list: list.into(), index }
    }

    /// Whether `value` is one of them.
    pub(super) fn admit(&self, value: &Value) -> bool {
        match (&self.index, value) {
            (Some(index), Value::String(text)) => index.contains(&self.list, text),
            (Some(index), _) if index.only_texts => false,
            _ => self.list.iter().any(|allowed| equal(allowed, value)),
        }
    }

    /// Whether `text` is one of them.
    #[inline]
    pub(super) fn admit_text(&self, text: &str) -> bool {
        match &self.index {
            None => self.list.iter().any(|it| it.as_str() == Some(text)),
            Some(index) => index.contains(&self.list, text),
        }
    }

    /// What belongs in the place of `value`, which is none of them.
    pub(super) fn expected(&self, value: &Value) -> String {
        match (&self.index, value) {
            (Some(index), Value::String(text)) => {
                one_of_or(&self.list, index.names.closest(text, |at| text_at(&self.list, at)))
            }
            _ => one_of(&self.list, Some(value)),
        }
    }
}

impl Index {
    fn new(list: &[Value]) -> Self {
        let texts = list.iter().enumerate().filter(|(_, value)| value.is_string()).map(|(at, _)| at);
        let mut sorted: Vec<_> = texts.collect();
        sorted.sort_by(|left, right| text_at(list, *left).cmp(text_at(list, *right)));
        let names = Names::new(list.iter().map(|value| value.as_str().unwrap_or_default()));
        let only_texts = sorted.len() == list.len();
        Self { sorted: sorted.into(), names, only_texts }
    }

    // Apart, so that a look into a short list stays short.
    #[inline(never)]
    fn contains(&self, list: &[Value], text: &str) -> bool {
        self.sorted.binary_search_by(|at| text_at(list, *at).cmp(text)).is_ok()
    }
}

fn text_at(list: &[Value], at: usize) -> &str {
    list.get(at).and_then(Value::as_str).unwrap_or_default()
}

impl Deref for Values {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.list
    }
}
