//! The notes of a store in memory, under its lock.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    EntryNotes, InMemoryStore, Memory, Note, NoteContent, NoteMatch, SessionError, SessionKey, UserKey,
    memory::{
        rank::{
            MAX_CANDIDATES, NoteCandidates, NoteCounts, QueryTerm, best_matches, retain_found_rarest_first,
        },
        tokens::{for_each_token, query_tokens},
    },
    store::not_found_error,
};

/// All notes, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Notes {
    notes: BTreeMap<u64, StoredNote>,
    users: HashMap<UserKey, UserNotes>,
    sessions: HashMap<SessionKey, SessionNotes>,
    last_number: u64,
}

#[derive(Debug)]
struct StoredNote {
    user: UserKey,
    content: NoteContent,
    tokens: u64,
}

/// The notes of one user, and their words.
#[derive(Debug, Default)]
struct UserNotes {
    numbers: BTreeSet<u64>,
    tokens: u64,
    /// The numbers of the notes with each token.
    terms: HashMap<Box<str>, BTreeSet<u64>>,
}

/// The notes that come from one session.
#[derive(Debug, Default)]
struct SessionNotes {
    numbers: BTreeSet<u64>,
    last_entry: u64,
}

impl Notes {
    /// Adds a note, and removes the oldest one beyond `max_notes`.
    fn add_note_within_limit(&mut self, user: &UserKey, content: &NoteContent, max_notes: usize) -> Note {
        self.last_number += 1;
        let number = self.last_number;
        let user_notes = self.users.entry(user.clone()).or_default();
        let mut tokens = 0;
        for_each_token(&content.text, |token| {
            tokens += 1;
            match user_notes.terms.get_mut(token) {
                Some(numbers) => drop(numbers.insert(number)),
                None => drop(user_notes.terms.insert(token.into(), BTreeSet::from([number]))),
            }
        });
        user_notes.numbers.insert(number);
        user_notes.tokens += tokens;
        if let Some(key) = session_of_note(user, content) {
            self.sessions.entry(key).or_default().numbers.insert(number);
        }
        self.notes.insert(number, StoredNote { user: user.clone(), content: content.clone(), tokens });
        if self.notes.len() > max_notes
            && let Some(oldest) = self.notes.keys().next().copied()
        {
            self.remove_note(oldest);
            tracing::warn!(max_notes, "the oldest note is removed; see `InMemoryStore::with_max_notes`");
        }
        Note { number, content: content.clone() }
    }

    fn remove_note(&mut self, number: u64) {
        let Some(stored) = self.notes.remove(&number) else { return };
        if let Some(key) = session_of_note(&stored.user, &stored.content)
            && let Some(session) = self.sessions.get_mut(&key)
        {
            session.numbers.remove(&number);
        }
        let Some(user_notes) = self.users.get_mut(&stored.user) else { return };
        user_notes.numbers.remove(&number);
        user_notes.tokens = user_notes.tokens.saturating_sub(stored.tokens);
        for_each_token(&stored.content.text, |token| {
            if let Some(numbers) = user_notes.terms.get_mut(token) {
                numbers.remove(&number);
                if numbers.is_empty() {
                    user_notes.terms.remove(token);
                }
            }
        });
        if user_notes.numbers.is_empty() {
            self.users.remove(&stored.user);
        }
    }

    /// Removes the notes of sessions that do not exist.
    pub(super) fn remove_notes_of_missing_sessions(&mut self, mut exists: impl FnMut(&SessionKey) -> bool) {
        let gone: Vec<_> = self.sessions.keys().filter(|key| !exists(key)).cloned().collect();
        for key in gone {
            let session = self.sessions.remove(&key).unwrap_or_default();
            session.numbers.into_iter().for_each(|number| self.remove_note(number));
        }
    }

    /// Removes all notes of a user; returns their number.
    pub(super) fn remove_notes_of_user(&mut self, user: &UserKey) -> u64 {
        let numbers = self.users.get(user).map(|user_notes| user_notes.numbers.clone()).unwrap_or_default();
        numbers.iter().for_each(|number| self.remove_note(*number));
        u64::try_from(numbers.len()).unwrap_or(u64::MAX)
    }

