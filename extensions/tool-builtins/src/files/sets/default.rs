//! Five tools for files with short names.

use tool_runtime::prelude::*;

use super::super::{
    FileTools,
    edit::{Replacement, edit_file},
    grep::{GrepQuery, search_files},
    list::{FileQuery, list_files},
    read::{ReadQuery, read_file},
    write::write_file,
};

/// Lines that a search shows.
const MAX_SEARCH_LINES: u64 = 50;

/// The file tools of the small set: `read_file`, `write_file`, `edit_file`, `list_files` and `search`.
///
/// ```
/// use tool_builtins::{FileTools, files::DefaultFileTools};
/// use tool_runtime::Registry;
///
/// let folder = tempfile::tempdir()?;
/// let files = DefaultFileTools::new(FileTools::new(folder.path())?);
/// let tools = Registry::builder().toolset(files).build()?;
/// assert!(tools.get("search").is_some());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DefaultFileTools {
    files: FileTools,
}

impl DefaultFileTools {
    /// The tools for the folders of `files`.
    #[must_use]
    pub fn new(files: FileTools) -> Self {
        Self { files }
    }
}

#[toolset(name = "files")]
impl DefaultFileTools {
    /// Reads a file: lines of a text with their numbers, cells of a notebook, an image, or the text of a PDF document.
    #[tool(read_only, blocking)]
    fn read_file(
        &self,
        /// Path of the file, relative to the folder, such as `src/main.rs`.
        path: String,
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
        read_file(&self.files, &ReadQuery { path, offset, limit, pages }, cx)
    }

    /// Writes a file: a new one, with the folders that it needs, or all content of one that was read in full.
    #[tool(blocking, destructive)]
    fn write_file(
        &self,
        /// Path of the file, relative to the folder.
        path: String,
        /// All of its content.
        content: String,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        write_file(&self.files, &path, &content, cx)
    }

    /// Replaces text that occurs exactly once in a file that was read before.
    #[tool(blocking, destructive)]
    fn edit_file(
        &self,
        /// Path of the file, relative to the folder.
        path: String,
        /// Present text, without line numbers; with enough lines to be unique.
        old_text: String,
        /// Text that replaces it.
        new_text: String,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        edit_file(&self.files, &path, &Replacement { old_text, new_text, replace_all: false }, cx)
    }

    /// Lists the files of a folder and of the folders in it, sorted, three levels deep.
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
        list_files(&self.files.roots, &FileQuery::for_list(path, pattern, depth), cx)
    }

    /// Searches the lines of all files for a regular expression, and shows at most 50.
    #[tool(read_only, blocking)]
    fn search(
        &self,
        /// Regular expression; case is ignored unless `case_sensitive` is set.
        query: String,
        /// Folder or file to search. Default: all files.
        path: Option<String>,
        /// Pattern of file names, such as `*.rs`.
        file_pattern: Option<String>,
        /// Distinguishes upper and lower case.
        #[arg(default = false)]
        case_sensitive: bool,
        /// Number of matching lines to skip, to continue a search.
        #[arg(default = 0)]
        offset: u64,
        cx: &ToolContext,
    ) -> Result<String, ToolError> {
        let content = GrepQuery::for_matching_lines(query, MAX_SEARCH_LINES, offset);
        search_files(
            &self.files.roots,
            &GrepQuery { path, glob: file_pattern, case_sensitive, ..content },
            cx,
        )
    }
}
