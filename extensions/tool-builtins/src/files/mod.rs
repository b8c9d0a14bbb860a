//! Files below given folders.
//!
//! Every file is opened through the handle of its folder (`cap_std`), also each file that a walk finds: a path is
//! resolved step by step by the operating system or `cap_std`, so that nothing that is exchanged between a check
//! and a use leads out. Therefore the walk is our own, and `ignore` only judges names.

mod change;
mod diff;
mod edit;
mod grep;
mod grep_results;
mod line_ends;
mod list;
mod media;
mod memory;
mod notebook;
mod notebook_edit;
mod page;
mod read;
mod root;
mod sets;
mod text;
mod walk;
mod write;

use std::{io, path::Path, sync::Arc};

use tool_runtime::prelude::*;

#[cfg(all(feature = "shell", feature = "web"))]
pub(crate) use self::sets::toolset_of_registry;
use self::{
    grep::{GrepMode, GrepQuery},
    list::FileQuery,
    memory::SessionReads,
    notebook_edit::{CellEdit, CellType, EditMode},
    read::ReadQuery,
    root::FileRoots,
};
pub use self::{
    media::PdfConverter,
    sets::{CodingFileTools, DefaultFileTools},
};

/// Bytes of a file that is read without a range.
const DEFAULT_WHOLE_BYTES: u64 = 1024 * 1024;

/// Tools that read, edit and search the files below one or several folders: `read_file`, `edit_file`, `write_file`, `grep`,
/// `list_files`, `glob` and `notebook_edit`.
///
/// A clone shares what was read. Files that were read are remembered for each user and session of a run
/// ([`RunContext::session`](tool_runtime::RunContext::session)); runs without them share one memory.
///
/// ```
/// use tool_builtins::FileTools;
/// use tool_runtime::Registry;
///
/// let folder = tempfile::tempdir()?;
/// let tools = Registry::builder().toolset(FileTools::new(folder.path())?).build()?;
/// assert_eq!(tools.definitions().len(), 7);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FileTools {
    roots: FileRoots,
    memory: Arc<SessionReads>,
    permits_unread_edits: bool,
    max_whole_bytes: u64,
    pdf_converter: Option<Arc<dyn PdfConverter>>,
}

impl FileTools {
    /// Tools for the files below `folder`.
    ///
    /// The folder is opened here: if another one takes its name later, the tools still use this one.
    ///
    /// # Errors
    ///
    /// Returns an error if `folder` cannot be opened as a folder.
    pub fn new(folder: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self {
            roots: FileRoots::open(folder.as_ref())?,
            memory: Arc::default(),
            permits_unread_edits: false,
            max_whole_bytes: DEFAULT_WHOLE_BYTES,
            pdf_converter: media::default_pdf_converter(),
        })
    }

    /// Adds a folder, whose paths a model writes with its name, such as `docs:guide/index.md`. Paths without a name are
    /// below the folder of [`new`](Self::new); one of its files whose path begins with `docs:` is `./docs:..`.
    ///
    /// A search or list without a path visits all folders.
    ///
    /// ```
    /// # use tool_runtime::prelude::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let [project, docs] = ["project", "docs"].map(|name| folder.path().join(name));
    /// # std::fs::create_dir_all(&project)?;
    /// # std::fs::create_dir_all(&docs)?;
    /// std::fs::write(docs.join("index.md"), "# Guide\n")?;
    /// let files = tool_builtins::FileTools::new(project)?.with_read_only_folder("docs", docs)?;
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let tools = Registry::builder().toolset(files).build()?;
    /// let found = tools.call("glob", json!({ "pattern": "*.md" })).await?;
    /// assert_eq!(found.text(), "docs:index.md\n");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if `name` is not 2 to 32 ASCII letters, digits, `-` or `_`, if another folder has it, or if `folder` cannot be
    /// opened as a folder.
    pub fn with_folder(mut self, name: impl AsRef<str>, folder: impl AsRef<Path>) -> io::Result<Self> {
        self.roots.add_root(name.as_ref(), folder.as_ref(), false)?;
        Ok(self)
    }

    /// Adds a folder as [`with_folder`](Self::with_folder) does, whose files are never changed.
    ///
    /// # Errors
    ///
    /// As [`with_folder`](Self::with_folder).
    pub fn with_read_only_folder(
        mut self,
        name: impl AsRef<str>,
        folder: impl AsRef<Path>,
    ) -> io::Result<Self> {
        self.roots.add_root(name.as_ref(), folder.as_ref(), true)?;
        Ok(self)
    }

    /// The base folder, by the path at its opening: where a command of another tool set starts.
    #[must_use]
    pub fn base_folder(&self) -> &Path {
        self.roots.base_path()
    }

    /// Sets the number of bytes of a text that is read without a range. Default: 1 MiB.
    #[must_use]
    pub fn with_max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_whole_bytes = bytes;
        self
    }

    /// Sets the converter of PDF documents. Default: with the feature `shell`, `pdftotext` in a sandbox (`PdfToText`) where the
    /// program is found; otherwise none, and their read is an error that says what to install.
    #[must_use]
    pub fn with_pdf_converter(mut self, converter: impl PdfConverter) -> Self {
        self.pdf_converter = Some(Arc::new(converter));
        self
    }

    /// Permits edits and writes of existing files that were never read. Default: refused.
    ///
    /// For a command line, whose process ends after each call. A file that was read, and changed since, is still refused.
    #[must_use]
    pub fn permit_unread_edits(mut self) -> Self {
        self.permits_unread_edits = true;
        self
    }
}

