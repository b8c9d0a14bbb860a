//! Commands that reach named folders alone, and no network.
//!
//! The workspace has no `unsafe`, so that nothing runs between `fork` and `exec` of a command. There are two ways without it:
//!
//! - [`bubblewrap`](https://github.com/containers/bubblewrap), where it is found, runs a command in namespaces that have the
//!   named paths and nothing else, and sets the filter of system calls.
//! - Otherwise, a thread restricts itself, which holds for its children, and spawns every command:
//!   [`Landlock`](https://landlock.io) decides about files, the filter about sockets and other processes. A restriction is
//!   never lifted, so that each setting has a thread of its own, owned by its tool set. Processes are in a namespace, whose
//!   end is the end of all of them; `unshare` makes it, since only a program with one thread may. The user is not mapped in
//!   it: `/proc` would have to be writable for it. Commands therefore see an unknown user.
//!
//! In both, commands have the rights of the program's user over files, and no capability at all.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no sandbox"))]
mod command;
#[cfg(target_os = "linux")]
mod filter;
mod launcher;
#[cfg(target_os = "linux")]
mod mechanism;
mod named_path;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(unix)]
mod orphans;
#[cfg(unix)]
mod removal;
#[cfg(target_os = "linux")]
mod restriction;
mod running;
mod scratch;
#[cfg(target_os = "linux")]
mod thread;

use std::path::PathBuf;

use serde::Serialize;

#[cfg(any(feature = "code", feature = "files", feature = "web"))]
pub(crate) use self::scratch::{ScratchFolder, run_blocking};
pub(crate) use self::{
    command::{CommandLine, find_system_program},
    launcher::Launcher,
    named_path::path_without_links,
    running::{CommandEnd, OutputSink, RunLimit, RunningCommand},
};

/// The choice between a sandbox and none.
///
/// There are sandboxes on Linux alone: elsewhere `Required` refuses every command, and `Preferred` is `Off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sandbox {
    /// Commands run in a sandbox with every mechanism; if one is missing, nothing runs.
    Required,
    /// Commands run with the mechanisms that the machine has; each result names the missing ones.
    #[default]
    Preferred,
    /// Commands run with all rights of the program.
    Off,
}

/// The guards that were active while a command ran, each by its mechanism; `None` if there was none.
///
/// It is in the details of each result, as `enforced`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Enforced {
    /// The command reads and writes its folders alone, and reads and runs the programs of the system. `landlock` does not guard
    /// the attributes of other files that belong to the user: a command may change their modes and times. With `bubblewrap`,
    /// it does not see them.
    pub files: Option<String>,
    /// The command reaches no network, or no socket of other programs if the network is permitted.
    pub network: Option<String>,
    /// All processes of the command end with it, and it reaches no other process.
    pub processes: Option<String>,
    /// Each process of the command has a limit of private memory. Memory that processes share, and all files together, have none.
    pub memory: Option<String>,
    /// The guards that are missing, each with its reason; and the paths of the setting that commands do not reach.
    pub missing: Vec<String>,
}

impl Enforced {
    /// Nothing is enforced, for `reason`.
    pub(crate) fn nothing(reason: &str) -> Self {
        Self { missing: vec![reason.to_owned()], ..Self::default() }
    }

    /// The first guard that a required sandbox lacks.
    pub(crate) fn first_missing_guard(&self) -> Option<&'static str> {
        let guards = [
            (&self.files, "files"),
            (&self.network, "network"),
            (&self.processes, "processes"),
            (&self.memory, "memory"),
        ];
        guards.into_iter().find(|(mechanism, _)| mechanism.is_none()).map(|(_, guard)| guard)
    }
}

/// The setting of a sandbox: each distinct one has a thread.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no sandbox"))]
#[derive(Clone, Debug)]
pub(crate) struct Confinement {
    pub(crate) sandbox: Sandbox,
    /// Folders that commands read and write.
    pub(crate) writable: Vec<PathBuf>,
    /// Folders and files that commands read and run, beside those of the system.
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) permits_network: bool,
    pub(crate) limits: Limits,
    /// The path of `bubblewrap`; `None` for `landlock`.
    pub(crate) bubblewrap: Option<PathBuf>,
}

