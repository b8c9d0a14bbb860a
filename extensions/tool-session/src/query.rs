//! Selections of entries and sessions.

use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tool_runtime::call::CallId;

use crate::{Entry, EntryContent, Session, SessionError, SessionKey, key::check_name};

/// The order of a page of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryOrder {
    /// The oldest entry first.
    Forward,
    /// The newest entry first.
    Backward,
}

/// A query of entries: filters, an order, and the size of one page.
///
/// A run reads the last compaction and what follows it, page by page; it never reads a long session whole.
///
/// # Examples
///
/// ```
/// use tool_session::{EntryContent, EntryQuery};
///
/// let last_compaction = EntryQuery::backward().of_kind(EntryContent::COMPACTION).limit(1);
/// let later_entries = EntryQuery::forward().after(41);
/// # let _ = (last_compaction, later_entries);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryQuery {
    /// The order.
    pub order: EntryOrder,
    /// Admits only entries after this number. Default: 0.
    pub after: u64,
    /// Admits only entries before this number. Default: all.
    pub before: Option<u64>,
    /// Admits only entries of this kind. Default: all.
    pub kind: Option<Arc<str>>,
    /// Admits only entries of this run. Default: all.
    pub run: Option<CallId>,
    /// Admits only entries of this branch. Default: all.
    pub branch: Option<Arc<str>>,
    /// Admits only entries with this view key. Default: all.
    pub view: Option<Arc<str>>,
    /// The maximum number of entries of a page.
    pub max_entries: usize,
    /// The maximum number of bytes of the bodies of a page. The first entry is returned in any case.
    pub max_bytes: usize,
}

impl EntryQuery {
    /// The default maximum number of entries of a page.
    pub const DEFAULT_ENTRIES: usize = 100;
    /// The largest maximum number of entries of a page; a larger one counts as this.
    pub const MAX_ENTRIES: usize = 10_000;
    /// The default maximum number of bytes of the bodies of a page: 4 MiB.
    pub const DEFAULT_BYTES: usize = 4 << 20;

    /// Creates a query of all entries, the oldest first.
    #[must_use]
    pub fn forward() -> Self {
        Self {
            order: EntryOrder::Forward,
            after: 0,
            before: None,
            kind: None,
            run: None,
            branch: None,
            view: None,
            max_entries: Self::DEFAULT_ENTRIES,
            max_bytes: Self::DEFAULT_BYTES,
        }
    }

    /// Creates a query of all entries, the newest first.
    #[must_use]
    pub fn backward() -> Self {
        Self { order: EntryOrder::Backward, ..Self::forward() }
    }

    /// Admits only entries after `number`.
    #[must_use]
    pub fn after(mut self, number: u64) -> Self {
        self.after = number;
        self
    }

    /// Admits only entries before `number`.
    #[must_use]
    pub fn before(mut self, number: u64) -> Self {
        self.before = Some(number);
        self
    }

    /// Admits only entries of `kind`.
    #[must_use]
    pub fn of_kind(mut self, kind: impl Into<Arc<str>>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Admits only entries of `run`.
    #[must_use]
    pub fn of_run(mut self, run: impl Into<CallId>) -> Self {
        self.run = Some(run.into());
        self
    }

    /// Admits only entries of `branch`.
    #[must_use]
    pub fn of_branch(mut self, branch: impl Into<Arc<str>>) -> Self {
        self.branch = Some(branch.into());
        self
    }

    /// Admits only entries with the view key `view`.
    #[must_use]
    pub fn of_view(mut self, view: impl Into<Arc<str>>) -> Self {
        self.view = Some(view.into());
        self
    }

    /// Sets the maximum number of entries of a page, at least 1 and at most [10,000](Self::MAX_ENTRIES). Default:
    /// [100](Self::DEFAULT_ENTRIES).
    #[must_use]
    pub fn limit(mut self, entries: usize) -> Self {
        self.max_entries = entries;
        self
    }

    /// Sets the maximum number of bytes of the bodies of a page; its first entry may be larger. Default:
    /// [4 MiB](Self::DEFAULT_BYTES).
    #[must_use]
    pub fn limit_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Returns the query of the page that follows `page`; `None` if it is the last one.
    #[must_use]
    pub fn next(mut self, page: &EntryPage) -> Option<Self> {
        let last = page.entries.last().filter(|_| page.has_more)?;
        match self.order {
            EntryOrder::Forward => self.after = last.number,
            EntryOrder::Backward => self.before = Some(last.number),
        }
        Some(self)
    }

    /// Returns `true` if the filters admit `entry`.
    #[must_use]
    pub fn admits(&self, entry: &Entry) -> bool {
        let EntryContent { kind, run, branch, view, .. } = &entry.content;
        entry.number > self.after
            && self.before.is_none_or(|before| entry.number < before)
            && self.kind.as_ref().is_none_or(|it| it == kind)
            && self.run.as_ref().is_none_or(|it| it == run)
            && self.branch.is_none_or_equal(branch)
            && self.view.is_none_or_equal(view)
    }

    /// Checks the names.
    pub(crate) fn check_names(&self) -> Result<(), SessionError> {
        check_name("run", &self.run.as_ref().map(ToString::to_string).unwrap_or_default())?;
        let names = [("kind", &self.kind), ("branch", &self.branch), ("view key", &self.view)];
        names.into_iter().try_for_each(|(role, name)| check_name(role, name.as_deref().unwrap_or_default()))
    }

    /// Returns the maximum number of entries of a page.
    pub(crate) fn max_page_entries(&self) -> usize {
        self.max_entries.clamp(1, Self::MAX_ENTRIES)
    }
}

/// A filter for one optional name.
trait NameFilter {
    fn is_none_or_equal(&self, name: &Self) -> bool;
}

impl NameFilter for Option<Arc<str>> {
    fn is_none_or_equal(&self, name: &Self) -> bool {
        self.is_none() || self == name
    }
}

/// A page of entries, in the order of its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPage {
    /// The entries.
    pub entries: Vec<Entry>,
    /// `true` if further entries follow: see [`EntryQuery::next`].
    pub has_more: bool,
}

