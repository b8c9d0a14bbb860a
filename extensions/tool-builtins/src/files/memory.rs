//! The files that were read, so that an edit of something else is refused.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use tool_runtime::ToolContext;

/// Files remembered at once; the one read longest ago is forgotten, and must be read again before an edit.
const MAX_FILES: usize = 4096;

/// The state of a file when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) length: u64,
    pub(super) modified: Option<SystemTime>,
    /// The hash of the content, if all of it was read.
    pub(super) hash: Option<[u8; 32]>,
}

impl FileStamp {
    /// The stamp of an open file, without a hash.
    pub(super) fn of_file(file: &cap_std::fs::File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        Ok(Self { length: metadata.len(), modified, hash: None })
    }

    /// Returns `true` if `present`, which has a hash, is the state that was read. A time alone proves nothing if the content is known.
    pub(super) fn matches_present(&self, present: &Self) -> bool {
        match self.hash {
            Some(_) => self.hash == present.hash,
            None => self.length == present.length && self.modified == present.modified,
        }
    }
}

#[derive(Debug, Default)]
struct Stamps {
    by_file: HashMap<(String, PathBuf), (u64, FileStamp)>,
    next_serial: u64,
}

/// The files that each session read.
#[derive(Debug, Default)]
pub(super) struct ReadMemory {
    stamps: Mutex<Stamps>,
    /// Held from the read to the replacement of an edit, so that two edits of these tools do not lose one.
    edits: Mutex<()>,
}

impl ReadMemory {
    pub(super) fn remember_file(&self, cx: &ToolContext, path: &Path, stamp: FileStamp) {
        let mut stamps = lock(&self.stamps);
        let serial = stamps.next_serial;
        stamps.next_serial += 1;
        stamps.by_file.insert((session_of(cx), path.to_owned()), (serial, stamp));
        if stamps.by_file.len() > MAX_FILES {
            let oldest = stamps.by_file.iter().min_by_key(|(_, (serial, _))| *serial);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                stamps.by_file.remove(&oldest);
            }
        }
    }

    pub(super) fn remembered_stamp(&self, cx: &ToolContext, path: &Path) -> Option<FileStamp> {
        let key = (session_of(cx), path.to_owned());
        lock(&self.stamps).by_file.get(&key).map(|(_, stamp)| stamp.clone())
    }

    pub(super) fn lock_edits(&self) -> MutexGuard<'_, ()> {
        lock(&self.edits)
    }
}

fn session_of(cx: &ToolContext) -> String {
    cx.run().and_then(|run| run.session()).unwrap_or_default().to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
