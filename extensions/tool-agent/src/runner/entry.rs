//! The entries that a run writes to the store of its session.
//!
//! | kind | body | written |
//! | --- | --- | --- |
//! | `message` | `{"v":1,"message":{"role":"user","parts":[{"text":"Hello."}]}}` | with each message of the conversation, before it is an event and before a call of it runs; the message of the user with which a run began has `"input":true`; a response that was cut off has `"cutOff":{"stopReason":"length"}`, and its last call never runs |
//! | `compaction` | `{"v":1,"messages":[..],"added":[1]}` | after a compaction: the conversation as the model receives it; `added` has the positions of messages that no entry has, such as a note about omitted ones, `origins` the time and the branch of each, and `input` the position of the message with which the run began |
//! | `open-batch` | `{"v":1,"outcomes":[..],"definitions":["..",null],"after":[..]}` | before the end of a run with open calls: the outcomes of the last batch, the hashes of the definitions of its tools, the messages that follow its results, and `below`, the questions of runs below calls of agents |
//! | `call-intent` | `{"v":1,"intent":{"address":{..},"tool":"charge","definition":"..","arguments":".."}}` | before the body of a call runs whose tool is neither read-only nor idempotent; `arguments` is a hash |
//! | `call-outcome` | `{"v":1,"address":{..},"outcome":{..},"definition":".."}` | as a call of such a tool ends, or waits for an answer; after a crash it is the outcome of the call |
//! | `position` | `{"v":1,"path":[{"agent":"critic","step":3}],"usage":{..}}` | of several agents, with the first message of each turn and after a compaction: the way to the agent from the root of its tree, each step with the number of members that began before it, and the usage of the run until then; of agents in parallel, `members` has their names and view keys |
//! | `member` | `{"v":1,"changes":{..},"usage":{..},"end":{"reason":..,"text":".."}}` | by an agent that works beside others, in its view: with its messages, its changes of state since the entry before and the usage of its turn, and then its end, which has none while calls wait |
//! | `control` | `{"v":1,"control":{"agent":"billing","next":"billing","transfers":1,..}}` | with the results or the message after which another agent has the conversation, or the next message: names of agents, none for the root |
//! | `end` | `{"v":1,"reason":{"reason":"answered"},"usage":{..}}` | with the end of the run, in the transaction that releases its lease; `recovered` has the runs that it continued |
//!
//! A body without `v` has version 1; a newer version is an error, since a conversation with a hole is worse than none.
//!
//! A run reads its session backwards until a compaction, or until the context window is full. An open batch counts
//! if no message follows it: the executor of the agent continues it. A call whose tool is gone or has another definition is answered
//! with an error, and does not run.
//!
//! A position counts for the last message or open batch if it is of the same run. Entries with a view are those of agents that work in parallel, and of
//! runs below calls, which are no part of the conversation.
//!
//! The messages of a user whose check has not accepted them are written with the next message after it did.
//!
//! **Secrets.** A message with a call of a tool with [secrets](tool_runtime::definition::Metadata::secrets), and each compaction and
//! open batch of a conversation with such a message, is written as `{"v":1,"sealed":".."}`: the body, encrypted under the key of the program for
//! the app, the user and the run. Without a key, a store that outlives the process does not receive it. An open batch and the outcome of a call are
//! always encrypted if there is a key, for their session, too: what a person approves cannot be altered in the store.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tool_runtime::{
    CallOutcome, RunContext,
    call::{CallAddress, CallId},
    definition::ContentHash,
    executor::CallIntent,
    open_calls::ProgramKey,
};
use tool_session::{EntryContent, JsonText, SessionError, SessionKey};

use super::{EndReason, RunUsage, control::Control, open_below::OpenChildRun, usage::is_default};
use crate::{Message, format_version::FormatVersion, message::MessageOrigin};

/// The body of an entry of the kind `message`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MessageBody {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    message: Message,
    /// `true` for the message of the user with which a run began.
    #[serde(default, rename = "input", skip_serializing_if = "is_default")]
    is_input: bool,
    /// `None` for a message that is whole.
    #[serde(default, rename = "cutOff", skip_serializing_if = "Option::is_none")]
    pub(super) cut_off: Option<CutOff>,
}

/// The mark of a response that was cut off.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CutOff {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_reason: Option<String>,
}

/// The marks that are stored beside the content of a message.
#[derive(Debug, Clone, Default)]
pub(super) struct MessageMarks {
    /// `true` if it has secret arguments.
    pub(super) has_secret: bool,
    pub(super) cut_off: Option<CutOff>,
}

/// A message that is not stored yet.
pub(super) struct UnstoredMessage {
    pub(super) message: Message,
    pub(super) marks: MessageMarks,
}

