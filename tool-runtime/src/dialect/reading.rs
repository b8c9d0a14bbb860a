//! The state of a response while it is read, whole or event by event: calls, message and metadata.

use serde_json::{Map, Value, value::RawValue};
use tool_core::internals::ExactValue;

use super::{
    AssembledResponse, BoundTools, Delta, DialectError, Usage,
    draft::{Members, MessageDraft, merge_members},
    error::JsonLocation,
    history::conform_calls,
    partial_calls::{PartialCall, PartialCalls},
    stop::Stop,
};
use crate::diagnostic::{Diagnostic, Location, Severity};

/// A response that is being read.
#[derive(Default)]
pub(super) struct ResponseReading {
    pub(super) partial_calls: PartialCalls,
    pub(super) draft: MessageDraft,
    /// The deltas that were not returned yet.
    pub(super) deltas: Vec<Delta>,
    text: String,
    reasoning: String,
    stop_reason: Option<String>,
    id: Option<String>,
    model: Option<String>,
    /// The parts that were not read, and the calls that were changed.
    diagnostics: Vec<Diagnostic>,
    /// The members of the usage object, as last received.
    usage: Members,
    /// The members beside the message that are kept.
    metadata: Members,
}

impl ResponseReading {
    /// Discards the message and its stop reason: another message replaces it.
    pub(super) fn restart_message(&mut self) {
        let Self { partial_calls, usage, id, model, diagnostics, metadata, .. } = std::mem::take(self);
        *self = Self { partial_calls, usage, id, model, diagnostics, metadata, ..Self::default() };
        self.partial_calls.forget_stop();
    }

    /// Adds a part of the text.
    pub(super) fn add_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.deltas.push(Delta::Text(text.to_owned()));
        }
    }

    /// Adds a part of the reasoning.
    pub(super) fn add_reasoning(&mut self, text: &str) {
        if !text.is_empty() {
            self.reasoning.push_str(text);
            self.deltas.push(Delta::Reasoning(text.to_owned()));
        }
    }

    /// Records a stop reason, if there is one; only a reason in `finished` means that the model had finished.
    /// Returns `true` if there is one.
    pub(super) fn set_stop_reason(&mut self, reason: Option<&str>, finished: &[&str]) -> bool {
        let stop = Stop::from_reason(reason, finished);
        if stop == Stop::Unspecified {
            return false;
        }
        if self.partial_calls.set_stop(stop) {
            self.stop_reason = reason.map(|reason| reason.trim().to_owned());
        }
        true
    }

    /// Records the stop reason at `reason`, if there is one. One that is no text means that the model was stopped.
    pub(super) fn read_stop_reason(&mut self, reason: &JsonLocation<'_>, finished: &[&str]) -> bool {
        match reason.optional_text() {
            Ok(text) => self.set_stop_reason(text, finished),
            Err(error) => {
                self.record_unreadable_part(error);
                self.set_stop_reason(Some(UNREADABLE), finished)
            }
        }
    }

    /// Records a part of the response that cannot be read, and is left out.
    pub(super) fn record_unreadable_part(&mut self, error: DialectError) {
        let DialectError { pointer, expected, got } = error;
        let message =
            format!("the part of the response at `{pointer}` is left out: expected {expected}, got {got}");
        self.add_diagnostic(
            Severity::Warning,
            "unreadable_part",
            pointer,
            message,
            "report it to the provider",
        );
    }

    /// Records the call at `at` as contradictory: it does not run.
    pub(super) fn mark_call_contradictory(&mut self, at: usize, error: DialectError) {
        self.record_unreadable_part(error);
        if let Some(partial_call) = self.partial_calls.get_mut(at) {
            partial_call.is_contradictory = true;
        }
    }

    fn add_diagnostic(
        &mut self,
        severity: Severity,
        code: &'static str,
        pointer: String,
        message: String,
        help: &'static str,
    ) {
        let is_same = |last: &Diagnostic| last.message == message && last.location.pointer == pointer;
        if self.diagnostics.len() == MAX_DIAGNOSTICS || self.diagnostics.last().is_some_and(is_same) {
            return;
        }
        let location = Location { tool: None, dialect: None, pointer, source: None };
        self.diagnostics.push(Diagnostic { location, severity, code, message, help: Some(help.to_owned()) });
    }

    /// Chooses names and ids of the calls, once all parts have arrived.
    fn choose_names_and_ids(&mut self, bound: &BoundTools) {
        let message = |call: &PartialCall| {
            let name = shortened_name(&call.name);
            let parts = match call.name_parts == call.name {
                true => String::new(),
                false => format!(" (the parts of its name are `{}`)", shortened_name(&call.name_parts)),
            };
            format!("the parts of a call of `{name}` contradict each other{parts}, and it does not run")
        };
        let messages: Vec<_> = self.partial_calls.choose_names(bound).map(message).collect();
        for message in messages {
            let help = "report it to the provider";
            self.add_diagnostic(Severity::Warning, "contradictory_call", String::new(), message, help);
        }
        if bound.format().messages_member().is_none() {
            return;
        }
        for (id, new) in self.partial_calls.replace_repeated_ids() {
            let (id, new) = (shortened_name(&id), shortened_name(&new));
            let message = format!("two calls have the id `{id}`; the second one is sent back as `{new}`");
            let help = "no action needed: its result has the new id";
            self.add_diagnostic(Severity::Note, "duplicate_call_id", String::new(), message, help);
        }
    }

    /// Records token counts; they replace earlier ones.
    pub(super) fn set_usage(&mut self, usage: &JsonLocation<'_>) {
        let given = usage.members().filter(|(_, count)| count.value().is_some());
        merge_members(&mut self.usage, given, |_, own, count| *own = count.to_owned());
    }

    /// Keeps the members of a part of the response that are neither `read` nor empty, such as the grounding of its text. Later parts add to
    /// earlier ones.
    pub(super) fn keep_members_except(&mut self, part: &JsonLocation<'_>, read: &[&str]) {
        self.keep_members_if(part, |name| !read.contains(&name));
    }

    /// Keeps the members of a part of the response whose names `keeps` accepts, unless they are empty.
    pub(super) fn keep_members_if(&mut self, part: &JsonLocation<'_>, keeps: impl Fn(&str) -> bool) {
        let is_kept =
            |(name, value): &(&str, JsonLocation<'_>)| keeps(name) && !is_empty_value(value.value());
        merge_members(&mut self.metadata, part.members().filter(is_kept), |_, own, value| {
            if let Some(value) = value.value() {
                merge_metadata(own, value);
            }
        });
    }

    /// Records the id of the response and the name of its model; the first ones count.
    pub(super) fn set_identity(&mut self, id: &JsonLocation<'_>, model: &JsonLocation<'_>) {
        let given =
            |place: &JsonLocation<'_>| place.as_text().filter(|text| !text.is_empty()).map(str::to_owned);
        self.id = self.id.take().or_else(|| given(id));
        self.model = self.model.take().or_else(|| given(model));
    }

    /// Returns the response.
    pub(super) fn into_response(mut self, bound: &BoundTools) -> AssembledResponse {
        self.choose_names_and_ids(bound);
        let Self {
            partial_calls,
            mut draft,
            text,
            reasoning,
            stop_reason,
            id,
            model,
            usage,
            metadata,
            mut diagnostics,
            ..
        } = self;
        for diagnostic in &mut diagnostics {
            diagnostic.location.dialect = Some(bound.format().name());
        }
        let wire = bound.format();
        wire.complete(&mut draft, &partial_calls);
        let (ended, truncated) = (partial_calls.has_ended(), partial_calls.is_truncated());
        let calls = partial_calls.into_calls(bound);
        if let Some(id) = wire.call_id_member() {
            draft.set_call_ids(id, &calls);
        }
        conform_calls(&mut draft, bound, &calls);
        let message = wire.message(draft).and_then(|it| RawValue::from_string(it.to_string()).ok());
        let usage =
            Some(wire.convert_usage(&ExactValue::Object(usage))).filter(|usage| *usage != Usage::default());
        AssembledResponse {
            calls,
            ended,
            truncated,
            message,
            text,
            reasoning,
            stop_reason,
            usage,
            id,
            model,
            metadata: metadata_map(metadata),
            diagnostics,
        }
    }
}

