//! The choice of the mechanisms that this machine has.

use std::{path::Path, process::Stdio, sync::Arc, time::Duration};

use tokio::{
    io::{self, AsyncReadExt as _},
    process::Command,
    time,
};
use tool_runtime::policy::Escape;

use super::{
    Confinement, Enforced,
    bubblewrap::Bubblewrap,
    command::{LimitScript, SHELL, SYSTEM_PATH, find_system_program},
    namespace::CommandNamespace,
    restriction::ThreadGuards,
    scratch::ScratchFolder,
    thread::SandboxThread,
};

/// The time of one attempt; a mechanism that needs longer is missing.
const MAX_PROBE: Duration = Duration::from_secs(5);

/// The part of the messages of an attempt that failed which its reason has.
const MAX_MESSAGE_BYTES: u64 = 400;

/// The mechanism around the commands of one setting.
pub(super) struct SandboxMechanism {
    pub(super) enforced: Enforced,
    /// Spawns the commands, if the restriction of a thread holds for them.
    pub(super) thread: Option<SandboxThread>,
    pub(super) namespace: Option<CommandNamespace>,
}

impl SandboxMechanism {
    /// Tries `bubblewrap` first, which guards most, and otherwise what the kernel offers to a thread.
    pub(super) async fn choose(
        confinement: Confinement,
        private: &Arc<ScratchFolder>,
    ) -> std::io::Result<Self> {
        let failure = match confinement.bubblewrap.as_deref() {
            Some(program) => match Self::try_bubblewrap(program, &confinement, Arc::clone(private)).await {
                Ok(mut mechanism) => {
                    mechanism.probe_and_record_limits(&confinement).await;
                    return Ok(mechanism);
                }
                Err(reason) => Some(reason),
            },
            None => None,
        };
        let mut mechanism =
            Self::start_restricted_thread(confinement.clone(), &private.path_for_this_process()).await?;
        mechanism.probe_and_record_limits(&confinement).await;
        if let Some(reason) = failure {
            mechanism.enforced.missing.push(format!(
                "bubblewrap: {reason}; what the kernel offers to a thread takes its place, and does not hide other files nor \
                 guard their attributes"
            ));
        }
        Ok(mechanism)
    }

    /// # Errors
    ///
    /// Returns the reason if it cannot run here.
    async fn try_bubblewrap(
        program: &Path,
        confinement: &Confinement,
        private: Arc<ScratchFolder>,
    ) -> Result<Self, String> {
        let own_session = find_system_program("setsid").ok_or_else(|| missing_program_text("setsid"))?;
        let bubblewrap = Bubblewrap::new(program, confinement, private).map_err(|error| error.to_string())?;
        let namespace = CommandNamespace::of_bubblewrap(bubblewrap, own_session);
        let prepared = namespace.prepare_for_command(Path::new("/")).map_err(|error| error.to_string())?;
        // Versions without `--bind-fd` fail here.
        run_probe(&prepared.probe_words(), None).await?;
        let network = if confinement.permits_network { "seccomp" } else { "bubblewrap, seccomp" };
        let enforced = Enforced {
            files: Some("bubblewrap".to_owned()),
            network: Some(network.to_owned()),
            processes: Some("bubblewrap".to_owned()),
            ..Enforced::default()
        };
        Ok(Self { enforced, thread: None, namespace: Some(namespace) })
    }

    async fn start_restricted_thread(confinement: Confinement, private: &Path) -> std::io::Result<Self> {
        let permits_network = confinement.permits_network;
        let (thread, ThreadGuards { mut enforced, guards_signals }) =
            SandboxThread::start(confinement, private).await?;
        let mut namespace = None;
        let failure = match (find_system_program("unshare"), find_system_program("setsid")) {
            (Some(program), Some(own_session)) => {
                let maps_user = enforced.files.is_none();
                let candidate =
                    CommandNamespace::of_unshare(&program, own_session, maps_user, permits_network);
                let prepared = candidate.prepare_for_command(Path::new("/"))?;
                let probed = run_probe(&prepared.probe_words(), Some(&thread)).await;
                namespace = probed.is_ok().then_some(candidate);
                probed.err().map(|reason| format!("this machine permits no user namespace: {reason}"))
            }
            (None, _) => Some(missing_program_text("unshare")),
            (_, None) => Some(missing_program_text("setsid")),
        };
        if let Some(reason) = failure {
            enforced.missing.push(missing_process_guard_text(&reason, guards_signals));
        } else {
            enforced.processes = Some("namespace".to_owned());
            if let (Some(network), false) = (&mut enforced.network, permits_network) {
                network.push_str(", namespace");
            }
        }
        Ok(Self { enforced, thread: Some(thread), namespace })
    }

