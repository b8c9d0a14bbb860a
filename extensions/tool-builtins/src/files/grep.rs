//! `grep`: a search over the files of folders.
//!
//! One thread walks, others search; results are merged in the order of the walk, in bounded memory.

use std::{
    iter,
    num::NonZero,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

use cap_std::fs::{Dir, File};
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::types::{Types, TypesBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tool_runtime::{prelude::*, schemars};

use super::{
    grep_results::{FileLines, GrepResults},
    media::CancelledRead,
    root::{FileRoot, FileRoots, StartFolder, WalkStart, open_regular_file},
    walk::{FileWalk, MAX_DEPTH},
};

/// Bytes of a line that is searched or read; a file with a longer one is reported as skipped.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of a regular expression and of a pattern of names: a class of a few letters stands for a thousand ranges.
const MAX_PATTERN_BYTES: usize = 4096;

/// Bytes of a compiled regular expression.
const MAX_REGEX_BYTES: usize = 8 * 1024 * 1024;

/// Files that were found and wait for a thread; each may hold the handle of its folder.
const MAX_QUEUED_FILES: usize = 64;

/// Threads that search.
const MAX_THREADS: usize = 8;

/// The form of the results of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "tool_runtime::schemars")]
pub(super) enum GrepMode {
    /// Matching lines.
    Content,
    /// Paths of files with a matching line.
    Files,
    /// Numbers of matching lines of each file.
    Count,
}

/// The arguments of a search.
pub(super) struct GrepQuery {
    pub(super) pattern: String,
    pub(super) path: Option<String>,
    pub(super) glob: Option<String>,
    /// A kind of files, such as `rust`.
    pub(super) file_type: Option<String>,
    pub(super) case_sensitive: bool,
    pub(super) mode: GrepMode,
    /// Lines shown before and after a matching one.
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) has_numbers: bool,
    pub(super) limit: u64,
    pub(super) offset: u64,
}

impl GrepQuery {
    /// A search for matching lines in all files.
    pub(super) fn for_matching_lines(pattern: String, limit: u64, offset: u64) -> Self {
        Self {
            pattern,
            path: None,
            glob: None,
            file_type: None,
            case_sensitive: false,
            mode: GrepMode::Content,
            before: 0,
            after: 0,
            has_numbers: true,
            limit,
            offset,
        }
    }
}

pub(super) fn search_files(
    roots: &FileRoots,
    query: &GrepQuery,
    cx: &ToolContext,
) -> Result<String, ToolError> {
    let search = GrepSearch::new(query, cx)?;
    let skipped_folders = match roots.open_walk_start(query.path.as_deref())? {
        WalkStart::File(open) => {
            search.search_file(&mut search.new_searcher(), open.file, 0, &open.root, &open.real);
            0
        }
        WalkStart::Folders(starts) => search.search_folders(&starts)?,
    };
    match cx.is_cancelled() {
        true => Err(ToolError::cancelled()),
        false => Ok(search.results.into_report(query, skipped_folders)),
    }
}

/// A file that the walk found.
struct SearchJob {
    serial: u64,
    root: Arc<FileRoot>,
    dir: Arc<Dir>,
    name: PathBuf,
    path: PathBuf,
}

struct GrepSearch<'a> {
    query: &'a GrepQuery,
    cx: &'a ToolContext,
    matcher: RegexMatcher,
    glob: Option<GlobMatcher>,
    types: Option<Types>,
    results: GrepResults,
}

