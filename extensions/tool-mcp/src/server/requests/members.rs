//! The reader of the members of params.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use rmcp::model::RequestId;
use serde_json::value::RawValue;

use super::{
    decode_text, json_kind,
    protocol::{Member, MemberKind, Need},
};

/// Reads the members of objects. Finds what the SDK receives in another form: empty lists in the place of an object, and hints that
/// cannot be read.
pub(super) struct MemberReader<'a> {
    text: &'a [u8],
    replacements: Vec<Replacement>,
}

/// Another text for a part of the message.
struct Replacement {
    part: Range<usize>,
    text: Cow<'static, str>,
}

type MemberValues<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl<'a> MemberReader<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, replacements: Vec::new() }
    }

    /// Reads an object with `members`.
    ///
    /// # Errors
    ///
    /// The member that is wrong, and why.
    pub(super) fn check_object(
        &mut self,
        path: &str,
        object: Option<&'a RawValue>,
        members: &[Member],
    ) -> Result<(), String> {
        let values = self.object_members(path, object)?;
        self.check_members(path, &values, members)
    }

    /// Reads the value of a member. A hint that cannot be read is left out.
    ///
    /// # Errors
    ///
    /// The member that is wrong, and why.
    pub(super) fn check_member(
        &mut self,
        path: &str,
        value: &'a RawValue,
        member: &Member,
    ) -> Result<(), String> {
        let before = self.replacements.len();
        match self.check_value(path, value, &member.kind) {
            Err(problem) if member.need == Need::Hint => {
                self.replacements.truncate(before);
                self.replace_value(value, "null");
                tracing::warn!(problem, "a part of a message cannot be read, and is left out");
                Ok(())
            }
            read => read,
        }
    }

    /// Returns the members of an object; none of one that is absent.
    fn object_members(
        &mut self,
        path: &str,
        object: Option<&'a RawValue>,
    ) -> Result<MemberValues<'a>, String> {
        let object = object.filter(|object| !self.replace_empty_list(object));
        match object.map(|object| (object, json_kind(object))) {
            None | Some((_, "null")) => Ok(MemberValues::new()),
            Some((object, "an object")) => parse_members_keeping_last(object, path),
            Some((_, kind)) => Err(format!("`{path}` must be an object, but is {kind}")),
        }
    }

    fn check_members(
        &mut self,
        path: &str,
        values: &MemberValues<'a>,
        members: &[Member],
    ) -> Result<(), String> {
        let value_of = |name| values.get(name).copied().filter(|value| value.get() != "null");
        let is_missing = |member: &&Member| member.need == Need::Required && value_of(member.name).is_none();
        if let Some(missing) = members.iter().find(is_missing) {
            return Err(format!("`{path}.{}` is required", missing.name));
        }
        for member in members {
            if let Some(value) = value_of(member.name) {
                self.check_member(&format!("{path}.{}", member.name), value, member)?;
            }
        }
        Ok(())
    }

    fn check_value(&mut self, path: &str, value: &'a RawValue, kind: &MemberKind) -> Result<(), String> {
        let other = |expected: &str| Err(format!("`{path}` must be {expected}, but is {}", json_kind(value)));
        match kind {
            MemberKind::Text => read_text(path, value).map(drop),
            MemberKind::Flag if json_kind(value) == "a boolean" => Ok(()),
            MemberKind::Flag => other("a boolean"),
            MemberKind::Id if serde_json::from_str::<RequestId>(value.get()).is_ok() => Ok(()),
            MemberKind::Id => other("a text or an integer"),
            MemberKind::OneOf(texts) => read_one_of(path, value, texts.iter().copied()).map(drop),
            MemberKind::ListOf(kind) => {
                let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) else {
                    return other("a list");
                };
                let mut items = items.into_iter().enumerate();
                items.try_for_each(|(index, item)| self.check_value(&format!("{path}[{index}]"), item, kind))
            }
            MemberKind::Object(members) => self.check_object(path, Some(value), members),
            MemberKind::MapOf(members, kind) => {
                let values = self.object_members(path, Some(value))?;
                self.check_members(path, &values, members)?;
                let is_other = |name: &str| members.iter().all(|member| member.name != name);
                let others = values.iter().filter(|(name, value)| is_other(name) && value.get() != "null");
                for (name, value) in others {
                    self.check_value(&format!("{path}.{name}"), value, kind)?;
                }
                Ok(())
            }
            MemberKind::Settings => self.check_settings(path, value),
            MemberKind::Tagged(variants) => {
                let values = self.object_members(path, Some(value))?;
                let path_of_tag = format!("{path}.type");
                let tag = values.get("type").ok_or_else(|| format!("`{path_of_tag}` is required"))?;
                let tag = read_one_of(&path_of_tag, tag, variants.iter().map(|(tag, _)| *tag))?;
                let variant = variants.iter().find(|(name, _)| *name == tag);
                variant.map_or(Ok(()), |(_, members)| self.check_members(path, &values, members))
            }
        }
    }

    /// Reads an object of settings, without those that are no object.
    fn check_settings(&mut self, path: &str, value: &'a RawValue) -> Result<(), String> {
        let values = self.object_members(path, Some(value))?;
        let mut settings = Vec::new();
        for (name, setting) in &values {
            match json_kind(setting) {
                "an object" => settings.push(format!("{}:{}", quoted_json_text(name), setting.get())),
                _ if is_empty_list(setting) => settings.push(format!("{}:{{}}", quoted_json_text(name))),
                kind => {
                    let problem = format!("`{path}.{name}` must be an object, but is {kind}");
                    tracing::warn!(problem, "a part of a message cannot be read, and is left out");
                }
            }
        }
        if values.values().any(|setting| json_kind(setting) != "an object") {
            self.replace_value(value, format!("{{{}}}", settings.join(",")));
        }
        Ok(())
    }

    /// Returns `true` for an empty list, which becomes an empty object.
    pub(super) fn replace_empty_list(&mut self, value: &RawValue) -> bool {
        let is_empty = is_empty_list(value);
        if is_empty {
            self.replace_value(value, "{}");
        }
        is_empty
    }

    /// Replaces `value`, which is a part of the text.
    fn replace_value(&mut self, value: &RawValue, text: impl Into<Cow<'static, str>>) {
        let start = value.get().as_ptr().addr().checked_sub(self.text.as_ptr().addr());
        if let Some(start) = start {
            self.replacements.push(Replacement { part: start..start + value.get().len(), text: text.into() });
        }
    }

    /// Returns the message for the SDK.
    pub(super) fn forwarded_message(mut self) -> Cow<'a, [u8]> {
        if self.replacements.is_empty() {
            return Cow::Borrowed(self.text);
        }
        self.replacements.sort_by_key(|replacement| replacement.part.start);
        let mut message = Vec::with_capacity(self.text.len());
        let mut end = 0;
        for Replacement { part, text } in self.replacements {
            message.extend_from_slice(self.text.get(end..part.start).unwrap_or_default());
            message.extend_from_slice(text.as_bytes());
            end = part.end;
        }
        message.extend_from_slice(self.text.get(end..).unwrap_or_default());
        Cow::Owned(message)
    }
}

fn is_empty_list(value: &RawValue) -> bool {
    let inner = value.get().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| inner.trim_ascii().is_empty())
}

fn parse_members_keeping_last<'a>(object: &'a RawValue, path: &str) -> Result<MemberValues<'a>, String> {
    serde_json::from_str(object.get()).map_err(|error| format!("`{path}` cannot be read: {error}"))
}

/// Returns the text `value`.
pub(super) fn read_text<'a>(path: &str, value: &'a RawValue) -> Result<Cow<'a, str>, String> {
    decode_text(Some(value)).ok_or_else(|| match json_kind(value) {
        "a text" => format!("`{path}` must be a text, but has an escape that is no character"),
        kind => format!("`{path}` must be a text, but is {kind}"),
    })
}

/// Returns the text `value`, which is one of `texts`.
fn read_one_of<'t>(
    path: &str,
    value: &RawValue,
    texts: impl Iterator<Item = &'t str> + Clone,
) -> Result<&'t str, String> {
    let text = read_text(path, value)?;
    texts.clone().find(|it| *it == text).ok_or_else(|| {
        let texts: Vec<_> = texts.map(|text| format!("`{text}`")).collect();
        format!("`{path}` must be one of {}", texts.join(", "))
    })
}

fn quoted_json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
