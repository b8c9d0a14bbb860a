//! Questions of a caller to a worker beside calls: the steps of its tools before a call is judged, and before a request is sent to a model.
//!
//! | request | answer | without an answer |
//! | --- | --- | --- |
//! | [`PrepareRequest`] | the arguments after the tool's `prepare` function, and the answers of its `confirm` and `permission` functions | the call is refused as unavailable, and has not run |
//! | [`RedirectRequest`] | the call for which a call of the tool stands | the same |
//! | [`AdditionsRequest`] | what `on_request` of each tool adds to a request | a notice; the request is sent without it |
//!
//! Each goes to one worker of a registry that has the definition, by the subject of definitions. It has a deadline
//! ([`FleetSettings::preparation`](crate::FleetSettings::preparation)), counts in no budget, and takes no slot; a worker answers at most
//! [`MAX_STEPS`] of them at once. Answers have no effect at the worker: a lost one may be asked for again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::{
    Content, ToolError,
    call::CallAddress,
    definition::{ContentHash, Permission, RemotePreparation},
    output::Resource,
    request::{AddedMessage, RequestAdditions},
};

use crate::message::RunParts;

/// The steps that a worker takes at once.
pub(crate) const MAX_STEPS: usize = 64;

/// A call that its caller will judge.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PrepareRequest {
    pub(crate) definition: ContentHash,
    pub(crate) arguments: String,
    pub(crate) address: CallAddress,
    /// Milliseconds until its deadline.
    pub(crate) time_left: Option<u64>,
    /// Milliseconds in which the answer is of use.
    pub(crate) answer_within: u64,
    pub(crate) meta: Option<Map<String, Value>>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) run: Option<RunParts>,
}

/// An answer to a [`PrepareRequest`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Preparation {
    arguments: Option<String>,
    canonical: Option<String>,
    confirmation: Option<Result<bool, ToolError>>,
    permission: Option<Result<PermissionAnswer, ToolError>>,
}

/// The answer of a `permission` function.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum PermissionAnswer {
    Allow,
    Deny { reason: String },
    Ask { reason: String },
}

impl From<RemotePreparation> for Preparation {
    fn from(preparation: RemotePreparation) -> Self {
        let RemotePreparation { arguments, canonical, confirmation, permission } = preparation;
        let permission = permission.map(|answer| {
            answer.map(|permission| match permission {
                Permission::Allow => PermissionAnswer::Allow,
                Permission::Deny { reason } => PermissionAnswer::Deny { reason },
                Permission::Ask { reason } => PermissionAnswer::Ask { reason },
                _ => PermissionAnswer::Deny { reason: "by an unknown decision".to_owned() },
            })
        });
        Self { arguments, canonical, confirmation, permission }
    }
}

impl Preparation {
    /// Returns the preparation; `rename` gives the tool the name that it has here.
    pub(crate) fn into_remote(self, rename: impl Fn(ToolError) -> ToolError) -> RemotePreparation {
        let Self { arguments, canonical, confirmation, permission } = self;
        let permission = permission.map(|answer| {
            answer.map_err(&rename).map(|permission| match permission {
                PermissionAnswer::Allow => Permission::Allow,
                PermissionAnswer::Deny { reason } => Permission::Deny { reason },
                PermissionAnswer::Ask { reason } => Permission::Ask { reason },
            })
        });
        let confirmation = confirmation.map(|answer| answer.map_err(&rename));
        RemotePreparation { arguments, canonical, confirmation, permission }
    }
}

/// A call of a tool that redirects.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct RedirectRequest {
    pub(crate) definition: ContentHash,
    pub(crate) arguments: String,
    pub(crate) answer_within: u64,
}

/// The call for which it stands, by the name that the tool has at the worker.
#[derive(Serialize, Deserialize)]
pub(crate) struct RedirectAnswer {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// A request to a model, for which tools are asked together.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct AdditionsRequest {
    pub(crate) tools: Vec<ToolIdentity>,
    pub(crate) dialect: String,
    /// Milliseconds until the deadline of the run.
    pub(crate) time_left: Option<u64>,
    pub(crate) answer_within: u64,
    pub(crate) run: RunParts,
}

/// A tool of a request, and the name by which the model knows it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ToolIdentity {
    pub(crate) definition: ContentHash,
    pub(crate) model_name: String,
}

