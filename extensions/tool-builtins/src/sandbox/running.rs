//! A command that runs.

use std::{fs::File, io, process::ExitStatus, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    time::{self, Instant},
};
use tool_runtime::CancellationToken;

#[cfg(unix)]
use super::orphans::{reap_orphans, remember_killed_group};

/// The time for output that is still in a pipe when its command has ended. Without a sandbox, a process that left the
/// group may hold the pipe open.
const MAX_DRAIN: Duration = Duration::from_millis(250);

const READ_BYTES: usize = 64 << 10;

/// Receives the output of a command.
pub(crate) trait OutputSink: Send {
    fn receive_stdout(&mut self, bytes: &[u8]);
    fn receive_stderr(&mut self, bytes: &[u8]);
    /// The moment at which text that is held is shown; `None` if there is none.
    fn next_show_time(&self) -> Option<Instant> {
        None
    }
    /// Shows the text whose moment has come.
    fn show_due_text(&mut self, now: Instant) {
        let _ = now;
    }
    /// Shows all text that is held: the command has ended.
    fn show_held_text(&mut self) {}
    /// Called at the end if a process that left the group may still write.
    fn mark_possibly_incomplete(&mut self);
}

/// Ends a command.
pub(crate) struct RunLimit {
    pub(crate) timeout: Duration,
    pub(crate) cancellation: CancellationToken,
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    /// With its exit code, or 128 and the number of the signal.
    Exited(i32),
    TimedOut,
    Cancelled,
    /// Before it began: its namespace could not be made.
    NotStarted,
}

/// A command that runs. Dropping it kills all of its processes.
pub(crate) struct RunningCommand {
    // First, so that the group is killed while its leader holds the number.
    group: ProcessGroup,
    child: Child,
    stdout: ChildStdout,
    stderr: ChildStderr,
    /// The watcher of the command waits for the end of this pipe.
    _alive: Option<ChildStdin>,
    _files: Vec<File>,
    /// Nothing outlives the first process.
    is_in_namespace: bool,
}

impl RunningCommand {
    /// With the `files` that the start of the command opens by the descriptors of this program.
    pub(super) fn new(mut child: Child, files: Vec<File>, is_in_namespace: bool) -> io::Result<Self> {
        let group = ProcessGroup::of(&child);
        let no_pipe = || io::Error::other("a standard stream of the command is missing");
        let stdout = child.stdout.take().ok_or_else(no_pipe)?;
        let stderr = child.stderr.take().ok_or_else(no_pipe)?;
        let alive = child.stdin.take();
        Ok(Self { group, child, stdout, stderr, _alive: alive, _files: files, is_in_namespace })
    }

    /// Waits for the end, and kills the command at its limit.
    pub(crate) async fn run_to_end(
        mut self,
        limit: &RunLimit,
        sink: &mut dyn OutputSink,
    ) -> io::Result<CommandEnd> {
        let mut output = OutputReader::default();
        let (command_end, was_killed) = self.wait_for_end(limit, &mut output, sink).await?;
        // A shell that was killed did not wait for the namespace.
        if matches!(command_end, CommandEnd::Exited(_)) && self.is_in_namespace && !was_killed {
            self.group.release_without_kill();
        } else {
            self.group.kill();
            self.child.wait().await?;
            self.group.reap_killed();
        }
        let drain = async {
            while !output.is_closed() {
                output.read_from_either(&mut self.stdout, &mut self.stderr, sink).await;
            }
        };
        // Output that does not end belongs to a process that left the group.
        if time::timeout(MAX_DRAIN, drain).await.is_err() {
            sink.mark_possibly_incomplete();
        }
        sink.show_held_text();
        Ok(command_end)
    }

    /// Waits for the end or a limit, and says if a signal ended the command.
    async fn wait_for_end(
        &mut self,
        limit: &RunLimit,
        output: &mut OutputReader,
        sink: &mut dyn OutputSink,
    ) -> io::Result<(CommandEnd, bool)> {
        let (timeout, pause) = (time::sleep(limit.timeout), time::sleep_until(Instant::now()));
        tokio::pin!(timeout, pause);
        loop {
            let next_show_time = sink.next_show_time();
            if let Some(moment) = next_show_time.filter(|moment| *moment != pause.deadline()) {
                pause.as_mut().reset(moment);
            }
            tokio::select! {
                status = self.child.wait() => {
                    let status = status?;
                    let command_end = match self.is_in_namespace && is_namespace_start_failure(status) {
                        true => CommandEnd::NotStarted,
                        false => CommandEnd::Exited(exit_code(status)),
                    };
                    return Ok((command_end, status.code().is_none()));
                }
                () = output.read_from_either(&mut self.stdout, &mut self.stderr, sink), if !output.is_closed() => {}
                () = &mut pause, if next_show_time.is_some() => sink.show_due_text(Instant::now()),
                () = &mut timeout => return Ok((CommandEnd::TimedOut, false)),
                () = limit.cancellation.cancelled() => return Ok((CommandEnd::Cancelled, false)),
            }
        }
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
    async fn read_from_either(
        &mut self,
        stdout: &mut ChildStdout,
        stderr: &mut ChildStderr,
        sink: &mut dyn OutputSink,
    ) {
        tokio::select! {
            length = read_or_zero(stdout, self.stdout.as_mut()), if self.stdout.is_some() => {
                match (length, &self.stdout) {
                    (1.., Some(buffer)) => sink.receive_stdout(&buffer[..length]),
                    _ => self.stdout = None,
                }
            }
            length = read_or_zero(stderr, self.stderr.as_mut()), if self.stderr.is_some() => {
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
async fn read_or_zero(pipe: &mut (impl AsyncRead + Unpin), buffer: Option<&mut Vec<u8>>) -> usize {
    match buffer {
        Some(buffer) => pipe.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

/// Returns `true` for the signal by which the shell around a namespace ends if the namespace did not start.
fn is_namespace_start_failure(status: ExitStatus) -> bool {
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
    #[cfg(unix)]
    killed: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl ProcessGroup {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw), killed: None }
    }

    fn release_without_kill(&mut self) {
        self.leader = None;
    }

    fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            // An error means that no process is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
            self.killed = Some(leader);
        }
    }

    /// Waits for what is left of a group that was killed, as far as it has ended.
    fn reap_killed(&mut self) {
        if let Some(leader) = self.killed.take() {
            remember_killed_group(leader);
            reap_orphans();
        }
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    fn of(_: &Child) -> Self {
        Self {}
    }

    fn release_without_kill(&mut self) {}

    fn kill(&mut self) {}

    fn reap_killed(&mut self) {}
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
        // The runtime still waits for the leader; later commands collect the rest.
        #[cfg(unix)]
        self.killed.into_iter().for_each(remember_killed_group);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn a_signal_is_shown_as_an_exit_code_of_128_and_its_number() {
        // The first eight bits are a signal, and the others a code.
        for (raw, code) in [(0, 0), (3 << 8, 3), (255 << 8, 255), (9, 137), (15, 143)] {
            assert_eq!(exit_code(ExitStatus::from_raw(raw)), code);
        }
    }

    #[test]
    fn a_namespace_that_did_not_start_is_known_by_its_signal() {
        let signal = rustix::process::Signal::USR1.as_raw();
        assert!(is_namespace_start_failure(ExitStatus::from_raw(signal)));
        for raw in [0, 9, signal << 8, rustix::process::Signal::USR2.as_raw()] {
            assert!(!is_namespace_start_failure(ExitStatus::from_raw(raw)), "{raw}");
        }
    }
}
