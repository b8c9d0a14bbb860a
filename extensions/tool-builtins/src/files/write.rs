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
    edit::{decode_content, encode_text, is_crlf, read_content, replace_content, with_crlf, write_error},
    memory::FileStamp,
    root::{Location, check_not_version_control},
};

pub(super) fn write_file(
    tools: &FileTools,
    path: &str,
    content: &str,
    cx: &ToolContext,
) -> Result<String, ToolError> {
    let _edit = tools.memory.lock_edits();
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
) -> Result<String, ToolError> {
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
    let created =
        open_parent(dir, parent).and_then(|parent| create_content(&parent, Path::new(name), content));
    let stamp = created.map_err(|error| tools.roots.path_error(path, &error))?;
    // The path behind links, by which a read remembers it.
    if let Ok(real) = dir.canonicalize(relative) {
        tools.memory.remember_file(cx, (root.name.clone(), real), stamp);
    }
    Ok(format!("created `{path}`: {} bytes\n", content.len()))
}

fn open_parent(dir: &Dir, parent: &Path) -> io::Result<Dir> {
    if parent.as_os_str().is_empty() {
        return dir.try_clone();
    }
    dir.create_dir_all(parent)?;
    dir.open_dir(parent)
}

fn create_content(parent: &Dir, name: &Path, content: &str) -> io::Result<FileStamp> {
    let mut new_file = TempFile::new(parent)?;
    new_file.write_all(content.as_bytes())?;
    new_file.as_file().sync_all()?;
    let mut stamp = FileStamp::of_file(new_file.as_file())?;
    stamp.hash = Some(Hash::hash(content.as_bytes()));
    if parent.symlink_metadata(name).is_ok() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "another program created it; read it first",
        ));
    }
    new_file.replace(name)?;
    Ok(stamp)
}

fn replace_file(tools: &FileTools, path: &str, content: &str, cx: &ToolContext) -> Result<String, ToolError> {
    let mut open = tools.roots.open_file(path)?;
    open.root.check_writable(path)?;
    check_not_version_control(path, &open.real)?;
    let (bytes, present) = read_content(&mut open, path)?;
    match tools.memory.remembered_stamp(cx, &open.key()) {
        None if tools.permits_unread_edits => {}
        Some(stamp) if tools.permits_unread_edits && stamp.matches_present(&present) => {}
        Some(stamp) if stamp.hash.is_some() && stamp.matches_present(&present) => {}
        Some(stamp) if stamp.hash.is_some() => {
            return Err(ToolError::failed(format!(
                "`{path}` changed since it was read; read it again with `read_file`, then write it"
            )));
        }
        _ => {
            return Err(ToolError::failed(format!(
                "`{path}` exists, and was not read in full; read all of it in one call of `read_file`, then write it, or \
                 change a part with `edit_file`"
            )));
        }
    }
    let (form, text) = decode_content(path, &bytes)?;
    let content = if is_crlf(&text) { with_crlf(content) } else { content.into() };
    let encoded = encode_text(path, form, &content, &bytes)?;
    if cx.is_cancelled() {
        return Err(ToolError::cancelled());
    }
    let stamp = replace_content(&open, &present, &encoded).map_err(|error| write_error(path, &error))?;
    tools.memory.remember_file(cx, open.key(), stamp);
    Ok(format!("replaced the content of `{path}`: {} bytes\n", encoded.len()))
}
