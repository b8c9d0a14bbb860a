//! The conversation as a model receives it, where the whole conversation is too long.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::{call::CallId, guard::catch};

use super::{
    conversation::{CountedTokens, RunConversation},
    flow::{Flow, end_as_failed, run_callback},
    scope::RunScope,
};
use crate::{Conversation, Message, Part, Role};

pub(super) const OMISSION_NOTE: &str = "[Earlier messages of this conversation were left out here.]";

/// Compacts the conversation if it fills the share of the context window.
pub(super) async fn compact_if_full(scope: &RunScope, conversation: &mut RunConversation) -> Flow {
    let Some(max_tokens) = max_tokens_before_compaction(scope) else { return ControlFlow::Continue(()) };
    let messages = &conversation.model_messages;
    let CountedTokens { tokens, messages: counted } =
        conversation.counted.unwrap_or(CountedTokens { tokens: 0, messages: 0 });
    let uncounted = messages.get(counted..).unwrap_or_default();
    if tokens.saturating_add(estimated_tokens(uncounted)) > max_tokens {
        compact_conversation(scope, conversation).await?;
    }
    ControlFlow::Continue(())
}

/// Compacts the conversation; returns `false` if it is as short as it can be.
pub(super) async fn compact_conversation(scope: &RunScope, conversation: &mut RunConversation) -> Flow<bool> {
    let (compaction, max_tokens) = (&scope.agent.0.compaction, max_tokens_before_compaction(scope));
    let shorter = match &compaction.own {
        None => {
            let stored = &conversation.session.messages;
            let is_stored = |message: &Message| stored.iter().any(|it| it.is_same(message));
            without_oldest_messages(&conversation.model_messages, is_stored, compaction.keep, max_tokens)
        }
        Some(own) => {
            let (messages, run) = (conversation.model_messages.clone(), Arc::clone(&scope.run));
            let whole = Conversation { messages, tokens: max_tokens, run };
            match scope.wait_unless_interrupted(run_callback(|| own(whole))).await {
                Ok(Ok(messages)) if has_result_of_each_call(&messages) => Some(messages),
                Ok(Ok(_)) => {
                    let problem = "the compaction separated a call from its result; keep both or neither";
                    return end_as_failed(problem.to_owned());
                }
                Ok(Err(error)) => return end_as_failed(format!("the compaction failed: {}", error.reason())),
                Err(interruption) => return interruption.end(),
            }
        }
    };
    let Some(messages) = shorter else { return ControlFlow::Continue(false) };
    let (before, after) = (conversation.model_messages.len(), messages.len());
    conversation.replace_model_messages(messages).await;
    conversation.counted = None;
    let text = format!("the conversation was compacted from {before} to {after} messages for the model");
    scope.emit_notice(text).await;
    ControlFlow::Continue(true)
}

/// Returns the number of tokens beyond which the conversation is compacted.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a context window"
)]
pub(super) fn max_tokens_before_compaction(scope: &RunScope) -> Option<u64> {
    let agent = &scope.agent.0;
    let of_model = || catch(|| scope.agent.model().and_then(|model| model.context_window())).ok()?;
    let window = agent.context_window.or_else(of_model)?;
    Some((window as f64 * agent.compaction.share) as u64)
}

/// Estimates the tokens of messages.
pub(super) fn estimated_tokens(messages: &[Message]) -> u64 {
    let part_bytes = |part: &Part| match part {
        Part::Text(text) | Part::Reasoning(text) => text.len(),
        // An image or a page.
        Part::Content(_) => 4_000,
        Part::Call(call) => call.name.len() + call.arguments.as_str().len(),
        Part::Result(result) => result.text().len(),
    };
    let bytes: usize = messages.iter().flat_map(Message::parts).map(part_bytes).sum();
    (bytes / 4 + 4 * messages.len()) as u64
}

/// Leaves out the oldest messages, except the first and the last one of the user; `None` if there is nothing to leave out.
/// Messages that are not stored, such as reminders, are not the user's.
fn without_oldest_messages(
    messages: &[Message],
    is_stored: impl Fn(&Message) -> bool,
    keep: usize,
    max_tokens: Option<u64>,
) -> Option<Vec<Message>> {
    // A block is a message with the results of its calls.
    let starts: Vec<_> = (0..messages.len()).filter(|at| messages[*at].role() != Role::Tool).collect();
    let is_question = |at: &usize| messages[*at].role() == Role::User && is_stored(&messages[*at]);
    let first = starts.iter().copied().find(is_question)? + 1;
    let last = starts.iter().rev().copied().find(is_question)?;
    let mut keep = keep;
    loop {
        let start = starts[starts.len().saturating_sub(keep)];
        let question = (first..start).contains(&last).then(|| messages[last].clone());
        let head = messages[..first].iter().cloned().chain([Message::user(OMISSION_NOTE)]);
        let shorter: Vec<_> = head.chain(question).chain(messages[start..].iter().cloned()).collect();
        let fits = max_tokens.is_none_or(|max_tokens| estimated_tokens(&shorter) <= max_tokens);
        if (fits || keep <= 1) && shorter.len() < messages.len() {
            return Some(shorter);
        }
        if keep <= 1 {
            return None;
        }
        keep /= 2;
    }
}

