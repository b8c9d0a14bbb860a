//! The progress of the last run of a session, as its store has it.

use std::{collections::BTreeSet, sync::Arc};

use serde::Deserialize;
use tool_runtime::{
    CallOutcome, RunContext, ToolCall,
    call::{CallAddress, CallId, merged_actions},
    definition::ContentHash,
};
use tool_session::{Entry, EntryContent, LeaseGrant, SessionError};

use super::{
    RunUsage,
    child_history::single_call_history,
    entry::{CallIntentBody, CallOutcomeBody, CutOff, EntryCodec, RecoveredRuns},
    open_batch::OpenBatch,
    open_below::OpenChildRun,
    stored_conversation::read_body,
};
use crate::Role;

/// The progress of the last run of a session.
#[derive(Default)]
pub(super) struct StoredProgress {
    /// The records of calls after the last message and the last open batch, in order.
    records: Vec<CallRecord>,
    /// The runs that wait below calls whose outcomes are records.
    below: Vec<OpenChildRun>,
    /// The kind of the last entry.
    last_kind: Option<Box<str>>,
    /// `true` if the last message belongs to the session itself, and not to the one that it was forked from.
    pub(super) has_own_message: bool,
    /// `true` if the last run lost its lease without an end.
    pub(super) lost_lease: bool,
    /// The runs without an end that a recovery continues: the last one, and those that it continued.
    pub(super) recovered: Vec<CallId>,
    /// The runs of the last messages, back to the last end or the last message of a user.
    last_runs: Vec<CallId>,
    is_question_seen: bool,
    /// The mark of the last message, if it is a response that was cut off.
    pub(super) cut_off: Option<CutOff>,
    /// The usage of the last run.
    pub(super) usage: RunUsage,
    /// The usage with which the last run ended, if its end is the last entry.
    end_usage: RunUsage,
    /// The histories of runs below calls that end with their calls.
    fresh_histories: BTreeSet<Arc<str>>,
}

/// The part of the body of an end that a later run reads.
#[derive(Default, Deserialize)]
struct EndUsage {
    #[serde(default)]
    usage: RunUsage,
}

/// An entry of the journal of calls.
enum CallRecord {
    Intent(CallAddress),
    Outcome(Box<CallOutcomeBody>),
}

impl CallRecord {
    fn open_child(&self) -> Option<&OpenChildRun> {
        match self {
            Self::Intent(_) => None,
            Self::Outcome(body) => body.below.as_ref(),
        }
    }
}

/// The progress of a call.
pub(super) enum CallProgress {
    /// The call did not start, or its body may run again.
    NotStarted,
    /// The body may have taken effect.
    Started,
    /// The outcome is stored, with the hash of the definition of its tool.
    Ended(CallOutcome, Option<ContentHash>),
}

impl StoredProgress {
    /// Notes an entry; the last one comes first.
    pub(super) fn note_entry(&mut self, entry: &Entry, inherited_entries: u64) {
        if self.last_kind.is_none() && &*entry.content.kind == EntryContent::END {
            self.end_usage = entry.content.body.read::<EndUsage>().unwrap_or_default().usage;
        }
        self.last_kind.get_or_insert_with(|| (*entry.content.kind).into());
        self.is_question_seen |= &*entry.content.kind == EntryContent::END;
        let has_messages = [EntryContent::MESSAGE, EntryContent::COMPACTION].contains(&&*entry.content.kind);
        self.has_own_message |= has_messages && entry.number > inherited_entries;
    }

    /// Notes an entry of another history.
    pub(super) fn note_hidden_entry(&mut self, content: &EntryContent) {
        let is_removed = &*content.kind == EntryContent::REMOVED;
        let fresh = content.view.as_deref().filter(|_| !is_removed).and_then(single_call_history);
        if let Some(fresh) = fresh
            && !self.fresh_histories.contains(fresh)
        {
            self.fresh_histories.insert(fresh.into());
        }
    }

    /// Takes the histories that end with their calls: those of open calls, and those that an interrupted run left.
    pub(super) fn take_fresh_histories(&mut self) -> BTreeSet<Arc<str>> {
        std::mem::take(&mut self.fresh_histories)
    }

    /// Notes a message, the last one first: those up to the question belong to the run that a recovery continues.
    pub(super) fn note_message(&mut self, run: &CallId, role: Role) {
        if !self.is_question_seen && self.last_runs.last() != Some(run) {
            self.last_runs.push(run.clone());
        }
        self.is_question_seen |= role == Role::User;
    }

