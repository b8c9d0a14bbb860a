//! The body of a request from a conversation.

use serde_json::{Map, Value};
use tool_runtime::{
    dialect::{BoundTools, DialectError, RequestBody, RequestError, ToolSelection},
    request::{AddedMessage, RequestAdditions},
};

use super::{
    HttpModelSettings,
    cache::CachePoints,
    conversation::{RequestConversation, replacement_notice},
};
use crate::model::{ModelError, Request, ToolChoice, additions::lazy_request_messages};

/// The body of a request.
pub(super) struct BuiltBody {
    pub(super) body: RequestBody,
    /// The additions of tools and request hooks to the body.
    pub(super) additions: RequestAdditions,
    /// Sentences about the parts of the request that the provider does not support.
    pub(super) unsupported: Vec<String>,
}

/// Builds the body of `request`.
pub(super) async fn build_body(
    settings: &HttpModelSettings,
    bound: &BoundTools,
    request: &Request,
) -> Result<BuiltBody, ModelError> {
    let mut thinking_notice = None;
    let members = members_besides_messages(settings, bound, request, &mut thinking_notice);
    let mut body = bound.body(Value::Object(members)).map_err(invalid_request_error)?;
    let (points, remark) = CachePoints::of_request(settings, request);
    let mut conversation = RequestConversation::of_request(settings, bound, request);
    points.mark_messages(settings.provider, &conversation.ends, &mut conversation.messages);
    conversation.messages.into_iter().for_each(|json| body.push_json(json));
    let mut unsupported = conversation.unsupported;
    unsupported.extend(remark);
    unsupported.extend(thinking_notice);
    bound.declare_tools(&mut body).map_err(invalid_request_error)?;
    let additions = match request.has_additions {
        true => RequestAdditions::default(),
        false => {
            let messages = lazy_request_messages(request);
            let asked = bound.collect_additions_with(&mut body, request.run.clone(), messages).await;
            asked.map_err(ModelError::from_request_error)?
        }
    };
    unsupported.extend(additions.notices.iter().cloned());
    unsupported.extend(refused_addition_notices(settings, bound, &additions));
    let mut body = bound.apply_additions(body, additions.clone()).map_err(invalid_request_error)?;
    points.mark_instruction_and_tools(settings.provider, body.fields_mut());
    Ok(BuiltBody { body, additions, unsupported })
}

/// Returns sentences about added content that the provider does not accept.
fn refused_addition_notices(
    settings: &HttpModelSettings,
    bound: &BoundTools,
    additions: &RequestAdditions,
) -> Vec<String> {
    let contents = additions.messages.iter().filter_map(|message| match message {
        AddedMessage::Content(content) => Some(content),
        _ => None,
    });
    let refused = contents.flatten().filter(|content| !bound.accepts(content));
    refused.map(|content| replacement_notice(settings.provider.name(), content)).collect()
}

fn invalid_request_error(error: DialectError) -> ModelError {
    ModelError::from_request_error(RequestError::Dialect(error))
}

/// Returns the members besides messages and tools, and sets the sentence about thinking that the provider lacks.
fn members_besides_messages(
    settings: &HttpModelSettings,
    bound: &BoundTools,
    request: &Request,
    thinking_notice: &mut Option<String>,
) -> Map<String, Value> {
    let provider = settings.provider;
    let mut members = provider.request_members(&settings.name, settings.streams);
    if !request.instruction.trim().is_empty() {
        provider.set_instruction(&mut members, &request.instruction);
    }
    if let Some(format) = &request.output {
        let strict = settings.formats.strict_schema(provider, format);
        let is_strict = strict.is_some();
        provider.set_output_format(
            &mut members,
            &format.name,
            strict.as_ref().unwrap_or(&format.schema),
            is_strict,
        );
    }
    if !request.tools.is_empty() {
        let selection = match &request.tool_choice {
            ToolChoice::Auto => ToolSelection::Auto,
            ToolChoice::None => ToolSelection::None,
            ToolChoice::Tool(tool) => ToolSelection::Tool(&bound.wire_name(tool)),
            _ => ToolSelection::Required,
        };
        provider.set_tool_selection(&mut members, selection);
    }
    if let Some(thinking) = request.thinking {
        *thinking_notice = provider.set_thinking(&mut members, &settings.name, thinking);
    }
    merge_members(&mut members, &settings.parameters);
    merge_members(&mut members, &request.parameters);
    members
}

/// Sets members; the members of objects are merged.
fn merge_members(members: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (members.get_mut(name), value) {
            (Some(Value::Object(own)), Value::Object(more)) => merge_members(own, more),
            _ => drop(members.insert(name.clone(), value.clone())),
        }
    }
}
