//! The sessions of a store in memory, under its lock.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::SystemTime,
};

use super::{notes::Notes, scope::StateScope};
use crate::{
    Entry, EntryOrder, EntryPage, EntryQuery, InMemoryStore, Lease, LeaseGrant, LeaseRequest, Retention,
    ScopedState, Session, SessionError, SessionExport, SessionFilter, SessionKey, SessionOrigin,
    SessionSnapshot, SessionVersion, SessionWrite, UnfinishedRun, UserKey,
    lease::{StoredLease, usage_to_continue},
    millis,
    query::PageBuilder,
    state::check_stored_size,
    store::{already_exists_error, check_fork_position, not_found_error},
    write::is_already_applied,
};

/// All sessions, and the state of users and apps.
#[derive(Debug)]
pub(super) struct Sessions {
    sessions: HashMap<SessionKey, StoredSession>,
    /// The state of users, by app and user.
    users: HashMap<(String, String), StateScope>,
    /// The number of users with a state at which those without a session are removed.
    users_to_check: usize,
    apps: HashMap<String, StateScope>,
    last_epoch: u64,
    pub(super) max_sessions: usize,
    pub(super) notes: Notes,
    pub(super) max_notes: usize,
    #[cfg(feature = "artifacts")]
    pub(super) artifacts: super::artifacts::ArtifactRows,
}

#[derive(Debug)]
struct StoredSession {
    session: Session,
    state: StateScope,
    /// The entry with the number `n` has the index `n - 1`.
    entries: Vec<Entry>,
    /// The last lease; `None` if there was none.
    lease: Option<StoredLease>,
}

impl Default for Sessions {
    fn default() -> Self {
        let (sessions, users, apps) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (max_sessions, max_notes) = (InMemoryStore::MAX_SESSIONS, InMemoryStore::MAX_NOTES);
        Self {
            sessions,
            users,
            users_to_check: 0,
            apps,
            last_epoch: 0,
            max_sessions,
            notes: Notes::default(),
            max_notes,
            #[cfg(feature = "artifacts")]
            artifacts: Default::default(),
        }
    }
}

impl StoredSession {
    fn new(session: Session) -> Self {
        Self { session, state: StateScope::default(), entries: Vec::new(), lease: None }
    }

    /// Returns `true` if a run may be alive.
    fn has_active_lease(&self, now: SystemTime) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_active(now))
    }
}

impl Sessions {
    pub(super) fn snapshot_of(&self, key: &SessionKey) -> Option<SessionSnapshot> {
        let stored = self.sessions.get(key)?;
        let values = |scope: Option<&StateScope>| scope.map(StateScope::values).cloned().unwrap_or_default();
        let (user, app) = (values(self.users.get(&app_and_user(key))), values(self.apps.get(key.app())));
        let state = ScopedState { session: stored.state.values().clone(), user, app };
        Some(SessionSnapshot { session: stored.session.clone(), state })
    }

    pub(super) fn filtered_sessions(&self, filter: &SessionFilter) -> Vec<Session> {
        let sessions = self.sessions.values().map(|stored| &stored.session);
        let mut sessions: Vec<_> = sessions
            .filter(|it| it.key.app() == &*filter.app)
            .filter(|it| filter.user.as_deref().is_none_or(|user| it.key.user() == user))
            .filter(|it| filter.after.as_ref().is_none_or(|(time, key)| recency_rank(it) < (*time, key)))
            .collect();
        sessions.sort_unstable_by(|one, other| recency_rank(other).cmp(&recency_rank(one)));
        sessions.truncate(filter.max_page_sessions());
        sessions.into_iter().cloned().collect()
    }

    pub(super) fn entry_page(&self, key: &SessionKey, query: &EntryQuery) -> EntryPage {
        let entries = self.sessions.get(key).map(|stored| &*stored.entries).unwrap_or_default();
        let end = query
            .before
            .map_or(entries.len(), |before| saturating_usize(before.saturating_sub(1)).min(entries.len()));
        let entries = entries.get(saturating_usize(query.after)..end).unwrap_or_default();
        let mut page = PageBuilder::new(query);
        let mut add =
            |entry: &Entry| !query.admits(entry) || page.add_unless_full(entry.clone()).is_continue();
        match query.order {
            EntryOrder::Forward => entries.iter().all(&mut add),
            EntryOrder::Backward => entries.iter().rev().all(&mut add),
        };
        page.finish()
    }

