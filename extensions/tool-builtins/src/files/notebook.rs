//! Notebooks: cells with their outputs.
//!
//! A notebook is read and changed as text: a cell that a call does not name keeps each of its bytes.

use std::{borrow::Cow, collections::HashMap, fmt::Write as _, ops::Range, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::Deserialize;
use serde_json::value::RawValue;
use tool_runtime::{Content, policy::Escape, prelude::*};

use super::{
    change::{decode_content, read_whole_with_stamp},
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

/// The longest id and type of a cell; the format permits ids of as many letters.
const MAX_NAME_CHARS: usize = 64;

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
    /// Its id, or the name of its place, such as `cell-0`, if the id is missing, invalid, or not its own alone.
    pub(super) name: String,
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
        let fields_of = |raw: &&'a RawValue| serde_json::from_str(raw.get());
        let cell_fields: Vec<CellFields<'a>> =
            raw_cells.iter().map(fields_of).collect::<Result<_, serde_json::Error>>()?;
        let names = cell_names(&cell_fields);
        let places = raw_cells.iter().map(|raw| byte_range_of_part(text, raw.get()));
        let cells = cell_fields.into_iter().zip(places).zip(names);
        Ok(Self {
            cells: cells.map(|((fields, range), name)| Cell { fields, range, name }).collect(),
            list: byte_range_of_part(text, fields.cells.get()),
            needs_ids: (fields.nbformat, fields.nbformat_minor) >= (4, 5),
        })
    }

    /// The index of the cell with a name, or else at the place that it names, such as `cell-0`, if this is the id of no other one.
    pub(super) fn cell_index(&self, name: &str) -> Option<usize> {
        let by_name = self.cells.iter().position(|cell| cell.name == name);
        let is_place = |index: &usize| *index < self.cells.len() && !self.has_id(name);
        by_name.or_else(|| index_of_place_name(name).filter(is_place))
    }

    pub(super) fn cell_name_or_empty(&self, index: usize) -> &str {
        self.cells.get(index).map_or("", |cell| cell.name.as_str())
    }

    /// Returns `true` if a cell has the id, also one that is not its name.
    pub(super) fn has_id(&self, id: &str) -> bool {
        self.cells.iter().any(|cell| cell.name == id || cell.fields.id.as_deref() == Some(id))
    }
}

/// The names of cells: no two have the same one, and none looks like another line of a result.
fn cell_names(cells: &[CellFields<'_>]) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for id in cells.iter().filter_map(|cell| cell.id.as_deref()) {
        *uses.entry(id).or_default() += 1;
    }
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'_';
    let is_name = |index: usize, id: &&str| {
        (1..=MAX_NAME_CHARS).contains(&id.len())
            && id.bytes().all(is_letter)
            && uses.get(id) == Some(&1)
            && index_of_place_name(id).is_none_or(|place| place == index)
    };
    let cells = cells.iter().map(|cell| cell.id.as_deref()).enumerate();
    cells
        .map(|(index, id)| {
            let id = id.filter(|id| is_name(index, id));
            id.map_or_else(|| format!("cell-{index}"), str::to_owned)
        })
        .collect()
}

/// The place that a name such as `cell-0` names.
fn index_of_place_name(name: &str) -> Option<usize> {
    name.strip_prefix("cell-")?.parse().ok()
}

/// Returns `true` for the name of a notebook.
pub(super) fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// The place of a part in its text.
fn byte_range_of_part(text: &str, part: &str) -> Range<usize> {
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
    let (bytes, present) = read_whole_with_stamp(open, path)?;
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
        view.push_cell(index, cell);
        last = index + 1;
    }
    let mut title = match count {
        0 => format!("`{path}` has no cells"),
        _ => format!("`{path}`, cells {first}-{last} of {count}"),
    };
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
    /// `true` if a part that an edit would replace is not shown.
    is_cut: bool,
}

/// Reads a part of a cell: `null` if there is none, and nothing if it has too many values, or one that no text or number is.
fn parse_value_within_limit(part: Option<&RawValue>) -> Option<Value> {
    let Some(part) = part else { return Some(Value::Null) };
    let values = part.get().bytes().filter(|byte| *byte == b',').count();
    if values > MAX_VALUES {
        return None;
    }
    serde_json::from_str(part.get()).ok()
}

impl NotebookView {
    fn push_cell(&mut self, index: usize, Cell { fields: cell, name, .. }: &Cell<'_>) {
        let number = index + 1;
        let cell_type = Escape::LINE.at_most(MAX_NAME_CHARS).text(&cell.cell_type);
        let _ = writeln!(self.text, "[cell {number}, `{name}`, {cell_type}]");
        match parse_value_within_limit(cell.source) {
            Some(source) if is_text_or_lines(&source) => {
                self.push_numbered_lines(&joined_text(&source), MAX_PAGE_BYTES)
            }
            _ => self.push_omission("source"),
        }
        let Some(outputs) = parse_value_within_limit(cell.outputs) else {
            return self.push_omission("outputs");
        };
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
    fn push_numbered_lines(&mut self, text: &str, max_chars: usize) {
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
        self.push_numbered_lines(&text, MAX_OUTPUT_CHARS);
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
        let _ = writeln!(self.text, "[image {} of the result]", self.images.len() + 1);
        self.images.push(Content::image(image, mime));
    }
}

/// Returns `true` for a text, a list of its lines, or none.
fn is_text_or_lines(value: &Value) -> bool {
    match value {
        Value::Array(lines) => lines.iter().all(Value::is_string),
        value => value.is_string() || value.is_null(),
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
