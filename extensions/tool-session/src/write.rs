//! One transaction of a run.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{EntryContent, JsonText, ScopedState, SessionError, key::check_name};

/// A write: the entries of one step of a run, the changes of state, the usage of the run, in one transaction. It makes the next
/// revision of the session.
///
/// # Examples
///
/// ```
/// use tool_session::{EntryContent, JsonText, SessionWrite};
///
/// let question = JsonText::new(r#"{"role":"user","text":"2 + 2?"}"#)?;
/// let write = SessionWrite::new(0)
///     .entry(EntryContent::new("run-1", EntryContent::MESSAGE, question))
///     .title("Sums");
/// # let _ = write;
/// # Ok::<(), tool_session::SessionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionWrite {
    /// The revision that the run knows: the session has it before the write.
    pub revision: u64,
    /// The entries that are added, in order.
    pub entries: Vec<EntryContent>,
    /// The view keys whose earlier entries are [removed](EntryContent::REMOVED). Default: none.
    pub removed_views: Vec<Arc<str>>,
    /// The changes of state.
    pub state: ScopedState,
    /// The usage of the run so far, which replaces the one stored before; a run that is continued reads it from its
    /// [grant](crate::LeaseGrant::usage). Default: unchanged.
    pub usage: Option<JsonText>,
    /// The new title. Default: unchanged.
    pub title: Option<Arc<str>>,
    /// `true` if the run ends with this write: its lease is released. Default: `false`.
    pub ends_run: bool,
}

impl SessionWrite {
    /// The maximum number of bytes of all bodies of one write: 64 MiB.
    pub const MAX_BYTES: usize = 64 << 20;

    /// Creates a write for a session of `revision` that changes nothing else.
    #[must_use]
    pub fn new(revision: u64) -> Self {
        let (entries, removed_views, state) = (Vec::new(), Vec::new(), ScopedState::default());
        Self { revision, entries, removed_views, state, usage: None, title: None, ends_run: false }
    }

    /// Adds an entry.
    #[must_use]
    pub fn entry(mut self, content: EntryContent) -> Self {
        self.entries.push(content);
        self
    }

    /// Adds entries, in order.
    #[must_use]
    pub fn entries(mut self, contents: impl IntoIterator<Item = EntryContent>) -> Self {
        self.entries.extend(contents);
        self
    }

    /// Removes the earlier entries whose view key is one of `views`, or continues one of them after a `/`. Each keeps its number, its time and its
    /// origin; its kind becomes [`REMOVED`](EntryContent::REMOVED), and its body `null`.
    ///
    /// A write that is to be repeatable after [`Unavailable`](SessionError::Unavailable) has an entry, too.
    #[must_use]
    pub fn remove_views(mut self, views: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        self.removed_views.extend(views.into_iter().map(Into::into));
        self
    }

    /// Sets the changes of state, such as [`Actions::state`](tool_runtime::output::Actions::state): a JSON Merge Patch, in
    /// which `null` removes a value. Values limited to a run (`temp:`) are not stored. Values are nested at most
    /// [100 levels](ScopedState::MAX_DEPTH) deep.
    #[must_use]
    pub fn changes(mut self, changes: Map<String, Value>) -> Self {
        self.state = ScopedState::from_changes(changes);
        self
    }

    /// Sets the usage of the run so far.
    #[must_use]
    pub fn usage(mut self, usage: JsonText) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets the title of the session.
    #[must_use]
    pub fn title(mut self, title: impl Into<Arc<str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Ends the run: its lease is released by the same transaction.
    #[must_use]
    pub fn end_of_run(mut self) -> Self {
        self.ends_run = true;
        self
    }

    /// Checks names and limits.
    pub(crate) fn check_names_and_limits(&self) -> Result<(), SessionError> {
        const MAX: usize = SessionWrite::MAX_BYTES;
        check_name("title", self.title.as_deref().unwrap_or_default())?;
        self.entries.iter().try_for_each(EntryContent::check_names)?;
        self.removed_views.iter().try_for_each(|view| check_view(view))?;
        self.state.check_depths()?;
        let bytes = self.body_bytes();
        if bytes > MAX {
            let problem = format!(
                "the entries of the write have {bytes} bytes; at most {MAX} bytes (64 MiB) are stored"
            );
            return Err(SessionError::Invalid(problem));
        }
        Ok(())
    }

    /// Returns the number of bytes of all bodies.
    pub(crate) fn body_bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.body.as_str().len()).sum()
    }
}

/// Checks the view key of entries that are removed: without one, an entry belongs to the conversation of the session.
fn check_view(view: &str) -> Result<(), SessionError> {
    match view {
        "" => Err(SessionError::Invalid(
            "the view key of removed entries is empty; name the view, or delete the session".to_owned(),
        )),
        view => check_name("view key", view),
    }
}

/// The version of a session after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionVersion {
    /// The revision.
    pub revision: u64,
    /// The number of the last entry; 0 without entries.
    pub entries: u64,
}

/// Returns `true` if a session of `revision` with `last_entries` is the effect of `write`, whose answer its run did not receive.
pub(crate) fn is_already_applied<'a>(
    write: &SessionWrite,
    revision: u64,
    last_entries: impl IntoIterator<Item = &'a EntryContent>,
) -> bool {
    !write.entries.is_empty()
        && Some(revision) == write.revision.checked_add(1)
        && last_entries.into_iter().eq(&write.entries)
}