    fn search_notes(&self, user: &UserKey, query: &str, limit: usize) -> Vec<NoteMatch> {
        let Some(user_notes) = self.users.get(user) else { return Vec::new() };
        let numbers_with = |token: &str| user_notes.terms.get(token);
        let mut terms: Vec<_> = query_tokens(query)
            .into_iter()
            .map(|token| QueryTerm { notes: numbers_with(&token).map_or(0, note_count), token })
            .collect();
        retain_found_rarest_first(&mut terms);
        let mut candidates = NoteCandidates::default();
        for term in &terms {
            let newest = numbers_with(&term.token).into_iter().flatten().rev().take(MAX_CANDIDATES);
            candidates.add_until_full(newest.copied());
        }
        let text_bytes = |number| {
            let bytes = self.notes.get(&number)?.content.text.len();
            Some((number, u64::try_from(bytes).unwrap_or(u64::MAX)))
        };
        let sizes = candidates.numbers().filter_map(text_bytes).collect();
        candidates.truncate_to_byte_limit(&sizes);
        let counts = NoteCounts { notes: note_count(&user_notes.numbers), tokens: user_notes.tokens };
        let texts = candidates.numbers().filter_map(|number| {
            let stored = self.notes.get(&number)?;
            Some((number, Arc::clone(&stored.content.text)))
        });
        let matches = best_matches(counts, &terms, texts, limit);
        let found = matches.into_iter().filter_map(|(number, score)| {
            let content = self.notes.get(&number)?.content.clone();
            Some(NoteMatch { note: Note { number, content }, score })
        });
        found.collect()
    }
}

fn note_count(numbers: &BTreeSet<u64>) -> u64 {
    u64::try_from(numbers.len()).unwrap_or(u64::MAX)
}

/// Returns the session that a note comes from; the id was checked before.
fn session_of_note(user: &UserKey, content: &NoteContent) -> Option<SessionKey> {
    user.session_key(Arc::clone(content.session.as_ref()?)).ok()
}

impl Memory for InMemoryStore {
    async fn add_note(&self, user: &UserKey, note: &NoteContent) -> Result<Note, SessionError> {
        let mut sessions = self.lock_sessions();
        if let Some(id) = &note.session {
            let key = user.session_key(Arc::clone(id))?;
            if !sessions.contains(&key) {
                return Err(not_found_error(&key));
            }
        }
        let max_notes = sessions.max_notes;
        Ok(sessions.notes.add_note_within_limit(user, note, max_notes))
    }

    async fn last_noted_entry(&self, key: &SessionKey) -> Result<u64, SessionError> {
        Ok(self.lock_sessions().notes.sessions.get(key).map_or(0, |session| session.last_entry))
    }

    async fn add_entry_notes(&self, key: &SessionKey, notes: &EntryNotes) -> Result<bool, SessionError> {
        let mut sessions = self.lock_sessions();
        if sessions.created_at(key) != Some(notes.session_created_at) {
            return Err(not_found_error(key));
        }
        let max_notes = sessions.max_notes;
        let session = sessions.notes.sessions.entry(key.clone()).or_default();
        if session.last_entry != notes.after {
            return Ok(false);
        }
        session.last_entry = notes.last_entry;
        let user = key.user_key();
        for note in &notes.notes {
            sessions.notes.add_note_within_limit(&user, note, max_notes);
        }
        Ok(true)
    }

    async fn search_notes(
        &self,
        user: &UserKey,
        query: &str,
        limit: usize,
    ) -> Result<Vec<NoteMatch>, SessionError> {
        Ok(self.lock_sessions().notes.search_notes(user, query, limit))
    }

    async fn delete_note(&self, user: &UserKey, number: u64) -> Result<bool, SessionError> {
        let mut sessions = self.lock_sessions();
        let is_of_user = sessions.notes.notes.get(&number).is_some_and(|stored| stored.user == *user);
        if is_of_user {
            sessions.notes.remove_note(number);
        }
        Ok(is_of_user)
    }

    async fn delete_notes(&self, user: &UserKey) -> Result<u64, SessionError> {
        Ok(self.lock_sessions().notes.remove_notes_of_user(user))
    }
}
