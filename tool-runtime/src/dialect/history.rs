//! The form of calls in messages that are sent back.
//!
//! A provider validates the history of each request, so that one call that does not have the form of a request would
//! make every later request of the conversation fail. Arguments and names that already have that form stay as they
//! were written, because a change would miss the provider's prompt cache.

use tool_core::internals::ExactValue;

use super::{
    BoundTools,
    draft::{MessageDraft, set_member, text_value},
    partial_calls::is_object_text,
};
use crate::ToolCall;

/// The member under which arguments that are not a JSON object are sent back
/// (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming>).
const INVALID_JSON: &str = "INVALID_JSON";

/// The members of a call in a message.
pub(super) struct CallMembers<'m> {
    /// The object with name and arguments.
    pub(super) object: &'m mut ExactValue<'static>,
    /// The name of the member for the arguments.
    pub(super) arguments: &'static str,
    pub(super) form: ArgumentsForm,
}

/// The form of arguments in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentsForm {
    /// The text of a JSON object.
    ObjectText,
    /// A JSON object.
    Object,
    /// A JSON object, which may be absent.
    OptionalObject,
    /// Text that is not JSON.
    FreeText,
}

impl ArgumentsForm {
    /// Returns `true` if `arguments` have this form.
    fn is_form_of(self, arguments: Option<&ExactValue<'_>>) -> bool {
        match (self, arguments) {
            (Self::ObjectText, Some(ExactValue::String(text))) => is_object_text(text),
            (Self::Object | Self::OptionalObject, Some(ExactValue::Object(_))) => true,
            (Self::OptionalObject, None) => true,
            (Self::FreeText, Some(ExactValue::String(_))) => true,
            _ => false,
        }
    }
}

impl CallMembers<'_> {
    /// Gives the call a name and arguments that the provider accepts; `call` is `None` for a native tool, whose name
    /// the provider knows.
    fn conform_call(self, bound: &BoundTools, call: Option<&ToolCall>) {
        let Self { object, arguments, form } = self;
        if !matches!(object, ExactValue::Object(_)) {
            *object = ExactValue::Object(Vec::new());
        }
        if let Some(call) = call {
            let name = object.get("name").and_then(ExactValue::as_str);
            // A name whose pieces were put together is not the one of the part.
            let is_accepted = name.is_some_and(|name| {
                bound.format().name_rule().is_valid(name) && bound.tool_name(name) == &*call.name
            });
            if !is_accepted || call.name.is_empty() {
                set_member(object, "name", text_value(&bound.wire_name(&call.name)));
            }
        }
        let received = object.get(arguments);
        if form.is_form_of(received) {
            return;
        }
        let received = received.map(argument_text).unwrap_or_default();
        let sent = || call.map_or_else(|| argument_object(&received), |call| bound.sent_arguments(call));
        let value = match form {
            ArgumentsForm::ObjectText => text_value(&sent().to_string()),
            ArgumentsForm::Object | ArgumentsForm::OptionalObject => sent(),
            ArgumentsForm::FreeText => text_value(&received),
        };
        set_member(object, arguments, value);
    }
}

impl BoundTools {
    /// Returns the arguments of a call as the object that is sent back: those that were executed, or else the text
    /// under `INVALID_JSON`.
    pub(super) fn sent_arguments(&self, call: &ToolCall) -> ExactValue<'static> {
        let repaired = self.repaired_arguments(call);
        let arguments = repaired.as_ref().unwrap_or(&call.arguments);
        let object = argument_object(arguments.as_str());
        match self.wrapping_argument(&call.name) {
            Some(within) => ExactValue::Object(vec![(within.to_owned().into(), object)]),
            None => object,
        }
    }
}

/// Gives each call of a message the form of a request. `calls` are the calls of the message.
pub(super) fn conform_calls(draft: &mut MessageDraft, bound: &BoundTools, calls: &[ToolCall]) {
    let wire = bound.format();
    for part in draft.parts_mut() {
        let call = part.call.and_then(|at| calls.get(at));
        if let Some(members) = wire.find_call_in_part(&mut part.value, call.is_some()) {
            members.conform_call(bound, call);
        }
    }
    if let Some(members) = wire.find_call_in_message(&mut draft.base).filter(|_| !calls.is_empty()) {
        members.conform_call(bound, calls.last());
    }
}

/// Returns the object of a text; blank text is an empty object.
fn argument_object(arguments: &str) -> ExactValue<'static> {
    match ExactValue::read(arguments) {
        Some(object @ ExactValue::Object(_)) => object.into_owned(),
        Some(ExactValue::Null) => ExactValue::Object(Vec::new()),
        _ if arguments.trim().is_empty() => ExactValue::Object(Vec::new()),
        _ => ExactValue::Object(vec![(INVALID_JSON.into(), text_value(arguments))]),
    }
}

/// Returns the text of arguments that were sent as a text or as a value.
fn argument_text(arguments: &ExactValue<'_>) -> String {
    match arguments {
        ExactValue::String(text) => text.clone().into_owned(),
        ExactValue::Null => String::new(),
        value => value.to_string(),
    }
}