impl Confinement {
    /// A setting of a sandbox whose commands have a private folder alone.
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            writable: Vec::new(),
            readable: Vec::new(),
            permits_network: false,
            limits: Limits::default(),
            bubblewrap: find_system_program("bwrap"),
        }
    }
}

/// Limits of the processes of a command.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there is no sandbox"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Writable private memory of each process.
    pub(crate) memory_bytes: u64,
    /// Each file that is written.
    pub(crate) file_bytes: u64,
    pub(crate) open_files: u64,
    /// Processes of one command; the kernel does not apply it to root.
    pub(crate) processes: u64,
}

#[cfg(target_os = "linux")]
impl Limits {
    /// Root could raise the limits of the program itself.
    fn lowered_to_own_limits(self) -> Self {
        use rustix::process::{Resource, getrlimit};
        let lower =
            |limit: u64, resource| getrlimit(resource).maximum.map_or(limit, |maximum| limit.min(maximum));
        Self {
            memory_bytes: lower(self.memory_bytes, Resource::Data),
            file_bytes: lower(self.file_bytes, Resource::Fsize),
            open_files: lower(self.open_files, Resource::Nofile),
            processes: lower(self.processes, Resource::Nproc),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 4 << 30, file_bytes: 4 << 30, open_files: 1024, processes: 2000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_guard_that_is_missing_is_named() {
        let all = || Enforced {
            files: Some("a".to_owned()),
            network: Some("b".to_owned()),
            processes: Some("c".to_owned()),
            memory: Some("d".to_owned()),
            missing: vec!["a reason".to_owned()],
        };
        assert_eq!(all().first_missing_guard(), None);
        for (enforced, guard) in [
            (Enforced { files: None, ..all() }, "files"),
            (Enforced { network: None, ..all() }, "network"),
            (Enforced { processes: None, ..all() }, "processes"),
            (Enforced { memory: None, ..all() }, "memory"),
            (Enforced { memory: None, network: None, ..all() }, "network"),
            (Enforced::nothing("a reason"), "files"),
        ] {
            assert_eq!(enforced.first_missing_guard(), Some(guard));
        }
        assert_eq!(Enforced::nothing("a reason").missing, ["a reason"]);
    }

    #[test]
    fn a_new_setting_has_a_private_folder_alone_and_the_default_limits() {
        let confinement = Confinement::new(Sandbox::Required);
        assert_eq!(confinement.sandbox, Sandbox::Required);
        assert!(confinement.writable.is_empty() && confinement.readable.is_empty());
        assert!(!confinement.permits_network);
        assert_eq!(confinement.bubblewrap, find_system_program("bwrap"));
        let Limits { memory_bytes, file_bytes, open_files, processes } = confinement.limits;
        assert_eq!((memory_bytes, file_bytes, open_files, processes), (1 << 32, 1 << 32, 1024, 2000));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn limits_are_at_most_those_of_the_program() {
        use rustix::process::{Resource, getrlimit};
        let limits = Limits { memory_bytes: 1, file_bytes: 2, open_files: 3, processes: 4 };
        let lowered = limits.lowered_to_own_limits();
        assert_eq!(format!("{lowered:?}"), format!("{limits:?}"));
        let most = Limits {
            memory_bytes: u64::MAX,
            file_bytes: u64::MAX,
            open_files: u64::MAX,
            processes: u64::MAX,
        };
        let own = |resource| getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let expected = Limits {
            memory_bytes: own(Resource::Data),
            file_bytes: own(Resource::Fsize),
            open_files: own(Resource::Nofile),
            processes: own(Resource::Nproc),
        };
        assert_eq!(format!("{:?}", most.lowered_to_own_limits()), format!("{expected:?}"));
    }
}
