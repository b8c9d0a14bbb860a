//! Processes that a command leaves to this program, where it is the first one of a container.
//!
//! There, what is left of a group that was killed becomes a child of this program, and keeps its number until this program waits for
//! it. Elsewhere, another process does that.

use std::{
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::process::{Pid, WaitOptions, waitpgid};

/// The number of the first process.
const FIRST_PROCESS: u32 = 1;

/// The groups of which something may be left.
static KILLED_GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Keeps a group that was killed, until all of it has ended.
pub(super) fn keep_killed_group(leader: Pid) {
    if process::id() == FIRST_PROCESS {
        killed_groups().push(leader);
    }
}

/// Waits for the processes that have ended; does not block.
pub(super) fn collect_orphans() {
    if process::id() != FIRST_PROCESS {
        return;
    }
    killed_groups().retain(|group| {
        loop {
            match waitpgid(*group, WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                // There is none any more.
                Err(_) => return false,
            }
        }
    });
}

fn killed_groups() -> MutexGuard<'static, Vec<Pid>> {
    KILLED_GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}
