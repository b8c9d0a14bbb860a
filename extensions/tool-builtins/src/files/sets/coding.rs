//! Six tools for files under the names and with the arguments of coding agents, on which models were trained.

use schemars::JsonSchema;
use serde::Deserialize;
use tool_runtime::{
    prelude::*,
    registry::{BuildError, RegistryBuilder},
    schemars,
    toolset::NamedTools,
};

use super::super::{
    FileTools,
    edit::{Replacement, edit_file},
    grep::{GrepMode, GrepQuery, search_files},
    list::{FileQuery, list_files},
    notebook_edit::{CellEdit, CellType, EditMode, edit_notebook},
    read::{ReadQuery, read_file},
    write::write_file,
};

/// The name of the set, if the program gives none.
const DEFAULT_NAME: &str = "claudecode";

/// The file tools of coding agents: `Read`, `Glob` and `Grep`, and with `read_only(false)` also `Write`, `Edit` and `NotebookEdit`.
///
/// ```
/// use tool_builtins::{FileTools, files::CodingFileTools};
/// use tool_runtime::Registry;
///
/// let folder = tempfile::tempdir()?;
/// let files = CodingFileTools::new(FileTools::new(folder.path())?).read_only(false);
/// let tools = files.add_to(Registry::builder()).build()?;
/// assert_eq!(tools.len(), 6);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CodingFileTools {
    name: String,
    files: FileTools,
    is_read_only: bool,
}

impl CodingFileTools {
    /// The tools for the folders of `files`, whose first one is the base folder. Default: they only read.
    #[must_use]
    pub fn new(files: FileTools) -> Self {
        Self { name: DEFAULT_NAME.to_owned(), files, is_read_only: true }
    }

    /// Sets the name of the set. A blank one is the default, `claudecode`.
    #[must_use]
    pub fn with_name(mut self, name: impl AsRef<str>) -> Self {
        let name = name.as_ref().trim();
        self.name = if name.is_empty() { DEFAULT_NAME } else { name }.to_owned();
        self
    }

    /// The name of the set.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Leaves out the tools that change files. Default: `true`.
    #[must_use]
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.is_read_only = is_read_only;
        self
    }

    /// Adds the tools to those of a program.
    pub fn add_to(self, builder: RegistryBuilder) -> RegistryBuilder {
        let builder = builder.toolset(Readers(self.files.clone()));
        match self.is_read_only {
            true => builder,
            false => builder.toolset(Writers(self.files)),
        }
    }

    /// The tools as a set with the [name](Self::name), for a `Toolbox`.
    ///
    /// # Errors
    ///
    /// None that a program can cause; a registry is built.
    pub fn into_toolset(self) -> Result<NamedTools, BuildError> {
        let name = self.name.clone();
        Ok(toolset_of_registry(name, &self.add_to(Registry::builder()).build()?))
    }
}

/// The set `name` of all tools of a registry.
pub(crate) fn toolset_of_registry(name: String, tools: &Registry) -> NamedTools {
    let names = tools.definitions().iter().map(|definition| definition.name().as_str());
    NamedTools::new(name, names.filter_map(|name| tools.get(name).cloned()))
}

/// The form of the results of `Grep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(crate = "tool_runtime::schemars")]
enum OutputMode {
    /// Matching lines.
    Content,
    /// Paths of files with a matching line.
    FilesWithMatches,
    /// Numbers of matching lines of each file.
    Count,
}

struct Readers(FileTools);

#[toolset(name = "claudecode")]
impl Readers {
    /// Reads a file: lines of a text with their numbers, cells of a notebook, an image, or the text of a PDF document.
    #[tool(name = "Read", read_only, blocking)]
    fn read(
        &self,
        /// Path of the file.
        file_path: String,
        /// Number of the first line, from 1.
        #[schemars(range(min = 1))]
        offset: Option<u64>,
        /// Number of lines. Default: 2000.
        #[schemars(range(min = 1))]
        limit: Option<u64>,
        /// Pages of a PDF document, such as `3` or `3-7`; at most 20.
        pages: Option<String>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        read_file(&self.0, &ReadQuery { path: file_path, offset, limit, pages }, cx)
    }

    /// Finds files by a pattern of their paths, sorted; at most 100.
    #[tool(name = "Glob", read_only, blocking)]
    fn glob(
        &self,
        /// Pattern, such as `**/*.rs`; one without a slash is for names in any folder.
        pattern: String,
        /// Folder to search. Default: all.
        path: Option<String>,
        cx: &ToolContext,
    ) -> Result<String, ToolError> {
        list_files(&self.0.roots, &FileQuery::for_glob(path, pattern), cx)
    }

