//! The members of the params of requests.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use serde_json::value::RawValue;

use super::{kind_of, text_of};

/// A member of an object of the protocol.
pub(super) struct Member {
    name: &'static str,
    kind: Kind,
    is_required: bool,
}

enum Kind {
    Text,
    Object(&'static [Member]),
    /// An object whose members are objects.
    Objects,
}

const fn required(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, is_required: true }
}

const fn optional(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, is_required: false }
}

const ANY: Kind = Kind::Object(&[]);
const META: Member = optional("_meta", ANY);
const CLIENT: &[Member] = &[required("name", Kind::Text), required("version", Kind::Text)];
const INITIALIZE: &[Member] = &[
    required("protocolVersion", Kind::Text),
    required("capabilities", Kind::Objects),
    required("clientInfo", Kind::Object(CLIENT)),
    META,
];
const CALL: &[Member] = &[
    required("name", Kind::Text),
    optional("arguments", ANY),
    optional("inputResponses", ANY),
    optional("requestState", Kind::Text),
    META,
];
const LIST: &[Member] = &[optional("cursor", Kind::Text), META];
const URI: &[Member] = &[required("uri", Kind::Text), META];
const TASK: &[Member] = &[required("taskId", Kind::Text), META];
const COMPLETE: &[Member] = &[required("ref", ANY), required("argument", ANY), META];
const LEVEL: &[Member] = &[required("level", Kind::Text), META];

/// The methods that revision 2026-07-28 does not have.
const REMOVED: [&str; 5] =
    ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// Returns the members of the params of a method, if it is one of the protocol; `is_modern` from revision 2026-07-28 on.
pub(super) fn params_of(method: &str, is_modern: bool) -> Option<&'static [Member]> {
    Some(match method {
        _ if is_modern && REMOVED.contains(&method) => return None,
        "initialize" => INITIALIZE,
        "tools/call" | "prompts/get" => CALL,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => LIST,
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => URI,
        "tasks/get" | "tasks/update" | "tasks/cancel" => TASK,
        "completion/complete" => COMPLETE,
        "logging/setLevel" => LEVEL,
        "ping" | "server/discover" | "subscriptions/listen" => &[META],
        _ => return None,
    })
}

/// Reads the members of objects, and finds empty lists in the place of an object.
pub(super) struct MemberReader<'a> {
    text: &'a [u8],
    empty_lists: Vec<Range<usize>>,
}

impl<'a> MemberReader<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, empty_lists: Vec::new() }
    }

    pub(super) fn read_object(
        &mut self,
        path: &str,
        object: Option<&'a RawValue>,
        members: &[Member],
    ) -> Result<(), String> {
        let object = object.filter(|object| !self.is_empty_list(object));
        let values = match object.map(|object| (object, kind_of(object))) {
            None | Some((_, "null")) => BTreeMap::default(),
            Some((object, "an object")) => members_of(object, path)?,
            Some((_, kind)) => return Err(format!("`{path}` must be an object, but is {kind}")),
        };
        for member in members {
            let path = format!("{path}.{}", member.name);
            let value = values.get(member.name).copied().filter(|value| value.get() != "null");
            match value {
                Some(value) => self.read_member(&path, value, &member.kind)?,
                None if member.is_required => return Err(format!("`{path}` is required")),
                None => {}
            }
        }
        Ok(())
    }

    fn read_member(&mut self, path: &str, value: &'a RawValue, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Text if text_of(Some(value)).is_some() => Ok(()),
            Kind::Text => Err(format!("`{path}` must be a text, but is {}", kind_of(value))),
            Kind::Object(members) => self.read_object(path, Some(value), members),
            Kind::Objects => {
                self.read_object(path, Some(value), &[])?;
                let values =
                    if kind_of(value) == "an object" { members_of(value, path)? } else { BTreeMap::new() };
                let values = values.into_iter().filter(|(_, value)| value.get() != "null");
                for (name, value) in values {
                    self.read_object(&format!("{path}.{name}"), Some(value), &[])?;
                }
                Ok(())
            }
        }
    }

    /// Returns `true` for an empty list, which becomes an empty object.
    pub(super) fn is_empty_list(&mut self, value: &RawValue) -> bool {
        let text = value.get();
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let is_empty = inner.is_some_and(|inner| inner.trim_ascii().is_empty());
        if is_empty && let Some(start) = text.as_ptr().addr().checked_sub(self.text.as_ptr().addr()) {
            self.empty_lists.push(start..start + text.len());
        }
        is_empty
    }

    /// Returns the message with its empty objects.
    pub(super) fn forwarded(mut self) -> Cow<'a, [u8]> {
        if self.empty_lists.is_empty() {
            return Cow::Borrowed(self.text);
        }
        self.empty_lists.sort_by_key(|place| place.start);
        self.empty_lists.dedup();
        let mut message = Vec::with_capacity(self.text.len() + 2);
        let mut end = 0;
        for place in self.empty_lists {
            message.extend_from_slice(self.text.get(end..place.start).unwrap_or_default());
            message.extend_from_slice(b"{}");
            end = place.end;
        }
        message.extend_from_slice(self.text.get(end..).unwrap_or_default());
        Cow::Owned(message)
    }
}

fn members_of<'a>(object: &'a RawValue, path: &str) -> Result<BTreeMap<Cow<'a, str>, &'a RawValue>, String> {
    serde_json::from_str(object.get()).map_err(|error| format!("`{path}` cannot be read: {error}"))
}
