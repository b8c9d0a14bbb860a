//! The tools that most agents need, made safe once. Each group is a feature; none is on by default.
//!
//! | feature | tools |
//! | --- | --- |
//! | `command-policy` | `CommandPolicy`: which shell commands run without a question; `conservative`, for all tools |
//! | `files` | `FileTools`: reads, edits and searches files below one or several folders, also under the names of `files::DefaultFileTools` and `files::CodingFileTools` |
//! | `shell` | `ShellTools`: commands in a sandbox, and background tasks; with `files` or `web`, `PdfToText`: the text of PDF documents |
//! | `code` | `CodeTools`: programs that a model writes, in the same sandbox |
//! | `todo` | `TodoTools`: a task list in the state of the session |
//! | `tool-search` | `ToolSearch`: the right tools among thousands, and calls of them that pass the same rules |
//! | `web` | `WebTools`: pages of the web as Markdown, and searches |
//! | `agent` | groups as parts of agents of `tool-agent`: with `todo`, `todo::TodoEnforcer`, which does not let a run end with open tasks; with `tool-search`, `tool_search::SelectTools`, which chooses the tools of each request; with `code`, `CodeTools` runs the scripts of skills |
//!
//! With `files` and `shell`, `sets` has ready sets: `DefaultTools`, and `CodingTools` with `web`.
#![cfg_attr(
    feature = "files",
    doc = r#"
```
use tool_builtins::FileTools;
use tool_runtime::prelude::*;

# #[tokio::main(flavor = "current_thread")]
# async fn main() -> Result<(), Box<dyn std::error::Error>> {
let folder = tempfile::tempdir()?;
std::fs::write(folder.path().join("notes.txt"), "one\ntwo\n")?;

let tools = Registry::builder().toolset(FileTools::new(folder.path())?).build()?;
let result = tools.call("grep", json!({ "pattern": "TWO" })).await?;
assert_eq!(result.text(), "notes.txt:2: two\n");
assert!(tools.call("read_file", json!({ "path": "../secret" })).await.is_err());
# Ok(())
# }
```
"#
)]
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

#[cfg(feature = "code")]
pub mod code;
#[cfg(feature = "command-policy")]
pub mod command_policy;
#[cfg(feature = "files")]
pub mod files;
#[cfg(all(feature = "shell", any(feature = "files", feature = "web")))]
mod pdf;
#[cfg(feature = "shell")]
pub mod sandbox;
#[cfg(any(feature = "files", feature = "shell"))]
mod session;
#[cfg(all(feature = "files", feature = "shell"))]
pub mod sets;
#[cfg(feature = "shell")]
pub mod shell;
#[cfg(feature = "todo")]
pub mod todo;
#[cfg(feature = "tool-search")]
pub mod tool_search;
#[cfg(feature = "web")]
pub mod web;

#[cfg(feature = "code")]
pub use self::code::CodeTools;
#[cfg(feature = "command-policy")]
pub use self::command_policy::{CommandPolicy, conservative};
#[cfg(feature = "files")]
pub use self::files::FileTools;
#[cfg(all(feature = "shell", any(feature = "files", feature = "web")))]
pub use self::pdf::PdfToText;
#[cfg(feature = "todo")]
pub use self::todo::TodoTools;
#[cfg(feature = "tool-search")]
pub use self::tool_search::ToolSearch;
#[cfg(feature = "web")]
pub use self::web::WebTools;
#[cfg(feature = "shell")]
pub use self::{sandbox::Sandbox, shell::ShellTools};

/// The examples of the guide about the search for tools.
#[cfg(all(doctest, feature = "tool-search", feature = "agent"))]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/tool_search.md")]
pub mod tool_search_guide {}

/// The examples of the guide about these tools.
#[cfg(all(
    doctest,
    feature = "files",
    feature = "shell",
    feature = "command-policy",
    feature = "todo",
    feature = "agent"
))]
#[doc = include_str!("../../../tool-runtime/src/docs/guide/built_in_tools.md")]
pub mod guide {}
