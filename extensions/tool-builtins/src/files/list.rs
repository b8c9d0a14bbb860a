//! `list_files` and `glob`: names of files, in their order.

use std::{fmt::Write as _, ops::ControlFlow};

use tool_runtime::prelude::*;

use super::{
    grep::{compile_file_glob, is_path_match},
    root::{FileRoots, WalkStart},
    walk::FileWalk,
};

/// Files that `list_files` names.
const MAX_LISTED_FILES: usize = 200;

/// Files that `glob` names.
const MAX_GLOB_FILES: usize = 100;

/// The arguments of a list.
pub(super) struct FileQuery {
    pub(super) path: Option<String>,
    pub(super) pattern: Option<String>,
    /// Levels of folders below the start, from 1.
    pub(super) max_depth: usize,
    pub(super) max_files: usize,
}

impl FileQuery {
    pub(super) fn for_list(path: Option<String>, pattern: Option<String>, max_depth: usize) -> Self {
        Self { path, pattern, max_depth, max_files: MAX_LISTED_FILES }
    }

    pub(super) fn for_glob(path: Option<String>, pattern: String) -> Self {
        Self { path, pattern: Some(pattern), max_depth: usize::MAX, max_files: MAX_GLOB_FILES }
    }
}

pub(super) fn list_files(
    roots: &FileRoots,
    query: &FileQuery,
    cx: &ToolContext,
) -> Result<String, ToolError> {
    let glob = query.pattern.as_deref().map(|pattern| compile_file_glob("pattern", pattern)).transpose()?;
    let WalkStart::Folders(starts) = roots.open_walk_start(query.path.as_deref())? else {
        let path = query.path.as_deref().unwrap_or_default();
        return Err(ToolError::failed(format!("`{path}` is a file; give the path of a folder")));
    };
    let (mut text, mut count, mut has_more, mut skipped) = (String::new(), 0, false, 0);
    for start in &starts {
        let mut walk = FileWalk::new(cx, query.max_depth);
        let flow = walk.visit_start_folder(start, &mut |found| {
            if glob.as_ref().is_some_and(|glob| !is_path_match(glob, found.path, &start.real)) {
                return Ok(ControlFlow::Continue(()));
            }
            if count == query.max_files {
                return Ok(ControlFlow::Break(()));
            }
            count += 1;
            let _ = writeln!(text, "{}", start.root.shown_path(found.path));
            Ok(ControlFlow::Continue(()))
        })?;
        skipped += walk.skipped;
        has_more |= flow.is_break();
    }
    if count == 0 {
        text.push_str("no file is found\n");
    }
    if has_more {
        let _ = writeln!(text, "[more than {count} files; give a `path` below, or a narrower `pattern`]");
    }
    if skipped > 0 {
        let _ = writeln!(
            text,
            "[{skipped} folders are deeper or cannot be read; raise `depth`, or give one as `path`]"
        );
    }
    Ok(text)
}
