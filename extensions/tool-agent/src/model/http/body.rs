//! The body of a request from a conversation.

use std::sync::Arc;

use serde_json::{Map, Value, value::to_raw_value};
use tool_runtime::{
    ToolCall,
    dialect::{BoundTools, RequestBody},
};

use super::Settings;
use crate::{
    Message, Role,
    model::{ModelError, ModelErrorKind, Request},
};

/// Returns the body of `request`, with the additions of tools and request hooks.
pub(super) async fn body(
    settings: &Settings,
    bound: &BoundTools,
    request: &Request,
) -> Result<RequestBody, ModelError> {
    let provider = settings.provider;
    let mut members = provider.members(settings);
    if !request.instruction.trim().is_empty() {
        provider.instruct(&mut members, &request.instruction);
    }
    if let Some(format) = &request.output {
        let strict = settings.formats.strict(provider, format);
        let is_strict = strict.is_some();
        provider.format(&mut members, &format.name, strict.as_ref().unwrap_or(&format.schema), is_strict);
    }
    if !request.tools.is_empty() {
        let chosen = match &request.tool_choice {
            crate::model::ToolChoice::Tool(tool) => bound.wire_name(tool),
            _ => "",
        };
        provider.choose(&mut members, &request.tool_choice, chosen);
    }
    merge(&mut members, &settings.parameters);
    merge(&mut members, &request.parameters);
    let invalid = |error: &dyn std::fmt::Display| {
        ModelError::new(ModelErrorKind::InvalidRequest, format!("the request cannot be built: {error}"))
    };
    let mut body = bound.body(Value::Object(members)).map_err(|error| invalid(&error))?;
    for message in &request.messages {
        push(&mut body, bound, settings.dialect.name(), message);
    }
    bound.build_request(body, request.run.clone()).await.map_err(|error| invalid(&error).with_source(error))
}

/// Appends a message in the JSON of the provider: its own unchanged, any other converted.
fn push(body: &mut RequestBody, bound: &BoundTools, dialect: &str, message: &Message) {
    let render = || match message.role() {
        Role::User => to_raw_value(&bound.user_message(&message.content())).ok(),
        Role::Assistant => {
            let calls: Vec<ToolCall> = message.calls().cloned().collect();
            Some(bound.assistant_message(&message.text(), &calls))
        }
        Role::Tool => {
            let results: Vec<_> = message.tool_results().cloned().collect();
            to_raw_value(&bound.results(&results)).ok()
        }
    };
    message.rendered(dialect, render).iter().for_each(|json| body.push_json(Arc::clone(json)));
}

/// Sets members; the members of objects are merged.
fn merge(members: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (members.get_mut(name), value) {
            (Some(Value::Object(own)), Value::Object(more)) => merge(own, more),
            _ => drop(members.insert(name.clone(), value.clone())),
        }
    }
}
