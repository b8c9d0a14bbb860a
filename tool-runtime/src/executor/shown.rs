//! Calls as those may see them who listen, are asked or read a log.

use std::borrow::Cow;

use tool_core::{__private::ExactValue, Arguments, ToolDefinition};

use crate::ToolCall;

/// What stands for a value that nobody may read.
pub(super) const HIDDEN: &str = "***";
const HIDDEN_VALUE: ExactValue<'static> = ExactValue::String(Cow::Borrowed(HIDDEN));

/// `call` without its secrets: their values, and the names within them. All else is as it is written, with all digits
/// of its numbers.
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
                    // A property that is not known may be a secret one under another name; where any name is
                    // allowed, the name may be a part of the secret.
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

/// Hides the members that have the name of a secret, wherever they were put.
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
