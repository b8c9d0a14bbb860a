//! The histories of runs below calls: where they are, and which of them a run sees.
//!
//! | word | meaning |
//! | --- | --- |
//! | view key | names the history of a run; a root run has none, and the key of a run that shares the history of the run above continues the key of that run, after a `/` |
//! | branch | the agents above a run and its own, which says nothing about what it sees |
//! | history scope | how the view key of a run below a call is made: [`HistoryScope`](crate::HistoryScope) |
//!
//! The history of a [fresh](crate::HistoryScope::Fresh) run is removed from the store with the step that has the result of its call. Its key is
//! `%fresh/<agent>-<run id>`, and the keys of the runs below it continue that, also of those that do not share their histories, so that one prefix names
//! them all. No other key has this first segment: a `%` of a program is escaped. Entries that a crash left of such histories are removed with the next
//! message of the user, which answers all calls.

use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tool_session::SessionKey;

use super::{
    RunUsage, RunnerSettings,
    compact::max_tokens_before_compaction,
    conversation::RunConversation,
    flow::{Flow, boxed, end_as_failed, end_with},
    open_batch::{OpenBatch, unanswered_result},
    open_session::{conversation_in_memory, restore_active_agent, restore_open_batch},
    parent_run::{ParentRun, ShownRun},
    scope::RunScope,
    session::{Session, SessionTurn},
    session_map::SharedSession,
    session_writer::{SessionWriter, StoreRetries},
    stored_conversation::{ConversationView, StoredConversation, read_conversation},
};
use crate::Message;

/// The separator of the segments of a view key.
pub(super) const SEPARATOR: char = '/';

/// The first segment of the keys of histories that end with their calls.
const FRESH_ROOT: &str = "%fresh";

/// Returns the history that ends with its call of which `view` is a part: itself, or one above it.
pub(super) fn single_call_history(view: &str) -> Option<&str> {
    let rest = view.strip_prefix(FRESH_ROOT)?.strip_prefix(SEPARATOR)?;
    let end = rest.find(SEPARATOR).unwrap_or(rest.len());
    Some(&view[..view.len() - rest.len() + end])
}

/// Returns `true` for a history that ends with its call.
pub(super) fn is_single_call_history(view: &str) -> bool {
    single_call_history(view) == Some(view)
}

/// The histories of the runs below the calls of one session in memory, by their view keys.
#[derive(Default)]
pub(super) struct ChildHistories(Mutex<HashMap<Arc<str>, SharedSession>>);

/// The history of a run, as the runs below its calls see it.
#[derive(Clone)]
pub(crate) struct RunHistory {
    /// The view key of the run, and those of the runs above it.
    views: Arc<[Arc<str>]>,
    histories: Arc<ChildHistories>,
    /// Writes to the store of the session, if there is one.
    writer: Option<Arc<SessionWriter>>,
    stays_open: bool,
}

/// The place of a run below a call.
#[derive(Clone)]
pub(crate) struct ChildPlace {
    /// The history of the run above; `None` if the call is not one of an agent's run.
    pub(crate) above: Option<RunHistory>,
    pub(crate) view: Arc<str>,
    /// `true` for a run that was started before.
    pub(crate) is_continued: bool,
    /// `true` if the history remains after the run.
    pub(crate) is_kept: bool,
    /// `true` if the run sees the history of the run above, and the other way around.
    pub(crate) shares: bool,
    /// The messages that the run shows to the run above once it has ended, if it shares its history.
    pub(crate) shown: Arc<OnceLock<ShownRun>>,
    /// The history of the run above, if the run shares it.
    pub(crate) note_above: Option<Message>,
    /// `true` if the run may end with open calls, which are answered later.
    pub(crate) stays_open: bool,
    /// The run above, if it is an agent's.
    pub(crate) parent: Option<Arc<ParentRun>>,
    /// The usage of a run that is continued, as its call noted it when it ended with open calls.
    pub(crate) usage: RunUsage,
}

