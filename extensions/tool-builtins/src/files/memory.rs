//! The files that were read, so that an edit of something else is refused.

use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use cap_fs_ext::MetadataExt as _;
use tool_runtime::ToolContext;

use crate::session::SessionKey;

/// Files remembered for a session; the one read longest ago is forgotten, and must be read again before an edit.
const MAX_SESSION_FILES: usize = 1024;

/// Sessions remembered at once; the one that read longest ago is forgotten with its files.
const MAX_SESSIONS: usize = 256;

/// The state of a file when it was read.
#[derive(Debug, Clone)]
pub(super) struct FileStamp {
    pub(super) length: u64,
    modified: Option<SystemTime>,
    /// The numbers of the device and the file: another file with the name has others.
    identity: (u64, u64),
    /// The hash of the content, if all of it was read.
    pub(super) hash: Option<[u8; 32]>,
    /// The run that was given the last result, and the hash of it.
    result: Option<(String, [u8; 32])>,
}

impl FileStamp {
    /// The stamp of an open file, without a hash.
    pub(super) fn of_file(file: &cap_std::fs::File) -> io::Result<Self> {
        Ok(Self::of_metadata(&file.metadata()?))
    }

    pub(super) fn of_metadata(metadata: &cap_std::fs::Metadata) -> Self {
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        let identity = (metadata.dev(), metadata.ino());
        Self { length: metadata.len(), modified, identity, hash: None, result: None }
    }

    /// Returns `true` if nothing but the content can tell both states apart.
    pub(super) fn is_same_state(&self, other: &Self) -> bool {
        self.length == other.length && self.modified == other.modified && self.identity == other.identity
    }

    /// Returns `true` if `present`, which has a hash, is the state that was read. A time alone proves nothing if the content is known.
    pub(super) fn matches_present(&self, present: &Self) -> bool {
        match self.hash {
            Some(_) => self.hash == present.hash,
            None => self.is_same_state(present),
        }
    }
}

/// A file of one of the folders: the name of the folder, and the path below it.
pub(super) type FileKey = (String, PathBuf);

#[derive(Debug, Default)]
struct SessionFiles {
    by_file: HashMap<FileKey, (u64, FileStamp)>,
    last_use: u64,
}

#[derive(Debug, Default)]
struct Sessions {
    by_session: HashMap<SessionKey, SessionFiles>,
    next_serial: u64,
}

/// The files that each session read.
#[derive(Debug, Default)]
pub(super) struct SessionReads {
    sessions: Mutex<Sessions>,
    /// Held while a new content takes its name, so that two changes of these tools do not lose one.
    commits: Mutex<()>,
}

impl SessionReads {
    pub(super) fn remember_file(&self, cx: &ToolContext, file: FileKey, stamp: FileStamp) {
        let mut sessions = lock_ignoring_poison(&self.sessions);
        let serial = sessions.next_serial;
        sessions.next_serial += 1;
        let session = sessions.by_session.entry(SessionKey::of_call(cx)).or_default();
        session.last_use = serial;
        session.by_file.insert(file, (serial, stamp));
        if session.by_file.len() > MAX_SESSION_FILES {
            let oldest = session.by_file.iter().min_by_key(|(_, (serial, _))| *serial);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                session.by_file.remove(&oldest);
            }
        }
        if sessions.by_session.len() > MAX_SESSIONS {
            let oldest = sessions.by_session.iter().min_by_key(|(_, session)| session.last_use);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                sessions.by_session.remove(&oldest);
            }
        }
    }

    pub(super) fn remembered_stamp(&self, cx: &ToolContext, file: &FileKey) -> Option<FileStamp> {
        let sessions = lock_ignoring_poison(&self.sessions);
        sessions.by_session.get(&SessionKey::of_call(cx))?.by_file.get(file).map(|(_, stamp)| stamp.clone())
    }

    /// Remembers a read, and returns `true` if the same run has just been given the same result. It is given again by
    /// the call after that, since a model may have lost it.
    ///
    /// A session is not enough: its agents do not see the results of each other.
    pub(super) fn remember_read_and_is_repeated(
        &self,
        cx: &ToolContext,
        file: FileKey,
        mut stamp: FileStamp,
        result: [u8; 32],
    ) -> bool {
        let known = self.remembered_stamp(cx, &file);
        let given = cx.run().map(|run| (run.id().to_string(), result));
        let is_known = given.is_some() && known.as_ref().is_some_and(|known| known.result == given);
        stamp.result = given.filter(|_| !is_known);
        // A read of a part does not forget that all of the same file was read.
        let known = known.filter(|known| known.is_same_state(&stamp));
        stamp.hash = stamp.hash.or(known.and_then(|known| known.hash));
        self.remember_file(cx, file, stamp);
        is_known
    }

    /// The stamp when no change is about to take a name.
    pub(super) fn stamp_without_commit_in_progress(
        &self,
        cx: &ToolContext,
        file: &FileKey,
    ) -> Option<FileStamp> {
        let _settled = self.lock_commits();
        self.remembered_stamp(cx, file)
    }

    pub(super) fn lock_commits(&self) -> MutexGuard<'_, ()> {
        lock_ignoring_poison(&self.commits)
    }
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
