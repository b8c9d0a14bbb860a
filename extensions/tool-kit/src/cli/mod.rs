//! The commands `prompts`, `resources`, `connect` and `serve` for [`tool-cli`](tool_cli): the catalogue of a program on the command line.
//!
//! ```no_run
//! use tool_cli::Cli;
//! use tool_kit::{cli::CatalogueCommands, prompt::PromptFile, resource::FileResource};
//! use tool_runtime::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     let commands = CatalogueCommands::new(|catalogue| async move {
//!         catalogue.add_prompt(PromptFile::load("prompts/explain.md")?)?;
//!         catalogue.add_resource(FileResource::new("notes", "notes.txt")?.with_uri("notes://today")?);
//!         anyhow::Ok(catalogue)
//!     });
//!     Cli::new().extension(commands).main()
//! }
//! # use tool_kit::resource::ReadableResource as _;
//! ```
//!
//! ```text
//! $ library list --all
//! $ library prompts render explain '{"topic": "tides"}'
//! $ library resources read notes://today
//! $ library connect http://127.0.0.1:3001/mcp call search --query tides
//! $ library serve --http 127.0.0.1:3002
//! ```
//!
//! | command | does |
//! | --- | --- |
//! | `prompts list` | lists the prompts |
//! | `prompts show NAME` | shows one prompt: arguments, model, tools |
//! | `prompts render NAME [INPUT]` | writes the messages of a prompt for an input: JSON, or the text itself if the input is a text; `-` reads the standard input, `@file` a file |
//! | `resources list` | lists the resources, and the templates of more |
//! | `resources read URI` | writes the content of a resource; `--save FILE` saves it |
//! | `resources watch [URI]..` | writes a line for each change of these resources, and of the list of resources, until Ctrl-C |
//! | `connect SERVER` | lists the items of an MCP server; with a command, works on them: `call`, `show`, `prompts`, `resources` |
//! | `serve` | serves tools, prompts and resources to MCP clients, as the command of `tool-mcp` does |
//! | `list --all` | lists tools, prompts, resources and templates with their origin |
//!
//! Items are found by their [keys](crate::catalogue::Catalogue#keys). `SERVER` is what the command `mcp` of [`tool_mcp`] takes: a command line, a URL,
//! or a name in the `mcpServers` of a file; what it has is listed without a namespace, and its connection ends with the command.
//!
//! # The catalogue
//!
//! The closure of [`CatalogueCommands::new`] receives a catalogue of the tools of the program, whose calls have the guards of
//! [`Cli::executor`](tool_cli::Cli::executor), and of the functions with [`#[prompt]`](macro@crate::prompt) and [`#[resource]`](macro@crate::resource)
//! that are linked into it, with the values of [`Cli::provide_with`](tool_cli::Cli::provide_with). It is called by the first command that needs items other than the tools of the program. What the
//! catalogue leaves out, such as the items of a server that cannot be reached, is a note on the standard error.
//!
//! # Text of others
//!
//! Names, descriptions and messages may be text of servers, and are shown through [`Escape`](tool_runtime::policy::Escape). The messages of a prompt
//! and the text of a resource are written in full: escaped to a terminal, unchanged to a pipe; `--json` writes invisible characters as JSON escapes.
//!
//! # Exit codes
//!
//! 0 for success; 1 if a prompt, a resource or a server failed; 2 for an invalid command line or input, and for an item that does not exist; 4 if the
//! catalogue cannot be made.

mod catalogue_commands;
mod connect;
mod prompt_page;
mod prompts;
mod request;
mod resources;
mod serve;
mod watch;

pub use self::catalogue_commands::CatalogueCommands;
