//! `edit_file`: a replacement of text that occurs once, in a file that is still as it was read.

use std::{
    borrow::Cow,
    io::{self, Read, Write as _},
};

use cap_tempfile::TempFile;
use hmac_sha256::Hash;
use tool_runtime::prelude::*;

use super::{
    FileTools,
    memory::FileStamp,
    read::binary_error,
    root::{OpenFile, check_not_version_control, file_error},
    text::TextForm,
};

/// Bytes of a file that can be edited, which is held in memory.
const MAX_EDIT_BYTES: u64 = 16 * 1024 * 1024;

/// Occurrences that are counted for a message.
const MAX_COUNTED: usize = 100;

/// Lines, and characters of each, among which a similar one is searched.
const MAX_HINT_LINES: usize = 5000;
const MAX_HINT_CHARS: usize = 200;

/// The change of a call.
pub(super) struct Replacement {
    pub(super) old_text: String,
    pub(super) new_text: String,
    pub(super) replace_all: bool,
}

pub(super) fn edit_file(
    tools: &FileTools,
    path: &str,
    replacement: &Replacement,
    cx: &ToolContext,
) -> Result<String, ToolError> {
    let _edit = tools.memory.lock_edits();
    let mut open = tools.roots.open_file(path)?;
    open.root.check_writable(path)?;
    check_not_version_control(path, &open.real)?;
    if open.real.extension().is_some_and(|extension| extension == "ipynb") {
        return Err(ToolError::failed(format!(
            "`{path}` is a notebook; edit its cells with a tool for notebooks"
        )));
    }
    let (bytes, present) = read_content(&mut open, path)?;
    let remembered = tools.memory.remembered_stamp(cx, &open.key());
    check_unchanged(tools, path, remembered.as_ref(), &present)?;
    let (form, text) = decode_content(path, &bytes)?;
    let (edited, count) = replace_text(path, &text, replacement)?;
    let encoded = encode_text(path, form, &edited, &bytes)?;
    if cx.is_cancelled() {
        return Err(ToolError::cancelled());
    }
    let mut stamp = replace_content(&open, &present, &encoded).map_err(|error| write_error(path, &error))?;
    // Only what was read in full stays known in full.
    stamp.hash = remembered.and_then(|remembered| remembered.hash).and(stamp.hash);
    tools.memory.remember_file(cx, open.key(), stamp);
    Ok(format!("edited `{path}`: {count} {}\n", if count == 1 { "replacement" } else { "replacements" }))
}

/// Refuses a file that is not as it was read.
fn check_unchanged(
    tools: &FileTools,
    path: &str,
    remembered: Option<&FileStamp>,
    present: &FileStamp,
) -> Result<(), ToolError> {
    match remembered {
        None if tools.permits_unread_edits => Ok(()),
        None => Err(ToolError::failed(format!(
            "`{path}` was not read yet; read it with `read_file`, then edit it"
        ))),
        Some(remembered) if remembered.matches_present(present) => Ok(()),
        Some(_) => Err(ToolError::failed(format!(
            "`{path}` changed since it was read; read it again with `read_file`, then repeat the edit on its present text"
        ))),
    }
}

/// The form and the text of a whole file, judged by its start, as a read does.
pub(super) fn decode_content(path: &str, bytes: &[u8]) -> Result<(TextForm, String), ToolError> {
    let form = TextForm::of_content(bytes).ok_or_else(|| binary_error(path))?;
    let text = form.decode(bytes).ok_or_else(|| {
        let encoding = form.encoding.name();
        ToolError::failed(format!(
            "`{path}` has bytes that are not valid {encoding}; change it with another program, so that none is lost"
        ))
    })?;
    Ok((form, text))
}

/// The bytes of `text` in the form of the file.
pub(super) fn encode_text(
    path: &str,
    form: TextForm,
    text: &str,
    original: &[u8],
) -> Result<Vec<u8>, ToolError> {
    form.encode(text, original).map_err(|letter| {
        let encoding = form.encoding.name();
        ToolError::failed(format!(
            "`{path}` is encoded in {encoding}, which has no `{letter}`; write the text without it"
        ))
    })
}

pub(super) fn read_content(open: &mut OpenFile, path: &str) -> Result<(Vec<u8>, FileStamp), ToolError> {
    let mut present = FileStamp::of_file(&open.file).map_err(|error| file_error(path, &error))?;
    let mut bytes = Vec::new();
    let content = Read::by_ref(&mut open.file).take(MAX_EDIT_BYTES + 1).read_to_end(&mut bytes);
    content.map_err(|error| file_error(path, &error))?;
    if bytes.len() as u64 > MAX_EDIT_BYTES {
        return Err(ToolError::failed(format!(
            "`{path}` has more than {MAX_EDIT_BYTES} bytes, the limit of an edit; change it with another program"
        )));
    }
    present.hash = Some(Hash::hash(&bytes));
    Ok((bytes, present))
}