/// Returns `true` for a value that says nothing.
fn is_empty_value(value: Option<&ExactValue<'_>>) -> bool {
    match value {
        None | Some(ExactValue::Null) => true,
        Some(ExactValue::Object(members)) => members.is_empty(),
        Some(ExactValue::List(items)) => items.is_empty(),
        Some(ExactValue::String(text)) => text.is_empty(),
        _ => false,
    }
}

/// Adds a later value of a member: members of objects are merged, and items of lists are added, unless the later list repeats the earlier
/// one.
fn merge_metadata(own: &mut ExactValue<'static>, later: &ExactValue<'_>) {
    match (own, later) {
        (ExactValue::Object(own), ExactValue::Object(later)) => {
            let later = later.iter().map(|(name, value)| (name.as_ref(), value));
            merge_members(own, later, |_, own, value| merge_metadata(own, value));
        }
        (ExactValue::List(own), ExactValue::List(later)) => {
            let repeats = later.len() >= own.len() && own.iter().zip(later).all(|(own, later)| own == later);
            let start = if repeats { own.len() } else { 0 };
            own.extend(later.iter().skip(start).map(|it| it.clone().into_owned()));
        }
        (own, later) => *own = later.clone().into_owned(),
    }
}

fn metadata_map(metadata: Members) -> Map<String, Value> {
    if metadata.is_empty() {
        return Map::new();
    }
    serde_json::from_str(&ExactValue::Object(metadata).to_string()).unwrap_or_default()
}

/// The stop reason in place of one that is no text.
const UNREADABLE: &str = "unreadable";

/// The maximum number of diagnostics of one response.
const MAX_DIAGNOSTICS: usize = 100;

/// Returns a name or an id for a message.
fn shortened_name(name: &str) -> String {
    const MAX_NAME_CHARS: usize = 64;
    name.chars().take(MAX_NAME_CHARS).collect()
}
