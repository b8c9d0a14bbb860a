//! `grep`: a search over the files of a folder.

use std::{fmt::Write as _, io, ops::ControlFlow, path::Path};

use cap_std::fs::File;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, sinks::Lossy};
use tool_runtime::prelude::*;

use super::{
    root::{Roots, StartFolder, WalkStart, open_regular_file},
    walk::{FoundFile, MAX_DEPTH, Walk},
};

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 500;

/// Bytes that one line may occupy during a search; a file with a longer one is reported as skipped.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of a compiled regular expression.
const MAX_REGEX_BYTES: usize = 8 * 1024 * 1024;

/// The arguments of a search.
pub(super) struct GrepQuery {
    pub(super) pattern: String,
    pub(super) path: Option<String>,
    pub(super) glob: Option<String>,
    pub(super) case_sensitive: bool,
    pub(super) limit: u64,
    pub(super) offset: u64,
}

pub(super) fn search_files(roots: &Roots, query: &GrepQuery, cx: &ToolContext) -> Result<String, ToolError> {
    let mut search = Search::new(query, cx)?;
    let mut skipped_folders = 0;
    match roots.open_start(query.path.as_deref())? {
        WalkStart::File(open) => search.search_file(open.file, &open.root.shown_path(&open.real))?,
        WalkStart::Folders(starts) => {
            for start in &starts {
                let mut walk = Walk::new(cx, MAX_DEPTH);
                let flow = walk.visit_start(start, &mut |found| search.search_found(&found, start))?;
                skipped_folders += walk.skipped;
                if flow.is_break() {
                    break;
                }
            }
        }
    }
    Ok(search.report(skipped_folders))
}

struct Search<'a> {
    query: &'a GrepQuery,
    cx: &'a ToolContext,
    matcher: RegexMatcher,
    searcher: Searcher,
    glob: Option<GlobMatcher>,
    found: u64,
    text: String,
    has_more: bool,
    skipped: u64,
}

impl<'a> Search<'a> {
    fn new(query: &'a GrepQuery, cx: &'a ToolContext) -> Result<Self, ToolError> {
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
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        let glob = query.glob.as_deref().map(|pattern| file_glob("glob", pattern)).transpose()?;
        Ok(Self {
            query,
            cx,
            matcher,
            searcher,
            glob,
            found: 0,
            text: String::new(),
            has_more: false,
            skipped: 0,
        })
    }

    fn search_found(
        &mut self,
        found: &FoundFile<'_>,
        start: &StartFolder,
    ) -> Result<ControlFlow<()>, ToolError> {
        if self.glob.as_ref().is_some_and(|glob| !is_path_match(glob, found.path, &start.real)) {
            return Ok(ControlFlow::Continue(()));
        }
        match open_regular_file(found.dir, found.name) {
            Ok(file) => self.search_file(file, &start.root.shown_path(found.path))?,
            Err(_) => self.skipped += 1,
        }
        Ok(if self.has_more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn search_file(&mut self, file: File, path: &str) -> Result<(), ToolError> {
        let Self { query, cx, matcher, searcher, found, text, has_more, .. } = self;
        let end = query.offset.saturating_add(query.limit);
        let sink = Lossy(|number, line| {
            if cx.is_cancelled() || *found == end {
                *has_more = true;
                return Ok(false);
            }
            *found += 1;
            if *found > query.offset {
                push_match(text, path, number, line);
            }
            Ok(true)
        });
        let reader = Cancelled { file, cx };
        if searcher.search_reader(&*matcher, reader, sink).is_err() {
            self.skipped += 1;
        }
        match self.cx.is_cancelled() {
            true => Err(ToolError::cancelled()),
            false => Ok(()),
        }
    }

    fn report(self, skipped_folders: u64) -> String {
        let Self { query, found, mut text, has_more, skipped, .. } = self;
        if text.is_empty() {
            text = match found {
                0 => "no line matches\n".to_owned(),
                _ => format!("no more lines match; all {found} are before `offset` {}\n", query.offset),
            };
        }
        if has_more {
            let _ = writeln!(text, "[more lines match; continue with `offset` {found}]");
        }
        let skipped = skipped + skipped_folders;
        if skipped > 0 {
            let _ = writeln!(text, "[{skipped} files or folders could not be searched to their end]");
        }
        text
    }
}

/// A file whose reads end with an error at cancellation, so that no large file is read to its end.
struct Cancelled<'a> {
    file: File,
    cx: &'a ToolContext,
}

impl io::Read for Cancelled<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.cx.is_cancelled() {
            true => Err(io::Error::other("cancelled")),
            false => self.file.read(buffer),
        }
    }
}

fn push_match(text: &mut String, path: &str, number: u64, line: &str) {
    let line = line.trim_end_matches(['\r', '\n']);
    let _ = write!(text, "{path}:{number}: ");
    text.extend(line.chars().take(MAX_LINE_CHARS));
    let rest = line.chars().count().saturating_sub(MAX_LINE_CHARS);
    if rest > 0 {
        let _ = write!(text, " [{rest} more characters]");
    }
    text.push('\n');
}

/// A pattern without a slash is for names in any folder.
pub(super) fn file_glob(argument: &str, pattern: &str) -> Result<GlobMatcher, ToolError> {
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
