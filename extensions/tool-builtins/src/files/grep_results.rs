//! The results of a search, in the order of the walk.
//!
//! A file that many results come from waits for its turn, and then hands them on as they come: the memory of a search
//! depends neither on the number of its results nor on their offset.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io, mem,
    path::Path,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};

use super::{
    grep::{GrepMode, GrepQuery},
    root::FileRoot,
};

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 500;

/// Bytes of the results of a file that waits for its turn.
const MAX_WAITING_BYTES: usize = 32 * 1024;

/// Files that may be searched before the first one of them is finished.
const MAX_WAITING_FILES: u64 = 128;

/// The length of the lines after which no other match is shown.
const MAX_RESULT_BYTES: usize = 256 << 10;

/// A line of the results.
struct ResultLine {
    text: String,
    kind: LineKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// Counts for limit and offset.
    Match,
    /// A line before a match, which is shown with it.
    Before,
    /// A line after a match, which is shown with it.
    After,
}

/// The results that are merged, and those of files that wait for an earlier one.
#[derive(Default)]
struct MergedResults {
    text: String,
    /// Matches that are merged, also those before the offset.
    found: u64,
    skipped: u64,
    /// The serial of the file whose turn it is.
    turn: u64,
    waiting: BTreeMap<u64, (Vec<ResultLine>, bool)>,
}

pub(super) struct GrepResults {
    merged: Mutex<MergedResults>,
    turn_changed: Condvar,
    /// More matches than the limit are found.
    is_full: AtomicBool,
    offset: u64,
    end: u64,
}

