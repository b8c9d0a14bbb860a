//! The standard error of a child process, and its end.

use std::{
    collections::VecDeque,
    process::ExitStatus,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::watch,
};
use tool_runtime::policy::Escape;

/// The number of lines that are kept, and of characters in each.
const MAX_LINES: usize = 10;
const MAX_LINE_CHARS: usize = 500;
/// The bytes of a line that are read.
const MAX_LINE_BYTES: usize = 4 * MAX_LINE_CHARS;

/// The time that the last words of a process may take after its connection was lost.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// The last lines of a standard error, and the end of its process.
#[derive(Clone, Default)]
pub(in crate::client) struct StderrTail(Arc<StderrState>);

#[derive(Default)]
struct StderrState {
    lines: Mutex<VecDeque<String>>,
    /// The number of activities that a process has not finished: writing, and running.
    unfinished: watch::Sender<usize>,
    status: OnceLock<String>,
}

/// An activity that a process has not finished, until it is dropped.
pub(in crate::client) struct ProcessActivity(StderrTail);

impl ProcessActivity {
    /// Notes that the process has ended.
    pub(in crate::client) fn note_exit(&self, status: ExitStatus) {
        self.0.0.status.set(status.to_string()).ok();
    }
}

impl Drop for ProcessActivity {
    fn drop(&mut self) {
        self.0.0.unfinished.send_modify(|unfinished| *unfinished -= 1);
    }
}

impl StderrTail {
    /// Returns a task that reads `stderr` to its end, so that the process never waits for a reader.
    pub(in crate::client) fn drain_task(
        &self,
        server: Arc<str>,
        secrets: Vec<String>,
        stderr: impl AsyncRead + Send + Unpin + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let secrets = secret_lines(&secrets);
        let writing = self.begin_activity();
        async move { writing.0.read_lines(&server, &secrets, stderr).await }
    }

    /// Counts an activity of the process.
    pub(in crate::client) fn begin_activity(&self) -> ProcessActivity {
        self.0.unfinished.send_modify(|unfinished| *unfinished += 1);
        ProcessActivity(self.clone())
    }

    async fn read_lines(&self, server: &str, secrets: &[String], mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        let mut line = Vec::new();
        while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
            for &byte in &buffer[..read] {
                match byte {
                    b'\n' => self.keep_redacted_line(server, secrets, std::mem::take(&mut line)),
                    // A line beyond the limit is cut.
                    byte if line.len() < MAX_LINE_BYTES => line.push(byte),
                    _ => {}
                }
            }
        }
        self.keep_redacted_line(server, secrets, line);
    }

    fn keep_redacted_line(&self, server: &str, secrets: &[String], line: Vec<u8>) {
        let is_cut = line.len() == MAX_LINE_BYTES;
        let mut line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if line.is_empty() {
            return;
        }
        for secret in secrets {
            line = line.replace(secret.as_str(), "[redacted]");
        }
        if is_cut {
            secrets.iter().for_each(|secret| remove_cut_secret(&mut line, secret));
        }
        let line = Escape::LINE.at_most(MAX_LINE_CHARS).text(&line);
        tracing::debug!(target: "tool_mcp::stderr", server, "{line}");
        let mut lines = self.0.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Waits for the end of a process that closed its connection, and of what it writes.
    pub(in crate::client) async fn wait_for_process_end(&self) {
        let mut unfinished = self.0.unfinished.subscribe();
        let _ = tokio::time::timeout(LAST_OUTPUT_TIMEOUT, unfinished.wait_for(|unfinished| *unfinished == 0))
            .await;
    }

    /// The exit status of the process, if it has ended.
    pub(in crate::client) fn exit_status(&self) -> Option<&str> {
        self.0.status.get().map(String::as_str)
    }

    /// The last lines.
    pub(in crate::client) fn last_lines(&self) -> Vec<String> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The lines of secrets, longest first: one may be a part of another.
fn secret_lines(secrets: &[String]) -> Vec<String> {
    let lines = secrets.iter().flat_map(|secret| secret.lines()).map(str::trim);
    let mut lines: Vec<_> = lines.filter(|line| line.len() >= 4).map(str::to_owned).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.len()));
    lines
}

