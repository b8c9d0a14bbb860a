//! Lines of the standard input, for prompts and questions that can be cancelled.
//!
//! A read of the standard input cannot be cancelled. If the question that waits for a line is dropped, its read
//! continues, and the next one receives the line: at most one thread reads.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// The standard input, by lines.
#[derive(Default)]
pub(crate) struct Keyboard(Mutex<KeyboardState>);

#[derive(Default)]
struct KeyboardState {
    is_reading: bool,
    waiting: Option<oneshot::Sender<KeyboardLine>>,
    /// Lines that arrived while nothing waited for one.
    read: VecDeque<KeyboardLine>,
}

/// A line with its line break, which the last line may lack; `None` at the end of the input.
type KeyboardLine = io::Result<Option<String>>;

impl Keyboard {
    fn lock(&self) -> MutexGuard<'_, KeyboardState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next line.
    ///
    /// # Errors
    ///
    /// If the standard input cannot be read.
    pub(crate) async fn read_line(self: &Arc<Self>) -> KeyboardLine {
        let line = {
            let mut state = self.lock();
            if let Some(line) = state.read.pop_front() {
                return line;
            }
            let (sender, line) = oneshot::channel();
            state.waiting = Some(sender);
            if !std::mem::replace(&mut state.is_reading, true) {
                let keyboard = Arc::clone(self);
                // Waits for a person: it blocks no thread of the runtime.
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a read cannot be cancelled; its line is kept for the next reader"
                )]
                drop(tokio::task::spawn_blocking(move || keyboard.read_and_deliver_line()));
            }
            line
        };
        // The sender is dropped if another caller waits for the line.
        line.await.unwrap_or(Ok(None))
    }

    fn read_and_deliver_line(&self) {
        let mut text = String::new();
        let read = io::stdin().read_line(&mut text);
        let line = read.map(|bytes| (bytes > 0).then_some(text));
        let mut state = self.lock();
        state.is_reading = false;
        let left = match state.waiting.take() {
            Some(waiting) => waiting.send(line).err(),
            None => Some(line),
        };
        state.read.extend(left);
    }

    /// Drops lines and keys that were entered before.
    pub(crate) fn discard_input(&self) {
        self.lock().read.clear();
        #[cfg(unix)]
        {
            use rustix::termios::{QueueSelector, tcflush};
            // Fails if the input is not a terminal, which has no keys.
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_nothing_waits_for_is_kept_and_can_be_dropped() {
        let keyboard = Arc::<Keyboard>::default();
        keyboard.lock().read.push_back(Ok(Some("yes\n".to_owned())));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(keyboard.read_line()).unwrap().unwrap(), "yes\n");
        keyboard.lock().read.push_back(Ok(Some("yes\n".to_owned())));
        keyboard.discard_input();
        assert!(keyboard.lock().read.is_empty());
    }
}