    /// Adds an entry of the journal; the last one comes first. Returns `true` if it is sealed.
    pub(super) fn add_record(&mut self, codec: &EntryCodec, entry: &Entry) -> Result<bool, SessionError> {
        let (record, is_sealed) = match &*entry.content.kind {
            EntryContent::CALL_INTENT => {
                let (body, is_sealed) = read_body::<CallIntentBody>(codec, entry)?;
                (CallRecord::Intent(body.intent.address), is_sealed)
            }
            _ => {
                let (body, is_sealed) = read_body(codec, entry)?;
                (CallRecord::Outcome(body), is_sealed)
            }
        };
        self.records.push(record);
        Ok(is_sealed)
    }

    /// Brings the records into their order.
    pub(super) fn finish_reading(&mut self) {
        self.records.reverse();
    }

    /// Sets what the lease tells about the last run.
    pub(super) fn set_lease(&mut self, grant: &LeaseGrant) {
        self.lost_lease = grant.interrupted.is_some();
        if let Some(run) = &grant.interrupted {
            let continued = grant.usage.as_ref().and_then(|usage| usage.read::<RecoveredRuns>().ok());
            // A run that wrote nothing has no usage; one that received messages of the user while it ran has more than a question.
            let mut runs = continued.unwrap_or_default().recovered;
            runs.extend(self.last_runs.drain(..).rev().chain([run.clone()]));
            for run in runs {
                if !self.recovered.contains(&run) {
                    self.recovered.push(run);
                }
            }
        }
        // A recovery that failed has ended the run, and leaves its usage there. A usage that another program stored is none.
        self.usage = grant.usage.as_ref().map_or(self.end_usage, |usage| usage.read().unwrap_or_default());
    }

    /// Sets the usage of the last run below a call; `noted` is the one that its call noted, if the run has no end.
    pub(super) fn use_end_usage(&mut self, noted: RunUsage) {
        self.usage = if self.end_usage == RunUsage::default() { noted } else { self.end_usage };
    }

    /// Takes the runs that wait below the calls whose outcomes were taken.
    pub(super) fn take_open_children(&mut self) -> Vec<OpenChildRun> {
        std::mem::take(&mut self.below)
    }

    /// Returns `true` if the last run has ended.
    pub(super) fn has_end(&self) -> bool {
        self.last_kind.as_deref() == Some(EntryContent::END)
    }

    /// Returns `true` if the last run has no end in the session.
    pub(super) fn has_no_end(&self) -> bool {
        self.has_own_message && !self.has_end()
    }

    /// Applies the stored outcomes of calls that were open.
    pub(super) fn apply_outcomes(&mut self, run: &RunContext, open: &mut OpenBatch) {
        for record in self.records.drain(..) {
            let CallRecord::Outcome(body) = record else { continue };
            let CallOutcomeBody { address, outcome, below, .. } = *body;
            let Some(index) = open.outcomes.iter().position(|it| it.address() == Some(&address)) else {
                continue;
            };
            apply_state_of_outcome(run, &outcome);
            open.set_outcome(index, outcome);
            open.below.retain(|it| it.call != address);
            open.below.extend(below);
        }
    }

    /// Takes the progress of the calls of the last message, and applies the changes of state of those that ended.
    pub(super) fn take_call_progress(&mut self, run: &RunContext, calls: &[ToolCall]) -> Vec<CallProgress> {
        let records = match self.has_own_message {
            true => std::mem::take(&mut self.records),
            false => Vec::new(),
        };
        self.below = records.iter().filter_map(CallRecord::open_child).cloned().collect();
        let mut progress: Vec<_> = calls.iter().map(|call| call_progress(call, calls, &records)).collect();
        if !self.has_own_message {
            // The original session continues them.
            progress.fill_with(|| CallProgress::Started);
        }
        for ended in &progress {
            if let CallProgress::Ended(outcome, _) = ended {
                apply_state_of_outcome(run, outcome);
            }
        }
        progress
    }
}

/// Applies the changes of state of a call, which are stored with its step.
fn apply_state_of_outcome(run: &RunContext, outcome: &CallOutcome) {
    if outcome.is_finished() {
        run.change_state(&merged_actions(std::slice::from_ref(outcome)).state);
    }
}

fn call_progress(call: &ToolCall, calls: &[ToolCall], records: &[CallRecord]) -> CallProgress {
    let is_named = |id: &CallId| *id == call.id;
    let mut progress = CallProgress::NotStarted;
    for record in records {
        match record {
            CallRecord::Intent(address) if is_named(&address.call_id) => progress = CallProgress::Started,
            CallRecord::Outcome(body) if is_named(&body.address.call_id) => {
                progress = CallProgress::Ended(body.outcome.clone(), body.definition);
            }
            _ => {}
        }
    }
    // Records do not tell which of several calls with one id they are about.
    let is_ambiguous = calls.iter().filter(|other| is_named(&other.id)).count() > 1;
    match progress {
        CallProgress::Ended(..) if is_ambiguous => CallProgress::Started,
        progress => progress,
    }
}
