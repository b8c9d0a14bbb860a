//! The assistant message of a response while the response is read.
//!
//! A message is an object with a list of parts: blocks, calls or items. A whole response contains both; a
//! stream begins parts and adds to them.

use std::{borrow::Cow, collections::HashMap};

use tool_core::internals::ExactValue;

use super::{
    error::JsonLocation,
    partial_calls::{Key, PartialCall, PartialCalls},
};
use crate::ToolCall;

/// The assistant message of a response that is being read.
#[derive(Default)]
pub(super) struct MessageDraft {
    /// The members of the message; the list of parts, where it is a member, is empty here.
    pub(super) base: Members,
    parts: Vec<MessagePart>,
    /// The most recent part with each key.
    places: HashMap<Key, usize>,
}

/// The members of an object.
pub(super) type Members = Vec<(Cow<'static, str>, ExactValue<'static>)>;

/// One part of a message.
pub(super) struct MessagePart {
    pub(super) value: ExactValue<'static>,
    /// The index of the call that this part represents.
    pub(super) call: Option<usize>,
    /// JSON text that arrives in pieces and becomes a member of the part.
    pub(super) json: String,
    /// Set until the provider has sent the part as a whole.
    pub(super) open: bool,
    /// Set where text of the part has been emitted as deltas.
    pub(super) is_emitted: bool,
}

impl MessagePart {
    pub(super) fn new(value: ExactValue<'static>) -> Self {
        Self { value, call: None, json: String::new(), open: false, is_emitted: false }
    }

    pub(super) fn from_call(value: ExactValue<'static>, call: usize) -> Self {
        Self { call: Some(call), ..Self::new(value) }
    }

    pub(super) fn has_type(&self, kind: &str) -> bool {
        self.value.get("type").and_then(ExactValue::as_str) == Some(kind)
    }
}

impl MessageDraft {
    /// Adds a part; returns its index.
    pub(super) fn push(&mut self, part: MessagePart) -> usize {
        self.parts.push(part);
        self.parts.len() - 1
    }

    /// Registers `key` for the part at `at`.
    pub(super) fn insert_key(&mut self, at: usize, key: Key) {
        self.places.insert(key, at);
    }

