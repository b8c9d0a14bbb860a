//! Messages of a server, read with tolerance.
//!
//! The SDK reads a message as a whole: one that has a single malformed part is no message for it, and the request that it
//! answers waits until its timeout. Here, a message that the SDK reads goes to it as it came; of another one, the part
//! that can be read answers its request, with a diagnostic.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    RoleClient,
    model::{ClientNotification, ErrorData, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
};
use serde_json::{Map, Value};
use tool_runtime::CancellationToken;

use super::{
    awaited::{AwaitedAnswer, PostedRequest},
    envelope::{
        may_answer_handshake, means_no_error, method_not_found_if_only_older_revisions, open_request_id,
        parse_request_id, read_error_data, request_id_in_answer_head,
    },
    repair,
};
use crate::client::notices::Notices;

/// The length of the beginning of an answer that names its request.
pub(super) const MAX_HEAD_BYTES: usize = 1024;

type Message = RxJsonRpcMessage<RoleClient>;

/// A text of a server as messages.
#[derive(Default)]
pub(super) struct ReceivedMessages {
    pub(super) messages: Vec<Message>,
    /// `true` if the SDK reads the text as it is.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "event streams are of HTTP"))]
    pub(super) is_verbatim: bool,
    /// The ids of requests of the server that cannot be read.
    pub(super) malformed_requests: Vec<RequestId>,
}

/// The reader of the messages of one connection, which knows the requests that are not answered yet.
pub(in crate::client) struct Reception {
    notices: Arc<Notices>,
    open: Mutex<HashMap<RequestId, AwaitedAnswer>>,
    /// The reason why the answer to the handshake cannot be used.
    failure: Mutex<Option<String>>,
    /// Is cancelled once the connection is known to be lost.
    pub(in crate::client) lost: CancellationToken,
    /// The HTTP status by which the last request of the handshake was refused.
    #[cfg(feature = "http")]
    refusal: Mutex<Option<u16>>,
}

impl Reception {
    pub(in crate::client) fn new(notices: Arc<Notices>) -> Self {
        Self {
            notices,
            open: Mutex::default(),
            failure: Mutex::default(),
            lost: CancellationToken::new(),
            #[cfg(feature = "http")]
            refusal: Mutex::default(),
        }
    }

