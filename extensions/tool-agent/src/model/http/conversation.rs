//! The messages of a request in the JSON of the provider: its own unchanged, all others converted.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use tool_runtime::{Content, ToolCall, ToolResult, dialect::BoundTools};

use super::HttpModelSettings;
use crate::{
    Message, Part, Role,
    message::{MessageForm, split_messages},
    model::Request,
};

/// The maximum length of an id of a call in a converted message: [OpenAI's chat
/// completions](https://github.com/agno-agi/agno/issues/5382) have the shortest. Anthropic's ids have the characters
/// `[a-zA-Z0-9_-]`.
const MAX_ID_CHARS: usize = 40;

/// A conversation that is converted, message by message.
pub(super) struct RequestConversation<'s> {
    settings: &'s HttpModelSettings,
    bound: &'s BoundTools,
    dialect: Arc<str>,
    /// Set if the name of a tool differs on the wire.
    renames: bool,
    /// The ids of the calls so far, if one of them may have to be replaced.
    ids: Option<HashSet<String>>,
    /// The calls of the last assistant message whose id was replaced, and the new ids.
    replaced: Vec<(String, String)>,
    /// The JSON messages.
    pub(super) messages: Vec<Arc<RawValue>>,
    /// The number of JSON messages up to the end of each message.
    pub(super) ends: Vec<usize>,
    /// Sentences about content that the provider does not accept.
    pub(super) unsupported: Vec<String>,
}

impl<'s> RequestConversation<'s> {
    pub(super) fn of_request(
        settings: &'s HttpModelSettings,
        bound: &'s BoundTools,
        request: &Request,
    ) -> Self {
        let Request { messages, tools, .. } = request;
        let is_foreign = |it: &Message| it.role() == Role::Assistant && !is_written_by_provider(settings, it);
        let has_rules = settings.provider.has_call_id_rules();
        let ids = (has_rules && messages.iter().any(is_foreign)).then(HashSet::new);
        let mut conversation = Self {
            settings,
            bound,
            dialect: settings.provider.name().into(),
            renames: tools
                .definitions()
                .iter()
                .any(|it| bound.wire_name(it.name().as_str()) != it.name().as_str()),
            ids,
            replaced: Vec::new(),
            messages: Vec::with_capacity(messages.len()),
            ends: Vec::with_capacity(messages.len()),
            unsupported: Vec::new(),
        };
        // Earlier messages were reported with the request that the provider answered last.
        let new = messages.iter().rposition(|it| is_written_by_provider(settings, it)).map_or(0, |at| at + 1);
        for (at, message) in messages.iter().enumerate() {
            conversation.push_message(message, at >= new);
        }
        conversation
    }

    fn push_message(&mut self, message: &Message, is_new: bool) {
        if is_new {
            self.report_unsupported_content(message);
        }
        if message.role() == Role::Assistant {
            self.replace_call_ids(message);
        }
        // The JSON of a message does not depend on other messages, unless ids were replaced.
        if !self.replaced.is_empty()
            && message.role() != Role::User
            && !is_written_by_provider(self.settings, message)
        {
            self.messages.extend(self.converted_messages(message));
        } else {
            let json = message
                .provider_json_or_render(self.form_of_message(message), || self.converted_messages(message));
            match json {
                Cow::Borrowed(json) => self.messages.extend_from_slice(json),
                Cow::Owned(json) => self.messages.extend(json),
            }
        }
        self.ends.push(self.messages.len());
    }

    /// Returns the form of a message, which depends on names unless the provider wrote it.
    fn form_of_message(&self, message: &Message) -> MessageForm {
        let is_own = is_written_by_provider(self.settings, message);
        let renamed =
            |name: &str| Some(self.bound.wire_name(name)).filter(|it| *it != name).map(Cow::into_owned);
        let name = |part: &Part| match part {
            Part::Call(call) if !is_own => renamed(&call.name),
            Part::Result(result) => renamed(&result.name),
            _ => None,
        };
        let names = match self.renames {
            true => message.parts().iter().filter_map(name).collect(),
            false => Vec::new(),
        };
        let variant = self.settings.provider.message_variant(&self.settings.name);
        MessageForm { dialect: Arc::clone(&self.dialect), variant, names }
    }

    /// Converts a message, into none if it is empty.
    fn converted_messages(&self, message: &Message) -> Vec<Arc<RawValue>> {
        match message.role() {
            Role::User => {
                let content = message.content();
                if content.is_empty() {
                    Vec::new()
                } else {
                    messages_as_json(&self.bound.user_message(&content))
                }
            }
            Role::Assistant => {
                self.assistant_message_json(message).map(|json| split_messages(&json)).unwrap_or_default()
            }
            Role::Tool => {
                let mut replaced = self.replaced.clone();
                let results: Vec<ToolResult> = message
                    .tool_results()
                    .map(|result| match take_replacement_id(&mut replaced, &result.id.to_string()) {
                        Some(id) => {
                            let mut renamed = result.clone();
                            renamed.id = id.into();
                            renamed
                        }
                        None => result.clone(),
                    })
                    .collect();
                if results.is_empty() { Vec::new() } else { messages_as_json(&self.bound.results(&results)) }
            }
        }
    }

    fn assistant_message_json(&self, message: &Message) -> Option<Box<RawValue>> {
        let mut replaced = self.replaced.clone();
        let calls: Vec<ToolCall> = message
            .calls()
            .map(|call| match take_replacement_id(&mut replaced, &call.id.to_string()) {
                Some(id) => call.clone().with_id(id),
                None => call.clone(),
            })
            .collect();
        let text = message.text();
        if calls.is_empty() && text.trim().is_empty() {
            return None;
        }
        let json = self.bound.assistant_message(&text, &calls);
        Some(self.settings.provider.complete_foreign_message(&self.settings.name, json))
    }

