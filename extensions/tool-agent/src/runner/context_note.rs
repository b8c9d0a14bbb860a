//! Messages of other runs, as a note for a model.
//!
//! A run sees the history of another run as one message of the user, since the calls in it are not calls of its own: a provider accepts no result
//! without its call, and no call of a tool that the request does not declare. Arguments are left out, since they may be secret.

use std::{fmt::Write as _, sync::Arc};

use tool_session::EntryContent;

use crate::{Message, Part, Role};

/// Messages of runs below, by their views, to which earlier ones are added.
#[derive(Default)]
pub(super) struct SharedMessages(Vec<SharedRun>);

struct SharedRun {
    view: Option<Arc<str>>,
    agent: Arc<str>,
    /// The last one first.
    messages: Vec<Message>,
}

impl SharedMessages {
    pub(super) fn push_front(&mut self, content: &EntryContent, message: Message) {
        match self.0.iter_mut().find(|run| run.view == content.view) {
            Some(run) => run.messages.push(message),
            None => self.0.push(SharedRun {
                view: content.view.clone(),
                agent: content.agent.clone().unwrap_or_default(),
                messages: vec![message],
            }),
        }
    }

    /// Takes a note about each run, the last run first.
    pub(super) fn take_notes(&mut self) -> impl Iterator<Item = Message> {
        std::mem::take(&mut self.0).into_iter().map(|run| note_of_run(&run.agent, run.messages.iter().rev()))
    }
}

/// Returns the note about the run of `agent` below a call.
pub(super) fn note_of_run<'m>(agent: &str, messages: impl IntoIterator<Item = &'m Message>) -> Message {
    context_note(&format!("For context, the messages of the agent `{agent}`:"), agent, messages)
}

/// Returns the note about the conversation above a call.
pub(super) fn note_of_conversation<'m>(messages: impl IntoIterator<Item = &'m Message>) -> Message {
    context_note("For context, the conversation so far:", "assistant", messages)
}

fn context_note<'m>(title: &str, agent: &str, messages: impl IntoIterator<Item = &'m Message>) -> Message {
    let mut text = title.to_owned();
    for message in messages {
        add_note_lines(&mut text, agent, message);
    }
    Message::user(text)
}

fn add_note_lines(text: &mut String, agent: &str, message: &Message) {
    let author = if message.role() == Role::User { "user" } else { agent };
    let said = message.text();
    // Writing to a text cannot fail.
    if !said.is_empty() {
        let _ = write!(text, "\n{author}: {said}");
    }
    for part in message.parts() {
        if let Part::Call(call) = part {
            let _ = write!(text, "\n{author} called the tool `{}`", call.name);
        }
    }
    for result in message.tool_results() {
        let _ = write!(text, "\nthe tool `{}` returned: {}", result.name, result.text());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::{ToolCall, ToolOutput, ToolResult};

    use super::*;

    #[test]
    fn a_note_has_a_line_for_each_text_call_and_result() {
        let call = ToolCall::new("look", r#"{"password":"p"}"#).with_id("c");
        let result = ToolResult::new(call.id.clone(), "look", Ok(ToolOutput::from("seen")));
        let messages = [
            Message::user("Go."),
            Message::assistant([Part::Reasoning("hm".to_owned()), Part::Call(call.clone())]),
            Message::results([result]),
            Message::assistant([Part::Text("I see.".to_owned()), Part::Call(call)]),
            Message::assistant([]),
        ];
        let lines = |agent: &str| {
            format!(
                "\nuser: Go.\n{agent} called the tool `look`\nthe tool `look` returned: seen\n{agent}: I see.\n{agent} called the tool `look`"
            )
        };
        let of_run = note_of_run("scout", &messages);
        let expected = format!("For context, the messages of the agent `scout`:{}", lines("scout"));
        assert_eq!((of_run.role(), of_run.text()), (Role::User, expected));
        let above = note_of_conversation(&messages);
        let expected = format!("For context, the conversation so far:{}", lines("assistant"));
        assert_eq!((above.role(), above.text()), (Role::User, expected));
    }

    #[test]
    fn messages_of_each_run_are_one_note_in_their_order() {
        let content = |view: Option<&str>, agent: &str| {
            let body = tool_session::JsonText::new("{}").unwrap();
            let mut content = EntryContent::new("run-1", EntryContent::MESSAGE, body);
            (content.view, content.agent) = (view.map(Into::into), Some(agent.into()));
            content
        };
        let mut shared = SharedMessages::default();
        for (view, agent, text) in [("v", "a", "2"), ("w", "b", "3"), ("v", "a", "1")] {
            shared.push_front(&content(Some(view), agent), Message::user(text));
        }
        let texts: Vec<_> = shared.take_notes().map(|note| note.text()).collect();
        let title = |agent: &str| format!("For context, the messages of the agent `{agent}`:");
        let expected = [format!("{}\nuser: 1\nuser: 2", title("a")), format!("{}\nuser: 3", title("b"))];
        assert_eq!(texts, expected);
        assert_eq!(shared.take_notes().count(), 0);
    }
}
