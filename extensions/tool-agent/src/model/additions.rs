//! Additions of tools and request hooks to requests of models that have no dialect.

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tool_runtime::{
    dialect::RequestError,
    policy::Escape,
    request::{
        AddedMessage, ModelRequest, RequestAdditions, RequestMessage, RequestMessages, RequestResult,
        RequestRole,
    },
};

use super::{Model, ModelError, ModelErrorKind, ModelEvent, Request, ResponseStream, SharedModel};
use crate::{Message, Role};

/// The [dialect](ModelRequest::dialect) of a request that is not in the format of a provider.
const NEUTRAL: &str = "neutral";

impl SharedModel {
    /// Answers a request: [`Model::respond`] with the additions of the tools and request hooks of the request, for a model
    /// that does not [ask for them](Model::asks_request_hooks) itself.
    pub fn respond(&self, request: Request) -> ResponseStream {
        let model: &dyn Model = &**self;
        let has_hooks = !request.tools.is_empty() || !request.tools.request_hooks().is_empty();
        if request.has_additions || !has_hooks || model.asks_request_hooks() {
            return model.respond(request);
        }
        let model = self.clone();
        let events = async move {
            match extend_request(request).await {
                Ok(ExtendedRequest { request, additions, unsupported }) => {
                    let mut events: Vec<_> =
                        unsupported.into_iter().map(|text| Ok(ModelEvent::Unsupported(text))).collect();
                    if additions != RequestAdditions::default() {
                        events.insert(0, Ok(ModelEvent::Extended(additions)));
                    }
                    let model: &dyn Model = &*model;
                    stream::iter(events).chain(model.respond(request))
                }
                Err(error) => stream::iter(vec![Err(error)]).chain(ResponseStream::new(stream::empty())),
            }
        };
        ResponseStream::new(stream::once(events).flatten())
    }
}

/// A request with its additions.
struct ExtendedRequest {
    request: Request,
    additions: RequestAdditions,
    /// Sentences about additions that have no place in the request.
    unsupported: Vec<String>,
}

/// Asks the tools and hooks of a request, and adds what they add.
async fn extend_request(mut request: Request) -> Result<ExtendedRequest, ModelError> {
    let messages = lazy_request_messages(&request);
    let model_request = ModelRequest::new(NEUTRAL, json!({}), request.run.clone()).with_messages(messages);
    let additions =
        request.tools.request_additions(model_request).await.map_err(ModelError::from_request_error)?;
    let unsupported = request.add_supported_additions(&additions);
    Ok(ExtendedRequest { request, additions, unsupported })
}

/// Returns the messages of a request as hooks see them; they are copied when a hook asks for them.
pub(super) fn lazy_request_messages(request: &Request) -> RequestMessages {
    if request.tools.is_empty() && request.tools.request_hooks().is_empty() {
        return RequestMessages::default();
    }
    let messages = request.messages.clone();
    RequestMessages::new(move || messages.iter().map(request_message).collect())
}

fn request_message(message: &Message) -> RequestMessage {
    let role = match message.role() {
        Role::User => RequestRole::User,
        Role::Assistant => RequestRole::Assistant,
        Role::Tool => RequestRole::Tool,
    };
    message.tool_results().fold(RequestMessage::new(role, message.content()), |shown, result| {
        let content = result.content().into_owned();
        shown.with_result(RequestResult::new(
            result.id.to_string(),
            &*result.name,
            result.is_error(),
            content,
        ))
    })
}

impl Request {
    /// Adds what a request without a dialect has a place for; returns sentences about the rest.
    pub(super) fn add_supported_additions(&mut self, additions: &RequestAdditions) -> Vec<String> {
        self.has_additions = true;
        let RequestAdditions { instructions, native, messages, members, notices, .. } = additions;
        for text in instructions.iter().filter(|text| !text.trim().is_empty()) {
            if self.instruction.trim().is_empty() {
                self.instruction = text.as_str().into();
            } else if !format!("\n\n{}\n\n", self.instruction).contains(&format!("\n\n{text}\n\n")) {
                self.instruction = format!("{}\n\n{text}", self.instruction).into();
            }
        }
        let mut unsupported: Vec<_> = native
            .iter()
            .map(|tool| {
                format!("the model has no place for the native tool {}", quoted_line(&tool.to_string()))
            })
            .collect();
        unsupported.extend(notices.iter().cloned());
        for message in messages {
            match message {
                AddedMessage::Text(text) => self.messages.push(Message::user(text.as_str())),
                AddedMessage::Content(content) => {
                    self.messages.push(Message::user_content(content.iter().cloned()));
                }
                AddedMessage::Native(message) => unsupported.push(format!(
                    "the model has no place for the message {} in the format of a provider",
                    quoted_line(&message.to_string())
                )),
                _ => {}
            }
        }
        self.parameters.extend(members.clone());
        unsupported
    }
}

impl ModelError {
    pub(super) fn from_request_error(error: RequestError) -> Self {
        Self::new(ModelErrorKind::InvalidRequest, format!("the request cannot be built: {error}"))
            .with_source(error)
    }
}

/// Returns the start of a text in one line.
fn quoted_line(text: &str) -> String {
    /// The maximum number of characters of a tool or message in a notice.
    const MAX_CHARS: usize = 200;
    format!("`{}`", Escape::LINE.at_most(MAX_CHARS).text(text))
}