/// The body of an entry of the kind `compaction`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CompactionBody {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    messages: Vec<Message>,
    /// The positions of messages that are not entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) added: Vec<usize>,
    /// The time and the branch of each message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    origins: Vec<MessageOrigin>,
    /// The position of the message of the user with which the last run began, if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<usize>,
}

/// The body of an entry of the kind `open-batch`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OpenBatchBody {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    pub(super) outcomes: Vec<CallOutcome>,
    /// The hash of the definition of the tool of each outcome; `None` if there is no tool.
    pub(super) definitions: Vec<Option<ContentHash>>,
    /// The messages that follow the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) after: Vec<Message>,
    /// The runs that wait below the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) below: Vec<OpenChildRun>,
}

/// The body of an entry of the kind `call-intent`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallIntentBody {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    pub(super) intent: CallIntent,
}

/// The body of an entry of the kind `call-outcome`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallOutcomeBody {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    pub(super) address: CallAddress,
    pub(super) outcome: CallOutcome,
    /// The hash of the definition of the tool; `None` if there is no tool.
    pub(super) definition: Option<ContentHash>,
    /// The run that waits below the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) below: Option<OpenChildRun>,
}

/// The body of an entry of the kind `control`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ControlBody {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    pub(super) control: Control,
}

/// The body of an entry of the kind `end`.
#[derive(Debug, Serialize)]
struct EndBody<'a> {
    #[serde(rename = "v")]
    version: FormatVersion,
    reason: &'a EndReason,
    usage: RunUsage,
    #[serde(skip_serializing_if = "<[CallId]>::is_empty")]
    recovered: &'a [CallId],
}

/// The usage of a run, and the runs that it continues.
#[derive(Serialize)]
struct RecoveredUsage<'a> {
    #[serde(flatten)]
    usage: RunUsage,
    recovered: &'a [CallId],
}

/// The runs that a run continues, as its usage and its end have them.
#[derive(Debug, Default, Deserialize)]
pub(super) struct RecoveredRuns {
    #[serde(default)]
    pub(super) recovered: Vec<CallId>,
}

/// A body that is encrypted, or any other one.
#[derive(Debug, Serialize, Deserialize)]
struct SealedBody {
    #[serde(default, rename = "v")]
    version: FormatVersion,
    #[serde(default)]
    sealed: Option<String>,
}

impl MessageBody {
    pub(super) fn new(message: Message) -> Self {
        Self { version: FormatVersion, is_input: message.is_input(), message, cut_off: None }
    }

    /// Returns the message of an entry, marked if a run began with it, with the time of the entry and the branch of its agent.
    pub(super) fn into_message(self, content: &EntryContent) -> Message {
        let branch = self.message.agent().and_then(|_| content.branch.clone());
        let origin = MessageOrigin { time: Some(content.time), branch };
        self.message.with_origin(origin).marked_as_input(self.is_input)
    }
}

impl CallIntentBody {
    pub(super) fn new(intent: CallIntent) -> Self {
        Self { version: FormatVersion, intent }
    }
}

impl CallOutcomeBody {
    pub(super) fn new(address: CallAddress, outcome: CallOutcome, definition: Option<ContentHash>) -> Self {
        Self { version: FormatVersion, address, outcome, definition, below: None }
    }
}

impl OpenBatchBody {
    pub(super) fn new(
        outcomes: Vec<CallOutcome>,
        definitions: Vec<Option<ContentHash>>,
        after: Vec<Message>,
    ) -> Self {
        Self { version: FormatVersion, outcomes, definitions, after, below: Vec::new() }
    }
}

impl ControlBody {
    pub(super) fn new(control: Control) -> Self {
        Self { version: FormatVersion, control }
    }
}

impl CompactionBody {
    pub(super) fn new(messages: Vec<Message>, added: Vec<usize>) -> Self {
        let input = messages.iter().rposition(Message::is_input);
        let origins = messages.iter().map(|message| message.origin().clone()).collect();
        Self { version: FormatVersion, messages, added, origins, input }
    }

    /// Takes the messages with their origins, of which the one is marked with which the last run began.
    pub(super) fn take_messages(&mut self) -> Vec<Message> {
        let mut messages = std::mem::take(&mut self.messages);
        for (message, origin) in messages.iter_mut().zip(std::mem::take(&mut self.origins)) {
            *message = message.clone().with_origin(origin);
        }
        if let Some(message) = self.input.and_then(|input| messages.get_mut(input)) {
            *message = message.clone().marked_as_input(true);
        }
        messages
    }
}

/// Returns the text of the usage of a run, which a run that continues it reads.
pub(super) fn usage_json(usage: RunUsage, recovered: &[CallId]) -> Result<JsonText, SessionError> {
    match recovered.is_empty() {
        true => JsonText::of(&usage),
        false => JsonText::of(&RecoveredUsage { usage, recovered }),
    }
}