/// Writes a new file, which takes the name at once. Another hard link keeps the content.
pub(super) fn replace_content(open: &OpenFile, present: &FileStamp, bytes: &[u8]) -> io::Result<FileStamp> {
    let permissions = permissions_of_copy(&open.file)?;
    if permissions.readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let mut new_file = TempFile::new(&open.parent)?;
    new_file.write_all(bytes)?;
    new_file.as_file().set_permissions(permissions)?;
    new_file.as_file().sync_all()?;
    let mut stamp = FileStamp::of_file(new_file.as_file())?;
    stamp.hash = Some(Hash::hash(bytes));
    let named = open.parent.symlink_metadata(&open.name)?;
    let modified = named.modified().ok().map(cap_std::time::SystemTime::into_std);
    if !named.is_file() || named.len() != present.length || modified != present.modified {
        return Err(io::Error::other("another program changed it during the edit"));
    }
    new_file.replace(&open.name)?;
    Ok(stamp)
}

/// The permissions of a file, for a copy that may have another owner: without the bits by which a program runs as its owner.
fn permissions_of_copy(file: &cap_std::fs::File) -> io::Result<cap_std::fs::Permissions> {
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

/// The text after the replacement, and the number of occurrences that were replaced.
fn replace_text(path: &str, text: &str, replacement: &Replacement) -> Result<(String, usize), ToolError> {
    let Replacement { old_text, new_text, replace_all } = replacement;
    if old_text.is_empty() {
        return Err(ToolError::failed("`old_text` is empty; give the present text that is to be replaced"));
    }
    let (old_text, new_text) = match is_crlf(text) {
        true => (with_crlf(old_text), with_crlf(new_text)),
        false => (Cow::from(old_text), Cow::from(new_text)),
    };
    if old_text == new_text {
        return Err(ToolError::failed(
            "`old_text` and `new_text` are the same; give the text that replaces it",
        ));
    }
    match count_occurrences(text, &old_text) {
        0 => {
            let hint = similar_line_hint(text, &old_text);
            Err(ToolError::failed(format!(
                "`old_text` does not occur in `{path}`; give it exactly as in the file, without line numbers{hint}"
            )))
        }
        1 => Ok((text.replacen(&*old_text, &new_text, 1), 1)),
        _ if *replace_all => {
            let count = text.matches(&*old_text).count();
            check_replaced_size(path, text.len() - count * old_text.len(), count, new_text.len())?;
            Ok((text.replace(&*old_text, &new_text), count))
        }
        count => {
            let at_least = if count == MAX_COUNTED { "at least " } else { "" };
            Err(ToolError::failed(format!(
                "`old_text` occurs {at_least}{count} times in `{path}`; give more lines around it, or set `replace_all`"
            )))
        }
    }
}

/// Refuses replacements that would make a file too large, before its text is made.
fn check_replaced_size(path: &str, kept: usize, count: usize, new_bytes: usize) -> Result<(), ToolError> {
    /// In UTF-8, a text of another encoding may be longer than its file.
    const MAX_TEXT_BYTES: usize = 4 * MAX_EDIT_BYTES as usize;
    let bytes = kept.saturating_add(count.saturating_mul(new_bytes));
    if bytes <= MAX_TEXT_BYTES {
        return Ok(());
    }
    Err(ToolError::failed(format!(
        "{count} replacements would make `{path}` {bytes} bytes long, more than {MAX_TEXT_BYTES}; replace fewer, or with a shorter text"
    )))
}

/// Returns `true` if all lines of `text` end in CRLF.
pub(super) fn is_crlf(text: &str) -> bool {
    text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count()
}

pub(super) fn with_crlf(text: &str) -> Cow<'_, str> {
    match text.contains('\n') {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n").into(),
        false => text.into(),
    }
}

/// The number of occurrences, also of those that overlap, up to [`MAX_COUNTED`].
fn count_occurrences(text: &str, part: &str) -> usize {
    let step = part.chars().next().map_or(1, char::len_utf8);
    let mut rest = text;
    let mut count = 0;
    while let Some(found) = rest.find(part) {
        count += 1;
        if count == MAX_COUNTED {
            break;
        }
        rest = rest.get(found + step..).unwrap_or_default();
    }
    count
}

/// The line that is most similar to the first line of `old_text`, for the message of a failed edit.
fn similar_line_hint(text: &str, old_text: &str) -> String {
    let Some(wanted) = old_text.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return String::new();
    };
    if wanted.chars().count() > MAX_HINT_CHARS {
        return String::new();
    }
    let is_short = |line: &&str| line.len() <= MAX_HINT_CHARS;
    let lines: Vec<&str> = text.lines().take(MAX_HINT_LINES).map(str::trim).filter(is_short).collect();
    let Some(&similar) = similar::get_close_matches(wanted, &lines, 1, 0.6).first() else {
        return String::new();
    };
    let number = text.lines().position(|line| line.trim() == similar).map_or(0, |index| index + 1);
    format!("; line {number} is similar: `{similar}`")
}