    /// Chooses ids for the calls of an assistant message: the provider rejects some ids of other providers, and ids that
    /// occur twice.
    fn replace_call_ids(&mut self, message: &Message) {
        self.replaced.clear();
        let Some(ids) = &mut self.ids else { return };
        for call in message.calls() {
            let id = call.id.to_string();
            if is_written_by_provider(self.settings, message) {
                ids.insert(id);
                continue;
            }
            let mut chosen = provider_safe_id(&id);
            let mut number = 2;
            while !ids.insert(chosen.clone()) {
                chosen = provider_safe_id(&format!("{id}_{number}"));
                number += 1;
            }
            self.replaced.push((id, chosen));
        }
        if self.replaced.iter().all(|(id, chosen)| id == chosen) {
            self.replaced.clear();
        }
    }

    /// Reports content that the provider does not accept.
    fn report_unsupported_content(&mut self, message: &Message) {
        let name = self.settings.provider.name();
        let mut refused = Vec::new();
        let mut check = |content: &Content| {
            if !self.bound.accepts(content) {
                refused.push(replacement_notice(name, content));
            }
        };
        for part in message.parts() {
            match part {
                Part::Content(it) if message.role() == Role::Assistant => {
                    let kind = content_kind(it);
                    self.unsupported.push(format!(
                        "{kind} of another model's message is left out: `{name}` does not accept it back"
                    ));
                }
                Part::Reasoning(_) if !is_written_by_provider(self.settings, message) => {
                    let text =
                        format!("the reasoning of another model is left out: `{name}` accepts only its own");
                    if !self.unsupported.contains(&text) {
                        self.unsupported.push(text);
                    }
                }
                Part::Content(it) => check(it),
                Part::Result(result) => {
                    result.content().iter().for_each(&mut check);
                    result.follow_ups().iter().flatten().for_each(&mut check);
                }
                _ => {}
            }
        }
        self.unsupported.append(&mut refused);
    }
}

/// Returns a list of messages, or a single one, as JSON.
fn messages_as_json(messages: &Value) -> Vec<Arc<RawValue>> {
    let json = |message| to_raw_value(message).ok().map(Arc::from);
    match messages {
        Value::Array(messages) => messages.iter().filter_map(json).collect(),
        message => json(message).into_iter().collect(),
    }
}

/// Returns `true` if the provider wrote the message itself.
fn is_written_by_provider(settings: &HttpModelSettings, message: &Message) -> bool {
    message.original().is_some_and(|original| *original.dialect == *settings.provider.name())
}

/// Removes the first replacement of `id`.
fn take_replacement_id(replaced: &mut Vec<(String, String)>, id: &str) -> Option<String> {
    let at = replaced.iter().position(|(own, _)| own == id)?;
    Some(replaced.remove(at).1)
}

/// Returns an id that every provider accepts: `id`, or else a part of it and its hash.
fn provider_safe_id(id: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    if (1..=MAX_ID_CHARS).contains(&id.len()) && id.chars().all(is_plain) {
        return id.to_owned();
    }
    // FNV-1a: the id has to be the same in every request and in every process.
    let hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let start: String = id.chars().filter(|it| is_plain(*it)).take(MAX_ID_CHARS - 17).collect();
    format!("{start}_{hash:016x}")
}

/// Returns a sentence about content that the provider `provider` does not accept.
pub(super) fn replacement_notice(provider: &str, content: &Content) -> String {
    let kind = content_kind(content);
    format!("{kind} is replaced by a text: `{provider}` does not accept this type of file")
}

fn content_kind(content: &Content) -> String {
    match content {
        Content::Image { mime_type, .. } => format!("an image of type `{mime_type}`"),
        Content::Audio { mime_type, .. } => format!("audio of type `{mime_type}`"),
        Content::Resource { resource } => format!("a file of type `{}`", resource.mime_type),
        _ => "content".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_call_is_of_few_plain_characters() {
        let longest = "x".repeat(MAX_ID_CHARS);
        for id in ["call_1", "a-b_C9", "x", &longest] {
            assert_eq!(provider_safe_id(id), id);
        }
        // By the definition of FNV-1a, of no byte and of `a`.
        assert_eq!(provider_safe_id(""), "_cbf29ce484222325");
        assert_eq!(provider_safe_id("."), "_af63a34c86018bb1");
        assert_eq!(provider_safe_id("\u{e4}").len(), 17);
        let long = provider_safe_id(&format!("{longest}x"));
        assert!(long.starts_with(&format!("{}_", "x".repeat(MAX_ID_CHARS - 17))), "{long}");
        assert_eq!(long.len(), MAX_ID_CHARS);
        let [one, other] = ["a.b", "a:b"].map(provider_safe_id);
        assert!(one.starts_with("ab_") && other.starts_with("ab_") && one != other);
    }

    #[test]
    fn each_id_is_replaced_once() {
        let mut replaced =
            [("a", "1"), ("b", "2"), ("a", "3")].map(|(id, new)| (id.to_owned(), new.to_owned())).to_vec();
        let taken = ["a", "a", "a", "b"].map(|id| take_replacement_id(&mut replaced, id));
        assert_eq!(taken.each_ref().map(Option::as_deref), [Some("1"), Some("3"), None, Some("2")]);
        assert!(replaced.is_empty());
        let texts = |messages: &Value| {
            messages_as_json(messages).iter().map(|it| it.get().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(texts(&serde_json::json!([1, { "a": 2 }])), ["1", r#"{"a":2}"#]);
        assert_eq!(texts(&serde_json::json!({ "a": [1] })), [r#"{"a":[1]}"#]);
    }
}