/// The use of a history in memory.
pub(super) struct HistoryLease {
    histories: Arc<ChildHistories>,
    view: Arc<str>,
    is_kept: bool,
}

impl RunHistory {
    /// The history of a root run.
    pub(super) fn of_root(histories: Arc<ChildHistories>, writer: Option<Arc<SessionWriter>>) -> Self {
        Self { views: Arc::new([Arc::from("")]), histories, writer, stays_open: true }
    }

    /// Returns the view key of the run; empty for a root run.
    pub(crate) fn view(&self) -> &str {
        self.views.last().map_or("", |view| view)
    }

    /// Returns the view key of a run that shares this history.
    pub(crate) fn shared_view_below(&self, key: &str) -> String {
        format!("{}{SEPARATOR}{key}", self.view())
    }

    /// Returns the view key of a run below that has a history of its own.
    pub(crate) fn own_view_below(&self, key: &str) -> String {
        match self.views.iter().find_map(|view| single_call_history(view)) {
            Some(fresh) => format!("{fresh}{SEPARATOR}{key}"),
            None => key.to_owned(),
        }
    }

    /// Returns the view key of a run below whose history ends with its call.
    pub(crate) fn single_call_view_below(&self, key: &str) -> String {
        match self.views.iter().any(|view| single_call_history(view).is_some()) {
            // It ends with the history of the run above.
            true => self.own_view_below(key),
            false => format!("{FRESH_ROOT}{SEPARATOR}{key}"),
        }
    }

    pub(super) fn allows_open_calls(&self) -> bool {
        self.stays_open
    }

    /// Returns `true` if a store has the messages of the run.
    pub(super) fn is_stored(&self) -> bool {
        self.writer.is_some()
    }

    /// Waits for the turn of an agent that works beside others in its history `view`.
    pub(super) async fn acquire_member_turn(&self, view: &Arc<str>) -> SessionTurn {
        let session = Arc::clone(self.histories.lock().entry(Arc::clone(view)).or_default());
        let (histories, view) = (Arc::clone(&self.histories), Arc::clone(view));
        let lease = HistoryLease { histories, view, is_kept: false };
        // No other run knows the view.
        SessionTurn::of_child(session.lock_owned().await, lease)
    }

    fn history_below(&self, place: &ChildPlace, writer: Option<Arc<SessionWriter>>) -> Self {
        let views = self.views.iter().chain([&place.view]).cloned().collect();
        Self { views, histories: Arc::clone(&self.histories), writer, stays_open: place.stays_open }
    }

    /// Closes a history in memory whose run ended with open calls, and those below it.
    pub(super) async fn close_history(&self, view: &str) {
        self.histories.close(view).await;
    }
}

impl ChildHistories {
    /// Waits for the turn of a run in its history, at most for `max_wait`; `None` if that is over.
    async fn acquire_turn(self: &Arc<Self>, place: &ChildPlace, max_wait: Duration) -> Option<SessionTurn> {
        let session = Arc::clone(self.lock().entry(Arc::clone(&place.view)).or_default());
        let lease = HistoryLease {
            histories: Arc::clone(self),
            view: Arc::clone(&place.view),
            is_kept: place.is_kept,
        };
        let session = match Arc::clone(&session).try_lock_owned() {
            Ok(session) => session,
            Err(_) => tokio::time::timeout(max_wait, session.lock_owned()).await.ok()?,
        };
        Some(SessionTurn::of_child(session, lease))
    }

    /// Closes the open calls of a history, and of those below it.
    async fn close(&self, view: &str) {
        let mut views = vec![Arc::<str>::from(view)];
        while let Some(view) = views.pop() {
            let session = self.lock().get(&view).cloned();
            let Some(session) = session else { continue };
            // The run that has it closes its open calls with its own message: it may be a run above this one.
            let Ok(mut session) = session.try_lock() else { continue };
            if let Some(open) = &mut session.open {
                views.extend(open.below.iter().map(|below| Arc::clone(&below.view)));
                answer_calls_as_not_continued(open).await;
            }
            let members = session.position.take().map(|position| position.members).unwrap_or_default();
            views.extend(members.into_iter().map(|member| member.view));
            let is_kept = session.is_kept;
            drop(session);
            if !is_kept {
                self.lock().remove(&view);
            }
        }
    }

