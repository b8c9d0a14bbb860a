//! The values of `enum` and `const`.

use std::ops::Deref;

use serde_json::Value;

use super::{
    equality::json_equal,
    messages::{LISTED, one_of, one_of_with_suggestion},
};
use crate::nearest::Names;

/// The permitted values of a schema, in order.
///
/// Lists too long for a message have an index, so that an invalid string is not compared with each of, say, two
/// hundred thousand values.
#[derive(Debug)]
pub(super) struct PermittedValues {
    list: Box<[Value]>,
    index: Option<Box<ValueIndex>>,
}

#[derive(Debug)]
struct ValueIndex {
    /// The positions of all strings, sorted by text.
    sorted: Box<[usize]>,
    /// All strings; empty entries for other values.
    names: Names,
    /// `true` if all values are strings.
    only_texts: bool,
}

impl PermittedValues {
    pub(super) fn new(list: Vec<Value>) -> Self {
        let index = (list.len() > LISTED).then(|| Box::new(ValueIndex::new(&list)));
        Self { list: list.into(), index }
    }

    /// Returns `true` if `value` is permitted.
    pub(super) fn contain_value(&self, value: &Value) -> bool {
        match (&self.index, value) {
            (Some(index), Value::String(text)) => index.contains(&self.list, text),
            (Some(index), _) if index.only_texts => false,
            _ => self.list.iter().any(|allowed| json_equal(allowed, value)),
        }
    }

    /// Returns `true` if `text` is permitted.
    #[inline]
    pub(super) fn admit_text(&self, text: &str) -> bool {
        match &self.index {
            None => self.list.iter().any(|it| it.as_str() == Some(text)),
            Some(index) => index.contains(&self.list, text),
        }
    }

    /// Returns the message for the invalid `value`.
    pub(super) fn expected_message(&self, value: &Value) -> String {
        match (&self.index, value) {
            (Some(index), Value::String(text)) => {
                one_of_with_suggestion(&self.list, index.names.closest(text, |at| text_at(&self.list, at)))
            }
            _ => one_of(&self.list, Some(value)),
        }
    }
}

impl ValueIndex {
    fn new(list: &[Value]) -> Self {
        let texts = list.iter().enumerate().filter(|(_, value)| value.is_string()).map(|(at, _)| at);
        let mut sorted: Vec<_> = texts.collect();
        sorted.sort_by(|left, right| text_at(list, *left).cmp(text_at(list, *right)));
        let names = Names::new(list.iter().map(|value| value.as_str().unwrap_or_default()));
        let only_texts = sorted.len() == list.len();
        Self { sorted: sorted.into(), names, only_texts }
    }

    // A separate function, to keep the search of short lists small.
    #[inline(never)]
    fn contains(&self, list: &[Value], text: &str) -> bool {
        self.sorted.binary_search_by(|at| text_at(list, *at).cmp(text)).is_ok()
    }
}

fn text_at(list: &[Value], at: usize) -> &str {
    list.get(at).and_then(Value::as_str).unwrap_or_default()
}

impl Deref for PermittedValues {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // F11
    #[test]
    fn a_long_list_admits_the_same_values_as_a_short_one() {
        let texts = |count: usize| (0..count).map(|at| json!(format!("name{at}"))).collect::<Vec<_>>();
        for count in [1, LISTED, LISTED + 1, 200] {
            let only_texts = PermittedValues::new(texts(count));
            let mixed =
                PermittedValues::new([texts(count), vec![json!(7), json!(null), json!([1.0])]].concat());
            for values in [&only_texts, &mixed] {
                for (text, is_in) in [
                    ("name0", true),
                    ("name", false),
                    ("", false),
                    ("7", false),
                    ("zzz", false),
                    ("Name0", false),
                ] {
                    assert_eq!(values.admit_text(text), is_in, "{count} {text}");
                    assert_eq!(values.contain_value(&json!(text)), is_in, "{count} {text}");
                }
                let last = format!("name{}", count - 1);
                assert!(values.admit_text(&last) && values.contain_value(&json!(last)), "{count}");
                assert!(!values.admit_text(&format!("name{count}")), "{count}");
                assert!(!values.contain_value(&json!(8)) && !values.contain_value(&json!([2])), "{count}");
            }
            for value in [json!(7.0), json!(null), json!([1])] {
                assert!(mixed.contain_value(&value) && !only_texts.contain_value(&value), "{count} {value}");
            }
        }
    }

    #[test]
    fn the_message_for_a_text_names_the_nearest_of_many() {
        let colours: Vec<_> =
            (0..50).map(|at| json!(format!("{at}{at}{at}{at}"))).chain([json!("turquoise")]).collect();
        let message = PermittedValues::new(colours).expected_message(&json!("turqoise"));
        assert!(message.contains("\"turquoise\""), "{message}");
        let few = PermittedValues::new(vec![json!("a"), json!("b")]);
        assert_eq!(few.expected_message(&json!("turqoise")), one_of(&few, Some(&json!("turqoise"))));
    }
}
