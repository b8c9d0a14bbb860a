//! Notebooks: cells with their outputs.
//!
//! A notebook is read and changed as text: a cell that a call does not name keeps each of its bytes.

use std::{borrow::Cow, fmt::Write as _, ops::Range, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::Deserialize;
use serde_json::value::RawValue;
use tool_runtime::{Content, prelude::*};

use super::{
    change::{decode_content, read_content},
    media::MAX_IMAGE_BYTES,
    page::MAX_PAGE_BYTES,
    read::ReadQuery,
    root::OpenFile,
};

/// Characters of one output that are shown.
const MAX_OUTPUT_CHARS: usize = 10_000;

/// Values of one source or list of outputs that are read, counted by their commas, which texts have, too.
const MAX_VALUES: usize = 200_000;

/// Images of outputs that one call shows.
const MAX_IMAGES: usize = 20;

#[derive(Deserialize)]
struct NotebookFields<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    #[serde(default)]
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

/// The members of a cell that are read.
#[derive(Deserialize)]
pub(super) struct CellFields<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) cell_type: Cow<'a, str>,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) attachments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    outputs: Option<&'a RawValue>,
}

/// A cell, and its place in the text.
pub(super) struct Cell<'a> {
    pub(super) fields: CellFields<'a>,
    pub(super) range: Range<usize>,
}

/// The text of a notebook, and the places of its cells.
pub(super) struct Notebook<'a> {
    pub(super) cells: Vec<Cell<'a>>,
    /// The list of the cells, with its brackets.
    pub(super) list: Range<usize>,
    /// Cells have ids since version 4.5.
    pub(super) needs_ids: bool,
}

impl<'a> Notebook<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let fields: NotebookFields<'a> = serde_json::from_str(text)?;
        let raw_cells: Vec<&'a RawValue> = serde_json::from_str(fields.cells.get())?;
        let cell = |raw: &&'a RawValue| {
            Ok(Cell { fields: serde_json::from_str(raw.get())?, range: place_of(text, raw.get()) })
        };
        Ok(Self {
            cells: raw_cells.iter().map(cell).collect::<Result<_, serde_json::Error>>()?,
            list: place_of(text, fields.cells.get()),
            needs_ids: (fields.nbformat, fields.nbformat_minor) >= (4, 5),
        })
    }

    /// The index of the cell with an id, or with the name of its place, such as `cell-0`.
    pub(super) fn cell_index(&self, id: &str) -> Option<usize> {
        let by_id = self.cells.iter().position(|cell| cell.fields.id.as_deref() == Some(id));
        by_id.or_else(|| {
            let index = id.strip_prefix("cell-")?.parse().ok()?;
            (index < self.cells.len()).then_some(index)
        })
    }

    pub(super) fn cell_id(&self, index: usize) -> String {
        let id = self.cells.get(index).and_then(|cell| cell.fields.id.as_deref());
        id.map_or_else(|| format!("cell-{index}"), str::to_owned)
    }
}