    pub(super) fn acquire_lease(
        &mut self,
        key: &SessionKey,
        request: &LeaseRequest,
        now: SystemTime,
    ) -> Result<LeaseGrant, SessionError> {
        match self.sessions.get(key) {
            Some(stored) => check_lease_request(stored, request, now)?,
            None if request.revision.is_some() => return Err(not_found_error(key)),
            None => {
                self.remove_idle_sessions_for(1, now)?;
                self.sessions.insert(key.clone(), StoredSession::new(Session::new(key.clone(), now)));
                self.remove_unused_users_if_many();
            }
        }
        self.last_epoch += 1;
        let snapshot = self.snapshot_of(key).ok_or_else(|| not_found_error(key))?;
        let stored = self.sessions.get_mut(key).ok_or_else(|| not_found_error(key))?;
        let previous = stored.lease.take();
        let usage = usage_to_continue(previous.as_ref(), &request.run);
        let lease = stored.lease.insert(StoredLease::of_request(request, self.last_epoch, now, usage));
        Ok(lease.to_grant(snapshot, previous.as_ref()))
    }

    pub(super) fn renew_lease(&mut self, lease: &Lease, now: SystemTime) -> Result<Lease, SessionError> {
        let stored = self.stored_lease_mut(lease)?;
        stored.check_epoch_and_unreleased(lease)?;
        stored.extend_expiry(now);
        Ok(stored.to_lease(&lease.key))
    }

    pub(super) fn release_lease(&mut self, lease: &Lease) -> Result<(), SessionError> {
        let stored = self.stored_lease_mut(lease)?;
        stored.check_epoch(lease)?;
        stored.is_released = true;
        Ok(())
    }

    pub(super) fn abandon_lease(&mut self, lease: &Lease, now: SystemTime) -> Result<(), SessionError> {
        let stored = self.stored_lease_mut(lease)?;
        stored.check_epoch(lease)?;
        stored.expire_now(now);
        Ok(())
    }

    pub(super) fn apply_write(
        &mut self,
        lease: &Lease,
        write: &SessionWrite,
        now: SystemTime,
    ) -> Result<SessionVersion, SessionError> {
        let Some(stored) = self.sessions.get_mut(&lease.key) else { return Err(not_found_error(&lease.key)) };
        let Some(stored_lease) = &mut stored.lease else { return Err(not_found_error(&lease.key)) };
        stored_lease.check_epoch(lease)?;
        let StoredSession { session, entries, .. } = stored;
        let version =
            |session: &Session| SessionVersion { revision: session.revision, entries: session.entries };
        let count = write.entries.len();
        let last_entries = || entries.get(entries.len().saturating_sub(count)..).unwrap_or_default();
        if is_already_applied(write, session.revision, last_entries().iter().map(|entry| &entry.content)) {
            return Ok(version(session));
        }
        stored_lease.check_epoch_and_unreleased(lease)?;
        if session.revision != write.revision {
            let (expected, revision) = (write.revision, session.revision);
            return Err(SessionError::RevisionChanged { expected, revision });
        }
        let ScopedState { session: of_session, user: of_user, app: of_app } = &write.state;
        let checked_bytes_after = |scope: Option<&StateScope>, changes| match scope {
            Some(scope) => scope.checked_bytes_after(changes),
            None => StateScope::default().checked_bytes_after(changes),
        };
        let session_bytes = stored.state.checked_bytes_after(of_session)?;
        let user_bytes = checked_bytes_after(self.users.get(&app_and_user(&lease.key)), of_user)?;
        let app_bytes = checked_bytes_after(self.apps.get(lease.key.app()), of_app)?;
        // Nothing fails from here on.
        stored_lease.extend_expiry(now);
        stored_lease.is_released = write.ends_run;
        if write.usage.is_some() {
            stored_lease.usage.clone_from(&write.usage);
        }
        if write.title.is_some() {
            session.title.clone_from(&write.title);
        }
        for view in &write.removed_views {
            let removed = entries.iter_mut().filter(|entry| entry.content.is_in_view(view));
            removed.for_each(|entry| entry.content.clear_content());
        }
        for content in &write.entries {
            session.entries += 1;
            entries.push(Entry { number: session.entries, content: content.clone() });
        }
        session.revision += 1;
        session.updated_at = millis::truncated(now);
        let version = version(session);
        stored.state.apply_patch(of_session, session_bytes);
        if !of_user.is_empty() {
            self.users.entry(app_and_user(&lease.key)).or_default().apply_patch(of_user, user_bytes);
        }
        if !of_app.is_empty() {
            self.apps.entry(lease.key.app().to_owned()).or_default().apply_patch(of_app, app_bytes);
        }
        Ok(version)
    }

