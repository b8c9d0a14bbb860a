//! A walk over the files of a folder, by handles.

use std::{
    io::{self, Read as _},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use cap_std::fs::Dir;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use tool_runtime::prelude::*;

use super::root::{StartFolder, open_regular_file};

/// Folders that no walk enters.
const SKIPPED_FOLDERS: [&str; 6] = [".git", ".hg", ".svn", ".jj", "target", "node_modules"];

/// Levels of folders below the start; deeper ones are reported as skipped.
pub(super) const MAX_DEPTH: usize = 64;

/// Bytes of a `.gitignore` that are read, and rules of all that hold at once: the files of a hostile folder cost time and memory.
const MAX_IGNORE_BYTES: u64 = 64 * 1024;
const MAX_IGNORE_RULES: usize = 4096;

/// A file that the walk found.
pub(super) struct FoundFile<'a> {
    pub(super) dir: &'a Arc<Dir>,
    pub(super) name: &'a Path,
    /// The path relative to the root.
    pub(super) path: &'a Path,
}

/// A walk in the order of names, which follows no link.
pub(super) struct FileWalk<'a> {
    cx: &'a ToolContext,
    /// The rules of the folders from the root to the present one.
    ignored: Vec<Gitignore>,
    /// Levels of folders below the start that are visited, at most [`MAX_DEPTH`]; 1 is the start alone.
    max_depth: usize,
    depth: usize,
    /// Folders that are too deep, or could not be read.
    pub(super) skipped: u64,
}

impl<'a> FileWalk<'a> {
    pub(super) fn new(cx: &'a ToolContext, max_depth: usize) -> Self {
        Self { cx, ignored: Vec::new(), max_depth: max_depth.min(MAX_DEPTH), depth: 0, skipped: 0 }
    }

    /// Visits the files of a folder and below, until `visit` breaks. The rules of the folders above hold, from the root.
    pub(super) fn visit_start_folder<V>(
        &mut self,
        start: &StartFolder,
        visit: &mut V,
    ) -> Result<ControlFlow<()>, ToolError>
    where
        V: FnMut(FoundFile<'_>) -> Result<ControlFlow<()>, ToolError>,
    {
        let dir = start.dir.try_clone().map_err(|error| ToolError::failed(error.to_string()))?;
        // A rule of a folder above names paths from that folder.
        for above in start.real.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            if let Ok(dir) = start.root.open_dir(above) {
                self.push_ignore_rules(&dir, above);
            }
        }
        let flow = self.visit_files_below(&Arc::new(dir), &start.real, visit);
        self.ignored.clear();
        flow
    }

    /// Visits the files of `dir` and below.
    fn visit_files_below<V>(
        &mut self,
        dir: &Arc<Dir>,
        path: &Path,
        visit: &mut V,
    ) -> Result<ControlFlow<()>, ToolError>
    where
        V: FnMut(FoundFile<'_>) -> Result<ControlFlow<()>, ToolError>,
    {
        let Ok(mut names) = names_and_kinds(dir, self.cx) else {
            self.skipped += 1;
            return Ok(ControlFlow::Continue(()));
        };
        if self.cx.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        names.sort_unstable();
        let levels = self.ignored.len();
        if names.iter().any(|(name, _)| name == Path::new(".gitignore")) {
            self.push_ignore_rules(dir, path);
        }
        for (name, is_folder) in &names {
            if self.cx.is_cancelled() {
                return Err(ToolError::cancelled());
            }
            let child = path.join(name);
            if self.is_ignored(&child, *is_folder) {
                continue;
            }
            let flow = match is_folder {
                true => self.visit_subfolder(dir, name, &child, visit)?,
                false => visit(FoundFile { dir, name, path: &child })?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        self.ignored.truncate(levels);
        Ok(ControlFlow::Continue(()))
    }

    fn visit_subfolder<V>(
        &mut self,
        dir: &Arc<Dir>,
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
            Ok(folder) if self.depth + 1 < self.max_depth => {
                self.depth += 1;
                let flow = self.visit_files_below(&Arc::new(folder), path, visit);
                self.depth -= 1;
                flow
            }
            _ => {
                self.skipped += 1;
                Ok(ControlFlow::Continue(()))
            }
        }
    }

    /// Adds the rules of a folder, as far as there is room for them.
    fn push_ignore_rules(&mut self, dir: &Dir, path: &Path) {
        let rules_before: usize = self.ignored.iter().map(Gitignore::len).sum();
        self.ignored.extend(read_gitignore(dir, path, MAX_IGNORE_RULES.saturating_sub(rules_before)));
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
fn names_and_kinds(dir: &Dir, cx: &ToolContext) -> io::Result<Vec<(PathBuf, bool)>> {
    let mut names = Vec::new();
    for entry in dir.entries()? {
        if names.len() % 1024 == 0 && cx.is_cancelled() {
            break;
        }
        let entry = entry?;
        let mut kind = entry.file_type()?;
        if !kind.is_dir() && !kind.is_file() && !kind.is_symlink() {
            // Some file systems tell the kind of a file only by itself.
            kind = dir.symlink_metadata(entry.file_name())?.file_type();
        }
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

#[cfg(test)]
mod tests;