impl<'a> GrepSearch<'a> {
    fn new(query: &'a GrepQuery, cx: &'a ToolContext) -> Result<Self, ToolError> {
        check_pattern_length("pattern", &query.pattern)?;
        let mut regex = RegexMatcherBuilder::new();
        regex
            .case_insensitive(!query.case_sensitive)
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_REGEX_BYTES);
        let matcher = regex.build(&query.pattern).map_err(|error| {
            ToolError::failed(format!(
                "`pattern` is not a regular expression for one line: {error}; escape special characters by a backslash"
            ))
        })?;
        let glob = query.glob.as_deref().map(|pattern| compile_file_glob("glob", pattern)).transpose()?;
        let types = query.file_type.as_deref().map(types_of_kind).transpose()?;
        Ok(Self { query, cx, matcher, glob, types, results: GrepResults::new(query.offset, query.limit) })
    }

    fn new_searcher(&self) -> Searcher {
        let lines = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(self.query.has_numbers)
            .before_context(lines(self.query.before))
            .after_context(lines(self.query.after))
            .heap_limit(Some(MAX_LINE_BYTES))
            .build()
    }

    /// Searches all files below the folders, and returns the number of folders that were left out.
    fn search_folders(&self, starts: &[StartFolder]) -> Result<u64, ToolError> {
        let (sender, receiver) = sync_channel(MAX_QUEUED_FILES);
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        thread::scope(|scope| {
            // No other handle is left: if all threads end early, the next file of the walk finds no receiver.
            for receiver in iter::repeat_n(Arc::new(Mutex::new(receiver)), threads) {
                scope.spawn(move || self.search_queued_files(&receiver));
            }
            self.queue_files_below(starts, sender)
        })
    }

    /// Queues the files below the folders, and closes the queue. Returns the number of folders that were left out.
    fn queue_files_below(
        &self,
        starts: &[StartFolder],
        sender: SyncSender<SearchJob>,
    ) -> Result<u64, ToolError> {
        let (mut skipped, mut serial) = (0, 0);
        for start in starts {
            let mut walk = FileWalk::new(self.cx, MAX_DEPTH);
            let flow = walk.visit_start_folder(start, &mut |found| {
                if !self.admits_path(found.path, start) {
                    return Ok(ControlFlow::Continue(()));
                }
                let job = SearchJob {
                    serial,
                    root: Arc::clone(&start.root),
                    dir: Arc::clone(found.dir),
                    name: found.name.to_owned(),
                    path: found.path.to_owned(),
                };
                serial += 1;
                let is_over = self.results.is_full() || sender.send(job).is_err();
                Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            skipped += walk.skipped;
            if flow.is_break() {
                break;
            }
        }
        Ok(skipped)
    }

    fn admits_path(&self, path: &Path, start: &StartFolder) -> bool {
        let is_type = self.types.as_ref().is_none_or(|types| types.matched(path, false).is_whitelist());
        is_type && self.glob.as_ref().is_none_or(|glob| is_path_match(glob, path, &start.real))
    }

    /// Searches files until the walk is over.
    fn search_queued_files(&self, receiver: &Mutex<Receiver<SearchJob>>) {
        let mut searcher = self.new_searcher();
        loop {
            let job = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(SearchJob { serial, root, dir, name, path }) = job else { return };
            match open_regular_file(&dir, &name) {
                Ok(file) => self.search_file(&mut searcher, file, serial, &root, &path),
                Err(_) => FileLines::new(&self.results, self.query, serial, &root, &path).mark_skipped(),
            }
        }
    }

    fn search_file(&self, searcher: &mut Searcher, file: File, serial: u64, root: &FileRoot, path: &Path) {
        let mut lines = FileLines::new(&self.results, self.query, serial, root, path);
        if self.cx.is_cancelled() || !lines.wait_until_few_files_wait() {
            return;
        }
        let reader = CancelledRead { reader: file, cx: self.cx };
        if searcher.search_reader(&self.matcher, reader, &mut lines).is_err() {
            lines.mark_skipped();
        }
    }
}

/// The patterns of the names of a kind of files.
fn types_of_kind(name: &str) -> Result<Types, ToolError> {
    let mut types = TypesBuilder::new();
    types.add_defaults().select(name);
    types.build().map_err(|_| {
        ToolError::failed(format!(
            "`type` has no files named `{name}`; give a `glob`, or a type such as `rust` or `py`"
        ))
    })
}

/// Refuses a pattern before it is compiled, which no cancellation ends.
fn check_pattern_length(argument: &str, pattern: &str) -> Result<(), ToolError> {
    match pattern.len() {
        ..=MAX_PATTERN_BYTES => Ok(()),
        length => Err(ToolError::failed(format!(
            "`{argument}` has {length} bytes, more than {MAX_PATTERN_BYTES}; give a shorter pattern, or search in several calls"
        ))),
    }
}

/// A pattern without a slash is for names in any folder.
pub(super) fn compile_file_glob(argument: &str, pattern: &str) -> Result<GlobMatcher, ToolError> {
    check_pattern_length(argument, pattern)?;
    let anywhere = match pattern.contains('/') {
        true => pattern.to_owned(),
        false => format!("**/{pattern}"),
    };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).build().map_err(|error| {
        ToolError::failed(format!(
            "`{argument}` is not a valid pattern: {error}; write it like `*.rs` or `src/**/*.rs`"
        ))
    })?;
    Ok(glob.compile_matcher())
}

/// Returns `true` if the pattern names `path`, or its part below `start`: models write both.
pub(super) fn is_path_match(glob: &GlobMatcher, path: &Path, start: &Path) -> bool {
    glob.is_match(path) || path.strip_prefix(start).is_ok_and(|below| glob.is_match(below))
}
