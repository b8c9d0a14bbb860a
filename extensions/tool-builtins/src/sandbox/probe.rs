//! The choice of the mechanisms that this machine has.

use std::{path::Path, process::Stdio, sync::Arc, time::Duration};

use tokio::{process::Command, time};

use super::{
    Confinement, Enforced,
    bubblewrap::Bubblewrap,
    command::{LimitScript, SHELL, SYSTEM_PATH, system_program},
    namespace::Namespace,
    scratch::ScratchFolder,
    thread::SandboxThread,
};

/// The time of one attempt; a mechanism that needs longer is missing.
const MAX_PROBE: Duration = Duration::from_secs(5);

/// The mechanism around the commands of one setting.
pub(super) struct Mechanism {
    pub(super) enforced: Enforced,
    /// Spawns the commands, if the restriction of a thread holds for them.
    pub(super) thread: Option<SandboxThread>,
    pub(super) namespace: Option<Namespace>,
}

impl Mechanism {
    /// Tries `bubblewrap` first, which guards most, and otherwise what the kernel offers to a thread.
    pub(super) async fn find(
        confinement: Confinement,
        private: &Arc<ScratchFolder>,
    ) -> std::io::Result<Self> {
        let mut mechanism = match Self::bubblewrap(&confinement, Arc::clone(private)).await {
            Some(mechanism) => mechanism,
            None => Self::restricted_thread(confinement.clone(), &private.own_path()).await?,
        };
        mechanism.probe_limits(&confinement).await;
        Ok(mechanism)
    }

    async fn bubblewrap(confinement: &Confinement, private: Arc<ScratchFolder>) -> Option<Self> {
        let program = confinement.bubblewrap.as_deref()?;
        let own_session = system_program("setsid")?;
        let bubblewrap = Bubblewrap::new(program, confinement, private).ok()?;
        let namespace = Namespace::of_bubblewrap(bubblewrap, own_session);
        // Versions without `--bind-fd` fail here.
        let prepared = namespace.prepare(Path::new("/")).ok()?;
        if !run_probe(&prepared.probe_words(), None).await {
            return None;
        }
        let network = if confinement.permits_network { "seccomp" } else { "bubblewrap, seccomp" };
        let enforced = Enforced {
            files: Some("bubblewrap".to_owned()),
            network: Some(network.to_owned()),
            processes: Some("bubblewrap".to_owned()),
            ..Enforced::default()
        };
        Some(Self { enforced, thread: None, namespace: Some(namespace) })
    }

    async fn restricted_thread(confinement: Confinement, private: &Path) -> std::io::Result<Self> {
        let permits_network = confinement.permits_network;
        let (thread, mut enforced) = SandboxThread::start(confinement, private).await?;
        let mut namespace = None;
        match (system_program("unshare"), system_program("setsid")) {
            (Some(program), Some(own_session)) => {
                let maps_user = enforced.files.is_none();
                let candidate = Namespace::of_unshare(&program, own_session, maps_user, permits_network);
                let prepared = candidate.prepare(Path::new("/"))?;
                let is_permitted = run_probe(&prepared.probe_words(), Some(&thread)).await;
                namespace = is_permitted.then_some(candidate);
                if namespace.is_none() {
                    enforced.missing.push(missing_processes("this machine permits no user namespace"));
                }
            }
            (program, _) => {
                let name = if program.is_none() { "unshare" } else { "setsid" };
                let reason = format!("there is no `{name}`, which the package `util-linux` has");
                enforced.missing.push(missing_processes(&reason));
            }
        }
        if namespace.is_some() {
            enforced.processes = Some("namespace".to_owned());
            if let (Some(network), false) = (&mut enforced.network, permits_network) {
                network.push_str(", namespace");
            }
        }
        Ok(Self { enforced, thread: Some(thread), namespace })
    }

    async fn probe_limits(&mut self, confinement: &Confinement) {
        let limits = LimitScript::new(&confinement.limits);
        let thread = self.thread.as_ref();
        let missing = &mut self.enforced.missing;
        if run_probe(&shell_words(&limits.check_of_each_process()), thread).await {
            self.enforced.memory = Some("ulimit, for the private memory of each process".to_owned());
            missing.push(
                "shared memory: nothing limits what processes share, nor the memory of all of them together"
                    .to_owned(),
            );
        } else {
            missing.push(format!("memory: {SHELL} does not take the limits"));
        }
        if rustix::process::geteuid().is_root() {
            missing.push("number of processes: the kernel does not limit it for root".to_owned());
        } else if self.namespace.is_none()
            || !run_probe(&shell_words(&limits.of_all_processes()), thread).await
        {
            missing.push("number of processes: there is no namespace to count them in".to_owned());
        }
    }
}

fn missing_processes(reason: &str) -> String {
    format!("processes: {reason}; the process group of a command ends with it, and not what left the group")
}

fn shell_words(script: &str) -> Vec<String> {
    vec![SHELL.to_owned(), "-c".to_owned(), script.to_owned()]
}

/// Returns `true` if the command, of the restricted thread if there is one, succeeds in time.
async fn run_probe(words: &[String], thread: Option<&SandboxThread>) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let mut probe = Command::new(program);
    probe.args(arguments).env_clear().env("PATH", SYSTEM_PATH).kill_on_drop(true);
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = match thread {
        Some(thread) => thread.spawn(probe).await,
        None => probe.spawn(),
    };
    let Ok(mut child) = child else { return false };
    time::timeout(MAX_PROBE, child.wait())
        .await
        .is_ok_and(|status| status.is_ok_and(|status| status.success()))
}