/// Removes the beginning of a secret from the end of a line that was cut.
fn remove_cut_secret(line: &mut String, secret: &str) {
    let whole = line.trim_end_matches(char::REPLACEMENT_CHARACTER);
    let begun = |length: usize| whole.strip_suffix(secret.get(..length)?);
    if let Some(remaining) = (1..secret.len()).rev().find_map(begun) {
        let remaining = remaining.len();
        line.truncate(remaining);
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn no_part_of_a_secret_is_kept() {
        let tail = StderrTail::default();
        let long = "s3cr".repeat(175);
        let secrets = secret_lines(&["abcd".to_owned(), "abcdefgh\nsecond-line".to_owned(), long.clone()]);
        for line in ["x abcdefgh", "x second-line", &long.repeat(3)[..MAX_LINE_BYTES], "plain"] {
            tail.keep_redacted_line("server", &secrets, line.as_bytes().to_vec());
        }
        // M10
        assert_eq!(tail.last_lines(), ["x [redacted]", "x [redacted]", "[redacted][redacted]", "plain"]);
    }

    #[test]
    fn the_lines_of_secrets_that_are_long_enough_are_sorted_by_their_lengths() {
        let secrets = ["abc\n abcd \r\n\nabcdef", "abcde"].map(str::to_owned);
        assert_eq!(secret_lines(&secrets), ["abcdef", "abcde", "abcd"]);
    }

    #[test]
    fn the_beginning_of_a_secret_is_removed_from_the_end_of_a_line() {
        let replacement = char::REPLACEMENT_CHARACTER;
        for (line, expected) in [
            ("x s3cr".to_owned(), "x "),
            ("x s".to_owned(), "x "),
            (format!("x s3cre{replacement}"), "x "),
            // All of it was replaced before.
            ("x s3cret".to_owned(), "x s3cret"),
            ("s3cr x".to_owned(), "s3cr x"),
            (String::new(), ""),
        ] {
            let mut cut = line.clone();
            remove_cut_secret(&mut cut, "s3cret");
            assert_eq!(cut, expected, "{line}");
        }
    }

    #[tokio::test]
    async fn the_last_lines_are_kept_without_blank_ones() {
        let tail = StderrTail::default();
        let text: String = (0..15).map(|number| format!("line {number} \r\n\n")).collect();
        tail.drain_task("s".into(), Vec::new(), io::Cursor::new(format!("{text}unfinished"))).await;
        let mut expected: Vec<_> = (6..15).map(|number| format!("line {number}")).collect();
        expected.push("unfinished".to_owned());
        assert_eq!(tail.last_lines(), expected);
    }

    #[test]
    fn a_line_is_cut_at_a_number_of_characters_and_escaped() {
        let tail = StderrTail::default();
        for line in ["x".repeat(MAX_LINE_CHARS), "y".repeat(MAX_LINE_CHARS + 1), "\u{1b}[31m".to_owned()] {
            tail.keep_redacted_line("s", &[], line.into_bytes());
        }
        let lines = tail.last_lines();
        assert_eq!(lines[0], "x".repeat(MAX_LINE_CHARS));
        assert!(
            lines[1].len() < MAX_LINE_CHARS + 40 && lines[1] != "y".repeat(MAX_LINE_CHARS + 1),
            "{}",
            lines[1]
        );
        assert!(!lines[2].contains('\u{1b}'), "{}", lines[2]);
    }

    #[tokio::test]
    async fn a_line_is_read_up_to_a_number_of_bytes() {
        let tail = StderrTail::default();
        // Each character has four bytes; the beginning of the secret takes the place of the last one.
        let whole = "\u{1f511}".repeat(MAX_LINE_CHARS);
        let cut = format!("{}s3cret\n", "\u{1f511}".repeat(MAX_LINE_CHARS - 1));
        let text = format!("{whole}\n{whole}beyond\n{cut}");
        tail.drain_task("s".into(), vec!["s3cret".to_owned()], io::Cursor::new(text)).await;
        let cut = "\u{1f511}".repeat(MAX_LINE_CHARS - 1);
        assert_eq!(tail.last_lines(), [whole.clone(), whole, cut]); // M10
    }

    #[test]
    fn a_secret_has_four_bytes_and_the_longest_is_the_first() {
        let secrets = ["abc".to_owned(), " abcd \nxy\nabcdef".to_owned(), String::new()];
        assert_eq!(secret_lines(&secrets), ["abcdef", "abcd"]);
    }

    #[test]
    fn the_beginning_of_a_secret_is_removed_from_the_end_of_a_line_that_was_cut() {
        for (line, expected) in [
            ("key s3cre", "key "),
            ("key s", "key "),
            ("key s3cret", "key s3cret"),
            ("key", "key"),
            ("s3cre key", "s3cre key"),
            ("key s3c\u{fffd}", "key "),
        ] {
            let mut cut = line.to_owned();
            remove_cut_secret(&mut cut, "s3cret");
            assert_eq!(cut, expected);
        }
        // Only what was cut may end in a part of a secret.
        let tail = StderrTail::default();
        let secrets = ["s3cret".to_owned()];
        let long = format!("{}s3c", "x".repeat(MAX_LINE_BYTES - 3));
        for line in ["key s3c", &long, &long[1..]] {
            tail.keep_redacted_line("s", &secrets, line.as_bytes().to_vec());
        }
        assert_eq!(tail.last_lines()[0], "key s3c");
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_words_are_waited_for_as_long_as_they_may_take() {
        let tail = StderrTail::default();
        tail.wait_for_process_end().await;
        let started = tokio::time::Instant::now();
        let (running, writing) = (tail.begin_activity(), tail.begin_activity());
        drop(running);
        tail.wait_for_process_end().await;
        assert_eq!(started.elapsed(), LAST_OUTPUT_TIMEOUT);
        drop(writing);
        tail.wait_for_process_end().await;
        assert_eq!(started.elapsed(), LAST_OUTPUT_TIMEOUT);
        assert_eq!(tail.exit_status(), None);
    }
}
