//! The notes of a session, which are added to memory after a run.

use std::collections::HashSet;

use serde::Deserialize;
use tool_runtime::call::CallId;
use tool_session::{
    EntryContent, EntryQuery, NoteContent, SessionError, SessionKey, SharedMemory, SharedSessionStore,
};

use super::{
    EndReason, RunnerSettings,
    entry::{EntryCodec, MessageBody, RecoveredRuns},
    memory::{MemoryPolicy, has_user},
    scope::RunScope,
};
use crate::Role;

/// Adds the session to the memory of the runner; a failure is a notice.
pub(super) async fn remember_session(settings: &RunnerSettings, scope: &RunScope, reason: &EndReason) {
    let Some(policy) = &settings.memory.policy else { return };
    if !is_finished(reason) || !has_user(&scope.run) {
        return;
    }
    let Some(key) = SessionKey::of_run(&scope.run) else { return };
    let problem = match (&settings.memory.memory, settings.own_store(), key) {
        (None, ..) => "the runner has no memory; set it by `Runner::with_memory`".to_owned(),
        (_, Some(_), _) => "the runner has no store; set it by `Runner::with_store`".to_owned(),
        (.., Err(error)) => error.to_string(),
        (Some(memory), None, Ok(key)) => {
            let access = settings.store_access();
            let codec = settings.codec(key, &access);
            let adding = add_session_notes(memory, &access.store, &codec, policy, scope.run.id());
            match tokio::time::timeout(access.timeout, adding).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("the memory did not answer within {:?}", access.timeout),
            }
        }
    };
    tracing::warn!(problem, "a session was not added to memory");
    scope.emit_notice(format!("the session was not added to memory: {problem}")).await;
}

/// Adds the notes of all runs of a session up to the end of `run`.
async fn add_session_notes(
    memory: &SharedMemory,
    sessions: &SharedSessionStore,
    codec: &EntryCodec,
    policy: &MemoryPolicy,
    run: &CallId,
) -> Result<(), SessionError> {
    let key = &codec.session;
    let noted = memory.last_noted_entry(key).await?;
    let ended = ended_runs(sessions, key, noted, run).await?;
    let snapshot = sessions.load(key).await?;
    // Those of the session from which this one was forked are notes of that one.
    let inherited = snapshot.and_then(|it| it.session.origin).map_or(0, |origin| origin.entry);
    let note = |entry: &tool_session::Entry| {
        let content = &entry.content;
        if entry.number <= inherited
            || &*content.kind != EntryContent::MESSAGE
            // A message of a run below a call: the model of the run above wrote the request.
            || content.view.is_some()
            || !ended.runs.contains(&content.run)
        {
            return None;
        }
        let (body, is_sealed) = codec.read::<MessageBody>(content).ok()?;
        let message = body.into_message(content);
        let text = if is_sealed { None } else { policy.note_text(&message) }?;
        let author = match message.role() {
            Role::User => Some("user"),
            Role::Assistant | Role::Tool => content.agent.as_deref(),
        };
        let note = NoteContent::new(text);
        Some(match author {
            Some(author) => note.with_author(author),
            None => note,
        })
    };
    memory.add_session_until(sessions, key, ended.last_entry, note).await.map(drop)
}

/// The runs of a session whose messages are remembered.
struct EndedRuns {
    runs: HashSet<CallId>,
    /// The number of the entry of the end of the current run: another process may have started one since.
    last_entry: u64,
}

/// Returns the runs whose ends follow the entry `after`, up to the end of `run`.
async fn ended_runs(
    sessions: &SharedSessionStore,
    key: &SessionKey,
    after: u64,
    run: &CallId,
) -> Result<EndedRuns, SessionError> {
    let mut ended = EndedRuns { runs: HashSet::new(), last_entry: after };
    let mut query = Some(EntryQuery::forward().of_kind(EntryContent::END).after(after));
    while let Some(page_query) = query {
        let page = sessions.entries(key, &page_query).await?;
        for entry in &page.entries {
            // The end of a newer version may be any.
            let end = entry.content.body.read::<StoredEnd>();
            if end.is_ok_and(|end| is_finished(&end.reason) || end.reason == EndReason::OpenCalls) {
                ended.runs.insert(entry.content.run.clone());
                // The question of a run that was recovered under another id is in the run without an end.
                let recovered = entry.content.body.read::<RecoveredRuns>().unwrap_or_default();
                ended.runs.extend(recovered.recovered);
            }
            if entry.content.run == *run {
                ended.last_entry = entry.number;
            }
        }
        query = page_query.next(&page);
    }
    Ok(ended)
}

/// The body of the end of a run.
#[derive(Deserialize)]
struct StoredEnd {
    reason: EndReason,
}

/// Returns `true` for the end of a run that did what it was asked for.
fn is_finished(reason: &EndReason) -> bool {
    matches!(
        reason,
        EndReason::Answered
            | EndReason::Submitted
            | EndReason::Terminated
            | EndReason::SkippedSummarization
            | EndReason::Escalated
            | EndReason::HookStopped
    )
}