    /// Searches the lines of files for a regular expression.
    #[tool(name = "Grep", read_only, blocking)]
    #[allow(clippy::too_many_arguments, reason = "they are the properties that a model gives")]
    fn grep(
        &self,
        /// Regular expression.
        pattern: String,
        /// Folder or file to search. Default: all files.
        path: Option<String>,
        /// Pattern of file names, such as `*.rs`.
        glob: Option<String>,
        /// Kind of files, such as `rust` or `py`.
        #[serde(rename = "type")]
        file_type: Option<String>,
        /// Form of the results. Default: `files_with_matches`.
        output_mode: Option<OutputMode>,
        /// Ignores case.
        #[serde(rename = "-i")]
        #[arg(default = false)]
        ignore_case: bool,
        /// Shows the numbers of lines.
        #[serde(rename = "-n")]
        #[arg(default = true)]
        line_numbers: bool,
        /// Number of lines shown after each match.
        #[serde(rename = "-A")]
        #[schemars(range(max = 100))]
        after: Option<u64>,
        /// Number of lines shown before each match.
        #[serde(rename = "-B")]
        #[schemars(range(max = 100))]
        before: Option<u64>,
        /// Number of lines shown before and after each match.
        #[serde(rename = "-C")]
        #[schemars(range(max = 100))]
        context: Option<u64>,
        /// Maximum number of lines or files.
        #[arg(default = 250)]
        #[schemars(range(min = 1, max = 250))]
        head_limit: u64,
        /// Number of lines or files to skip.
        #[arg(default = 0)]
        offset: u64,
        cx: &ToolContext,
    ) -> Result<String, ToolError> {
        let mode = match output_mode {
            Some(OutputMode::Content) => GrepMode::Content,
            Some(OutputMode::Count) => GrepMode::Count,
            Some(OutputMode::FilesWithMatches) | None => GrepMode::Files,
        };
        let around = context.unwrap_or(0);
        let query = GrepQuery {
            path,
            glob,
            file_type,
            case_sensitive: !ignore_case,
            mode,
            before: before.unwrap_or(around),
            after: after.unwrap_or(around),
            has_numbers: line_numbers,
            ..GrepQuery::for_matching_lines(pattern, head_limit, offset)
        };
        search_files(&self.0.roots, &query, cx)
    }
}

struct Writers(FileTools);

#[toolset(name = "claudecode")]
impl Writers {
    /// Writes a file: a new one, with the folders that it needs, or all content of one that was read in full.
    #[tool(name = "Write", blocking, destructive)]
    fn write(
        &self,
        /// Path of the file.
        file_path: String,
        /// All of its content.
        content: String,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        write_file(&self.0, &file_path, &content, cx)
    }

    /// Replaces text in a file that was read before. The text must occur exactly once, unless `replace_all` is set.
    #[tool(name = "Edit", blocking, destructive)]
    fn edit(
        &self,
        /// Path of the file.
        file_path: String,
        /// Present text, without line numbers; with enough lines to be unique.
        old_string: String,
        /// Text that replaces it.
        new_string: String,
        /// Replaces all occurrences.
        #[arg(default = false)]
        replace_all: bool,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let replacement = Replacement { old_text: old_string, new_text: new_string, replace_all };
        edit_file(&self.0, &file_path, &replacement, cx)
    }

    /// Replaces, inserts or deletes a cell of a notebook that was read before.
    #[tool(name = "NotebookEdit", blocking, destructive)]
    #[allow(clippy::too_many_arguments, reason = "they are the properties that a model gives")]
    fn notebook_edit(
        &self,
        /// Path of the notebook.
        notebook_path: String,
        /// Id of the cell. To insert: the cell before the new one; without it, the new one is the first.
        cell_id: Option<String>,
        /// Source of the cell; not used to delete.
        #[arg(default = "")]
        new_source: String,
        /// Kind of the cell. Default: the kind of the present cell, and `code` for a new one.
        cell_type: Option<CellType>,
        /// Change of the notebook. Default: `replace`.
        edit_mode: Option<EditMode>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let mode = edit_mode.unwrap_or(EditMode::Replace);
        edit_notebook(&self.0, &notebook_path, &CellEdit { cell_id, cell_type, mode, source: new_source }, cx)
    }
}
