//! A process of a run.

use std::{
    env,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::checks::Target;

/// The role, the name, the seed and the folder of a process; the address of its broker.
pub(crate) const ROLE_VARIABLE: &str = "TOOL_FLEET_CHAOS_ROLE";
pub(crate) const BROKER_VARIABLE: &str = "TOOL_FLEET_CHAOS_BROKER";

/// The number of processes so far: numbers of the system come again within an hour.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// The number of `SIGTERM`.
const TERMINATED: i32 = 15;

/// A process, which is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    /// The name in the lines of the run.
    pub(crate) name: String,
    pub(crate) is_worker: bool,
}

impl Process {
    pub(crate) fn start(role: &str, seed: u64, folder: &Path, broker: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["processes::process_of_a_run", "--exact", "--nocapture"]);
        let name = format!("{role}{}", STARTED.fetch_add(1, Ordering::Relaxed));
        command.env(ROLE_VARIABLE, format!("{role} {name} {seed} {}", folder.display()));
        command.env(BROKER_VARIABLE, broker);
        // A stopped process of a group of its own is ended by the system once this one has ended.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        Self { child: command.spawn().unwrap(), name, is_worker: role == "worker" }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn target(&self) -> Target {
        let name = self.name.clone();
        if self.is_worker { Target::Worker(name) } else { Target::Caller(name) }
    }

    pub(crate) fn send_signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end, which is a success.
    pub(crate) fn wait_until(&mut self, deadline: Instant) {
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
                None => panic!("{:?} is not quiet in time", self.target()),
            }
        };
        // One that has just begun does not know the signal yet.
        let is_new = status.signal() == Some(TERMINATED);
        assert!(status.success() || is_new, "{:?}: {status}", self.target());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
