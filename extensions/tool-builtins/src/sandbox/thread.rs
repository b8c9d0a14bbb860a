//! The thread that spawns the commands of one setting.

use std::{io, path::Path, sync::mpsc, thread};

use tokio::{
    process::{Child, Command as TokioCommand},
    runtime::Handle,
    sync::oneshot,
};

use super::{
    Confinement,
    restriction::{ThreadGuards, restrict_calling_thread},
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

impl SandboxThread {
    /// Starts a thread and waits until it is restricted.
    pub(super) async fn start(confinement: Confinement, private: &Path) -> io::Result<(Self, ThreadGuards)> {
        let (requests, received) = mpsc::channel::<SpawnRequest>();
        let (report, reported) = oneshot::channel();
        let private = private.to_owned();
        #[allow(clippy::disallowed_methods, reason = "the thread is joined when its owner is dropped")]
        let thread = thread::Builder::new().name("tool-sandbox".to_owned()).spawn(move || {
            if report.send(restrict_calling_thread(&confinement, &private)).is_err() {
                return;
            }
            for SpawnRequest { mut command, runtime, reply } in received {
                let _entered = runtime.enter();
                // A child that no call waits for any more is dropped, and killed by that.
                let _ = reply.send(command.spawn());
            }
        })?;
        let started = Self { requests: Some(requests), thread: Some(thread) };
        let guards = reported.await.map_err(|_| io::Error::other("the thread of the sandbox ended"))?;
        Ok((started, guards))
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