    pub(super) fn index_of(&self, key: &Key) -> Option<usize> {
        self.places.get(key).copied()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut MessagePart> {
        self.parts.get_mut(at)
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut MessagePart> {
        self.parts.last_mut()
    }

    pub(super) fn parts_mut(&mut self) -> &mut Vec<MessagePart> {
        &mut self.parts
    }

    /// Moves the parts at `places` to the front, in that order.
    pub(super) fn move_to_front(&mut self, places: &[usize]) {
        let mut parts: Vec<_> = std::mem::take(&mut self.parts).into_iter().map(Some).collect();
        let first: Vec<_> = places.iter().filter_map(|at| parts.get_mut(*at)?.take()).collect();
        self.parts = first.into_iter().chain(parts.into_iter().flatten()).collect();
    }

    /// Adds the members of a message unchanged, except its parts in `list`; existing members stay.
    pub(super) fn add_message_members(&mut self, message: &JsonLocation<'_>, list: &str) {
        merge_members(&mut self.base, message.members(), |name, own, value| {
            if own.is_null() {
                *own = if name == list { ExactValue::List(Vec::new()) } else { value.to_owned() };
            }
        });
    }

    /// Sets the member `name` of each call to the id by which results refer to the call.
    pub(super) fn set_call_ids(&mut self, name: &str, calls: &[ToolCall]) {
        for part in &mut self.parts {
            let Some(call) = part.call.and_then(|at| calls.get(at)) else { continue };
            let own = call.id.to_string();
            if let Some(id) = part.value.entry(name).filter(|id| id.as_str() != Some(own.as_str())) {
                *id = text_value(&own);
            }
        }
    }

    /// Calls `put` with each part of a call that arrived in pieces, and the call.
    pub(super) fn fill_open_parts(
        &mut self,
        partial_calls: &PartialCalls,
        put: impl Fn(&mut ExactValue<'static>, &PartialCall),
    ) {
        for part in self.parts.iter_mut().filter(|part| part.open) {
            let Some(partial_call) = part.call.and_then(|at| partial_calls.get(at)) else { continue };
            put(&mut part.value, partial_call);
        }
    }

    /// Returns the message with its parts in `list`; the default role is `role`. `None` where the message is
    /// empty. A list without parts is omitted: [OpenAI rejects
    /// it](https://github.com/BigSweetPotatoStudio/HyperChat/pull/115).
    pub(super) fn into_message(self, list: &'static str, role: &'static str) -> Option<ExactValue<'static>> {
        let Self { mut base, parts, .. } = self;
        if !base.iter().any(|(name, value)| name == "role" && !value.is_null()) {
            base.retain(|(name, _)| name != "role");
            base.insert(0, (Cow::Borrowed("role"), text_value(role)));
        }
        if parts.is_empty() {
            base.retain(|(name, _)| name != list);
            let is_empty = |value: &ExactValue<'_>| match value {
                ExactValue::Null => true,
                ExactValue::List(items) => items.is_empty(),
                _ => false,
            };
            let has_some = base.iter().any(|(name, value)| name != "role" && !is_empty(value));
            return has_some.then_some(ExactValue::Object(base));
        }
        let parts = parts.into_iter().map(|part| part.value).collect();
        let mut message = ExactValue::Object(base);
        set_member(&mut message, list, ExactValue::List(parts));
        Some(message)
    }

    /// Returns the parts without a message around them.
    pub(super) fn into_list(self) -> Option<ExactValue<'static>> {
        let parts: Vec<_> = self.parts.into_iter().map(|part| part.value).collect();
        (!parts.is_empty()).then_some(ExactValue::List(parts))
    }
}

pub(super) fn text_value(text: &str) -> ExactValue<'static> {
    ExactValue::String(Cow::Owned(text.to_owned()))
}

/// Sets a member of an object.
pub(super) fn set_member(object: &mut ExactValue<'static>, name: &str, value: ExactValue<'static>) {
    if let Some(place) = object.entry(name) {
        *place = value;
    }
}