/// A page that is being read: entries are added until the limits of the query are reached.
pub(crate) struct PageBuilder {
    page: EntryPage,
    bytes: usize,
    max_entries: usize,
    max_bytes: usize,
}

impl PageBuilder {
    pub(crate) fn new(query: &EntryQuery) -> Self {
        let page = EntryPage { entries: Vec::new(), has_more: false };
        Self { page, bytes: 0, max_entries: query.max_page_entries(), max_bytes: query.max_bytes }
    }

    /// Adds an entry that the query admits, in its order; breaks if it does not fit.
    pub(crate) fn add_unless_full(&mut self, entry: Entry) -> ControlFlow<()> {
        self.bytes = self.bytes.saturating_add(entry.content.body.as_str().len());
        let entries = self.page.entries.len();
        if entries > 0 && (entries >= self.max_entries || self.bytes > self.max_bytes) {
            self.page.has_more = true;
            return ControlFlow::Break(());
        }
        self.page.entries.push(entry);
        ControlFlow::Continue(())
    }

    pub(crate) fn finish(self) -> EntryPage {
        self.page
    }
}

/// A filter of sessions, and the size of one page: the sessions of an app or of a user, the last changed first.
///
/// # Examples
///
/// ```
/// use tool_session::SessionFilter;
///
/// let filter = SessionFilter::new("shop").of_user("u-7").limit(20);
/// # let _ = filter;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionFilter {
    /// The app.
    pub app: Arc<str>,
    /// Admits only sessions of this user. Default: all users.
    pub user: Option<Arc<str>>,
    /// Admits only sessions that follow this one in the list. Default: all.
    pub after: Option<(SystemTime, SessionKey)>,
    /// The maximum number of sessions. Default: 100.
    pub max_sessions: usize,
}

impl SessionFilter {
    /// The largest maximum number of sessions of a page; a larger one counts as this.
    pub const MAX_SESSIONS: usize = 1000;

    /// Creates a filter that admits all sessions of `app`.
    #[must_use]
    pub fn new(app: impl Into<Arc<str>>) -> Self {
        Self { app: app.into(), user: None, after: None, max_sessions: 100 }
    }

    /// Admits only sessions of `user`.
    #[must_use]
    pub fn of_user(mut self, user: impl Into<Arc<str>>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Admits only sessions that follow `session`, the last one of the page before.
    #[must_use]
    pub fn after(mut self, session: &Session) -> Self {
        self.after = Some((session.updated_at, session.key.clone()));
        self
    }

    /// Sets the maximum number of sessions, at least 1 and at most [1,000](Self::MAX_SESSIONS). Default: 100.
    #[must_use]
    pub fn limit(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Checks the names.
    pub(crate) fn check_names(&self) -> Result<(), SessionError> {
        check_name("app", &self.app)?;
        check_name("user", self.user.as_deref().unwrap_or_default())
    }

    /// Returns the maximum number of sessions of a page.
    pub(crate) fn max_page_sessions(&self) -> usize {
        self.max_sessions.clamp(1, Self::MAX_SESSIONS)
    }
}

/// The sessions that [`prune`](crate::SessionStore::prune) keeps. Sessions with an unexpired lease are kept in any case.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tool_session::Retention;
///
/// let retention = Retention::new("shop").max_age(Duration::from_secs(90 * 86_400)).max_sessions(100);
/// # let _ = retention;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// The app whose sessions are pruned.
    pub app: Arc<str>,
    /// The maximum time since the last change of a session. Default: any.
    pub max_age: Option<Duration>,
    /// The maximum number of sessions of each user: the last changed are kept. Default: any.
    pub max_sessions: Option<u32>,
}

impl Retention {
    /// Creates a retention that keeps all sessions of `app`.
    #[must_use]
    pub fn new(app: impl Into<Arc<str>>) -> Self {
        Self { app: app.into(), max_age: None, max_sessions: None }
    }

    /// Sets the maximum time since the last change of a session. Default: any.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Sets the maximum number of sessions of each user. Default: any.
    #[must_use]
    pub fn max_sessions(mut self, sessions: u32) -> Self {
        self.max_sessions = Some(sessions);
        self
    }
}
