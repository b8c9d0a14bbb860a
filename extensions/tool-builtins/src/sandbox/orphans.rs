//! Processes that a command leaves to this program, where it is the first one of a container.
//!
//! There, what is left of a group that was killed becomes a child of this program, and keeps its number until this program waits for
//! it. Elsewhere, another process does that.
//!
//! The leader of a group is never collected: the runtime, or who else has spawned it, waits for it. Its number is free for another
//! process as soon as nothing of the group is left, so that a group of which the leader is a child of this program may be another one, and
//! is left alone. One case remains: the program itself spawns a process, which gets the number of a group that just ended, and puts it
//! at the head of a group of its own, between the two system calls by which a group is collected.

use std::{
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpgid};

/// The number of the first process.
const FIRST_PROCESS: u32 = 1;

/// The groups of which something may be left.
static KILLED_GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Keeps a group that was killed, until all of it has ended.
pub(super) fn remember_killed_group(leader: Pid) {
    if process::id() == FIRST_PROCESS {
        lock_killed_groups().push(leader);
    }
}

/// Waits for the processes that have ended; does not block.
pub(super) fn reap_orphans() {
    if process::id() == FIRST_PROCESS {
        reap_groups(&mut lock_killed_groups());
    }
}

/// Waits for what has ended of `groups`, but not for their leaders, and forgets the groups of which nothing is left.
fn reap_groups(groups: &mut Vec<Pid>) {
    groups.retain(|group| {
        // Asks, and leaves the process to the one who waits for it.
        let asks = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if waitid(WaitId::Pid(*group), asks).is_ok() {
            return true;
        }
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

fn lock_killed_groups() -> MutexGuard<'static, Vec<Pid>> {
    KILLED_GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use std::{os::unix::process::CommandExt as _, process::Command};

    use super::*;

    // R03
    #[test]
    fn a_leader_is_left_to_the_one_who_waits_for_it() {
        let mut leader = Command::new("sh").args(["-c", "exit 3"]).process_group(0).spawn().unwrap();
        let number = Pid::from_raw(leader.id().try_into().unwrap()).unwrap();
        // Until it has ended.
        waitid(WaitId::Pid(number), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        let mut groups = vec![number];
        reap_groups(&mut groups);
        assert_eq!(groups, [number]);
        assert_eq!(leader.wait().unwrap().code(), Some(3));
        reap_groups(&mut groups);
        assert_eq!(groups, []);
    }
}