/// Calls `with` for each of the members `more` with the member of the same name in `before`, which is `null` where
/// it is new.
pub(super) fn merge_members<'n, T>(
    before: &mut Members,
    more: impl Iterator<Item = (&'n str, T)>,
    mut with: impl FnMut(&'n str, &mut ExactValue<'static>, T),
) {
    /// Up to this number of members, a linear search is used instead of an index of names.
    const MAX_LINEAR_SEARCH: usize = 8;
    let more: Vec<_> = more.collect();
    let named = |(at, (name, _)): (usize, &(Cow<'static, str>, _))| (name.clone(), at);
    let mut index = (more.len() > MAX_LINEAR_SEARCH)
        .then(|| before.iter().enumerate().map(named).collect::<HashMap<_, _>>());
    for (name, value) in more {
        let known = match &index {
            Some(index) => index.get(name).copied(),
            None => before.iter().rposition(|(own, _)| {
                #[cfg(test)]
                tests::COMPARISONS.set(tests::COMPARISONS.get() + 1);
                own == name
            }),
        };
        let at = known.unwrap_or_else(|| {
            let own = Cow::Owned(name.to_owned());
            if let Some(index) = &mut index {
                index.insert(Cow::clone(&own), before.len());
            }
            before.push((own, ExactValue::Null));
            before.len() - 1
        });
        if let Some((_, own)) = before.get_mut(at) {
            with(name, own, value);
        }
    }
}

/// Returns the item `at` of the list `name`; the next item is created as an empty object.
pub(super) fn item_at_or_insert<'v>(
    object: &'v mut ExactValue<'static>,
    name: &str,
    at: u64,
) -> Option<&'v mut ExactValue<'static>> {
    let list = object.entry(name)?;
    if list.is_null() {
        *list = ExactValue::List(Vec::new());
    }
    let ExactValue::List(items) = list else { return None };
    let at = usize::try_from(at).ok()?;
    if at == items.len() {
        items.push(ExactValue::Object(Vec::new()));
    }
    items.get_mut(at)
}

/// Merges a delta into a value: texts are concatenated, members of objects are merged, and so are items of
/// lists with the same `index`; `index`, `type` and all other values are replaced ([as in OpenAI's
/// SDK](https://github.com/openai/openai-python/blob/main/src/openai/lib/streaming/_deltas.py)).
pub(super) fn merge_delta(before: &mut ExactValue<'static>, delta: &ExactValue<'_>) {
    match (before, delta) {
        (_, ExactValue::Null) => {}
        (ExactValue::String(before), ExactValue::String(more)) => before.to_mut().push_str(more),
        (ExactValue::Object(members), ExactValue::Object(more)) => {
            let more = more.iter().map(|(name, delta)| (&**name, delta));
            merge_members(members, more, |name, place, delta| match name {
                "index" | "type" => *place = delta.clone().into_owned(),
                _ => merge_delta(place, delta),
            });
        }
        (ExactValue::List(items), ExactValue::List(more)) => {
            for delta in more {
                let index = delta.get("index").and_then(ExactValue::as_u64);
                let at = index.and_then(|index| usize::try_from(index).ok());
                let same = at.and_then(|at| items.get_mut(at));
                match same.filter(|same| same.get("index").and_then(ExactValue::as_u64) == index) {
                    Some(same) => merge_delta(same, delta),
                    None => items.push(delta.clone().into_owned()),
                }
            }
        }
        (before, delta) => *before = delta.clone().into_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test may")]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The number of comparisons of names.
        pub(super) static COMPARISONS: Cell<usize> = const { Cell::new(0) };
    }

    fn read(json: &'static str) -> ExactValue<'static> {
        ExactValue::read(json).unwrap_or(ExactValue::Null)
    }

    #[test]
    fn deltas_are_merged_by_the_kinds_of_their_values() {
        for (before, delta, after) in [
            (r#""a""#, r#""b""#, r#""ab""#),
            (r#""a""#, "null", r#""a""#),
            ("null", r#""b""#, r#""b""#),
            ("1", "2", "2"),
            (r#""a""#, "[1]", "[1]"),
            (
                r#"{"index":0,"type":"a","text":"x","n":1}"#,
                r#"{"index":1,"type":"b","text":"y","n":2,"m":3}"#,
                r#"{"index":1,"type":"b","text":"xy","n":2,"m":3}"#,
            ),
            ("[]", r#"[{"index":0,"t":"a"}]"#, r#"[{"index":0,"t":"a"}]"#),
            (
                r#"[{"index":0,"t":"a"}]"#,
                r#"[{"index":0,"t":"b"},{"index":1,"t":"c"}]"#,
                r#"[{"index":0,"t":"ab"},{"index":1,"t":"c"}]"#,
            ),
            (r#"[{"t":"a"}]"#, r#"[{"t":"b"}]"#, r#"[{"t":"a"},{"t":"b"}]"#),
            (
                r#"[{"index":5,"t":"a"}]"#,
                r#"[{"index":0,"t":"b"}]"#,
                r#"[{"index":5,"t":"a"},{"index":0,"t":"b"}]"#,
            ),
        ] {
            let mut value = read(before);
            merge_delta(&mut value, &read(delta));
            assert_eq!(value.to_string(), after, "{before} {delta}");
        }
    }

    #[test]
    fn an_item_of_a_list_is_the_next_one_or_a_present_one() {
        let at = |object: &'static str, index: u64| {
            let mut object = read(object);
            let found = item_at_or_insert(&mut object, "l", index).is_some();
            (found, object.to_string())
        };
        assert_eq!(at("{}", 0), (true, r#"{"l":[{}]}"#.to_owned()));
        assert_eq!(at("{}", 1), (false, r#"{"l":[]}"#.to_owned()));
        assert_eq!(at(r#"{"l":[1]}"#, 0), (true, r#"{"l":[1]}"#.to_owned()));
        assert_eq!(at(r#"{"l":[1]}"#, 1), (true, r#"{"l":[1,{}]}"#.to_owned()));
        assert_eq!(at(r#"{"l":7}"#, 0), (false, r#"{"l":7}"#.to_owned()));
    }

    #[test]
    fn a_message_has_a_role_and_its_parts_unless_it_is_empty() {
        let message = |base: &'static str, parts: &[&'static str]| {
            let ExactValue::Object(base) = read(base) else { panic!("no object") };
            let mut draft = MessageDraft { base, ..MessageDraft::default() };
            draft.parts_mut().extend(parts.iter().map(|part| MessagePart::new(read(part))));
            draft.into_message("calls", "assistant").map(|message| message.to_string())
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(message("{}", &[]), None);
        assert_eq!(message(r#"{"role":"model","content":null,"calls":[],"more":[]}"#, &[]), None);
        assert_eq!(
            message(r#"{"content":"a","calls":[]}"#, &[]),
            text(r#"{"role":"assistant","content":"a"}"#)
        );
        assert_eq!(
            message(r#"{"role":null,"content":""}"#, &[]),
            text(r#"{"role":"assistant","content":""}"#)
        );
        assert_eq!(message(r#"{"role":"model","a":[1]}"#, &[]), text(r#"{"role":"model","a":[1]}"#));
        assert_eq!(
            message(r#"{"calls":[],"content":"a"}"#, &["1", "2"]),
            text(r#"{"role":"assistant","calls":[1,2],"content":"a"}"#)
        );
        let mut draft = MessageDraft::default();
        assert_eq!(MessageDraft::default().into_list().map(|it| it.to_string()), None);
        let places = ["0", "1", "2", "3"].map(|part| draft.push(MessagePart::new(read(part))));
        assert_eq!(places, [0, 1, 2, 3]);
        draft.move_to_front(&[2, 9, 0, 2]);
        assert_eq!(draft.len(), 4);
        assert_eq!(draft.into_list().map(|it| it.to_string()), text("[2,0,1,3]"));
    }

    #[test]
    fn the_cost_of_a_member_does_not_depend_on_the_number_of_members() {
        let members = |from: usize, to: usize| {
            let member = |at: usize| (Cow::Owned(format!("m{}", at / 2)), text_value("x"));
            ExactValue::Object((from..to).map(member).collect())
        };
        let mut message = ExactValue::Object(Vec::new());
        for _ in 0..2 {
            merge_delta(&mut message, &members(0, 32_000));
        }
        let few = COMPARISONS.get();
        assert!(few <= 32_000, "{few}");
        assert_eq!(message.get("m15999").and_then(ExactValue::as_str), Some("xxxx"));
        // A few members are compared with each existing one.
        merge_delta(&mut message, &members(0, 8));
        assert!(COMPARISONS.get() - few <= 8 * 16_000);
    }

    #[test]
    fn the_cost_of_a_part_of_a_text_does_not_depend_on_the_text() {
        let mut message = text_value("");
        let mut moved = 0;
        let mut capacity = 0;
        for _ in 0..16_000 {
            merge_delta(&mut message, &text_value("and "));
            let ExactValue::String(Cow::Owned(text)) = &message else { panic!("no text") };
            if text.capacity() != capacity {
                (moved, capacity) = (moved + text.len(), text.capacity());
            }
        }
        assert!(moved <= 4 * 64_000, "{moved}");
    }
}
