//! The signals that end a command.

use std::io;

use tool_cli::{Exit, Failure};

/// Ctrl-C, and SIGTERM of service managers.
pub(super) struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl StopSignals {
    /// Listens to the signals from now on. Needs a `tokio` runtime.
    pub(super) fn listen() -> Result<Self, Failure> {
        Self::register()
            .map_err(|error| Failure::new(Exit::Failed, format!("signals cannot be received: {error}")))
    }

    #[cfg(unix)]
    fn register() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    #[cfg(not(unix))]
    fn register() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for a signal.
    pub(super) async fn wait(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
