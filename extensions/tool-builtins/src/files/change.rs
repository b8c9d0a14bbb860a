//! A change of a file that is still as it was read.
//!
//! The new content is written to a file without a name, without a lock. The lock is held only to compare the name with the
//! file that was read and to take it; if another change came first, all is repeated on its result.

use std::io::{self, Read, Write as _};

use cap_tempfile::TempFile;
use hmac_sha256::Hash;
use tool_runtime::prelude::*;

use super::{
    FileTools,
    diff::diff_details,
    memory::FileStamp,
    read::binary_error,
    root::{OpenFile, check_not_version_control, file_error},
    text::TextForm,
};

/// Bytes of a file that can be changed, which is held in memory.
pub(super) const MAX_EDIT_BYTES: u64 = 16 * 1024 * 1024;

/// Repetitions of a change that other changes came before.
const MAX_ATTEMPTS: usize = 64;

/// The text of a file after a change, and the result for the model.
pub(super) struct TextChange {
    pub(super) text: String,
    pub(super) report: String,
}

/// The part of a file that must have been read before it is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NeededRead {
    Part,
    All,
}

/// Changes the text of a file by `change`, which may be called again on a newer text.
pub(super) fn change_file(
    tools: &FileTools,
    path: &str,
    needed: NeededRead,
    cx: &ToolContext,
    change: &dyn Fn(&OpenFile, &str) -> Result<TextChange, ToolError>,
) -> Result<ToolOutput, ToolError> {
    for _ in 0..MAX_ATTEMPTS {
        let mut open = tools.roots.open_file(path)?;
        open.root.check_writable(path)?;
        check_not_version_control(path, &open.real)?;
        let (bytes, present) = read_whole_with_stamp(&mut open, path)?;
        // Not between the replacement of another change and its memory.
        let remembered = tools.memory.stamp_without_commit_in_progress(cx, &open.key());
        if let Err(error) = check_was_read(tools, path, needed, remembered.as_ref(), &present) {
            match is_still_present(&open, &present).unwrap_or(true) {
                true => return Err(error),
                false => continue,
            }
        }
        let (form, text) = decode_content(path, &bytes)?;
        let TextChange { text: changed, report } = change(&open, &text)?;
        let encoded = encode_text(path, form, &changed, &bytes)?;
        if cx.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let new_file = write_temp_copy(&open, &encoded).map_err(|error| write_error(path, &error))?;
        let mut stamp = FileStamp::of_file(new_file.as_file()).map_err(|error| write_error(path, &error))?;
        // Only a file that was read in full stays known in full.
        if needed == NeededRead::All || remembered.is_some_and(|remembered| remembered.hash.is_some()) {
            stamp.hash = Some(Hash::hash(&encoded));
        }
        let _commit = tools.memory.lock_commits();
        if is_still_present(&open, &present).map_err(|error| write_error(path, &error))? {
            new_file.replace(&open.name).map_err(|error| write_error(path, &error))?;
            tools.memory.remember_file(cx, open.key(), stamp);
            let details = diff_details(&open.root.shown_path(&open.real), &text, &changed);
            return Ok(ToolOutput::from(report).with_details(details));
        }
    }
    Err(ToolError::failed(format!("`{path}` is changed again and again by others; try again later")))
}

/// Refuses a file that is not as it was read.
fn check_was_read(
    tools: &FileTools,
    path: &str,
    needed: NeededRead,
    remembered: Option<&FileStamp>,
    present: &FileStamp,
) -> Result<(), ToolError> {
    let is_enough =
        |stamp: &FileStamp| needed == NeededRead::Part || tools.permits_unread_edits || stamp.hash.is_some();
    match (remembered, needed) {
        (None, _) if tools.permits_unread_edits => Ok(()),
        (Some(stamp), _) if is_enough(stamp) && stamp.matches_present(present) => Ok(()),
        (Some(stamp), _) if is_enough(stamp) => Err(ToolError::failed(format!(
            "`{path}` changed since it was read; read it again, then repeat the change on its present text"
        ))),
        (_, NeededRead::Part) => {
            Err(ToolError::failed(format!("`{path}` was not read yet; read it, then edit it")))
        }
        (_, NeededRead::All) => Err(ToolError::failed(format!(
            "`{path}` exists, and was not read in full; read all of it in one call, then write it, or change a part by an edit"
        ))),
    }
}

/// The form and the text of a whole file, judged by its start, as a read does.
pub(super) fn decode_content(path: &str, bytes: &[u8]) -> Result<(TextForm, String), ToolError> {
    let form = TextForm::of_whole_content(bytes).ok_or_else(|| binary_error(path))?;
    let text = form.decode_if_lossless(bytes).ok_or_else(|| {
        let encoding = form.encoding.name();
        ToolError::failed(format!(
            "`{path}` has bytes that are not valid {encoding}; change it with another program, so that none is lost"
        ))
    })?;
    Ok((form, text))
}

/// The bytes of `text` in the form of the file.
fn encode_text(path: &str, form: TextForm, text: &str, original: &[u8]) -> Result<Vec<u8>, ToolError> {
    form.encode_after_mark(text, original).map_err(|letter| {
        let encoding = form.encoding.name();
        ToolError::failed(format!(
            "`{path}` is encoded in {encoding}, which has no `{letter}`; write the text without it"
        ))
    })
}

pub(super) fn read_whole_with_stamp(
    open: &mut OpenFile,
    path: &str,
) -> Result<(Vec<u8>, FileStamp), ToolError> {
    let mut present = FileStamp::of_file(&open.file).map_err(|error| file_error(path, &error))?;
    let mut bytes = Vec::new();
    let content = Read::by_ref(&mut open.file).take(MAX_EDIT_BYTES + 1).read_to_end(&mut bytes);
    content.map_err(|error| file_error(path, &error))?;
    if bytes.len() as u64 > MAX_EDIT_BYTES {
        return Err(ToolError::failed(format!(
            "`{path}` has more than {MAX_EDIT_BYTES} bytes, the limit of this tool; use another program"
        )));
    }
    present.hash = Some(Hash::hash(&bytes));
    Ok((bytes, present))
}

/// Writes a file beside the open one, with its permissions, which has not taken its name yet.
fn write_temp_copy<'a>(open: &'a OpenFile, bytes: &[u8]) -> io::Result<TempFile<'a>> {
    let permissions = permissions_without_special_bits(&open.file)?;
    if permissions.readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let mut new_file = TempFile::new(&open.parent)?;
    new_file.write_all(bytes)?;
    new_file.as_file().set_permissions(permissions)?;
    new_file.as_file().sync_all()?;
    Ok(new_file)
}

/// Returns `true` if the name still belongs to the file that was read, in the same state.
fn is_still_present(open: &OpenFile, present: &FileStamp) -> io::Result<bool> {
    let named = open.parent.symlink_metadata(&open.name)?;
    Ok(named.is_file() && FileStamp::of_metadata(&named).is_same_state(present))
}

/// The permissions of a file, for a copy that may have another owner: without the bits by which a program runs as its owner.
fn permissions_without_special_bits(file: &cap_std::fs::File) -> io::Result<cap_std::fs::Permissions> {
    let permissions = file.metadata()?.permissions();
    #[cfg(unix)]
    let permissions = {
        use cap_std::fs::PermissionsExt as _;
        cap_std::fs::Permissions::from_mode(permissions.mode() & 0o777)
    };
    Ok(permissions)
}

pub(super) fn write_error(path: &str, error: &io::Error) -> ToolError {
    ToolError::failed(format!(
        "`{path}` cannot be written: {error}; it is unchanged, check it and the rights of its folder"
    ))
}