    /// Closes the open calls of all histories that no run has.
    pub(super) async fn close_all(&self) {
        let views: Vec<_> = self.lock().keys().cloned().collect();
        for view in views {
            self.close(&view).await;
        }
    }

    /// No user code runs under the lock.
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, SharedSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers the open calls of a run that is not continued: their results are stored with the next message of its history.
async fn answer_calls_as_not_continued(open: &mut OpenBatch) {
    open.discard().await;
    open.below.clear();
    for index in 0..open.outcomes.len() {
        if !open.outcomes[index].is_finished() {
            let result = unanswered_result(&open.outcomes[index], "not answered: the run was not continued");
            open.set_result(index, result);
        }
    }
}

impl HistoryLease {
    /// Ends the use of `session`: a history that no one continues is removed. Of what a store has, the open batch stays, as long as no other process
    /// may answer it.
    pub(super) fn release_session(&self, session: &mut Session, writer: Option<&SessionWriter>) {
        session.is_kept = self.is_kept;
        if let Some(writer) = writer {
            let open = session.open.take().filter(|_| writer.has_own_store());
            *session = Session::default();
            session.is_kept = self.is_kept && open.is_some();
            session.open = open;
        }
        if session.is_kept || session.open.is_some() || session.position.is_some() {
            return;
        }
        let mut histories = self.histories.lock();
        // The turn has one reference; others wait for theirs.
        if histories.get(&self.view).is_some_and(|session| Arc::strong_count(session) == 2) {
            histories.remove(&self.view);
        }
    }
}

/// Waits for the turn of a run below a call in its history, and reads it.
pub(super) async fn open_history(
    settings: &RunnerSettings,
    scope: &mut RunScope,
    place: &ChildPlace,
) -> Flow<RunConversation> {
    let Some(above) = &place.above else {
        let turn = SessionTurn::without_session().await;
        let histories = Arc::clone(&turn.children);
        let history = RunHistory { stays_open: false, ..RunHistory::of_root(histories, None) };
        scope.parent.set_history(history);
        return ControlFlow::Continue(conversation_in_memory(scope, turn).await);
    };
    if above.views.contains(&place.view) {
        let view = &place.view;
        return end_as_failed(format!("a run above has the history `{view}`; use another key"));
    }
    if place.view.len() > SessionKey::MAX_NAME_BYTES {
        let (bytes, max_bytes) = (place.view.len(), SessionKey::MAX_NAME_BYTES);
        return end_as_failed(format!(
            "the key of the history has {bytes} bytes, and {max_bytes} are allowed; use a shorter key, or an isolated history"
        ));
    }
    let mut turn =
        match scope.wait_unless_interrupted(above.histories.acquire_turn(place, settings.max_wait)).await {
            Ok(Some(turn)) => turn,
            Ok(None) => {
                let (view, wait) = (&place.view, settings.max_wait);
                return end_as_failed(format!(
                    "another run did not end within {wait:?} that has the history `{view}`"
                ));
            }
            Err(interruption) => return interruption.end(),
        };
    let writer =
        above.writer.as_ref().map(|it| Arc::new(it.writer_below(&scope.run, Arc::clone(&place.view))));
    scope.parent.set_history(above.history_below(place, writer.clone()));
    let Some(writer) = writer else {
        return ControlFlow::Continue(conversation_in_memory(scope, turn).await);
    };
    turn.writer = Some(Arc::clone(&writer));
    drop(scope.writer.set(Arc::clone(&writer)));
    if !place.is_continued && !place.is_kept {
        return ControlFlow::Continue(conversation_in_memory(scope, turn).await);
    }
    let reading = boxed(|| read_history(scope, &writer, place.is_kept || place.shares));
    let stored = match scope.wait_unless_interrupted(reading).await {
        Ok(stored) => stored?,
        Err(interruption) => return interruption.end(),
    };
    boxed(|| continue_stored_history(scope, turn, stored)).await
}

/// Reads a history from the store.
async fn read_history(
    scope: &RunScope,
    writer: &SessionWriter,
    sees_notes: bool,
) -> Flow<StoredConversation> {
    let (access, codec) = (writer.access(), writer.codec());
    let view = ConversationView::of_child(writer.view(), sees_notes);
    let mut retries = StoreRetries::new(access, &scope.run);
    loop {
        match retries
            .attempt(read_conversation(&access.store, codec, max_tokens_before_compaction(scope), &view))
            .await
        {
            Ok(stored) => return ControlFlow::Continue(stored),
            Err(error) => {
                if let Err(reason) = retries.pause_after(error).await {
                    return end_with(reason);
                }
            }
        }
    }
}

/// Returns the conversation of a history as it is stored, with its active agent, whose tools the open calls have.
async fn continue_stored_history(
    scope: &mut RunScope,
    mut turn: SessionTurn,
    mut stored: StoredConversation,
) -> Flow<RunConversation> {
    turn.control = std::mem::take(&mut stored.control);
    let mut control = turn.control.clone();
    restore_active_agent(scope, &mut control).await;
    if stored.open.is_some() && turn.open.is_none() {
        match scope.wait_unless_interrupted(restore_open_batch(scope, &mut stored)).await {
            Ok(Ok(open)) => turn.open = open,
            Ok(Err(error)) => return end_as_failed(error.to_string()),
            Err(interruption) => return interruption.end(),
        }
    }
    turn.position = stored.position.take();
    // A run that was interrupted after it was continued has no end.
    let usage = scope.place.as_ref().map_or_else(RunUsage::default, |place| place.usage);
    stored.progress.use_end_usage(usage);
    if let Some(open) = &mut turn.open {
        stored.progress.apply_outcomes(&scope.run, open);
    }
    let mut conversation = RunConversation::of_store(turn, stored);
    conversation.control = control;
    ControlFlow::Continue(conversation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(views: &[&str]) -> RunHistory {
        let root = RunHistory::of_root(Arc::default(), None);
        RunHistory { views: views.iter().map(|view| Arc::from(*view)).collect(), ..root }
    }

    #[test]
    fn the_key_of_a_history_that_ends_with_its_call_has_two_segments() {
        for (view, expected) in [
            ("", None),
            ("a", None),
            ("a/b", None),
            ("%fresh", None),
            ("%freshest/a", None),
            ("a/%fresh/b", None),
            ("%fresh/a-1", Some("%fresh/a-1")),
            ("%fresh/a-1/b", Some("%fresh/a-1")),
            ("%fresh/a-1/b/c", Some("%fresh/a-1")),
        ] {
            assert_eq!(single_call_history(view), expected, "{view}");
            assert_eq!(is_single_call_history(view), expected == Some(view), "{view}");
        }
    }

    #[test]
    fn a_key_below_a_history_that_ends_with_its_call_continues_its_key() {
        for (views, view, shared, own, single) in [
            (&[""][..], "", "/k", "k", "%fresh/k"),
            (&["", "a"], "a", "a/k", "k", "%fresh/k"),
            (&["", "a", "a/b"], "a/b", "a/b/k", "k", "%fresh/k"),
            (&["", "%fresh/a-1"], "%fresh/a-1", "%fresh/a-1/k", "%fresh/a-1/k", "%fresh/a-1/k"),
            (
                &["", "%fresh/a-1", "%fresh/a-1/b"],
                "%fresh/a-1/b",
                "%fresh/a-1/b/k",
                "%fresh/a-1/k",
                "%fresh/a-1/k",
            ),
        ] {
            let history = history(views);
            assert_eq!(history.view(), view, "{views:?}");
            assert_eq!(history.shared_view_below("k"), shared, "{views:?}");
            assert_eq!(history.own_view_below("k"), own, "{views:?}");
            assert_eq!(history.single_call_view_below("k"), single, "{views:?}");
        }
    }
}