/// The additions of one tool to a request.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ToolAdditions {
    pub(crate) instructions: Vec<String>,
    pub(crate) messages: Vec<UserMessage>,
    pub(crate) notices: Vec<String>,
    /// The parts that a caller takes from no worker.
    pub(crate) left_out: Vec<String>,
}

/// A message of the user.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum UserMessage {
    Text(String),
    Content(Vec<Content>),
}

impl ToolAdditions {
    /// Returns the number of bytes of all parts, and their number.
    pub(crate) fn size(&self) -> (usize, usize) {
        let Self { instructions, messages, notices, left_out } = self;
        let texts = || instructions.iter().chain(notices).chain(left_out);
        let message_bytes = |message: &UserMessage| match message {
            UserMessage::Text(text) => text.len(),
            UserMessage::Content(content) => {
                serde_json::to_string(content).map_or(usize::MAX, |text| text.len())
            }
        };
        let bytes = texts().map(String::len).chain(messages.iter().map(message_bytes));
        (bytes.fold(0, usize::saturating_add), texts().count() + messages.len())
    }
}

impl From<RequestAdditions> for ToolAdditions {
    fn from(additions: RequestAdditions) -> Self {
        let RequestAdditions { instructions, native, messages, members, notices, .. } = additions;
        let mut left_out: Vec<_> = members.keys().map(|member| format!("the member `{member}`")).collect();
        left_out.extend(native.iter().map(|_| "a native tool".to_owned()));
        let mut kept = Vec::new();
        for message in messages {
            match message {
                AddedMessage::Text(text) => kept.push(UserMessage::Text(text)),
                AddedMessage::Content(content) => kept.push(UserMessage::Content(content)),
                _ => left_out.push("a message in the format of a provider".to_owned()),
            }
        }
        Self { instructions, messages: kept, notices, left_out }
    }
}

/// The answer to an [`AdditionsRequest`]: for each tool, what it adds, or why the request must not be sent.
#[derive(Serialize, Deserialize)]
pub(crate) struct Additions {
    pub(crate) tools: Vec<(ContentHash, Result<ToolAdditions, ToolError>)>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn all_parts_of_additions_have_a_size() {
        assert_eq!(ToolAdditions::default().size(), (0, 0));
        let texts = |count: usize| vec!["abc".to_owned(); count];
        let content = vec![Content::text("abcd")];
        let content_bytes = serde_json::to_string(&content).unwrap().len();
        let additions = ToolAdditions {
            instructions: texts(1),
            messages: vec![UserMessage::Text("ab".to_owned()), UserMessage::Content(content)],
            notices: texts(2),
            left_out: texts(3),
        };
        assert_eq!(additions.size(), (6 * 3 + 2 + content_bytes, 8));
    }

    #[test]
    fn a_preparation_is_read_as_it_was_written_with_the_names_of_tools_here() {
        let failed = || ToolError::failed("no");
        let permissions = [
            Ok(Permission::Allow),
            Ok(Permission::Deny { reason: "late".to_owned() }),
            Ok(Permission::Ask { reason: "sure?".to_owned() }),
            Err(failed()),
        ];
        let confirmations = [Ok(true), Ok(false), Err(failed())];
        let rename = |error: ToolError| error.with_tool("here".to_owned());
        for permission in permissions.map(Some).into_iter().chain([None]) {
            for confirmation in confirmations.clone().map(Some).into_iter().chain([None]) {
                let prepared = RemotePreparation {
                    arguments: Some("{}".to_owned()),
                    canonical: Some("{ }".to_owned()),
                    confirmation: confirmation.clone(),
                    permission: permission.clone(),
                };
                let text = serde_json::to_string(&Preparation::from(prepared)).unwrap();
                let read = serde_json::from_str::<Preparation>(&text).unwrap().into_remote(rename);
                assert_eq!((read.arguments.as_deref(), read.canonical.as_deref()), (Some("{}"), Some("{ }")));
                let tool_of = |error: &ToolError| error.tool().map(str::to_owned);
                let here = |_| Some("here".to_owned());
                let read_confirmation =
                    read.confirmation.map(|answer| answer.map_err(|error| tool_of(&error)));
                let expected = confirmation.map(|answer| answer.map_err(here));
                assert_eq!(read_confirmation, expected);
                let read_permission = read.permission.map(|answer| answer.map_err(|error| tool_of(&error)));
                let expected = permission.clone().map(|answer| answer.map_err(here));
                assert_eq!(format!("{read_permission:?}"), format!("{expected:?}"));
            }
        }
    }
}
