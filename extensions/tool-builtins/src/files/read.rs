//! `read_file`: a file of any size, in bounded memory; text as lines, other files as they can be shown.

use std::io::{self, Read as _, Seek as _, SeekFrom};

use cap_std::fs::File;
use encoding_rs::{UTF_8, WINDOWS_1252};
use hmac_sha256::Hash;
use tool_runtime::{Content, prelude::*};

use super::{
    FileTools,
    grep::MAX_LINE_BYTES,
    media::{MediaKind, read_image, read_pdf},
    memory::FileStamp,
    notebook::{is_notebook, read_notebook},
    page::LinePage,
    root::{OpenFile, file_error},
    text::{DETECTION_BYTES, TextForm},
};

/// Lines of a page, if the call gives no number.
const DEFAULT_LINES: u64 = 2000;

/// The arguments of a read.
#[derive(Default)]
pub(super) struct ReadQuery {
    pub(super) path: String,
    pub(super) offset: Option<u64>,
    pub(super) limit: Option<u64>,
    /// Pages of a PDF document.
    pub(super) pages: Option<String>,
}

pub(super) fn read_file(
    tools: &FileTools,
    query: &ReadQuery,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let path = query.path.as_str();
    let mut open = tools.roots.open_file(path)?;
    let mut stamp = FileStamp::of_file(&open.file).map_err(|error| file_error(path, &error))?;
    let start = read_start_and_rewind(&mut open.file).map_err(|error| file_error(path, &error))?;
    let output = match MediaKind::detect(&start) {
        Some(MediaKind::Image(mime)) => read_image(&mut open, path, mime, cx)?,
        Some(MediaKind::Pdf) => read_pdf(tools, open.file.try_clone(), query, cx)?,
        None if is_notebook(&open.real) => match read_notebook(&mut open, query, cx)? {
            Some(notebook) => {
                stamp.hash = notebook.hash;
                notebook.output
            }
            None => read_line_page(tools, &mut open, query, &mut stamp, cx)?,
        },
        None => read_line_page(tools, &mut open, query, &mut stamp, cx)?,
    };
    if tools.memory.remember_read_and_is_repeated(cx, open.key(), stamp, result_hash(&output)) {
        return Ok(ToolOutput::from(format!(
            "`{path}` is unchanged since this read of it; see that result, or read it once more to get it again\n"
        )));
    }
    Ok(output)
}

fn result_hash(output: &ToolOutput) -> [u8; 32] {
    let mut hash = Hash::new();
    for block in output.content().iter() {
        match block {
            Content::Text { text } => hash.update(text.as_bytes()),
            Content::Image { data, .. } => hash.update(&data.0),
            _ => {}
        }
        hash.update([0]);
    }
    hash.finalize()
}

/// The bytes by which the kind of a file is found; the file is at its start again.
fn read_start_and_rewind(file: &mut File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.by_ref().take(DETECTION_BYTES as u64).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(start)
}

fn read_line_page(
    tools: &FileTools,
    open: &mut OpenFile,
    query: &ReadQuery,
    stamp: &mut FileStamp,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let ReadQuery { path, offset, limit, .. } = query;
    let max_bytes = tools.max_whole_bytes;
    if offset.is_none() && limit.is_none() && stamp.length > max_bytes {
        let length = stamp.length;
        return Err(ToolError::failed(format!(
            "`{path}` has {length} bytes, and {max_bytes} can be read at once; read a range, with `offset` 1 and \
             `limit` {DEFAULT_LINES}, or search it with `grep`"
        )));
    }
    let mut page = LinePage::new(offset.unwrap_or(1), limit.unwrap_or(DEFAULT_LINES));
    let hash = fill_page_and_hash(&mut open.file, path, &mut page, cx)?;
    let text = page.report_text(path)?;
    if page.first == 1 && !page.has_cut_lines {
        stamp.hash = hash;
    }
    Ok(text.into())
}