    async fn probe_and_record_limits(&mut self, confinement: &Confinement) {
        let limits = LimitScript::new(&confinement.limits);
        let thread = self.thread.as_ref();
        let missing = &mut self.enforced.missing;
        match run_probe(&shell_command_words(&limits.set_and_check_process_limits()), thread).await {
            Ok(()) => {
                self.enforced.memory = Some("ulimit, for the private memory of each process".to_owned());
                missing.push(
                    "shared memory: nothing limits what processes share, nor the memory of all of them together"
                        .to_owned(),
                );
            }
            Err(reason) => missing.push(format!("memory: {SHELL} does not take the limits: {reason}")),
        }
        let gap = if rustix::process::geteuid().is_root() {
            Some("the kernel does not limit it for root".to_owned())
        } else if self.namespace.is_none() {
            Some("there is no namespace to count them in".to_owned())
        } else {
            let probed = run_probe(&shell_command_words(&limits.set_process_count_limit()), thread).await;
            probed.err().map(|reason| format!("{SHELL} does not take the limit: {reason}"))
        };
        missing.extend(gap.map(|reason| format!("number of processes: {reason}")));
    }
}

fn missing_program_text(name: &str) -> String {
    format!("there is no `{name}`, which the package `util-linux` has")
}

fn missing_process_guard_text(reason: &str, guards_signals: bool) -> String {
    let signals =
        if guards_signals { "" } else { ", and it may send signals to other processes of the user" };
    format!(
        "processes: {reason}; the process group of a command ends with it, and not what left the group{signals}"
    )
}

fn shell_command_words(script: &str) -> Vec<String> {
    vec![SHELL.to_owned(), "-c".to_owned(), script.to_owned()]
}

/// Runs the command, of the restricted thread if there is one.
///
/// # Errors
///
/// Returns the reason if it does not succeed in time.
async fn run_probe(words: &[String], thread: Option<&SandboxThread>) -> Result<(), String> {
    let [program, arguments @ ..] = words else { return Err("there is no command".to_owned()) };
    let mut probe = Command::new(program);
    probe.args(arguments).env_clear().env("PATH", SYSTEM_PATH).kill_on_drop(true);
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = match thread {
        Some(thread) => thread.spawn(probe).await,
        None => probe.spawn(),
    };
    let mut child = child.map_err(|error| format!("it cannot be started: {error}"))?;
    let messages = child.stderr.take();
    let end = async {
        let mut text = Vec::new();
        if let Some(mut messages) = messages {
            // What cannot be read is no reason.
            let _ = (&mut messages).take(MAX_MESSAGE_BYTES).read_to_end(&mut text).await;
            let _ = io::copy(&mut messages, &mut io::sink()).await;
        }
        (child.wait().await, text)
    };
    match time::timeout(MAX_PROBE, end).await {
        Err(_) => Err(format!("it did not end within {} s", MAX_PROBE.as_secs())),
        Ok((Err(error), _)) => Err(format!("its end cannot be seen: {error}")),
        Ok((Ok(status), _)) if status.success() => Ok(()),
        Ok((Ok(status), text)) => {
            let text = Escape::LINE.text(String::from_utf8_lossy(&text).trim());
            Err(if text.is_empty() { status.to_string() } else { text })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_nothing_guards_are_named() {
        for guards_signals in [true, false] {
            let gap = missing_process_guard_text("there is none", guards_signals);
            assert!(gap.starts_with("processes: there is none; "), "{gap}");
            assert_eq!(gap.contains("signals to other processes"), !guards_signals, "{gap}");
        }
    }

    async fn probe(script: &str) -> Result<(), String> {
        run_probe(&shell_command_words(script), None).await
    }

    #[tokio::test]
    async fn an_attempt_that_fails_says_why() {
        assert_eq!(probe(":").await, Ok(()));
        assert_eq!(probe("echo hidden; exit 3").await, Err("exit status: 3".to_owned()));
        assert_eq!(probe("printf ' one\\ntwo \\n' >&2; exit 1").await, Err("one\\ntwo".to_owned()));
        assert_eq!(probe("echo warning >&2").await, Ok(()));
        let long = format!("printf {} >&2; exit 1", "a".repeat(500));
        assert_eq!(probe(&long).await, Err("a".repeat(400)));
        assert_eq!(run_probe(&[], None).await, Err("there is no command".to_owned()));
        let missing = run_probe(&["/no/such/program".to_owned()], None).await;
        assert!(missing.is_err_and(|reason| reason.starts_with("it cannot be started: ")));
        let environment = format!("[ \"$PATH\" = {SYSTEM_PATH} ] && [ -z \"$HOME\" ] && ! read -r _");
        assert_eq!(probe(&environment).await, Ok(()));
        assert_eq!(
            missing_program_text("setsid"),
            "there is no `setsid`, which the package `util-linux` has"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_has_five_seconds() {
        let start = time::Instant::now();
        assert_eq!(probe("exec sleep 1000").await, Err("it did not end within 5 s".to_owned()));
        assert_eq!(start.elapsed().as_secs(), 5);
    }
}