impl GrepResults {
    pub(super) fn new(offset: u64, limit: u64) -> Self {
        Self {
            merged: Mutex::default(),
            turn_changed: Condvar::new(),
            is_full: AtomicBool::new(false),
            offset,
            end: offset.saturating_add(limit),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Waits until at most `max_files_before` files before the file are unfinished; `false` if nothing more is needed.
    fn wait_for_turn(&self, serial: u64, max_files_before: u64) -> bool {
        let merged = lock_ignoring_poison(&self.merged);
        let must_wait =
            |merged: &mut MergedResults| merged.turn + max_files_before < serial && !self.is_full();
        drop(self.turn_changed.wait_while(merged, must_wait).unwrap_or_else(PoisonError::into_inner));
        !self.is_full()
    }

    /// Merges lines of the file whose turn it is.
    fn lock_and_merge_lines(&self, lines: Vec<ResultLine>) {
        self.merge_into(&mut lock_ignoring_poison(&self.merged), lines);
    }

    fn merge_into(&self, merged: &mut MergedResults, lines: Vec<ResultLine>) {
        for ResultLine { text, kind } in lines {
            if self.is_full() {
                return;
            }
            let is_shown = match kind {
                LineKind::Match if merged.found == self.end || merged.text.len() >= MAX_RESULT_BYTES => {
                    self.is_full.store(true, Ordering::Relaxed);
                    false
                }
                LineKind::Match => {
                    merged.found += 1;
                    merged.found > self.offset
                }
                LineKind::Before => merged.found >= self.offset && merged.found < self.end,
                LineKind::After => merged.found > self.offset,
            };
            if is_shown {
                merged.text.push_str(&text);
            }
        }
    }

    fn finish_file(&self, serial: u64, lines: Vec<ResultLine>, is_skipped: bool) {
        let mut merged = lock_ignoring_poison(&self.merged);
        merged.waiting.insert(serial, (lines, is_skipped));
        while let Some((lines, is_skipped)) = {
            let turn = merged.turn;
            merged.waiting.remove(&turn)
        } {
            merged.skipped += u64::from(is_skipped);
            merged.turn += 1;
            self.merge_into(&mut merged, lines);
        }
        self.turn_changed.notify_all();
    }

    pub(super) fn into_report(self, query: &GrepQuery, skipped_folders: u64) -> String {
        let is_full = self.is_full();
        let merged = self.merged.into_inner().unwrap_or_else(PoisonError::into_inner);
        let MergedResults { mut text, found, skipped, .. } = merged;
        let noun = if query.mode == GrepMode::Content { "line" } else { "file" };
        if text.is_empty() {
            text = match found {
                0 => format!("no {noun} matches\n"),
                _ => format!("no more {noun}s match; all {found} are before `offset` {}\n", query.offset),
            };
        }
        if is_full {
            let _ = writeln!(text, "[more {noun}s match; continue with `offset` {found}]");
        }
        let skipped = skipped + skipped_folders;
        if skipped > 0 {
            let _ = writeln!(text, "[{skipped} files or folders could not be searched to their end]");
        }
        text
    }
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Receives the lines of one file. Its end, also by a panic, gives the turn to the next one.
pub(super) struct FileLines<'a> {
    results: &'a GrepResults,
    query: &'a GrepQuery,
    serial: u64,
    root: &'a FileRoot,
    path: &'a Path,
    lines: Vec<ResultLine>,
    waiting_bytes: usize,
    match_count: u64,
    is_skipped: bool,
}

impl<'a> FileLines<'a> {
    pub(super) fn new(
        results: &'a GrepResults,
        query: &'a GrepQuery,
        serial: u64,
        root: &'a FileRoot,
        path: &'a Path,
    ) -> Self {
        Self {
            results,
            query,
            serial,
            root,
            path,
            lines: Vec::new(),
            waiting_bytes: 0,
            match_count: 0,
            is_skipped: false,
        }
    }

    pub(super) fn mark_skipped(&mut self) {
        self.is_skipped = true;
    }

    /// Waits until not too many files wait; `false` if nothing more is needed.
    pub(super) fn wait_until_few_files_wait(&self) -> bool {
        self.results.wait_for_turn(self.serial, MAX_WAITING_FILES)
    }

    /// Adds a line, and returns `true` if more are needed.
    fn push_shown_line(&mut self, kind: LineKind, number: Option<u64>, bytes: &[u8]) -> bool {
        let sign = if kind == LineKind::Match { ':' } else { '-' };
        let mut text = self.root.shown_path(self.path);
        match number {
            Some(number) => {
                let _ = write!(text, "{sign}{number}{sign} ");
            }
            None => {
                let _ = write!(text, "{sign} ");
            }
        }
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\r', '\n']);
        text.extend(line.chars().take(MAX_LINE_CHARS));
        let rest = line.chars().count().saturating_sub(MAX_LINE_CHARS);
        if rest > 0 {
            let _ = write!(text, " [{rest} more characters]");
        }
        text.push('\n');
        self.push_and_merge_on_turn(ResultLine { text, kind })
    }

    fn push_and_merge_on_turn(&mut self, line: ResultLine) -> bool {
        self.waiting_bytes += line.text.len() + size_of::<ResultLine>();
        self.lines.push(line);
        if self.waiting_bytes < MAX_WAITING_BYTES {
            return !self.results.is_full();
        }
        self.waiting_bytes = 0;
        if !self.results.wait_for_turn(self.serial, 0) {
            return false;
        }
        self.results.lock_and_merge_lines(mem::take(&mut self.lines));
        !self.results.is_full()
    }
}

impl Sink for &mut FileLines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.match_count += 1;
        Ok(match self.query.mode {
            GrepMode::Content => self.push_shown_line(LineKind::Match, found.line_number(), found.bytes()),
            GrepMode::Files => false,
            GrepMode::Count => !self.results.is_full(),
        })
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let kind = match context.kind() {
            SinkContextKind::Before => LineKind::Before,
            _ => LineKind::After,
        };
        Ok(match self.query.mode {
            GrepMode::Content => self.push_shown_line(kind, context.line_number(), context.bytes()),
            GrepMode::Files | GrepMode::Count => true,
        })
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        Ok(self.query.mode != GrepMode::Content
            || self.push_and_merge_on_turn(ResultLine { text: "--\n".to_owned(), kind: LineKind::Before }))
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> io::Result<()> {
        if self.match_count > 0 && self.query.mode != GrepMode::Content {
            let mut text = self.root.shown_path(self.path);
            if self.query.mode == GrepMode::Count {
                let _ = write!(text, ":{}", self.match_count);
            }
            text.push('\n');
            self.push_and_merge_on_turn(ResultLine { text, kind: LineKind::Match });
        }
        Ok(())
    }
}

impl Drop for FileLines<'_> {
    fn drop(&mut self) {
        self.results.finish_file(self.serial, mem::take(&mut self.lines), self.is_skipped);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;
    use crate::files::root::FileRoots;

    #[test]
    fn a_file_with_many_results_waits_until_all_files_before_it_are_finished() {
        let folder = tempfile::tempdir().unwrap();
        let location = FileRoots::open(folder.path()).unwrap().locate_path("a").unwrap();
        let query = GrepQuery::for_matching_lines("x".to_owned(), 100, 0);
        // A thread that did not wait would nearly always be first.
        for _ in 0..20 {
            let results = GrepResults::new(0, 100);
            let lines = |serial| FileLines::new(&results, &query, serial, &location.root, &location.relative);
            let line = |text: &str| ResultLine { text: text.to_owned(), kind: LineKind::Match };
            let (begins, begun) = mpsc::channel();
            thread::scope(|scope| {
                let mut first = lines(0);
                scope.spawn(move || {
                    let mut second = lines(1);
                    begins.send(()).unwrap();
                    second.push_and_merge_on_turn(line(&"b".repeat(MAX_WAITING_BYTES)));
                });
                begun.recv().unwrap();
                (0..1_000).for_each(|_| thread::yield_now());
                first.push_and_merge_on_turn(line("a"));
            });
            assert!(results.into_report(&query, 0).starts_with("ab"));
        }
    }

    #[test]
    fn lines_of_the_file_whose_turn_it_is_are_merged_after_32_kib() {
        let folder = tempfile::tempdir().unwrap();
        let location = FileRoots::open(folder.path()).unwrap().locate_path("a").unwrap();
        let query = GrepQuery::for_matching_lines("x".to_owned(), 100, 0);
        let results = GrepResults::new(0, 100);
        let line = |bytes: usize| ResultLine { text: "a".repeat(bytes), kind: LineKind::Match };
        let overhead = size_of::<ResultLine>();
        let merged_bytes = || lock_ignoring_poison(&results.merged).text.len();
        let mut lines = FileLines::new(&results, &query, 0, &location.root, &location.relative);
        assert!(lines.push_and_merge_on_turn(line(MAX_WAITING_BYTES - overhead - 1)));
        assert_eq!((merged_bytes(), lines.lines.len()), (0, 1));
        assert!(lines.push_and_merge_on_turn(line(1)));
        assert_eq!((merged_bytes(), lines.lines.len()), (MAX_WAITING_BYTES - overhead, 0));
        assert!(lines.push_and_merge_on_turn(line(1)));
        assert_eq!((merged_bytes(), lines.lines.len()), (MAX_WAITING_BYTES - overhead, 1));
        drop(lines);
        assert_eq!(merged_bytes(), MAX_WAITING_BYTES - overhead + 1);
    }
}
