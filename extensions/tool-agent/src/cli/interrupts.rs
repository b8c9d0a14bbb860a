//! Ctrl-C: the end of a turn, or of the program.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

#[cfg(unix)]
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC as Signals, ctrl_c};
use tokio::{sync::Notify, task::JoinHandle};
use tool_cli::Exit;

use crate::RunHandle;

/// Cancels the turn at Ctrl-C, and ends the program at a second one, as long as it exists.
pub(super) struct Interrupts {
    state: Arc<InterruptState>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct InterruptState {
    turn: Mutex<TurnState>,
    between: Notify,
}

#[derive(Default)]
enum TurnState {
    /// Between turns.
    #[default]
    None,
    Running(RunHandle),
    Cancelled,
}

/// The effect of Ctrl-C.
#[derive(Debug, PartialEq)]
enum InterruptEffect {
    /// Ends the turn.
    CancelsTurn,
    /// Ends the program, whose turn was cancelled and has not ended.
    EndsProgram,
    /// Ends the program, which is at the prompt.
    EndsPrompt,
}

impl InterruptState {
    /// Handles Ctrl-C. `end_line` is called before a turn is cancelled: the events of the cancelled run are shown after it.
    fn handle_interrupt(&self, end_line: impl FnOnce()) -> InterruptEffect {
        let mut turn = self.lock();
        match std::mem::replace(&mut *turn, TurnState::Cancelled) {
            TurnState::Running(handle) => {
                end_line();
                handle.cancel();
                InterruptEffect::CancelsTurn
            }
            TurnState::Cancelled => InterruptEffect::EndsProgram,
            TurnState::None => {
                *turn = TurnState::None;
                self.between.notify_one();
                InterruptEffect::EndsPrompt
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interrupts {
    /// Starts to listen, within a runtime of several threads: a tool may block the one that polls the turn.
    pub(super) fn listen() -> Self {
        let state = Arc::<InterruptState>::default();
        #[expect(clippy::disallowed_methods, reason = "aborted on drop")]
        let task = tokio::spawn(handle_signals(Arc::clone(&state), interrupt_signals()));
        Self { state, task }
    }

    /// Begins a turn, until the returned guard is dropped.
    pub(super) fn begin_turn(&self, handle: RunHandle) -> TurnGuard<'_> {
        *self.state.lock() = TurnState::Running(handle);
        TurnGuard(&self.state)
    }

    /// Waits for Ctrl-C between turns.
    pub(super) async fn wait_between_turns(&self) {
        self.state.between.notified().await;
    }
}

/// Receives Ctrl-C from now on: one listener for all, so that none is missed between two.
fn interrupt_signals() -> io::Result<Signals> {
    #[cfg(unix)]
    return signal(SignalKind::interrupt());
    #[cfg(windows)]
    return ctrl_c();
}

async fn handle_signals(state: Arc<InterruptState>, signals: io::Result<Signals>) {
    let Ok(mut signals) = signals else { return };
    while signals.recv().await.is_some() {
        match state.handle_interrupt(end_interrupted_line) {
            InterruptEffect::CancelsTurn | InterruptEffect::EndsPrompt => {}
            InterruptEffect::EndsProgram => std::process::exit(i32::from(Exit::Cancelled.code())),
        }
    }
}

/// Ends the line of `^C`, which a terminal shows without a line break.
fn end_interrupted_line() {
    if io::stderr().is_terminal() {
        drop(writeln!(io::stderr()));
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A turn that takes place.
#[must_use = "the turn ends when this is dropped"]
pub(super) struct TurnGuard<'i>(&'i InterruptState);

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *self.0.lock() = TurnState::None;
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
        let turn = interrupts.begin_turn(run.handle());
        let end_line = || assert!(!run.run().cancellation().is_cancelled());
        assert_eq!(interrupts.state.handle_interrupt(end_line), InterruptEffect::CancelsTurn);
        assert!(run.run().cancellation().is_cancelled());
        assert_eq!(interrupts.state.handle_interrupt(|| {}), InterruptEffect::EndsProgram);
        drop(turn);
        assert_eq!(interrupts.state.handle_interrupt(|| {}), InterruptEffect::EndsPrompt);
        interrupts.wait_between_turns().await;
        let _next = interrupts.begin_turn(runner.run("Hi.").handle());
        assert_eq!(interrupts.state.handle_interrupt(|| {}), InterruptEffect::CancelsTurn);
    }

    #[tokio::test]
    async fn an_interrupt_at_the_prompt_leaves_the_next_turn_alone() {
        let interrupts = Interrupts::listen();
        for _ in 0..2 {
            assert_eq!(interrupts.state.handle_interrupt(|| {}), InterruptEffect::EndsPrompt);
        }
        let task = interrupts.task.abort_handle();
        drop(interrupts);
        while !task.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}
