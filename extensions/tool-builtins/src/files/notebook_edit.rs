//! `notebook_edit`: a cell of a notebook is replaced, inserted or deleted.

use serde::Deserialize;
use serde_json::value::RawValue;
use tool_runtime::{prelude::*, schemars::JsonSchema};

use super::{
    FileTools,
    change::{NeededRead, TextChange, change_file},
    notebook::{Cell, Notebook, is_notebook},
};

/// The change of a notebook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "tool_runtime::schemars")]
pub(super) enum EditMode {
    /// Replaces the source of a cell, and removes its outputs.
    Replace,
    /// Inserts a cell after the given one, or at the start.
    Insert,
    /// Deletes a cell.
    Delete,
}

/// The kind of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "tool_runtime::schemars")]
pub(super) enum CellType {
    /// Runs.
    Code,
    /// Is shown.
    Markdown,
}

/// The arguments of a call.
pub(super) struct CellEdit {
    pub(super) cell_id: Option<String>,
    pub(super) cell_type: Option<CellType>,
    pub(super) mode: EditMode,
    pub(super) source: String,
}

pub(super) fn edit_notebook(
    tools: &FileTools,
    path: &str,
    edit: &CellEdit,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    change_file(tools, path, NeededRead::Part, cx, &|open, text| {
        if !is_notebook(&open.real) {
            return Err(ToolError::failed(format!("`{path}` is no notebook (`.ipynb`); edit it as text")));
        }
        let notebook = Notebook::parse(text).map_err(|error| {
            ToolError::failed(format!(
                "`{path}` is not a valid notebook: {error}; edit it with another program"
            ))
        })?;
        let (text, report) = apply_cell_edit(path, text, &notebook, edit)?;
        Ok(TextChange { text, report })
    })
}

fn apply_cell_edit(
    path: &str,
    text: &str,
    notebook: &Notebook<'_>,
    edit: &CellEdit,
) -> Result<(String, String), ToolError> {
    let index = match &edit.cell_id {
        Some(id) => Some(notebook.cell_index(id).ok_or_else(|| unknown_cell_error(path, id, notebook))?),
        None if edit.mode == EditMode::Insert => None,
        None => {
            return Err(ToolError::failed(
                "`cell_id` is missing; give the id of the cell, as a read of the notebook shows it",
            ));
        }
    };
    let cell = index.and_then(|index| notebook.cells.get(index));
    let id = index.map_or("", |index| notebook.cell_name_or_empty(index));
    let (range, replacement, report) = match (edit.mode, cell) {
        (EditMode::Replace, Some(cell)) => {
            let cell_text = new_cell_json(edit, Some(cell), notebook)?;
            (cell.range.clone(), cell_text, format!("replaced the cell `{id}` of `{path}`\n"))
        }
        (EditMode::Delete, Some(cell)) => {
            let index = index.unwrap_or_default();
            let range = match (notebook.cells.get(index + 1), index.checked_sub(1)) {
                (Some(next), _) => cell.range.start..next.range.start,
                (None, Some(before)) => {
                    notebook.cells.get(before).map_or(cell.range.start, |cell| cell.range.end)..cell.range.end
                }
                (None, None) => cell.range.clone(),
            };
            (range, String::new(), format!("deleted the cell `{id}` of `{path}`\n"))
        }
        (_, cell) => {
            let new_id = unused_cell_id(edit, notebook);
            let place = cell.map_or(notebook.list.start + 1, |cell| cell.range.end);
            let cell_text = new_cell_json(edit, None, notebook)?;
            let inserted = match (cell, notebook.cells.is_empty()) {
                (Some(_), _) => format!(",\n  {cell_text}"),
                (None, true) => format!("\n  {cell_text}\n "),
                (None, false) => format!("\n  {cell_text},"),
            };
            let shown = if notebook.needs_ids { format!(" `{new_id}`") } else { String::new() };
            (place..place, inserted, format!("inserted a cell{shown} into `{path}`\n"))
        }
    };
    let mut changed = text.to_owned();
    changed.replace_range(range, &replacement);
    Ok((changed, report))
}

fn unknown_cell_error(path: &str, id: &str, notebook: &Notebook<'_>) -> ToolError {
    const MAX_IDS: usize = 20;
    let ids: Vec<_> = notebook.cells.iter().take(MAX_IDS).map(|cell| cell.name.as_str()).collect();
    let ids = ids.join(", ");
    ToolError::failed(format!("`{path}` has no cell `{id}`; its first cells are: {ids}"))
}

/// An id that no cell has, from the source, so that an edit that is repeated gives the same notebook.
fn unused_cell_id(edit: &CellEdit, notebook: &Notebook<'_>) -> String {
    let mut number = notebook.cells.len();
    loop {
        let hash = hmac_sha256::Hash::hash(format!("{number}:{}", edit.source).as_bytes());
        let id: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        if !notebook.has_id(&id) {
            return id;
        }
        number += 1;
    }
}

/// A cell as notebooks are usually written: sorted members. Metadata and attachments of a present one keep their bytes.
fn new_cell_json(
    edit: &CellEdit,
    present: Option<&Cell<'_>>,
    notebook: &Notebook<'_>,
) -> Result<String, ToolError> {
    let as_json =
        |value: Value| serde_json::to_string(&value).map_err(|error| ToolError::failed(error.to_string()));
    let present_type = present.map(|cell| cell.fields.cell_type.as_ref());
    let cell_type = match edit.cell_type {
        Some(CellType::Code) => "code",
        Some(CellType::Markdown) => "markdown",
        None => present_type.unwrap_or("code"),
    };
    let is_same_type = present_type == Some(cell_type);
    let id = match present {
        Some(cell) => cell.fields.id.as_deref().map(str::to_owned),
        None => notebook.needs_ids.then(|| unused_cell_id(edit, notebook)),
    };
    let raw = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_owned());
    let mut members = Vec::new();
    if let Some(attachments) = raw(present.filter(|_| is_same_type).and_then(|cell| cell.fields.attachments))
    {
        members.push(("attachments", attachments));
    }
    members.push(("cell_type", as_json(json!(cell_type))?));
    if cell_type == "code" {
        members.push(("execution_count", "null".to_owned()));
    }
    if let Some(id) = id {
        members.push(("id", as_json(json!(id))?));
    }
    let metadata = raw(present.and_then(|cell| cell.fields.metadata)).unwrap_or_else(|| "{}".to_owned());
    members.push(("metadata", metadata));
    if cell_type == "code" {
        members.push(("outputs", "[]".to_owned()));
    }
    let lines = edit.source.split_inclusive('\n').map(|line| as_json(json!(line)));
    let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
    let source = match lines.is_empty() {
        true => "[]".to_owned(),
        false => format!("[\n    {}\n   ]", lines.join(",\n    ")),
    };
    members.push(("source", source));
    let members: Vec<_> = members.iter().map(|(name, value)| format!("   \"{name}\": {value}")).collect();
    Ok(format!("{{\n{}\n  }}", members.join(",\n")))
}