#[toolset(name = "files")]
impl FileTools {
    /// Reads a file: lines of a text with their numbers, cells of a notebook, an image, or the text of a PDF document.
    ///
    /// Without `offset` and `limit`, texts up to 1 MiB are read from their start. The result says which call continues.
    #[tool(read_only, blocking)]
    fn read_file(
        &self,
        /// Path of the file, relative to the folder, such as `src/main.rs`.
        path: String,
        /// Number of the first line or cell, from 1.
        #[schemars(range(min = 1))]
        offset: Option<u64>,
        /// Number of lines or cells. Default: 2000 lines.
        #[schemars(range(min = 1))]
        limit: Option<u64>,
        /// Pages of a PDF document, such as `3` or `3-7`; at most 20.
        pages: Option<String>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        read::read_file(self, &ReadQuery { path, offset, limit, pages }, cx)
    }

    /// Replaces text in a file that was read before.
    ///
    /// `old_text` must occur exactly once, unless `replace_all` is set. Nothing is changed by an edit that fails.
    #[tool(blocking, destructive)]
    fn edit_file(
        &self,
        /// Path of the file, relative to the folder.
        path: String,
        /// Present text, without line numbers; with enough lines to be unique.
        old_text: String,
        /// Text that replaces it.
        new_text: String,
        /// Replaces all occurrences.
        #[arg(default = false)]
        replace_all: bool,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        edit::edit_file(self, &path, &edit::Replacement { old_text, new_text, replace_all }, cx)
    }

    /// Searches the lines of all files for a regular expression.
    ///
    /// Skips binary files, `.git`, `target`, `node_modules`, and what `.gitignore` names.
    #[tool(read_only, blocking)]
    #[allow(clippy::too_many_arguments, reason = "they are the properties that a model gives")]
    fn grep(
        &self,
        /// Regular expression; case is ignored unless `case_sensitive` is set.
        pattern: String,
        /// Folder or file to search. Default: all files.
        path: Option<String>,
        /// Pattern of file names, such as `*.rs` or `src/**/*.rs`.
        glob: Option<String>,
        /// Form of the results. Default: `content`, the matching lines; `files`, their paths; `count`, the number of each file.
        mode: Option<GrepMode>,
        /// Distinguishes upper and lower case.
        #[arg(default = false)]
        case_sensitive: bool,
        /// Number of lines shown before and after each matching one.
        #[arg(default = 0)]
        #[schemars(range(max = 100))]
        context: u64,
        /// Maximum number of lines, or of files.
        #[arg(default = 250)]
        #[schemars(range(min = 1, max = 250))]
        limit: u64,
        /// Number of matching lines or files to skip, to continue a search.
        #[arg(default = 0)]
        offset: u64,
        cx: &ToolContext,
    ) -> Result<String, ToolError> {
        let mode = mode.unwrap_or(GrepMode::Content);
        let (before, after) = (context, context);
        let query = GrepQuery {
            path,
            glob,
            case_sensitive,
            mode,
            before,
            after,
            ..GrepQuery::for_matching_lines(pattern, limit, offset)
        };
        grep::search_files(&self.roots, &query, cx)
    }

    /// Lists the files of a folder and the folders in it, sorted.
    ///
    /// Skips `.git`, `target`, `node_modules`, and what `.gitignore` names.
    #[tool(read_only, blocking)]
    fn list_files(
        &self,
        /// Folder to list. Default: all.
        path: Option<String>,
        /// Pattern of file names, such as `*.rs`.
        pattern: Option<String>,
        /// Levels of folders.
        #[arg(default = 3)]
        #[schemars(range(min = 1, max = 64))]
        depth: u32,
        cx: &ToolContext,
    ) -> Result<String, ToolError> {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        list::list_files(&self.roots, &FileQuery::for_list(path, pattern, depth), cx)
    }

    /// Finds files by a pattern of their paths, sorted.
    #[tool(read_only, blocking)]
    fn glob(
        &self,
        /// Pattern, such as `**/*.rs`; one without a slash is for names in any folder.
        pattern: String,
        /// Folder to search. Default: all.
        path: Option<String>,
        cx: &ToolContext,
    ) -> Result<String, ToolError> {
        list::list_files(&self.roots, &FileQuery::for_glob(path, pattern), cx)
    }

    /// Writes a file: a new one, with the folders that it needs, or all content of one that was read in full.
    ///
    /// To change a part of a file, use `edit_file`.
    #[tool(blocking, destructive)]
    fn write_file(
        &self,
        /// Path of the file, relative to the folder.
        path: String,
        /// All of its content.
        content: String,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        write::write_file(self, &path, &content, cx)
    }

    /// Replaces, inserts or deletes a cell of a notebook that was read before.
    #[tool(blocking, destructive)]
    #[allow(clippy::too_many_arguments, reason = "they are the properties that a model gives")]
    fn notebook_edit(
        &self,
        /// Path of the notebook, relative to the folder.
        path: String,
        /// Id of the cell, as a read shows it. To insert: the cell before the new one; without it, the new one is the first.
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
        notebook_edit::edit_notebook(
            self,
            &path,
            &CellEdit { cell_id, cell_type, mode, source: new_source },
            cx,
        )
    }
}

#[cfg(test)]
mod tests;
