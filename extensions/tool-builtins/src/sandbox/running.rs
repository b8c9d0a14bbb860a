//! A command that runs.

use std::{io, process::ExitStatus, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    time,
};
use tool_runtime::CancellationToken;

/// The time for output that is still in a pipe when its command has ended. Without a sandbox, a process that left the
/// group may hold the pipe open.
const MAX_DRAIN: Duration = Duration::from_millis(250);

const READ_BYTES: usize = 64 << 10;

/// Receives the output of a command.
pub(crate) trait OutputSink: Send {
    fn receive_stdout(&mut self, bytes: &[u8]);
    fn receive_stderr(&mut self, bytes: &[u8]);
    /// Called at the end if a process that left the group may still write.
    fn mark_cut(&mut self);
}

/// Ends a command.
pub(crate) struct RunLimit {
    pub(crate) timeout: Duration,
    pub(crate) cancellation: CancellationToken,
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With its exit code, or 128 and the number of the signal.
    Exited(i32),
    TimedOut,
    Cancelled,
    /// Before it began: its namespace could not be made.
    NotStarted,
}

/// A command that runs. Dropping it kills all of its processes.
pub(crate) struct Running {
    // First, so that the group is killed while its leader holds the number.
    group: ProcessGroup,
    child: Child,
    stdout: ChildStdout,
    stderr: ChildStderr,
    /// The watcher of the command waits for the end of this pipe.
    _alive: ChildStdin,
    /// Nothing outlives the first process.
    is_in_namespace: bool,
}

impl Running {
    pub(super) fn new(mut child: Child, is_in_namespace: bool) -> io::Result<Self> {
        let group = ProcessGroup::of(&child);
        let no_pipe = || io::Error::other("a standard stream of the command is missing");
        let stdout = child.stdout.take().ok_or_else(no_pipe)?;
        let stderr = child.stderr.take().ok_or_else(no_pipe)?;
        let alive = child.stdin.take().ok_or_else(no_pipe)?;
        Ok(Self { group, child, stdout, stderr, _alive: alive, is_in_namespace })
    }

    /// Waits for the end, and kills the command at its limit.
    pub(crate) async fn run_to_end(
        mut self,
        limit: &RunLimit,
        sink: &mut dyn OutputSink,
    ) -> io::Result<Ending> {
        let mut output = OutputReader::default();
        let timeout = time::sleep(limit.timeout);
        tokio::pin!(timeout);
        let mut was_killed = false;
        let ending = loop {
            tokio::select! {
                status = self.child.wait() => {
                    let status = status?;
                    was_killed = status.code().is_none();
                    break match self.is_in_namespace && is_start_failure(status) {
                        true => Ending::NotStarted,
                        false => Ending::Exited(exit_code(status)),
                    };
                }
                () = output.read(&mut self.stdout, &mut self.stderr, sink), if !output.is_closed() => {}
                () = &mut timeout => break Ending::TimedOut,
                () = limit.cancellation.cancelled() => break Ending::Cancelled,
            }
        };
        // A shell that was killed did not wait for the namespace.
        if matches!(ending, Ending::Exited(_)) && self.is_in_namespace && !was_killed {
            self.group.forget();
        } else {
            self.group.kill();
            self.child.wait().await?;
        }
        let drain = async {
            while !output.is_closed() {
                output.read(&mut self.stdout, &mut self.stderr, sink).await;
            }
        };
        // Output that does not end belongs to a process that left the group.
        if time::timeout(MAX_DRAIN, drain).await.is_err() {
            sink.mark_cut();
        }
        Ok(ending)
    }
}

/// Reads two pipes until both are closed.
struct OutputReader {
    stdout: Option<Vec<u8>>,
    stderr: Option<Vec<u8>>,
}

impl Default for OutputReader {
    fn default() -> Self {
        Self { stdout: Some(vec![0; READ_BYTES]), stderr: Some(vec![0; READ_BYTES]) }
    }
}

impl OutputReader {
    fn is_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Reads a part of either. Nothing is lost if the future is dropped.
    async fn read(&mut self, stdout: &mut ChildStdout, stderr: &mut ChildStderr, sink: &mut dyn OutputSink) {
        tokio::select! {
            length = read_part(stdout, self.stdout.as_mut()), if self.stdout.is_some() => {
                match (length, &self.stdout) {
                    (1.., Some(buffer)) => sink.receive_stdout(&buffer[..length]),
                    _ => self.stdout = None,
                }
            }
            length = read_part(stderr, self.stderr.as_mut()), if self.stderr.is_some() => {
                match (length, &self.stderr) {
                    (1.., Some(buffer)) => sink.receive_stderr(&buffer[..length]),
                    _ => self.stderr = None,
                }
            }
            else => {}
        }
    }
}

/// The number of bytes; 0 at the end, and after an error.
async fn read_part(pipe: &mut (impl AsyncRead + Unpin), buffer: Option<&mut Vec<u8>>) -> usize {
    match buffer {
        Some(buffer) => pipe.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

/// Returns `true` for the signal by which the shell around a namespace ends if the namespace did not start.
fn is_start_failure(status: ExitStatus) -> bool {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status)
        == Some(rustix::process::Signal::USR1.as_raw());
    #[cfg(not(unix))]
    return {
        let _ = status;
        false
    };
}

fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(-1)
}

/// The process group of a command; killed when dropped.
struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl ProcessGroup {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    fn forget(&mut self) {
        self.leader = None;
    }

    fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            // An error means that no process is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    fn of(_: &Child) -> Self {
        Self {}
    }

    fn forget(&mut self) {}

    fn kill(&mut self) {}
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
