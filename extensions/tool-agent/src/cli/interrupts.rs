//! Ctrl-C: the end of a turn, or of the program.

use std::{
    io::{self, IsTerminal as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[cfg(unix)]
use tokio::signal::unix::{Signal as Presses, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC as Presses, ctrl_c};
use tokio::{sync::Notify, task::JoinHandle};
use tool_cli::Exit;

use crate::RunHandle;

/// Cancels the turn at Ctrl-C, and ends the program at a second one, as long as it exists.
pub(super) struct Interrupts {
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    turn: Mutex<Turn>,
    between: Notify,
}

#[derive(Default)]
enum Turn {
    /// Between turns.
    #[default]
    None,
    Running(RunHandle),
    Cancelled,
}

/// The effect of Ctrl-C.
#[derive(Debug, PartialEq)]
enum Pressed {
    /// Ends the turn.
    Turn,
    /// Ends the program, whose turn was cancelled and has not ended.
    Again,
    /// Ends the program, which is at the prompt.
    Between,
}

impl State {
    fn press(&self) -> Pressed {
        let mut turn = self.lock();
        match std::mem::replace(&mut *turn, Turn::Cancelled) {
            Turn::Running(handle) => {
                handle.cancel();
                Pressed::Turn
            }
            Turn::Cancelled => Pressed::Again,
            Turn::None => {
                *turn = Turn::None;
                self.between.notify_one();
                Pressed::Between
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interrupts {
    /// Starts to listen, within a runtime of several threads: a tool may block the one that polls the turn.
    pub(super) fn listen() -> Self {
        let state = Arc::<State>::default();
        let task = tokio::spawn(listen(Arc::clone(&state), presses()));
        Self { state, task }
    }

    /// Begins a turn, until the returned guard is dropped.
    pub(super) fn turn(&self, handle: RunHandle) -> Guard<'_> {
        *self.state.lock() = Turn::Running(handle);
        Guard(&self.state)
    }

    /// Waits for Ctrl-C between turns.
    pub(super) async fn between_turns(&self) {
        self.state.between.notified().await;
    }
}

/// Receives Ctrl-C from now on: one listener for all, so that none is missed between two.
fn presses() -> io::Result<Presses> {
    #[cfg(unix)]
    return signal(SignalKind::interrupt());
    #[cfg(windows)]
    return ctrl_c();
}

async fn listen(state: Arc<State>, presses: io::Result<Presses>) {
    let Ok(mut presses) = presses else { return };
    while presses.recv().await.is_some() {
        match state.press() {
            // The terminal shows `^C` without a line break.
            Pressed::Turn if io::stderr().is_terminal() => eprintln!(),
            Pressed::Turn | Pressed::Between => {}
            Pressed::Again => std::process::exit(i32::from(Exit::Cancelled.code())),
        }
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A turn that takes place.
#[must_use = "the turn ends when this is dropped"]
pub(super) struct Guard<'i>(&'i State);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        *self.0.lock() = Turn::None;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;
    use crate::{Agent, Runner, ScriptedModel};

    #[tokio::test]
    async fn the_first_interrupt_cancels_the_turn_and_the_second_ends_the_program() {
        let interrupts = Interrupts::listen();
        let runner = Runner::new(Agent::builder("a", ScriptedModel::new([])).build().unwrap());
        let run = runner.run("Hi.");
        let turn = interrupts.turn(run.handle());
        assert_eq!(interrupts.state.press(), Pressed::Turn);
        assert!(run.run().cancellation().is_cancelled());
        assert_eq!(interrupts.state.press(), Pressed::Again);
        drop(turn);
        assert_eq!(interrupts.state.press(), Pressed::Between);
        interrupts.between_turns().await;
        let _next = interrupts.turn(runner.run("Hi.").handle());
        assert_eq!(interrupts.state.press(), Pressed::Turn);
    }
}
