//! A walk over the files of a folder, by handles.

use std::{
    io::{self, Read as _},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use cap_std::fs::Dir;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use tool_runtime::prelude::*;

use super::root::open_regular_file;

/// Folders that no walk enters.
const SKIPPED_FOLDERS: [&str; 6] = [".git", ".hg", ".svn", ".jj", "target", "node_modules"];

/// Levels of folders below the start; deeper ones are reported as skipped.
pub(super) const MAX_DEPTH: usize = 64;

/// Bytes of a `.gitignore` that are read, and rules of all that hold at once: the files of a hostile folder cost time and memory.
const MAX_IGNORE_BYTES: u64 = 64 * 1024;
const MAX_IGNORE_RULES: usize = 4096;

/// A file that the walk found.
pub(super) struct FoundFile<'a> {
    pub(super) dir: &'a Dir,
    pub(super) name: &'a Path,
    /// The path relative to the folder of the tools.
    pub(super) path: &'a Path,
}

/// A walk in the order of names, which follows no link.
pub(super) struct Walk<'a> {
    pub(super) cx: &'a ToolContext,
    pub(super) ignored: Vec<Gitignore>,
    /// Folders that are too deep, or could not be read.
    pub(super) skipped: u64,
    /// Levels of folders below the start that are visited, at most [`MAX_DEPTH`]; 1 is the start alone.
    pub(super) max_depth: usize,
}

impl Walk<'_> {
    /// Visits the files of `dir` and below, until `visit` breaks.
    pub(super) fn visit_files<V>(
        &mut self,
        dir: &Dir,
        path: &Path,
        visit: &mut V,
    ) -> Result<ControlFlow<()>, ToolError>
    where
        V: FnMut(FoundFile<'_>) -> Result<ControlFlow<()>, ToolError>,
    {
        let Ok(mut names) = folder_names(dir, self.cx) else {
            self.skipped += 1;
            return Ok(ControlFlow::Continue(()));
        };
        names.sort_unstable();
        let levels = self.ignored.len();
        // One for each level, so that their number is the depth.
        let rules_before: usize = self.ignored.iter().map(Gitignore::len).sum();
        let max_rules = MAX_IGNORE_RULES.saturating_sub(rules_before);
        self.ignored.push(read_gitignore(dir, path, max_rules).unwrap_or_else(Gitignore::empty));
        for (name, is_folder) in &names {
            if self.cx.is_cancelled() {
                return Err(ToolError::cancelled());
            }
            let child = path.join(name);
            if self.is_ignored(&child, *is_folder) {
                continue;
            }
            let flow = match is_folder {
                true => self.visit_folder(dir, name, &child, visit)?,
                false => visit(FoundFile { dir, name, path: &child })?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        self.ignored.truncate(levels);
        Ok(ControlFlow::Continue(()))
    }

    fn visit_folder<V>(
        &mut self,
        dir: &Dir,
        name: &Path,
        path: &Path,
        visit: &mut V,
    ) -> Result<ControlFlow<()>, ToolError>
    where
        V: FnMut(FoundFile<'_>) -> Result<ControlFlow<()>, ToolError>,
    {
        use cap_fs_ext::DirExt as _;
        if SKIPPED_FOLDERS.iter().any(|skipped| Path::new(skipped) == name) {
            return Ok(ControlFlow::Continue(()));
        }
        match dir.open_dir_nofollow(name) {
            Ok(folder) if self.ignored.len() < self.max_depth.min(MAX_DEPTH) => {
                self.visit_files(&folder, path, visit)
            }
            _ => {
                self.skipped += 1;
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        for rules in self.ignored.iter().rev() {
            match rules.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// The names of a folder's files and folders, as far as the call is not cancelled. Links and devices are left out.
fn folder_names(dir: &Dir, cx: &ToolContext) -> io::Result<Vec<(PathBuf, bool)>> {
    let mut names = Vec::new();
    for entry in dir.entries()? {
        if names.len() % 1024 == 0 && cx.is_cancelled() {
            break;
        }
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() || kind.is_file() {
            names.push((PathBuf::from(entry.file_name()), kind.is_dir()));
        }
    }
    Ok(names)
}

/// The rules of a folder's `.gitignore`; a line that is not a valid pattern is no rule, as in git.
fn read_gitignore(dir: &Dir, path: &Path, max_rules: usize) -> Option<Gitignore> {
    let file = open_regular_file(dir, Path::new(".gitignore")).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_IGNORE_BYTES).read_to_end(&mut bytes).ok()?;
    let mut rules = GitignoreBuilder::new(path);
    let text = String::from_utf8_lossy(&bytes);
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).take(max_rules) {
        let _ = rules.add_line(None, line);
    }
    rules.build().ok()
}
