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
const MAX_HELD_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub(crate) struct SharedStderr(Mutex<StderrState>);

#[derive(Default)]
struct StderrState {
    bars: Option<MultiProgress>,
    is_asking: bool,
    held: String,
    /// The number of messages beyond the limit.
    left_out: usize,
}

impl SharedStderr {
    fn lock(&self) -> MutexGuard<'_, StderrState> {
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
    pub(crate) fn write_or_hold_back(&self, text: &str) {
        let mut state = self.lock();
        match &state.bars {
            _ if state.is_asking && state.held.len() + text.len() > MAX_HELD_BYTES => state.left_out += 1,
            _ if state.is_asking => state.held.push_str(text),
            Some(bars) => bars.suspend(|| write_stderr(text)),
            None => write_stderr(text),
        }
    }

    /// Runs `body`, which writes to the terminal, while no bar is drawn.
    pub(crate) fn without_bars<T>(&self, body: impl FnOnce() -> T) -> T {
        let state = self.lock();
        match &state.bars {
            Some(bars) if !state.is_asking => bars.suspend(body),
            _ => body(),
        }
    }

    /// Opens a question, until the returned guard is dropped.
    pub(crate) fn open_question(self: &Arc<Self>) -> OpenQuestion {
        let mut state = self.lock();
        state.is_asking = true;
        if let Some(bars) = &state.bars {
            let _ = bars.clear();
        }
        OpenQuestion(Arc::clone(self))
    }
}

/// An open question.
#[must_use = "the question is closed when this is dropped"]
pub(crate) struct OpenQuestion(Arc<SharedStderr>);

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_asking = false;
        write_stderr(&std::mem::take(&mut state.held));
        let left_out = std::mem::take(&mut state.left_out);
        if left_out > 0 {
            write_stderr(&format!("[{left_out} more messages while the question was open]\n"));
        }
    }
}

/// Writes to the standard error. A failure is ignored.
pub(crate) fn write_stderr(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{MAX_HELD_BYTES, SharedStderr};

    #[test]
    fn messages_are_held_back_while_a_question_is_open() {
        let stderr = Arc::<SharedStderr>::default();
        let open = stderr.open_question();
        stderr.write_or_hold_back("a");
        stderr.write_or_hold_back(&"b".repeat(MAX_HELD_BYTES));
        stderr.write_or_hold_back("c");
        let state = stderr.lock();
        assert_eq!((state.is_asking, &*state.held, state.left_out), (true, "ac", 1));
        drop(state);
        drop(open);
        assert!(!stderr.is_asking() && stderr.lock().held.is_empty());
    }

    #[test]
    fn messages_are_held_back_up_to_the_limit() {
        let stderr = Arc::<SharedStderr>::default();
        let open = stderr.open_question();
        stderr.write_or_hold_back(&"a".repeat(MAX_HELD_BYTES - 1));
        stderr.write_or_hold_back("b");
        stderr.write_or_hold_back("c");
        stderr.write_or_hold_back("d");
        let mut state = stderr.lock();
        assert_eq!((state.held.len(), state.left_out), (MAX_HELD_BYTES, 2));
        assert!(state.held.ends_with('b'));
        state.held.clear();
        drop(state);
        drop(open);
        assert_eq!(stderr.lock().left_out, 0);
    }
}
