//! Calls without secrets, for listeners, people and logs.

use std::borrow::Cow;

use tool_core::{__private::ExactValue, Arguments, ToolDefinition};

use crate::ToolCall;

/// The replacement of a secret value.
pub(super) const HIDDEN: &str = "***";
const HIDDEN_VALUE: ExactValue<'static> = ExactValue::String(Cow::Borrowed(HIDDEN));

/// Returns `call` with secret values, and the names of their members, replaced. All other text is unchanged, including
/// all digits of numbers.
pub(super) fn shown(call: &ToolCall, definition: &ToolDefinition) -> ToolCall {
    let secrets = &*definition.metadata().secrets;
    if secrets.is_empty() {
        return call.clone();
    }
    let mut value = ExactValue::read(call.arguments.as_str()).unwrap_or(HIDDEN_VALUE);
    match &mut value {
        ExactValue::Object(members) => {
            for (name, value) in members {
                if !definition.knows_parameter(name) {
                    *value = HIDDEN_VALUE;
                    // An unknown property may be a misspelt secret one; if the schema allows any name, the name may
                    // contain a part of the secret.
                    if !definition.is_closed() {
                        *name = HIDDEN.into();
                    }
                }
            }
        }
        other => *other = HIDDEN_VALUE,
    }
    hide(&mut value, secrets);
    ToolCall { arguments: Arguments::from(value.to_string()), ..call.clone() }
}

/// Replaces members with the name of a secret at any depth.
fn hide(value: &mut ExactValue<'_>, secrets: &[Cow<'static, str>]) {
    match value {
        ExactValue::Object(members) => {
            for (name, value) in members {
                match secrets.iter().any(|secret| *secret == **name) {
                    true => *value = HIDDEN_VALUE,
                    false => hide(value, secrets),
                }
            }
        }
        ExactValue::List(items) => items.iter_mut().for_each(|item| hide(item, secrets)),
        _ => {}
    }
}