/// Returns the entry of the end of a run.
pub(super) fn end_entry(
    run: &RunContext,
    reason: &EndReason,
    usage: RunUsage,
    recovered: &[CallId],
) -> Result<EntryContent, SessionError> {
    let body = JsonText::of(&EndBody { version: FormatVersion, reason, usage, recovered })?;
    Ok(EntryContent::of_run(run, EntryContent::END, body))
}

/// Writes and reads the bodies of one session, some of which are sealed.
#[derive(Debug, Clone)]
pub(super) struct EntryCodec {
    pub(super) session: SessionKey,
    /// The key of the program, if it has one.
    pub(super) key: Option<ProgramKey>,
    /// `true` if the store receives secrets encrypted only.
    pub(super) seals_secrets: bool,
}

impl EntryCodec {
    /// Returns an entry of `run`, which is sealed if it has a secret and the store outlives the process.
    pub(super) fn entry(
        &self,
        run: &RunContext,
        kind: &'static str,
        body: &impl Serialize,
        has_secret: bool,
    ) -> Result<EntryContent, SessionError> {
        let body = JsonText::of(body)?;
        let is_sealed = has_secret || (is_of_one_session(kind) && self.key.is_some());
        let body = match is_sealed && self.seals_secrets {
            true => self.sealed_body(&self.encryption_context(kind, &run.id().to_string()), &body)?,
            false => body,
        };
        Ok(EntryContent::of_run(run, kind, body))
    }

    fn sealed_body(&self, context: &[u8], body: &JsonText) -> Result<JsonText, SessionError> {
        let Some(key) = &self.key else {
            return Err(SessionError::Invalid(
                "a message has secret arguments, and the store outlives the process; set a key by \
                 `Runner::with_program_key`"
                    .to_owned(),
            ));
        };
        let sealed = key.seal(body.as_str(), context).map_err(|problem| {
            SessionError::Invalid(format!("a message with secret arguments was not encrypted: {problem}"))
        })?;
        JsonText::of(&SealedBody { version: FormatVersion, sealed: Some(sealed) })
    }

    /// Returns the body of an entry, and `true` if it was sealed.
    pub(super) fn read<T: DeserializeOwned>(
        &self,
        content: &EntryContent,
    ) -> Result<(T, bool), SessionError> {
        let Some(sealed) = content.body.read::<SealedBody>()?.sealed else {
            if is_of_one_session(&content.kind) && self.key.is_some() && self.seals_secrets {
                let kind = &content.kind;
                let problem = format!("an entry `{kind}` is not authenticated by the key of the program");
                return Err(SessionError::Invalid(problem));
            }
            return Ok((content.body.read()?, false));
        };
        let problem = match &self.key {
            None => {
                "a message of the session is encrypted; set the key of the program by `Runner::with_program_key`"
            }
            Some(key) => {
                match key.unseal(&sealed, &self.encryption_context(&content.kind, &content.run.to_string())) {
                    Some(body) => return Ok((JsonText::new(body)?.read()?, true)),
                    None => "a message of the session is encrypted under another key, or was altered",
                }
            }
        };
        Err(SessionError::Invalid(problem.to_owned()))
    }

    /// Returns the associated data of the encryption. A message has no session there, so that a fork of the session can be read; an open batch belongs
    /// to one session.
    fn encryption_context(&self, kind: &str, run: &str) -> Vec<u8> {
        let session = if is_of_one_session(kind) { self.session.id() } else { "" };
        let fields = [self.session.app(), self.session.user(), run, kind, session];
        fields.iter().flat_map(|it| [&(it.len() as u64).to_le_bytes(), it.as_bytes()].concat()).collect()
    }
}

/// Returns `true` for the kinds that continue in the session alone that has them, and not in its forks.
fn is_of_one_session(kind: &str) -> bool {
    [EntryContent::OPEN_BATCH, EntryContent::CALL_OUTCOME].contains(&kind)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_compaction_keeps_the_times_and_branches_of_its_messages() {
        let origin = |seconds| MessageOrigin {
            time: Some(UNIX_EPOCH + Duration::from_secs(seconds)),
            branch: Some("court.council.buyer".into()),
        };
        let messages =
            [1, 2].map(|seconds| Message::user("Go.").with_agent("buyer").with_origin(origin(seconds)));
        let text = JsonText::of(&CompactionBody::new(messages.to_vec(), Vec::new())).unwrap();
        let read = text.read::<CompactionBody>().unwrap().take_messages();
        let origins: Vec<_> = read.iter().map(Message::origin).collect();
        assert_eq!(origins, [&origin(1), &origin(2)]);

        // One of an earlier version has none.
        let text = JsonText::new(r#"{"messages":[{"role":"user","parts":[{"text":"Go."}]}]}"#).unwrap();
        let read = text.read::<CompactionBody>().unwrap().take_messages();
        assert_eq!((read[0].time(), read[0].branch()), (None, None));
    }
}
