//! Settings of a store in a file.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};

use super::SqliteStore;
use crate::{Clock, SessionError};

/// The maximum number of prepared statements of a connection: each number of rows is a text of its own for the writer.
const MAX_CACHED_STATEMENTS: usize = 256;

/// Settings of a [`SqliteStore`].
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// use tool_session::{SqliteOptions, Synchronous};
///
/// # async fn example() -> anyhow::Result<()> {
/// let options = SqliteOptions::new("data/sessions.sqlite")
///     .busy_timeout(Duration::from_secs(1))
///     .synchronous(Synchronous::Normal);
/// let store = options.open().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    pub(super) path: PathBuf,
    pub(super) is_read_only: bool,
    pub(super) busy_timeout: Duration,
    pub(super) max_bytes: Option<u64>,
    pub(super) max_readers: u32,
    pub(super) synchronous: Synchronous,
    pub(super) clock: Clock,
}

/// The writes that survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// Every write, since it is on the disk before it returns.
    #[default]
    Full,
    /// All but the last writes: a power cut may undo them, although they returned. A crash of the program undoes none.
    Normal,
}

impl SqliteOptions {
    /// Creates the default settings for the file `path`, which is made if there is none, together with its folder.
    #[must_use]
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            is_read_only: false,
            busy_timeout: Duration::from_secs(5),
            max_bytes: None,
            max_readers: 4,
            synchronous: Synchronous::Full,
            clock: Clock::default(),
        }
    }

    /// Opens an existing database for reading only: each write is [`ReadOnly`](SessionError::ReadOnly).
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// Sets the time for which an operation waits while another process has the database locked; then it is
    /// [`Unavailable`](SessionError::Unavailable). Default: 5 seconds.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets the maximum size of the file, in bytes; a write beyond it fails and changes nothing. Default: none.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Sets the maximum number of connections that read at once, at least 1. Default: 4.
    #[must_use]
    pub fn max_readers(mut self, readers: u32) -> Self {
        self.max_readers = readers.max(1);
        self
    }

    /// Sets which writes survive a power cut. Default: all.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets the clock. Default: the clock of the system. Processes with one database need clocks that agree within a fraction of
    /// the duration of a lease; otherwise runs lose their leases early, and no more than that.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the store. See [`SqliteStore::open`].
    ///
    /// # Errors
    ///
    /// As [`SqliteStore::open`].
    pub async fn open(self) -> Result<SqliteStore, SessionError> {
        SqliteStore::open_with(self).await
    }

    /// Returns the settings of a connection.
    pub(super) fn connect_options(&self) -> SqliteConnectOptions {
        let synchronous = match self.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        };
        SqliteConnectOptions::new()
            .filename(&self.path)
            .read_only(self.is_read_only)
            .busy_timeout(self.busy_timeout)
            .synchronous(synchronous)
            .statement_cache_capacity(MAX_CACHED_STATEMENTS)
            // What is deleted is overwritten.
            .pragma("secure_delete", "ON")
    }

    /// Returns the settings of the connection that writes.
    pub(super) fn writer_connect_options(&self) -> SqliteConnectOptions {
        // A transaction of many sessions changes more pages than the default of 2 MB holds: they would be written to the log, and read again,
        // before its end.
        self.connect_options().pragma("cache_size", "-8000")
    }

    /// Makes the file for its user alone, and its folder if there is none; an existing file keeps its mode.
    pub(super) fn create_missing_file(&self) -> Result<(), SessionError> {
        let failed = |error: std::io::Error| {
            SessionError::Failed(format!("the database {} cannot be made: {error}", self.path.display()))
        };
        if let Some(folder) =
            self.path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder).map_err(failed)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&self.path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_the_last_one_that_was_made() {
        let options = SqliteOptions::new("a.db");
        assert_eq!((options.busy_timeout, options.max_bytes), (Duration::from_secs(5), None));
        assert_eq!((options.max_readers, options.is_read_only), (4, false));
        let options = options.busy_timeout(Duration::from_secs(7)).max_bytes(9).max_readers(2).read_only();
        assert_eq!((options.busy_timeout, options.max_bytes), (Duration::from_secs(7), Some(9)));
        assert_eq!((options.max_readers, options.is_read_only), (2, true));
        assert_eq!(options.max_readers(0).max_readers, 1);
    }
}
