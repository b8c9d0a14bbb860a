//! A server as a child process.

use std::{io, process::Stdio};

use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{TokioChildProcess, Transport},
};
use tokio::process::{ChildStderr, Command};

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

/// Starts the process. Its standard error is returned to be read.
pub(in crate::client) fn spawn(process: &Process) -> io::Result<(ProcessTransport, Option<ChildStderr>)> {
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
    let (transport, stderr) = TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn()?;
    let group = Group::of(transport.id());
    Ok((ProcessTransport { transport, group }, stderr))
}

/// The transport of a child process, which ends together with the processes that it started.
pub(in crate::client) struct ProcessTransport {
    transport: TokioChildProcess,
    /// Dropped after the transport was closed, or with it.
    group: Group,
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

    /// Closes the standard input, and ends the process if it does not end by itself.
    async fn close(&mut self) -> Result<(), io::Error> {
        let closed = self.transport.close().await;
        self.group.kill();
        closed
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
