//! The begin of a run in its session: its turn, the lease, the state and the conversation.

use std::{ops::ControlFlow, sync::Arc};

use tokio::time::Instant;
use tool_runtime::RunContext;
use tool_session::{LeaseGrant, SessionError, SessionKey};

use super::{
    EndReason, RunnerSettings,
    child_history::{RunHistory, open_history},
    compact::max_tokens_before_compaction,
    control::Control,
    conversation::RunConversation,
    entry::EntryCodec,
    flow::{Flow, boxed, end_as_failed, end_with},
    open_batch::OpenBatch,
    parent_run::ParentRun,
    scope::RunScope,
    session::SessionTurn,
    session_writer::{RETRY_PAUSE, SessionWriter, StoreAccess, StoreRetries, instant_after, store_failure},
    stored_conversation::{ConversationView, StoredConversation, read_control, read_conversation},
};
use crate::agent::ListingError;

/// Waits for the turn of the run in its session, and reads the session.
pub(super) async fn open_session(settings: &RunnerSettings, scope: &mut RunScope) -> Flow<RunConversation> {
    if let Some(place) = scope.place.clone() {
        return boxed(|| open_history(settings, scope, &place)).await;
    }
    let conversation = boxed(|| open_root_session(settings, scope)).await?;
    let (histories, writer) =
        (Arc::clone(&conversation.session.children), conversation.session.writer.clone());
    scope.parent.set_history(RunHistory::of_root(histories, writer));
    ControlFlow::Continue(conversation)
}

async fn open_root_session(settings: &RunnerSettings, scope: &mut RunScope) -> Flow<RunConversation> {
    let access = settings.store_access();
    let wait_end = instant_after(settings.max_wait);
    let taking = settings.sessions.acquire_turn(&scope.run, settings.max_wait, settings.own_store());
    let turn = match scope.wait_unless_interrupted(taking).await {
        Ok(Ok(turn)) => turn,
        Ok(Err(run)) => return end_with(EndReason::Busy { run }),
        Err(interruption) => return interruption.end(),
    };
    let key = match SessionKey::of_run(&scope.run) {
        None => return ControlFlow::Continue(conversation_in_memory(scope, turn).await),
        Some(Ok(key)) => key,
        Some(Err(error)) => return end_as_failed(error.to_string()),
    };
    let codec = settings.codec(key, &access);
    let opening = lease_session(&codec, &access, scope, turn, wait_end);
    let leased = match scope.wait_unless_interrupted(opening).await {
        Ok(Ok(leased)) => leased,
        Ok(Err(reason)) => return end_with(reason),
        Err(interruption) => return interruption.end(),
    };
    let mut control = leased.control.clone();
    restore_active_agent(scope, &mut control).await;
    match scope.wait_unless_interrupted(read_session(&codec, &access, scope, leased)).await {
        Ok(Ok(mut conversation)) => {
            if scope.root.sub_agents().is_empty() {
                control = conversation.session.control.clone();
                restore_active_agent(scope, &mut control).await;
            }
            conversation.control = control;
            ControlFlow::Continue(conversation)
        }
        Ok(Err(reason)) => end_with(reason),
        Err(interruption) => interruption.end(),
    }
}

/// Returns the conversation of a run without a session, or below one, with its active agent.
pub(super) async fn conversation_in_memory(scope: &mut RunScope, turn: SessionTurn) -> RunConversation {
    let mut conversation = RunConversation::new(turn);
    restore_active_agent(scope, &mut conversation.control).await;
    conversation
}

/// Makes the agent of the session active, or the root if that agent is gone.
pub(super) async fn restore_active_agent(scope: &mut RunScope, control: &mut Control) {
    if *control == Control::default() && scope.root.sub_agents().is_empty() {
        return;
    }
    if let Some(gone) = control.forget_gone_agents(&scope.root) {
        let root = scope.root.name();
        scope
            .emit_notice(format!("the agent `{gone}` of the session is gone; the agent `{root}` continues"))
            .await;
    }
    scope.activate_controlling_agent(control);
}

/// A session of which the run has the lease.
struct LeasedSession {
    turn: SessionTurn,
    grant: LeaseGrant,
    stale_batch: Option<OpenBatch>,
    /// Control as it is stored.
    control: Control,
}

/// Takes the lease of the session.
async fn lease_session(
    codec: &EntryCodec,
    access: &StoreAccess,
    scope: &RunScope,
    mut turn: SessionTurn,
    wait_end: Instant,
) -> Result<LeasedSession, EndReason> {
    let attempts = StoreRetries::new(access, &scope.run);
    for lease in turn.take_abandoned_leases() {
        // Another run may have taken it over since; a lease that is not abandoned expires later.
        drop(attempts.attempt(access.store.abandon(&lease)).await);
    }
    let grant = acquire_lease(access, &codec.session, scope, wait_end).await?;
    let values = grant.state.merged();
    apply_stored_state(&scope.run, &values);
    let writer = SessionWriter::new(access.clone(), codec.clone(), &scope.run, &grant, values);
    // Before the next wait, so that the lease of a dropped run is known.
    let writer = Arc::new(writer);
    turn.writer = Some(Arc::clone(&writer));
    drop(scope.writer.set(writer));
    let stale_batch = turn.take_stale_batch(grant.session.revision);
    let mut control = Control::default();
    if !scope.root.sub_agents().is_empty() {
        let mut retries = StoreRetries::new(access, &scope.run);
        control = loop {
            match retries.attempt(read_control(&access.store, codec)).await {
                Ok(control) => break control,
                Err(error) => retries.pause_after(error).await?,
            }
        };
    }
    Ok(LeasedSession { turn, grant, stale_batch, control })
}

