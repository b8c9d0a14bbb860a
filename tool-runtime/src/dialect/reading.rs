//! The state of a response while it is read, whole or event by event: calls, message and metadata.

use serde_json::value::RawValue;
use tool_core::__private::ExactValue;

use super::{
    AssembledResponse, BoundTools, Delta, Usage,
    draft::{Draft, Members, join},
    error::At,
    history::conform_calls,
    slots::Slots,
    stop::Stop,
};

/// A response that is being read.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) slots: Slots,
    pub(super) draft: Draft,
    /// The deltas that were not returned yet.
    pub(super) deltas: Vec<Delta>,
    text: String,
    reasoning: String,
    stop_reason: Option<String>,
    id: Option<String>,
    model: Option<String>,
    /// The members of the usage object, as last received.
    usage: Members,
}

impl Reading {
    /// Discards the message and its stop reason: another message replaces it.
    pub(super) fn restart(&mut self) {
        let Self { slots, usage, id, model, .. } = std::mem::take(self);
        *self = Self { slots, usage, id, model, ..Self::default() };
        self.slots.forget_stop();
    }

    /// Adds a part of the text.
    pub(super) fn add_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.deltas.push(Delta::Text(text.to_owned()));
        }
    }

    /// Adds a part of the reasoning.
    pub(super) fn reason(&mut self, text: &str) {
        if !text.is_empty() {
            self.reasoning.push_str(text);
            self.deltas.push(Delta::Reasoning(text.to_owned()));
        }
    }

    /// Records a stop reason, if there is one; only a reason in `finished` means that the model had finished.
    /// Returns `true` if there is one.
    pub(super) fn stop(&mut self, reason: Option<&str>, finished: &[&str]) -> bool {
        let stop = Stop::of(reason, finished);
        if stop == Stop::Unspecified {
            return false;
        }
        if self.slots.stop(stop) {
            self.stop_reason = reason.map(|reason| reason.trim().to_owned());
        }
        true
    }

    /// Records token counts; they replace earlier ones.
    pub(super) fn count(&mut self, usage: &At<'_>) {
        let given = usage.members().filter(|(_, count)| count.value().is_some());
        join(&mut self.usage, given, |_, own, count| *own = count.to_owned());
    }

    /// Records the id of the response and the name of its model; the first ones count.
    pub(super) fn identify(&mut self, id: &At<'_>, model: &At<'_>) {
        let given = |place: &At<'_>| place.as_text().filter(|text| !text.is_empty()).map(str::to_owned);
        self.id = self.id.take().or_else(|| given(id));
        self.model = self.model.take().or_else(|| given(model));
    }

    /// Returns the response.
    pub(super) fn finish(self, bound: &BoundTools) -> AssembledResponse {
        let Self { slots, mut draft, text, reasoning, stop_reason, id, model, usage, .. } = self;
        let wire = bound.wire();
        wire.complete(&mut draft, &slots);
        let (ended, truncated) = (slots.has_ended(), slots.is_truncated());
        let calls = slots.into_calls(bound);
        if let Some(id) = wire.id_of_calls() {
            draft.name_calls(id, &calls);
        }
        conform_calls(&mut draft, bound, &calls);
        let message = wire.message(draft).and_then(|it| RawValue::from_string(it.to_string()).ok());
        let usage = Some(wire.usage(&ExactValue::Object(usage))).filter(|usage| *usage != Usage::default());
        AssembledResponse { calls, ended, truncated, message, text, reasoning, stop_reason, usage, id, model }
    }
}