/// Reads until the page is full; the hash of the file if all of it was read.
fn fill_page_and_hash(
    file: &mut File,
    path: &str,
    page: &mut LinePage,
    cx: &ToolContext,
) -> Result<Option<[u8; 32]>, ToolError> {
    let as_error = |error: io::Error| file_error(path, &error);
    let start = read_start_and_rewind(file).map_err(as_error)?;
    let form = TextForm::detect(&start, start.len() < DETECTION_BYTES).ok_or_else(|| binary_error(path))?;
    let mut decoder = form.encoding.new_decoder_without_bom_handling();
    // In these encodings, a byte of a line end is nothing else: lines before the page are not decoded.
    if page.first > 1 && [UTF_8, WINDOWS_1252].contains(&form.encoding) {
        let (position, ended) = find_line_start(file, path, page.first, cx)?.map_err(as_error)?;
        file.seek(SeekFrom::Start(position.max(form.mark_bytes as u64))).map_err(as_error)?;
        page.ended = ended;
    } else {
        file.seek(SeekFrom::Start(form.mark_bytes as u64)).map_err(as_error)?;
    }
    let mut hash = Hash::new();
    hash.update(start.get(..form.mark_bytes).unwrap_or_default());
    let mut bytes = Vec::with_capacity(DETECTION_BYTES);
    let mut text = String::new();
    let mut line_bytes = 0;
    loop {
        if cx.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        bytes.clear();
        file.by_ref().take(DETECTION_BYTES as u64).read_to_end(&mut bytes).map_err(as_error)?;
        let is_end = bytes.len() < DETECTION_BYTES;
        if page.first == 1 {
            hash.update(&bytes);
        }
        text.clear();
        text.reserve(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(4 * DETECTION_BYTES));
        let (_, _, has_replacements) = decoder.decode_to_string(&bytes, &mut text, is_end);
        page.has_replacements |= has_replacements;
        page.push_text(&text);
        if page.has_more {
            return Ok(None);
        }
        line_bytes = if text.contains('\n') { 0 } else { line_bytes + bytes.len() };
        if line_bytes > MAX_LINE_BYTES {
            return Err(long_line_error(path, page.ended + 1));
        }
        if is_end {
            page.end_last_line();
            return Ok((page.first == 1).then(|| hash.finalize()));
        }
    }
}

/// The position of a line, and the number of lines before it; the last line if there are fewer.
fn find_line_start(
    file: &mut File,
    path: &str,
    line: u64,
    cx: &ToolContext,
) -> Result<io::Result<(u64, u64)>, ToolError> {
    let mut buffer = vec![0; 4 * DETECTION_BYTES];
    let (mut position, mut ended, mut last_line) = (0, 0, (0, 0));
    loop {
        if cx.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        let count = match file.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Ok(Err(error)),
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        if chunk.is_empty() {
            return Ok(Ok(last_line));
        }
        let in_chunk = memchr::memchr_iter(b'\n', chunk).count() as u64;
        if ended + in_chunk + 1 >= line {
            let index = usize::try_from(line - ended - 2).ok();
            let newline = index.and_then(|index| memchr::memchr_iter(b'\n', chunk).nth(index));
            return Ok(Ok((position + newline.map_or(0, |newline| newline as u64 + 1), line - 1)));
        }
        if let Some(newline) = memchr::memrchr(b'\n', chunk) {
            ended += in_chunk;
            last_line = (position + newline as u64 + 1, ended);
        }
        position += count as u64;
        if position - last_line.0 > MAX_LINE_BYTES as u64 {
            return Err(long_line_error(path, ended + 1));
        }
    }
}

/// The error of a line whose end is not searched further: a file may have holes of any length, which cost no room on a disk.
fn long_line_error(path: &str, line: u64) -> ToolError {
    ToolError::failed(format!(
        "line {line} of `{path}` has more than {MAX_LINE_BYTES} bytes, the limit; read lines before it, or use another program"
    ))
}

pub(super) fn binary_error(path: &str) -> ToolError {
    ToolError::failed(format!("`{path}` is a binary file, and not text; use another tool for it"))
}