/// Reads the conversation of a session with its open calls, which are those of the active agent.
async fn read_session(
    codec: &EntryCodec,
    access: &StoreAccess,
    scope: &RunScope,
    leased: LeasedSession,
) -> Result<RunConversation, EndReason> {
    let LeasedSession { mut turn, grant, stale_batch, control } = leased;
    let interrupted = grant.interrupted.as_ref().filter(|run| !access.is_own && *run != scope.run.id());
    if let Some(run) = interrupted {
        scope.emit_notice(format!("the run `{run}` of the session was interrupted before its end")).await;
    }
    let view = ConversationView::of_root(grant.session.origin.as_ref().map_or(0, |origin| origin.entry));
    let mut retries = StoreRetries::new(access, &scope.run);
    // What is in memory anyway is read whole, and compacted then.
    let max_tokens = max_tokens_before_compaction(scope).filter(|_| !access.is_own);
    let mut stored = loop {
        let reading = read_conversation(&access.store, codec, max_tokens, &view);
        match retries.attempt(reading).await {
            Ok(stored) => break stored,
            Err(error) => retries.pause_after(error).await?,
        }
    };
    if stored.is_shortened {
        scope.emit_notice("earlier messages of the session are left out, since they are too long").await;
    }
    if turn.open.is_none() {
        let restored = restore_open_batch(scope, &mut stored).await;
        turn.open = restored.map_err(|error| EndReason::Failed { message: error.to_string() })?;
    }
    if let Some(stale_batch) = stale_batch {
        stale_batch.discard_except(turn.open.as_ref()).await;
    }
    turn.position = stored.position.take();
    stored.progress.set_lease(&grant);
    if let Some(open) = &mut turn.open {
        stored.progress.apply_outcomes(&scope.run, open);
    }
    turn.control = match scope.root.sub_agents().is_empty() {
        true => std::mem::take(&mut stored.control),
        false => control,
    };
    Ok(RunConversation::of_store(turn, stored))
}

/// Takes the open calls of a stored conversation, which have the tools of the agent that made them.
pub(super) async fn restore_open_batch(
    scope: &RunScope,
    stored: &mut StoredConversation,
) -> Result<Option<OpenBatch>, ListingError> {
    restore_open_batch_of_run(scope, &scope.run, 0, stored).await
}

/// Takes the open calls of a stored conversation of `run`, whose agent is `depth` levels below the root of the tree. They have the tools, and pass the
/// rules, of the agent that made them in its run.
pub(super) async fn restore_open_batch_of_run(
    scope: &RunScope,
    run: &RunContext,
    depth: usize,
    stored: &mut StoredConversation,
) -> Result<Option<OpenBatch>, ListingError> {
    let Some(open) = stored.open.take() else { return Ok(None) };
    let position = stored.position.as_ref();
    let listed = position.and_then(|position| Some((position.agent_below(&scope.agent)?, &position.path)));
    let (executor, _) = match listed {
        Some((agent, path)) => {
            let steps = path.iter().skip(depth);
            let member = steps.fold(None, |above: Option<RunContext>, step| {
                Some(above.as_ref().unwrap_or(run).member(step.agent.as_str()))
            });
            scope.list_tools_in(agent, member.as_ref().unwrap_or(run)).await?
        }
        None => scope.list_tools().await?,
    };
    Ok(Some(OpenBatch::restored_failing_changed_tools(open, executor).await))
}

/// Waits for the lease of the session until `wait_end`.
async fn acquire_lease(
    access: &StoreAccess,
    key: &SessionKey,
    scope: &RunScope,
    wait_end: Instant,
) -> Result<LeaseGrant, EndReason> {
    let request = access.lease_request(scope.run.id());
    let mut retries = StoreRetries::new(access, &scope.run);
    loop {
        match retries.attempt(access.store.acquire(key, &request)).await {
            Ok(grant) => return Ok(grant),
            // A run that its own child waits for cannot end.
            Err(SessionError::Busy { run, .. })
                if Instant::now() >= wait_end
                    || run != *scope.run.id() && ParentRun::is_within(&scope.run, &run) =>
            {
                return Err(EndReason::Busy { run });
            }
            Err(SessionError::Busy { .. }) => {
                tokio::time::sleep(RETRY_PAUSE).await;
                // A store that answers has not failed.
                retries = StoreRetries::new(access, &scope.run);
            }
            Err(error @ SessionError::Unavailable(_)) => retries.pause_after(error).await?,
            Err(error) => return Err(store_failure(&error)),
        }
    }
}

/// Gives the run the stored state, over which the state that its caller set is applied.
fn apply_stored_state(run: &RunContext, values: &serde_json::Map<String, serde_json::Value>) {
    let of_caller = run.state();
    run.change_state(values);
    run.change_state(&of_caller);
}