    pub(super) fn fork_session(
        &mut self,
        key: &SessionKey,
        last_entry: u64,
        fork: &SessionKey,
        now: SystemTime,
    ) -> Result<Session, SessionError> {
        let original = self.sessions.get(key).ok_or_else(|| not_found_error(key))?;
        if self.sessions.contains_key(fork) {
            return Err(already_exists_error(fork));
        }
        check_fork_position(original.session.entries, last_entry)?;
        let entries = original.entries.get(..saturating_usize(last_entry)).unwrap_or_default().to_vec();
        let mut session = Session::new(fork.clone(), now);
        session.title.clone_from(&original.session.title);
        session.origin = Some(SessionOrigin { id: key.id().into(), entry: last_entry });
        (session.revision, session.entries) = (1, last_entry);
        self.remove_idle_sessions_for(1, now)?;
        self.sessions.insert(fork.clone(), StoredSession { entries, ..StoredSession::new(session.clone()) });
        Ok(session)
    }

    pub(super) fn contains(&self, key: &SessionKey) -> bool {
        self.sessions.contains_key(key)
    }

    /// Returns the time at which a session was made.
    pub(super) fn created_at(&self, key: &SessionKey) -> Option<SystemTime> {
        Some(self.sessions.get(key)?.session.created_at)
    }

    pub(super) fn delete_session(&mut self, key: &SessionKey) -> bool {
        let is_deleted = self.sessions.remove(key).is_some();
        self.delete_data_of_missing_sessions();
        is_deleted
    }

    /// Deletes what came from sessions that do not exist any more.
    fn delete_data_of_missing_sessions(&mut self) {
        self.notes.remove_notes_of_missing_sessions(|key| self.sessions.contains_key(key));
        #[cfg(feature = "artifacts")]
        self.artifacts.remove_artifacts_of_missing_sessions(|key| self.sessions.contains_key(key));
    }

    pub(super) fn delete_user(&mut self, app: &str, user: &str) -> u64 {
        let sessions = self.sessions.len();
        self.sessions.retain(|key, _| (key.app(), key.user()) != (app, user));
        self.users.remove(&(app.to_owned(), user.to_owned()));
        if let Ok(user) = UserKey::new(app, user) {
            self.notes.remove_notes_of_user(&user);
            #[cfg(feature = "artifacts")]
            self.artifacts.remove_artifacts_of_user(&user);
        }
        self.delete_data_of_missing_sessions();
        saturating_u64(sessions - self.sessions.len())
    }

    pub(super) fn prune_sessions(&mut self, retention: &Retention, now: SystemTime) -> u64 {
        let mut users: BTreeMap<String, Vec<&Session>> = BTreeMap::new();
        for stored in self.sessions.values().filter(|it| it.session.key.app() == &*retention.app) {
            users.entry(stored.session.key.user().to_owned()).or_default().push(&stored.session);
        }
        let oldest = retention.max_age.and_then(|age| now.checked_sub(age)).map(millis::truncated);
        let max_sessions = retention.max_sessions.map_or(usize::MAX, |max| max as usize);
        let mut expired = HashSet::new();
        for sessions in users.values_mut() {
            sessions.sort_unstable_by(|one, other| recency_rank(other).cmp(&recency_rank(one)));
            let surplus = sessions.iter().skip(max_sessions);
            let old = sessions.iter().filter(|it| oldest.is_some_and(|oldest| it.updated_at < oldest));
            expired.extend(surplus.chain(old).map(|session| session.key.clone()));
        }
        let sessions = self.sessions.len();
        self.sessions.retain(|key, stored| !expired.contains(key) || stored.has_active_lease(now));
        self.delete_data_of_missing_sessions();
        saturating_u64(sessions - self.sessions.len())
    }

