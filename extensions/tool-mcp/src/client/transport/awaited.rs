//! The requests that wait for an answer.

use rmcp::model::{ClientRequest, ProtocolVersion, RequestId, ServerResult};

/// The request that an answer belongs to.
#[derive(Debug, Clone)]
pub(super) enum AwaitedAnswer {
    Initialize,
    Discover,
    /// A call, with the name of the tool.
    Call(String),
    /// A page of a listing, with the member that has the items.
    Page(&'static str),
    Prompt,
    /// The contents of a resource, with its URI.
    Resource(String),
    Completion,
    Other,
}

impl AwaitedAnswer {
    pub(super) fn of_request(request: &ClientRequest) -> Self {
        match request {
            ClientRequest::InitializeRequest(_) => Self::Initialize,
            ClientRequest::DiscoverRequest(_) => Self::Discover,
            ClientRequest::CallToolRequest(call) => Self::Call(call.params.name.to_string()),
            ClientRequest::ListToolsRequest(_) => Self::Page("tools"),
            ClientRequest::ListPromptsRequest(_) => Self::Page("prompts"),
            ClientRequest::ListResourcesRequest(_) => Self::Page("resources"),
            ClientRequest::ListResourceTemplatesRequest(_) => Self::Page("resourceTemplates"),
            ClientRequest::GetPromptRequest(_) => Self::Prompt,
            ClientRequest::ReadResourceRequest(read) => Self::Resource(read.params.uri.clone()),
            ClientRequest::CompleteRequest(_) => Self::Completion,
            _ => Self::Other,
        }
    }

    /// Returns the name of the tool of a call.
    pub(super) fn tool_name(&self) -> Option<&str> {
        match self {
            Self::Call(tool) => Some(tool),
            _ => None,
        }
    }

    pub(super) fn is_handshake(&self) -> bool {
        matches!(self, Self::Initialize | Self::Discover)
    }

    /// Returns `true` if the SDK has read a result as one of this request.
    pub(super) fn is_answered_by(&self, result: &ServerResult) -> bool {
        match self {
            Self::Initialize => matches!(result, ServerResult::InitializeResult(_)),
            Self::Discover => matches!(
                result,
                ServerResult::DiscoverResult(result) if result.supported_versions.contains(&ProtocolVersion::LATEST)
            ),
            Self::Page(member) => matches!(
                (*member, result),
                ("tools", ServerResult::ListToolsResult(_))
                    | ("prompts", ServerResult::ListPromptsResult(_))
                    | ("resources", ServerResult::ListResourcesResult(_))
                    | ("resourceTemplates", ServerResult::ListResourceTemplatesResult(_))
            ),
            Self::Prompt => {
                matches!(result, ServerResult::GetPromptResult(_) | ServerResult::InputRequiredResult(_))
            }
            Self::Resource(_) => {
                matches!(result, ServerResult::ReadResourceResult(_) | ServerResult::InputRequiredResult(_))
            }
            Self::Completion => matches!(result, ServerResult::CompleteResult(_)),
            Self::Call(_) => matches!(
                result,
                ServerResult::CallToolResult(_)
                    | ServerResult::InputRequiredResult(_)
                    | ServerResult::CreateTaskResult(_)
            ),
            Self::Other => true,
        }
    }
}

/// The request whose HTTP response has a text: an answer in it without a readable id belongs to that request.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "requests are posted over HTTP"))]
pub(super) enum PostedRequest<'a> {
    /// The text is of a stream for all requests.
    None,
    /// The text is one of several of an event stream.
    Event(&'a RequestId),
    /// The text is the whole response.
    Whole(&'a RequestId),
}

impl<'a> PostedRequest<'a> {
    pub(super) fn id(self) -> Option<&'a RequestId> {
        match self {
            Self::Event(id) | Self::Whole(id) => Some(id),
            Self::None => None,
        }
    }

    /// Returns the request that an answer belongs to, whose id belongs to the open request `request_with_id`.
    pub(super) fn answered_request_id(
        self,
        answer_has_id: bool,
        request_with_id: Option<RequestId>,
    ) -> Option<RequestId> {
        match self {
            Self::None => request_with_id,
            Self::Event(id) if answer_has_id => {
                request_with_id.filter(|request_with_id| request_with_id == id)
            }
            Self::Event(id) | Self::Whole(id) => Some(id.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