    fn lock_open_requests(&self) -> MutexGuard<'_, HashMap<RequestId, AwaitedAnswer>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why the answer to the handshake cannot be used.
    pub(in crate::client) fn handshake_failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the HTTP status by which the last request of the handshake was refused.
    #[cfg(feature = "http")]
    pub(in crate::client) fn handshake_refusal_status(&self) -> Option<u16> {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the HTTP status of the answer to a request, if that is one of the handshake.
    #[cfg(feature = "http")]
    pub(super) fn note_handshake_status(&self, id: &RequestId, status: u16) {
        if self.lock_open_requests().get(id).is_some_and(AwaitedAnswer::is_handshake) {
            *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = (status >= 400).then_some(status);
        }
    }

    /// Takes note of a message that is sent.
    pub(super) fn note_sent_message(&self, message: &TxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.lock_open_requests()
                    .insert(request.id.clone(), AwaitedAnswer::of_request(&request.request));
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.lock_open_requests().remove(id);
                }
            }
            _ => {}
        }
    }

    /// Gives up a request that was not sent, or has no answer.
    pub(in crate::client) fn forget_request(&self, id: &RequestId) {
        self.lock_open_requests().remove(id);
    }

    /// Answers the request of an answer that is too long; `head` is the beginning of the answer.
    pub(super) fn fail_oversized_answer(&self, head: &[u8], max_bytes: usize) -> Option<Message> {
        let answer = self.fail_request_of_head(head, &format!("is larger than {max_bytes} bytes"));
        if answer.is_none() {
            let problem = format!("a message of more than {max_bytes} bytes was discarded");
            self.notices.add_warning("unreadable_answer", None, &problem);
        }
        answer
    }

    /// Answers the request that the beginning of an answer names, where the rest cannot be read.
    fn fail_request_of_head(&self, text: &[u8], problem: &str) -> Option<Message> {
        let head = &text[..text.len().min(MAX_HEAD_BYTES)];
        let id = request_id_in_answer_head(head)
            .and_then(|id| open_request_id(&self.lock_open_requests(), &id))?;
        let awaited = self.lock_open_requests().remove(&id)?;
        self.notices.add_warning("unreadable_answer", awaited.tool_name(), &format!("an answer {problem}"));
        let reason = format!("the request was processed, but its answer {problem}");
        Some(Message::error(ErrorData::internal_error(reason, None), Some(id)))
    }

    /// Reads a text.
    pub(super) fn read_messages(&self, text: &[u8], post: PostedRequest<'_>) -> ReceivedMessages {
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        if let Ok(message) = serde_json::from_slice::<Message>(text)
            && self.accept_verbatim(&message, post)
        {
            return ReceivedMessages {
                messages: vec![message],
                is_verbatim: true,
                malformed_requests: Vec::new(),
            };
        }
        let mut received = ReceivedMessages::default();
        match super::json::parse_lenient_json(text) {
            Ok(Value::Array(batch)) => {
                batch.into_iter().for_each(|message| self.add_received_message(message, post, &mut received));
            }
            Ok(message) => self.add_received_message(message, post, &mut received),
            Err(error) => {
                tracing::debug!(%error, "a text of an MCP server is no JSON");
                received
                    .messages
                    .extend(self.fail_request_of_head(text, &format!("cannot be read: {error}")));
            }
        }
        received
    }

    /// Returns `true` for a message that is used as the SDK reads it; the request that it answers is no longer open.
    fn accept_verbatim(&self, message: &Message, post: PostedRequest<'_>) -> bool {
        match message {
            JsonRpcMessage::Response(response) => {
                let mut open = self.lock_open_requests();
                let Some(id) = open_request_id(&open, &response.id) else { return false };
                let is_usable = post.id().is_none_or(|post| *post == id)
                    && open.get(&id).is_some_and(|awaited| awaited.is_answered_by(&response.result));
                is_usable && open.remove(&id).is_some()
            }
            JsonRpcMessage::Error(error) => {
                let mut open = self.lock_open_requests();
                let id = error.id.as_ref().and_then(|id| open_request_id(&open, id));
                let is_discover = |id: &RequestId| matches!(open.get(id), Some(AwaitedAnswer::Discover));
                id.filter(|id| !is_discover(id) && post.id().is_none_or(|post| post == id))
                    .is_some_and(|id| open.remove(&id).is_some())
            }
            // A request of this client may have the same id: then it may be an answer to it.
            JsonRpcMessage::Request(request) => {
                open_request_id(&self.lock_open_requests(), &request.id).is_none()
            }
            JsonRpcMessage::Notification(_) => true,
        }
    }

    fn add_received_message(&self, message: Value, post: PostedRequest<'_>, received: &mut ReceivedMessages) {
        let Value::Object(mut message) = message else {
            tracing::debug!("a text of an MCP server is no message");
            return;
        };
        if message.get("method").is_some_and(Value::is_string) && !self.is_answer_with_method(&message) {
            message.insert("jsonrpc".to_owned(), "2.0".into());
            message.remove("result");
            message.remove("error");
            let id = message.get("id").and_then(parse_request_id);
            match serde_json::from_value(Value::Object(message)) {
                Ok(message) => received.messages.push(message),
                Err(error) => {
                    tracing::debug!(%error, "a request of an MCP server is malformed");
                    received.malformed_requests.extend(id);
                }
            }
            return;
        }
        let Some((id, awaited)) = self.take_answered_request(&message, post) else {
            tracing::debug!("a message of an MCP server answers no open request");
            return;
        };
        received.messages.push(self.repaired_answer(id, &awaited, message));
    }

    /// Returns `true` for an answer to an open request that repeats the method of the request.
    fn is_answer_with_method(&self, message: &Map<String, Value>) -> bool {
        let has_answer = message.contains_key("result") || message.contains_key("error");
        let id = message.get("id").and_then(parse_request_id).filter(|_| has_answer);
        id.is_some_and(|id| open_request_id(&self.lock_open_requests(), &id).is_some())
    }

    /// Returns the open request that a message answers, which is no longer open then.
    fn take_answered_request(
        &self,
        message: &Map<String, Value>,
        post: PostedRequest<'_>,
    ) -> Option<(RequestId, AwaitedAnswer)> {
        let mut open = self.lock_open_requests();
        let named = message.get("id").and_then(parse_request_id);
        let is_named = named.is_some();
        let is_answer = message.contains_key("result") || message.contains_key("error");
        let known = match named {
            Some(id) => open_request_id(&open, &id),
            // The handshake is the only request of its time. Later, an error without an id may be about any message.
            None if may_answer_handshake(message) => {
                open.iter().find_map(|(id, awaited)| awaited.is_handshake().then(|| id.clone()))
            }
            None => None,
        };
        if !is_named && !is_answer && !matches!(post, PostedRequest::Whole(_)) {
            return None;
        }
        let id = post.answered_request_id(is_named, known)?;
        let awaited = open.remove(&id)?;
        Some((id, awaited))
    }

    fn repaired_answer(
        &self,
        id: RequestId,
        awaited: &AwaitedAnswer,
        mut message: Map<String, Value>,
    ) -> Message {
        let mut error = message.remove("error").filter(|error| !error.is_null());
        let result = message.remove("result");
        let tool = awaited.tool_name();
        if result.as_ref().is_some_and(|result| !result.is_null())
            && error.as_ref().is_some_and(means_no_error)
        {
            self.notices.add_warning(
                "unreadable_answer",
                tool,
                "a result has an empty `error` beside it, which is ignored",
            );
            error = None;
        }
        let Some(result) = result.filter(|_| error.is_none()) else {
            if let Some(error) = error.clone().and_then(|error| serde_json::from_value(error).ok()) {
                return Message::error(method_not_found_if_only_older_revisions(awaited, error), Some(id));
            }
            let error = read_error_data(error, message);
            self.notices.add_warning(
                "unreadable_answer",
                tool,
                &format!("an error is malformed: {}", error.message),
            );
            return Message::error(error, Some(id));
        };
        let repaired = match awaited {
            AwaitedAnswer::Initialize => repair::initialize_result(result),
            AwaitedAnswer::Discover => repair::discover_result(result),
            AwaitedAnswer::Call(_) => repair::call_result(result),
            AwaitedAnswer::Page(_) => repair::unrepaired_page_result(result),
            AwaitedAnswer::Prompt => repair::prompt_result(result),
            AwaitedAnswer::Resource(uri) => repair::resource_result(result, uri),
            AwaitedAnswer::Completion => repair::completion_result(result),
            AwaitedAnswer::Other => repair::other_result(result),
        };
        let code = match awaited {
            AwaitedAnswer::Call(_)
            | AwaitedAnswer::Prompt
            | AwaitedAnswer::Resource(_)
            | AwaitedAnswer::Completion => "unreadable_content",
            AwaitedAnswer::Initialize | AwaitedAnswer::Discover => "unreadable_handshake",
            AwaitedAnswer::Page(_) | AwaitedAnswer::Other => "unreadable_answer",
        };
        for problem in &repaired.problems {
            self.notices.add_warning(code, tool, problem);
        }
        if let Some(failure) = repaired.failure {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        }
        if let Some(error) = repaired.error {
            return Message::error(error, Some(id));
        }
        Message::response(repaired.result, id)
    }
}