/// Returns `true` if each call has its result in the message after it, and each result its call.
fn has_result_of_each_call(messages: &[Message]) -> bool {
    let calls = |at: Option<&Message>| -> Vec<CallId> {
        at.into_iter().flat_map(Message::calls).map(|call| call.id.clone()).collect()
    };
    let results = |at: Option<&Message>| -> Vec<CallId> {
        at.into_iter().flat_map(Message::tool_results).map(|result| result.id.clone()).collect()
    };
    results(messages.first()).is_empty()
        && (0..messages.len()).all(|at| calls(messages.get(at)) == results(messages.get(at + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question, and `count` answers of 40 bytes, which are 14 tokens each by the estimate.
    fn conversation(count: usize) -> Vec<Message> {
        let answers = (0..count).map(|at| Message::assistant([Part::Text(format!("{at:040}"))]));
        [Message::user("?")].into_iter().chain(answers).collect()
    }

    fn texts(messages: &[Message]) -> Vec<String> {
        messages.iter().map(|message| message.text().trim_start_matches('0').to_owned()).collect()
    }

    #[test]
    fn messages_are_left_out_only_if_the_note_in_their_place_makes_the_conversation_shorter() {
        let lengths = |count: usize| {
            without_oldest_messages(&conversation(count), |_| true, 2, None).map(|messages| messages.len())
        };
        // The question, a note, and two answers.
        assert_eq!([lengths(2), lengths(3), lengths(4), lengths(9)], [None, Some(3), Some(4), Some(4)]);
        // A note takes the place of an earlier one.
        let messages = without_oldest_messages(&conversation(5), |_| true, 2, None).unwrap_or_default();
        assert_eq!(texts(&messages), ["?", OMISSION_NOTE, "3", "4"]);
        let again =
            without_oldest_messages(&[messages, conversation(1).split_off(1)].concat(), |_| true, 2, None);
        assert_eq!(again.map(|messages| messages.len()), Some(4));
    }

    #[test]
    fn fewer_messages_are_kept_until_the_conversation_fits() {
        let messages = conversation(9);
        let kept = |max_tokens: u64| {
            let shorter =
                without_oldest_messages(&messages, |_| true, 4, Some(max_tokens)).unwrap_or_default();
            assert_eq!(shorter[1].text(), OMISSION_NOTE);
            shorter.len() - 2
        };
        let with_four = estimated_tokens(&[conversation(4), vec![Message::user(OMISSION_NOTE)]].concat());
        assert_eq!([kept(with_four), kept(with_four - 1), kept(with_four - 28), kept(0)], [4, 2, 2, 1]);
    }

    #[test]
    fn the_last_question_is_kept_behind_the_note() {
        let mut messages = conversation(3);
        messages.push(Message::user("Again?"));
        messages.extend(conversation(6).split_off(1));
        let shorter = without_oldest_messages(&messages, |_| true, 2, None).unwrap_or_default();
        assert_eq!(texts(&shorter), ["?", OMISSION_NOTE, "Again?", "4", "5"]);
        // Also if it is not worth a note.
        let shorter = without_oldest_messages(&messages[..7], |_| true, 4, None);
        assert_eq!(shorter.map(|messages| messages.len()), Some(6));
    }

    #[test]
    fn tokens_are_estimated_by_the_bytes_of_each_part() {
        use tool_runtime::{Content, ToolCall, ToolOutput, ToolResult};

        let result = |text: &str| {
            let output = ToolOutput::new([Content::text(text)]);
            Message::results([ToolResult::new("c".to_owned().into(), "t", Ok(output))])
        };
        let image = Content::image(vec![1], "image/png");
        let call = ToolCall::new("add", r#"{"a":12}"#);
        for (message, expected) in [
            (Message::user(""), 4),
            (Message::user("abc"), 4),
            (Message::user("abcd"), 5),
            (Message::assistant([Part::Reasoning("12345678".to_owned())]), 6),
            (Message::user_content([image]), 1_004),
            (Message::assistant([Part::Call(call)]), 6),
            (result("12345678"), 6),
            (Message::assistant(["ab", "cd"].map(|text| Part::Text(text.to_owned()))), 5),
        ] {
            assert_eq!(estimated_tokens(std::slice::from_ref(&message)), expected, "{message:?}");
        }
        assert_eq!(estimated_tokens(&[]), 0);
        // The bytes of all messages together.
        assert_eq!(estimated_tokens(&[Message::user("abc"), Message::user("d")]), 9);
    }

    #[test]
    fn a_call_stands_before_its_result() {
        use tool_runtime::{Content, ToolOutput, ToolResult};

        let call = |id: &str| tool_runtime::ToolCall::new("t", "{}").with_id(id);
        let calls = |ids: &[&str]| Message::assistant(ids.iter().map(|id| Part::Call(call(id))));
        let results = |ids: &[&str]| {
            let output = || ToolOutput::new([Content::text("r")]);
            Message::results(ids.iter().map(|id| ToolResult::new(call(id).id, "t", Ok(output()))))
        };
        let question = || Message::user("?");
        for (messages, expected) in [
            (vec![], true),
            (vec![question()], true),
            (vec![question(), calls(&["a"]), results(&["a"])], true),
            (vec![calls(&["a", "b"]), results(&["a", "b"]), question()], true),
            (vec![calls(&["a"])], false),
            (vec![calls(&["a"]), question()], false),
            (vec![calls(&["a"]), question(), results(&["a"])], false),
            (vec![results(&["a"])], false),
            (vec![question(), results(&["a"])], false),
            (vec![question(), calls(&["a"])], false),
            (vec![calls(&["a", "b"]), results(&["a"])], false),
            (vec![calls(&["a"]), results(&["b"])], false),
        ] {
            assert_eq!(has_result_of_each_call(&messages), expected, "{messages:?}");
        }
    }
}
