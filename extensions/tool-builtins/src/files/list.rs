//! `list_files` and `glob`: names of files, in their order.

use std::{fmt::Write as _, ops::ControlFlow, path::PathBuf};

use tool_runtime::prelude::*;

use super::{
    grep::{file_glob, is_path_match, shown_path},
    root::{Root, path_error},
    walk::Walk,
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
    pub(super) fn list(path: Option<String>, pattern: Option<String>, max_depth: usize) -> Self {
        Self { path, pattern, max_depth, max_files: MAX_LISTED_FILES }
    }

    pub(super) fn glob(path: Option<String>, pattern: String) -> Self {
        Self { path, pattern: Some(pattern), max_depth: usize::MAX, max_files: MAX_GLOB_FILES }
    }
}

pub(super) fn list_files(root: &Root, query: &FileQuery, cx: &ToolContext) -> Result<String, ToolError> {
    let start = query.path.as_deref().unwrap_or(".");
    let relative = root.relative_path(start)?;
    let (dir, real) = match relative.as_os_str().is_empty() {
        true => (root.dir.try_clone(), PathBuf::new()),
        false => {
            let real = root.dir.canonicalize(&relative).map_err(|error| path_error(start, &error))?;
            match real.as_os_str().is_empty() || real.as_os_str() == "." {
                true => (root.dir.try_clone(), PathBuf::new()),
                false => (root.dir.open_dir(&real), real),
            }
        }
    };
    let dir = dir.map_err(|error| path_error(start, &error))?;
    let glob = query.pattern.as_deref().map(|pattern| file_glob("pattern", pattern)).transpose()?;
    let mut walk = Walk { cx, ignored: Vec::new(), skipped: 0, max_depth: query.max_depth };
    let mut text = String::new();
    let mut count = 0;
    let flow = walk.visit_files(&dir, &real, &mut |found| {
        if glob.as_ref().is_some_and(|glob| !is_path_match(glob, found.path, &real)) {
            return Ok(ControlFlow::Continue(()));
        }
        if count == query.max_files {
            return Ok(ControlFlow::Break(()));
        }
        count += 1;
        let _ = writeln!(text, "{}", shown_path(found.path));
        Ok(ControlFlow::Continue(()))
    })?;
    if count == 0 {
        text.push_str("no file is found\n");
    }
    if flow.is_break() {
        let _ = writeln!(text, "[more than {count} files; give a `path` below, or a narrower `pattern`]");
    }
    if walk.skipped > 0 {
        let _ = writeln!(
            text,
            "[{} folders are deeper or cannot be read; raise `depth`, or give one as `path`]",
            walk.skipped
        );
    }
    Ok(text)
}
