//! The standard error, which messages, bars and questions share.
//!
//! While a question is open, messages are held back, up to a limit, and written after the answer. Bars are cleared before
//! a question.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use indicatif::MultiProgress;

/// The limit of messages that are held back, in bytes.
const HELD: usize = 64 * 1024;

#[derive(Default)]
pub(crate) struct Stage(Mutex<State>);

#[derive(Default)]
struct State {
    bars: Option<MultiProgress>,
    is_asking: bool,
    held: String,
    /// The number of messages beyond the limit.
    left_out: usize,
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bars, which a question clears.
    pub(crate) fn bars(&self) -> MultiProgress {
        self.lock().bars.get_or_insert_with(MultiProgress::new).clone()
    }

    pub(crate) fn is_asking(&self) -> bool {
        self.lock().is_asking
    }

    /// Writes `text`, or holds it back while a question is open.
    pub(crate) fn tell(&self, text: &str) {
        let mut state = self.lock();
        match &state.bars {
            _ if state.is_asking && state.held.len() + text.len() > HELD => state.left_out += 1,
            _ if state.is_asking => state.held.push_str(text),
            Some(bars) => bars.suspend(|| write(text)),
            None => write(text),
        }
    }

    /// Runs `body`, which writes to the terminal, while no bar is drawn.
    pub(crate) fn aside<T>(&self, body: impl FnOnce() -> T) -> T {
        let state = self.lock();
        match &state.bars {
            Some(bars) if !state.is_asking => bars.suspend(body),
            _ => body(),
        }
    }

    /// Opens a question, until the returned guard is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> Open {
        let mut state = self.lock();
        state.is_asking = true;
        if let Some(bars) = &state.bars {
            let _ = bars.clear();
        }
        Open(Arc::clone(self))
    }
}

/// An open question.
#[must_use = "the question is closed when this is dropped"]
pub(crate) struct Open(Arc<Stage>);

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_asking = false;
        write(&std::mem::take(&mut state.held));
        let left_out = std::mem::take(&mut state.left_out);
        if left_out > 0 {
            write(&format!("[{left_out} more messages while the question was open]\n"));
        }
    }
}

/// Writes to the standard error. A failure is ignored.
pub(crate) fn write(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{HELD, Stage};

    #[test]
    fn messages_are_held_back_while_a_question_is_open() {
        let stage = Arc::<Stage>::default();
        let open = stage.open();
        stage.tell("a");
        stage.tell(&"b".repeat(HELD));
        stage.tell("c");
        let state = stage.lock();
        assert_eq!((state.is_asking, &*state.held, state.left_out), (true, "ac", 1));
        drop(state);
        drop(open);
        assert!(!stage.is_asking() && stage.lock().held.is_empty());
    }
}
