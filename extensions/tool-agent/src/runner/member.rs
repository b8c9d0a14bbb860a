//! One of several agents of a run: its part of the run, and the messages of others as its model receives them.

use std::sync::Arc;

use tool_runtime::RunContext;

use super::{RunUsage, usage_ledger::LedgerEntry};
use crate::{Agent, Message, Part, Role};

/// The message that follows the answer of the same agent, since a request does not end with a message of the model.
pub(super) const CONTINUE_MESSAGE: &str = "Continue.";

/// The part of a run that one of several agents has.
pub(super) struct Member {
    /// `true` if a call may end a loop around the agent.
    pub(super) is_in_loop: bool,
    pub(super) origin: EntryOrigin,
    pub(super) usage: Arc<LedgerEntry>,
}

/// The agent whose entries a session stores.
#[derive(Clone)]
pub(super) struct EntryOrigin {
    pub(super) run: Arc<RunContext>,
    /// The history that the entries belong to, if it is not the conversation of the session.
    pub(super) view: Option<Arc<str>>,
}

/// The messages of a conversation as the model of one agent receives them.
#[derive(Default)]
pub(super) struct MemberView {
    /// The messages of other agents in order, each with the message in its place: a message keeps its form for a provider.
    quoted: Vec<(Message, Message)>,
}

impl Member {
    /// Returns the usage of the run, a part of which is `own`.
    pub(super) fn total_usage(&self, own: RunUsage) -> RunUsage {
        self.usage.set_usage_and_total(own)
    }
}

impl MemberView {
    /// Returns those of `messages` that the model of `agent` receives.
    pub(super) fn request_messages(&mut self, agent: &Agent, messages: &[Message]) -> Vec<Message> {
        let filter = &agent.0.message_filter;
        match filter.is_all() {
            true => self.with_quoted_messages(agent.name(), messages),
            false => {
                let mut shown = filter.filtered_messages(agent.name(), messages);
                let is_own_answer = |message: &Message| {
                    message.role() == Role::Assistant
                        && message.agent().is_none_or(|author| author == agent.name())
                };
                if shown.last().is_some_and(is_own_answer) {
                    shown.push(Message::user(CONTINUE_MESSAGE));
                }
                self.with_quoted_messages(agent.name(), &shown)
            }
        }
    }

    /// Returns `messages` with those of other agents as messages of the user: the model of `agent` made none of their calls, and may not
    /// have their tools.
    fn with_quoted_messages(&mut self, agent: &str, messages: &[Message]) -> Vec<Message> {
        let is_own = |message: &Message| message.agent().is_none_or(|author| author == agent);
        let mut number = 0;
        let shown = messages.iter().map(|message| {
            if is_own(message) {
                return message.clone();
            }
            let known = self.quoted.get(number).filter(|(source, _)| source.is_same(message));
            let quoted = match known {
                Some((_, quoted)) => quoted.clone(),
                None => {
                    self.quoted.truncate(number);
                    let quoted = quoted_message(message);
                    self.quoted.push((message.clone(), quoted.clone()));
                    quoted
                }
            };
            number += 1;
            quoted
        });
        shown.collect()
    }
}

/// Returns a message of another agent as one of the user. Arguments and reasoning are left out, since they may be secret.
fn quoted_message(message: &Message) -> Message {
    let agent = message.agent().unwrap_or_default();
    let mut parts = Vec::new();
    let text = message.text();
    if !text.is_empty() {
        parts.push(Part::Text(format!("[{agent}] said:\n{text}")));
    }
    for part in message.parts() {
        match part {
            Part::Content(content) => parts.push(Part::Content(content.clone())),
            Part::Call(call) => parts.push(Part::Text(format!("[{agent}] called `{}`.", call.name))),
            Part::Result(result) => {
                parts.push(Part::Text(format!("[{agent}] `{}` returned:\n{}", result.name, result.text())));
            }
            Part::Text(_) | Part::Reasoning(_) => {}
        }
    }
    if parts.is_empty() {
        parts.push(Part::Text(format!("[{agent}] said nothing.")));
    }
    Message::of_parts(Role::User, parts)
}

#[cfg(test)]
mod tests {
    use tool_runtime::{ToolCall, ToolOutput, ToolResult};

    use super::*;

    #[test]
    fn messages_of_other_agents_are_texts_under_their_names() {
        let call = ToolCall::new("look", r#"{"password":"p"}"#).with_id("c");
        let result = ToolResult::new(call.id.clone(), "look", Ok(ToolOutput::from("seen")));
        let of = |parts: Vec<Part>| Message::assistant(parts).with_agent("scout");
        let messages = [
            Message::user("Go."),
            of(vec![Part::Reasoning("hm".to_owned()), Part::Text("I look.".to_owned()), Part::Call(call)]),
            Message::results([result]).with_agent("scout"),
            of(vec![Part::Reasoning("hm".to_owned())]),
            Message::assistant([Part::Text("Mine.".to_owned())]).with_agent("clerk"),
        ];
        let mut view = MemberView::default();
        let shown = view.with_quoted_messages("clerk", &messages);
        let texts: Vec<_> = shown.iter().map(|message| (message.role(), message.text())).collect();
        let text = |text: &str| text.to_owned();
        assert_eq!(
            texts,
            [
                (Role::User, text("Go.")),
                (Role::User, text("[scout] said:\nI look.[scout] called `look`.")),
                (Role::User, text("[scout] `look` returned:\nseen")),
                (Role::User, text("[scout] said nothing.")),
                (Role::Assistant, text("Mine.")),
            ]
        );
        // A message keeps its identity, and so its form for a provider.
        let again = view.with_quoted_messages("clerk", &messages);
        assert!(shown.iter().zip(&again).all(|(first, second)| first.is_same(second)));
        let shorter = view.with_quoted_messages("clerk", &messages[2..]);
        assert_eq!(shorter[0].text(), "[scout] `look` returned:\nseen");
        assert!(!shorter[0].is_same(&shown[1]));
        let own = MemberView::default().with_quoted_messages("scout", &messages[..3]);
        assert!(own.iter().zip(&messages).all(|(first, second)| first.is_same(second)));
    }
}
