//! Span attributes added by the body of a tool, without the values of secret parameters.

use serde_json::Value;
use tool_core::{
    Arguments, ToolContext, ToolDefinition,
    internals::{Attributes, ExactValue},
};
use tracing::Span;

use super::{
    prepare::CallRequest,
    state::{BatchState, CallState},
    stop::StopReason,
};
use crate::telemetry;

/// The replacement of a value that contains the value of a secret parameter.
const REDACTED: &str = "***";

/// The span of a call. Records its attributes when the call ends or is dropped, and its status if it is dropped.
pub(super) struct CallSpan<'a> {
    pub(super) span: Span,
    pub(super) batch: &'a BatchState,
    pub(super) definition: &'a ToolDefinition,
    pub(super) request: CallRequest<'a>,
    pub(super) state: &'a CallState,
    /// `true` if the status of the call was recorded.
    pub(super) has_status: bool,
}

impl Drop for CallSpan<'_> {
    fn drop(&mut self) {
        if !self.has_status {
            let stop = self.batch.stop_reason().unwrap_or(StopReason::Cancelled);
            telemetry::record_end(&self.span, &Err(stop.error()), false);
        }
        let set = self.state.cx.as_ref().and_then(ToolContext::take_attributes);
        if let Some(mut attributes) = set {
            let secrets = self.secrets();
            if !secrets.is_empty() {
                hide_secrets(&mut attributes, &secrets);
            }
            telemetry::record_attributes(&self.span, attributes);
        }
    }
}

impl CallSpan<'_> {
    /// Returns the texts of the secret arguments, as received and as passed to the body.
    fn secrets(&self) -> Vec<String> {
        let names = &*self.definition.metadata().secrets;
        let mut texts = Vec::new();
        if !names.is_empty() {
            let received = &self.request.call.arguments;
            // Where nothing inspects the arguments, the body was decoded from the received ones.
            let canonical = match (&self.state.arguments, self.request.entry) {
                (Some(arguments), _) => Some(arguments.as_borrowed()),
                (None, Some(entry)) => entry.canonical_arguments(received.as_borrowed()).ok(),
                (None, None) => None,
            };
            for text in canonical.iter().chain([received]).map(Arguments::as_str) {
                // Exact values keep the spelling of numbers, which is searched for.
                if let Some(ExactValue::Object(arguments)) = ExactValue::read(text) {
                    let is_secret = |name: &str| names.iter().any(|secret| *secret == *name);
                    for (name, value) in &arguments {
                        // An unknown name may be a misspelt secret parameter.
                        let within = is_secret(name) || !self.definition.knows_parameter(name);
                        collect_secrets(value, &is_secret, within, &mut texts);
                    }
                }
            }
        }
        texts.retain(|text| !text.is_empty());
        texts
    }
}

/// Adds the texts of secret members at any depth.
fn collect_secrets(
    value: &ExactValue<'_>,
    is_secret: &impl Fn(&str) -> bool,
    within: bool,
    texts: &mut Vec<String>,
) {
    match value {
        ExactValue::Object(members) => {
            for (name, value) in members {
                if within {
                    texts.push(name.to_string());
                }
                collect_secrets(value, is_secret, within || is_secret(name), texts);
            }
        }
        ExactValue::List(items) => {
            items.iter().for_each(|item| collect_secrets(item, is_secret, within, texts))
        }
        ExactValue::String(text) | ExactValue::Number(text) if within => texts.push(text.to_string()),
        _ => {}
    }
}

/// Replaces values that contain a secret; removes attributes whose names contain one.
fn hide_secrets(attributes: &mut Attributes, secrets: &[String]) {
    let shows = |text: &str| secrets.iter().any(|secret| text.contains(secret.as_str()));
    let before = attributes.set.len();
    attributes.set.retain(|name, _| !shows(name));
    let dropped = before.saturating_sub(attributes.set.len());
    attributes.dropped = attributes.dropped.saturating_add(dropped as u64);
    attributes.set.values_mut().for_each(|value| hide_in_value(value, &shows));
}

fn hide_in_value(value: &mut Value, shows: &impl Fn(&str) -> bool) {
    let hidden = match value {
        Value::String(text) => shows(text),
        Value::Number(number) => shows(&number.to_string()),
        Value::Object(members) if members.keys().any(|name| shows(name)) => true,
        Value::Object(members) => {
            members.values_mut().for_each(|value| hide_in_value(value, shows));
            false
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| hide_in_value(item, shows));
            false
        }
        _ => false,
    };
    if hidden {
        *value = REDACTED.into();
    }
}
