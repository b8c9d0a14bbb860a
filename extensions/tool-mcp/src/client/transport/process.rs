//! A server as a child process.

use std::{
    io,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio_util::sync::{CancellationToken, DropGuard};
use tool_runtime::BoxFuture;

use super::{
    lines::LineTransport,
    reception::Reception,
    stderr::{ProcessActivity, StderrTail},
};
use crate::client::config::Process;

/// The variables that each child gets, as the official SDKs pass them on.
#[cfg(not(windows))]
const INHERITED_VARIABLES: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
#[cfg(windows)]
const INHERITED_VARIABLES: &[&str] = &[
    "APPDATA",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "USERNAME",
    "USERPROFILE",
];

/// The time that a process has to end by itself after its standard input was closed, and again after `SIGTERM`.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A process that was started.
pub(in crate::client) struct StartedProcess {
    pub(in crate::client) transport: ProcessTransport,
    pub(in crate::client) stderr: Option<ChildStderr>,
    /// Waits for the end of the process, and kills it when it is dropped.
    pub(in crate::client) watching: BoxFuture<'static, ()>,
}

/// Starts the process. `tail` takes note of its end.
pub(in crate::client) fn spawn_process(
    process: &Process,
    tail: &StderrTail,
    reception: Arc<Reception>,
) -> io::Result<StartedProcess> {
    let mut command = Command::new(&process.command);
    command.args(&process.args).kill_on_drop(true);
    if !process.inherit_env {
        command.env_clear();
        command.envs(INHERITED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    }
    command.envs(&process.env);
    if let Some(directory) = &process.cwd {
        command.current_dir(directory);
    }
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let missing = || io::Error::other("a standard stream is missing");
    let (output, input) = (child.stdout.take().ok_or_else(missing)?, child.stdin.take().ok_or_else(missing)?);
    let stderr = child.stderr.take();
    let (closed, ended) = (CancellationToken::new(), CancellationToken::new());
    let watched = WatchedProcess {
        group: ProcessGroup::of_child(child.id()),
        child,
        ended: ended.clone().drop_guard(),
    };
    let watching = Box::pin(watched.watch_end(closed.clone(), tail.clone().begin_activity()));
    let transport = LineTransport::new(output, input, reception);
    Ok(StartedProcess { transport: ProcessTransport { transport, closed, ended }, stderr, watching })
}

/// The streams of a child process.
pub(in crate::client) struct ProcessTransport {
    transport: LineTransport<ChildStdout, ChildStdin>,
    /// Cancelled when the standard input was closed.
    closed: CancellationToken,
    /// Cancelled when the process has ended.
    ended: CancellationToken,
}

impl Transport<RoleClient> for ProcessTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.transport.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.transport.receive()
    }

    /// Closes the standard input, and waits for the end of the process.
    async fn close(&mut self) -> Result<(), io::Error> {
        let closed = self.transport.close().await;
        self.closed.cancel();
        self.ended.cancelled().await;
        closed
    }
}

/// A process with the processes that it started, which end with it.
struct WatchedProcess {
    group: ProcessGroup,
    child: Child,
    ended: DropGuard,
}

impl WatchedProcess {
    /// Waits for the end of the process. When its standard input was `closed`, it is ended, if it does not end by itself.
    async fn watch_end(mut self, closed: CancellationToken, tail: ProcessActivity) {
        let ended = tokio::select! {
            ended = self.child.wait() => ended.ok(),
            () = closed.cancelled() => self.end_process().await,
        };
        self.group.kill_group_once();
        if let Some(status) = ended {
            tail.note_exit(status);
        }
        drop(self.ended);
    }

    async fn end_process(&mut self) -> Option<ExitStatus> {
        if let Ok(ended) = tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await {
            return ended.ok();
        }
        if self.group.terminate_child()
            && let Ok(ended) = tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await
        {
            return ended.ok();
        }
        self.child.kill().await.ok();
        None
    }
}

/// The process group of a child, which is killed when this is dropped.
struct ProcessGroup {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    #[cfg(unix)]
    fn of_child(child: Option<u32>) -> Self {
        let id = child.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        Self { id }
    }

    #[cfg(not(unix))]
    fn of_child(_: Option<u32>) -> Self {
        Self {}
    }

    /// Asks the child to end. Returns `false` if it cannot be asked.
    fn terminate_child(&self) -> bool {
        #[cfg(unix)]
        if let Some(id) = self.id {
            return rustix::process::kill_process(id, rustix::process::Signal::TERM).is_ok();
        }
        false
    }

    /// Kills what is left of the group. Once only: its id may be given to another group later.
    fn kill_group_once(&mut self) {
        #[cfg(unix)]
        if let Some(id) = self.id.take() {
            // The group is gone if all of its processes ended by themselves.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill_group_once();
    }
}
