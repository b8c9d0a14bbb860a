//! The thread that spawns the commands of one setting.

use std::{
    io,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

use tokio::{
    process::{Child, Command as TokioCommand},
    runtime::Handle,
    sync::oneshot,
};

use super::{
    Confinement, Enforced,
    command::{LimitScript, Namespace, SHELL, SYSTEM_PATH, system_program},
    restriction::restrict_thread,
};

/// A thread that has restricted itself. It ends when this value is dropped.
pub(super) struct SandboxThread {
    requests: Option<mpsc::Sender<SpawnRequest>>,
    thread: Option<thread::JoinHandle<()>>,
}

struct SpawnRequest {
    command: TokioCommand,
    /// The runtime whose call waits for the command.
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// The guards of a thread, and the namespace in which its commands run.
pub(super) struct ThreadReport {
    pub(super) enforced: Enforced,
    pub(super) namespace: Option<Namespace>,
}

impl SandboxThread {
    /// Starts a thread and waits until it is restricted.
    pub(super) async fn start(confinement: Confinement, private: &Path) -> io::Result<(Self, ThreadReport)> {
        let (requests, received) = mpsc::channel::<SpawnRequest>();
        let (report, reported) = oneshot::channel();
        let private = private.to_owned();
        #[allow(clippy::disallowed_methods, reason = "the thread is joined when its owner is dropped")]
        let thread = thread::Builder::new().name("tool-sandbox".to_owned()).spawn(move || {
            if report.send(restrict_and_probe(&confinement, &private)).is_err() {
                return;
            }
            for SpawnRequest { mut command, runtime, reply } in received {
                let _entered = runtime.enter();
                // A child that no call waits for any more is dropped, and killed by that.
                let _ = reply.send(command.spawn());
            }
        })?;
        let started = Self { requests: Some(requests), thread: Some(thread) };
        let report = reported.await.map_err(|_| io::Error::other("the thread of the sandbox ended"))?;
        Ok((started, report))
    }

    /// Spawns a command from the thread.
    pub(super) async fn spawn(&self, command: TokioCommand) -> io::Result<Child> {
        let ended = || io::Error::other("the thread of the sandbox ended");
        let (reply, replied) = oneshot::channel();
        let request = SpawnRequest { command, runtime: Handle::current(), reply };
        let requests = self.requests.as_ref().ok_or_else(ended)?;
        requests.send(request).map_err(|_| ended())?;
        replied.await.map_err(|_| ended())?
    }
}

impl Drop for SandboxThread {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // It has no panic to report: a request is a spawn.
            let _ = thread.join();
        }
    }
}

/// Restricts the calling thread, and tries the rest in a child of it.
fn restrict_and_probe(confinement: &Confinement, private: &Path) -> ThreadReport {
    let mut enforced = Enforced::default();
    restrict_thread(confinement, private, &mut enforced);
    let namespace = system_program("unshare").and_then(|program| {
        let maps_user = enforced.files.is_none();
        let candidate = Namespace { program, maps_user, has_network: confinement.permits_network };
        let mut probe = candidate.words();
        probe.extend(shell_words(":"));
        run_probe(&probe).then_some(candidate)
    });
    match &namespace {
        Some(_) => {
            enforced.processes = Some("namespace".to_owned());
            if let (Some(network), false) = (&mut enforced.network, confinement.permits_network) {
                network.push_str(", namespace");
            }
        }
        None => enforced.missing.push(
            "processes: this machine permits no user namespace; the process group of a command ends with it, and \
             not what left the group"
                .to_owned(),
        ),
    }
    probe_limits(confinement, namespace.is_some(), &mut enforced);
    ThreadReport { enforced, namespace }
}

fn probe_limits(confinement: &Confinement, has_namespace: bool, enforced: &mut Enforced) {
    let limits = LimitScript::new(&confinement.limits);
    if run_probe(&shell_words(&limits.check_of_each_process())) {
        enforced.memory = Some("ulimit, for the private memory of each process".to_owned());
    } else {
        enforced.missing.push(format!("memory: {SHELL} does not take the limits"));
    }
    if rustix::process::geteuid().is_root() {
        enforced.missing.push("number of processes: the kernel does not limit it for root".to_owned());
    } else if !has_namespace || !run_probe(&shell_words(&limits.of_all_processes())) {
        enforced.missing.push("number of processes: there is no namespace to count them in".to_owned());
    }
}

fn shell_words(script: &str) -> Vec<String> {
    vec![SHELL.to_owned(), "-c".to_owned(), script.to_owned()]
}

/// Returns `true` if the command succeeds.
fn run_probe(line: &[String]) -> bool {
    let [program, arguments @ ..] = line else { return false };
    let mut probe = Command::new(program);
    probe.args(arguments).env_clear().env("PATH", SYSTEM_PATH);
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