    pub(super) fn unfinished_runs(&self, app: &str, now: SystemTime) -> Vec<UnfinishedRun> {
        let sessions = self.sessions.values().filter(|stored| stored.session.key.app() == app);
        let runs = sessions.filter_map(|stored| {
            let lease = stored.lease.as_ref().filter(|lease| lease.is_unfinished(now))?;
            let Session { key, revision, .. } = stored.session.clone();
            Some(UnfinishedRun { key, run: lease.run.clone(), revision, expired_at: lease.expires_at })
        });
        let mut runs: Vec<_> = runs.collect();
        runs.sort_unstable_by(|one, other| (one.expired_at, &one.key).cmp(&(other.expired_at, &other.key)));
        runs
    }

    pub(super) fn import_sessions(
        &mut self,
        exports: &[SessionExport],
        now: SystemTime,
    ) -> Result<(), SessionError> {
        if let Some(export) = exports.iter().find(|it| self.sessions.contains_key(&it.session.key)) {
            return Err(already_exists_error(&export.session.key));
        }
        exports.iter().try_for_each(|export| check_stored_size(&export.state))?;
        self.remove_idle_sessions_for(exports.len(), now)?;
        for SessionExport { session, state, entries } in exports.iter().cloned() {
            let stored =
                StoredSession { state: StateScope::new(state), entries, ..StoredSession::new(session) };
            self.sessions.insert(stored.session.key.clone(), stored);
        }
        Ok(())
    }

    fn stored_lease_mut(&mut self, lease: &Lease) -> Result<&mut StoredLease, SessionError> {
        let stored = self.sessions.get_mut(&lease.key).and_then(|stored| stored.lease.as_mut());
        stored.ok_or_else(|| not_found_error(&lease.key))
    }

    /// Removes the state of users without a session, if there are too many users: each new session looks at few of them.
    fn remove_unused_users_if_many(&mut self) {
        let max_users = self.max_sessions.min(InMemoryStore::MAX_SESSIONS);
        if self.users.len() < self.users_to_check.max(max_users) {
            return;
        }
        let before = self.users.len();
        let users: HashSet<_> = self.sessions.keys().map(app_and_user).collect();
        self.users.retain(|user, _| users.contains(user));
        self.users_to_check = self.users.len().saturating_mul(2);
        let removed = before - self.users.len();
        if removed > 0 {
            tracing::warn!(users = removed, "the state of users without a session is removed");
        }
    }

    /// Removes the sessions that were not changed for the longest time and that no run uses, until there is room for `new_sessions`.
    fn remove_idle_sessions_for(&mut self, new_sessions: usize, now: SystemTime) -> Result<(), SessionError> {
        let excess = (self.sessions.len() + new_sessions).saturating_sub(self.max_sessions);
        if excess == 0 {
            return Ok(());
        }
        let idle = self.sessions.values().filter(|stored| !stored.has_active_lease(now));
        let mut idle: Vec<_> =
            idle.map(|stored| (stored.session.updated_at, stored.session.key.clone())).collect();
        if idle.len() < excess {
            return Err(SessionError::Full { max_sessions: self.max_sessions });
        }
        idle.sort_unstable();
        for (_, key) in idle.iter().take(excess) {
            self.sessions.remove(key);
        }
        self.delete_data_of_missing_sessions();
        tracing::warn!(
            sessions = excess,
            "sessions that were not changed for the longest time are removed; see `InMemoryStore::with_max_sessions`"
        );
        Ok(())
    }
}

fn check_lease_request(
    stored: &StoredSession,
    request: &LeaseRequest,
    now: SystemTime,
) -> Result<(), SessionError> {
    let revision = stored.session.revision;
    match (&stored.lease, request.revision) {
        (Some(lease), _) => lease.check_takeover(request, revision, now),
        (None, Some(expected)) if expected != revision => {
            Err(SessionError::RevisionChanged { expected, revision })
        }
        (None, _) => Ok(()),
    }
}

fn app_and_user(key: &SessionKey) -> (String, String) {
    (key.app().to_owned(), key.user().to_owned())
}

/// Returns the position of a session in lists, the largest first.
fn recency_rank(session: &Session) -> (SystemTime, &SessionKey) {
    (session.updated_at, &session.key)
}

fn saturating_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn saturating_u64(sessions: usize) -> u64 {
    u64::try_from(sessions).unwrap_or(u64::MAX)
}
