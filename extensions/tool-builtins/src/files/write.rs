//! `write_file`: a new file, or new content of one that was read in full.

use std::{
    io::{self, Write as _},
    path::Path,
};

use cap_std::fs::Dir;
use cap_tempfile::TempFile;
use hmac_sha256::Hash;
use tool_runtime::prelude::*;

use super::{
    FileTools,
    change::{NeededRead, TextChange, change_file, write_error},
    diff::diff_details,
    line_ends::{SplitText, without_crlf},
    memory::FileStamp,
    root::{Location, check_not_version_control},
};

pub(super) fn write_file(
    tools: &FileTools,
    path: &str,
    content: &str,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let location = tools.roots.locate_path(path)?;
    match location.root.dir.symlink_metadata(&location.relative) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_file(tools, path, &location, content, cx)
        }
        _ => replace_file(tools, path, content, cx),
    }
}

fn create_file(
    tools: &FileTools,
    path: &str,
    location: &Location,
    content: &str,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let Location { root, relative } = location;
    root.check_writable(path)?;
    let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
        return Err(ToolError::failed(format!("`{path}` has no file name; give the path of a file")));
    };
    if cx.is_cancelled() {
        return Err(ToolError::cancelled());
    }
    let dir = &root.dir;
    check_not_version_control(path, relative)?;
    // A link among the folders that exist may hide one of them.
    let existing = parent.ancestors().find_map(|folder| dir.canonicalize(folder).ok());
    check_not_version_control(path, &existing.unwrap_or_default())?;
    let parent = create_and_open_parent(dir, parent).map_err(|error| tools.roots.path_error(path, &error))?;
    let new_file = write_temp_file(&parent, content).map_err(|error| write_error(path, &error))?;
    let mut stamp = FileStamp::of_file(new_file.as_file()).map_err(|error| write_error(path, &error))?;
    stamp.hash = Some(Hash::hash(content.as_bytes()));
    let _commit = tools.memory.lock_commits();
    if parent.symlink_metadata(name).is_ok() {
        return Err(ToolError::failed(format!("`{path}` was created by another program; read it first")));
    }
    new_file.replace(name).map_err(|error| write_error(path, &error))?;
    // The path behind links, by which a read remembers it.
    if let Ok(real) = dir.canonicalize(relative) {
        tools.memory.remember_file(cx, (root.name.clone(), real), stamp);
    }
    let details = diff_details(&root.shown_path(relative), "", content);
    Ok(ToolOutput::from(format!("created `{path}`: {} bytes\n", content.len())).with_details(details))
}

fn create_and_open_parent(dir: &Dir, parent: &Path) -> io::Result<Dir> {
    if parent.as_os_str().is_empty() {
        return dir.try_clone();
    }
    dir.create_dir_all(parent)?;
    dir.open_dir(parent)
}

fn write_temp_file<'a>(parent: &'a Dir, content: &str) -> io::Result<TempFile<'a>> {
    let mut new_file = TempFile::new(parent)?;
    new_file.write_all(content.as_bytes())?;
    new_file.as_file().sync_all()?;
    Ok(new_file)
}

fn replace_file(
    tools: &FileTools,
    path: &str,
    content: &str,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    change_file(tools, path, NeededRead::All, cx, &|_, text| {
        let text = match SplitText::split_if_crlf(text) {
            Some(split) => split.text_with_new_content(&without_crlf(content)),
            None => content.to_owned(),
        };
        let report = format!("replaced the content of `{path}`: {} bytes\n", text.len());
        Ok(TextChange { text, report })
    })
}
