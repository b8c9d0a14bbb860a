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
    stderr::{Tail, Watching},
};
use crate::client::config::Process;

/// The variables that each child gets, as the official SDKs pass them on.
#[cfg(not(windows))]
const INHERITED: &[&str] = &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
#[cfg(windows)]
const INHERITED: &[&str] = &[
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
const ENDING: Duration = Duration::from_secs(3);

/// A process that was started.
pub(in crate::client) struct Started {
    pub(in crate::client) transport: ProcessTransport,
    pub(in crate::client) stderr: Option<ChildStderr>,
    /// Waits for the end of the process, and kills it when it is dropped.
    pub(in crate::client) watching: BoxFuture<'static, ()>,
}

/// Starts the process. `tail` takes note of its end.
pub(in crate::client) fn spawn(
    process: &Process,
    tail: &Tail,
    reception: Arc<Reception>,
) -> io::Result<Started> {
    let mut command = Command::new(&process.command);
    command.args(&process.args).kill_on_drop(true);
    if !process.inherit_env {
        command.env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
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
    let watched = Watched { group: Group::of(child.id()), child, ended: ended.clone().drop_guard() };
    let watching = Box::pin(watched.watch(closed.clone(), tail.clone().watching()));
    let transport = LineTransport::new(output, input, reception);
    Ok(Started { transport: ProcessTransport { transport, closed, ended }, stderr, watching })
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
struct Watched {
    group: Group,
    child: Child,
    ended: DropGuard,
}

impl Watched {
    /// Waits for the end of the process. When its standard input was `closed`, it is ended, if it does not end by itself.
    async fn watch(mut self, closed: CancellationToken, tail: Watching) {
        let ended = tokio::select! {
            ended = self.child.wait() => ended.ok(),
            () = closed.cancelled() => self.end().await,
        };
        self.group.kill();
        if let Some(status) = ended {
            tail.ended(status);
        }
        drop(self.ended);
    }

    async fn end(&mut self) -> Option<ExitStatus> {
        if let Ok(ended) = tokio::time::timeout(ENDING, self.child.wait()).await {
            return ended.ok();
        }
        if self.group.terminate()
            && let Ok(ended) = tokio::time::timeout(ENDING, self.child.wait()).await
        {
            return ended.ok();
        }
        self.child.kill().await.ok();
        None
    }
}

/// The process group of a child, which is killed when this is dropped.
struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    fn of(child: Option<u32>) -> Self {
        let id = child.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        Self { id }
    }

    #[cfg(not(unix))]
    fn of(_: Option<u32>) -> Self {
        Self {}
    }

    /// Asks the child to end. Returns `false` if it cannot be asked.
    fn terminate(&self) -> bool {
        #[cfg(unix)]
        if let Some(id) = self.id {
            return rustix::process::kill_process(id, rustix::process::Signal::TERM).is_ok();
        }
        false
    }

    /// Kills what is left of the group. Once only: its id may be given to another group later.
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(id) = self.id.take() {
            // The group is gone if all of its processes ended by themselves.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