/// Returns `true` for the name of a notebook.
pub(super) fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// The place of a part in its text.
fn place_of(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// The cells that a read shows.
pub(super) struct NotebookRead {
    pub(super) output: ToolOutput,
    /// The hash of the file, if all cells are shown.
    pub(super) hash: Option<[u8; 32]>,
}

/// The cells of a notebook; `None` if it is no notebook, but perhaps a text.
pub(super) fn read_notebook(
    open: &mut OpenFile,
    query: &ReadQuery,
    cx: &ToolContext,
) -> Result<Option<NotebookRead>, ToolError> {
    let path = query.path.as_str();
    let (bytes, present) = read_content(open, path)?;
    let (_, text) = decode_content(path, &bytes)?;
    let Ok(notebook) = Notebook::parse(&text) else { return Ok(None) };
    let first = query.offset.unwrap_or(1).max(1);
    let skipped = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let limit = query.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let count = notebook.cells.len();
    if skipped >= count && count > 0 {
        return Err(ToolError::failed(format!(
            "`offset` {first} is past the end of `{path}`, which has {count} cells; give an `offset` from 1 to {count}"
        )));
    }
    let mut view = NotebookView::default();
    let mut last = skipped;
    for (index, cell) in notebook.cells.iter().enumerate().skip(skipped).take(limit) {
        if cx.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        if view.text.len() >= MAX_PAGE_BYTES {
            break;
        }
        view.push_cell(index, &notebook.cell_id(index), &cell.fields);
        last = index + 1;
    }
    let mut title = format!("`{path}`, cells {first}-{last} of {count}");
    if last < count {
        let _ = write!(title, "; continue with `offset` {}", last + 1);
    }
    let hash = present.hash.filter(|_| first == 1 && last == count && !view.is_cut);
    let mut output = ToolOutput::new([Content::text(format!("{title}\n{}", view.text))]);
    for image in view.images {
        output = output.with_content(image);
    }
    Ok(Some(NotebookRead { output, hash }))
}

#[derive(Default)]
struct NotebookView {
    text: String,
    images: Vec<Content>,
    image_bytes: usize,
    /// `true` if a part that an edit would replace is not shown.
    is_cut: bool,
}

/// Reads a part of a cell: `null` if there is none, and nothing if it has too many values, or one that no text or number is.
fn bounded_value(part: Option<&RawValue>) -> Option<Value> {
    let Some(part) = part else { return Some(Value::Null) };
    let values = part.get().bytes().filter(|byte| *byte == b',').count();
    if values > MAX_VALUES {
        return None;
    }
    serde_json::from_str(part.get()).ok()
}

impl NotebookView {
    fn push_cell(&mut self, index: usize, id: &str, cell: &CellFields<'_>) {
        let number = index + 1;
        let _ = writeln!(self.text, "[cell {number}, `{id}`, {}]", cell.cell_type);
        match bounded_value(cell.source) {
            Some(source) => self.push_numbered(&joined_text(&source), MAX_PAGE_BYTES),
            None => self.push_omission("source"),
        }
        let Some(outputs) = bounded_value(cell.outputs) else { return self.push_omission("outputs") };
        for output in outputs.as_array().into_iter().flatten() {
            if self.text.len() >= MAX_PAGE_BYTES {
                return self.push_omission("other outputs");
            }
            self.push_output(number, output);
        }
    }

    fn push_omission(&mut self, part: &str) {
        self.is_cut = true;
        let _ = writeln!(
            self.text,
            "[the {part} of this cell left out: too long, or not readable; search the file with `grep`]"
        );
    }

    /// Lines with numbers: none of them can look like the title of a cell.
    fn push_numbered(&mut self, text: &str, max_chars: usize) {
        let is_cut = text.chars().nth(max_chars).is_some();
        let shown: Cow<'_, str> = match is_cut {
            true => text.chars().take(max_chars).collect::<String>().into(),
            false => text.into(),
        };
        for (line_number, line) in (1..).zip(shown.lines()) {
            let _ = writeln!(self.text, "{line_number:>6}\t{line}");
        }
        if is_cut {
            self.is_cut |= max_chars == MAX_PAGE_BYTES;
            self.text.push_str("[the rest is left out; search it with `grep`]\n");
        }
    }

    fn push_output(&mut self, number: usize, output: &Value) {
        let text = match output["output_type"].as_str() {
            Some("stream") => joined_text(&output["text"]),
            Some("error") => format!("{}: {}", joined_text(&output["ename"]), joined_text(&output["evalue"])),
            _ => {
                let data = output["data"].as_object();
                for (mime, image) in data.into_iter().flatten() {
                    self.push_image(mime, &joined_text(image));
                }
                joined_text(&output["data"]["text/plain"])
            }
        };
        let _ = writeln!(self.text, "[output of cell {number}]");
        self.push_numbered(&text, MAX_OUTPUT_CHARS);
    }

    fn push_image(&mut self, mime: &str, base64: &str) {
        if !["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime) {
            return;
        }
        let letters: String = base64.split_ascii_whitespace().collect();
        let image = BASE64.decode(letters).unwrap_or_default();
        if image.is_empty() || self.images.len() == MAX_IMAGES {
            return;
        }
        self.image_bytes += image.len();
        if self.image_bytes as u64 <= MAX_IMAGE_BYTES {
            let _ = writeln!(self.text, "[image {} of the result]", self.images.len() + 1);
            self.images.push(Content::image(image, mime));
        }
    }
}

/// A text, which may be a list of lines.
pub(super) fn joined_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}
