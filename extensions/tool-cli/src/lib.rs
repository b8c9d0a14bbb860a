//! A command line for every program with tools.
//!
//! ```no_run
//! use tool_runtime::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(
//!     /// First number.
//!     a: i64,
//!     /// Second number.
//!     b: i64,
//! ) -> i64 {
//!     a + b
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     tool_cli::main()
//! }
//! ```
//!
//! ```text
//! $ calculator list
//! $ calculator show add
//! $ calculator call add --a 2 --b 3
//! 5
//! ```
//!
//! | command | does |
//! | --- | --- |
//! | `list` (`ls`) | lists the tools; `--all` lists items of all kinds with their origin |
//! | `show NAME` (`s`) | shows one tool; `--dialect` writes its definition in a dialect |
//! | `call NAME ..` (`c`) | calls one tool, with flags, with `--json`, or with JSON after the name; `-` reads the standard input, `@file` a file |
//! | `run FILE` (`r`) | runs the calls of a response, whole or streamed, and writes their results for the provider; detects the dialect if only one fits |
//! | `lint` | lists parts of definitions that dialects cannot carry |
//! | `export` | writes all definitions in a dialect |
//! | `pin FILE`, `check FILE` | write the definitions to a file; compare the tools with that file |
//! | `completions` | writes a completion script for bash, zsh or fish |
//!
//! [`main_with`] and [`Cli::provide_with`] provide the values that tools need; only commands that call tools use them.
//! [`Cli::executor`] sets the guards of calls. [`Command`] adds a command, and [`Extension`] several, with items of other kinds.
//!
//! # Flags of tools and options of the program
//!
//! The flags of a tool are its properties: `--city`, `--address.city` for a nested property, `--tag a --tag b` for a
//! list, `--urgent` or `--urgent=false` for a boolean; an underscore may be written as a dash. Options of the
//! program stand before the name of the tool, or after it unless the tool has a property of that name:
//! `call --output json settings --json compact`. `call --help NAME` lists the flags of a tool.
//!
//! Tuples, maps, choices between types, items that are objects, and objects below four levels are written as JSON:
//! `--stops '{"city": "Oslo"}'`; `show` and `--help` list the properties inside. A property whose name is not a valid flag,
//! such as `a b`, can only be given as JSON. A value that begins with a dash and is not a number is written with its flag:
//! `--city=-x`.
//!
//! # Secrets
//!
//! A secret (`#[arg(secret)]`) is never part of the command line, which other programs of the machine and the history of
//! the shell can read. Its flag takes a source of the value: `--password env:NAME` reads an environment variable,
//! `--password @FILE` a file without the line end, and `--password -` asks at the terminal without echo, or reads a line
//! of the standard input if that is no terminal. A value, or JSON on the command line that contains a secret, is refused
//! with exit code 2: anything that [`ToolDefinition::redacted`] hides, also under an alias, in a nested object, or under an
//! unknown name. JSON from a file or the standard input may contain secrets. A required secret that is missing is
//! asked for at the terminal.
//!
//! # Images and files
//!
//! For an image, audio or a file in a result, `call` writes a line with its kind, media type and size. `--save DIR/` saves
//! them as `DIR/<tool>-<number>.<extension>`, with the next free number; `--save FILE` saves one as `FILE`, and several with
//! a number before the extension. The extension follows from the media type; no text of a result is part of a path. An
//! existing file is refused before the call, and replaced only with `--force`. `--output json` contains the data as base64,
//! which a terminal shows as a number of characters.
//!
//! # Approval
//!
//! `--approve` decides on a call that requires approval: because of its tool (`confirm`, `permission`), or, in `run`,
//! because the tool is declared as destructive. `ask` asks at the terminal, and rejects the call without one; `never`
//! rejects it; `read-only` runs tools that are declared as read-only, and no others; `always` approves it. Default: `ask`.
//!
//! # Guards
//!
//! `call` and `run` use an executor with default settings: they validate arguments, and `confirm`, `permission` and the
//! timeouts of a tool apply. Rules, policies, hooks, limits and timeouts of an executor elsewhere in the program do not, until
//! [`Cli::executor`] configures them here, too. No option weakens them: a denial applies with every `--approve`, and the
//! approver of the program decides also with `--approve always`. A rule that fits no tool is reported as a note.
//!
//! # Output
//!
//! Results go to the standard output. Events go to the standard error: as bars on a terminal, as lines in a pipe, as JSON
//! with `run --events json`, and in a pipe with `call --output json`; on a terminal, the latter shows bars only. The output of a streaming tool is written once: to a terminal line by
//! line, or value by value, as it arrives; to a pipe as a whole. A terminal has colours unless `NO_COLOR` is set or `TERM` is `dumb`; `dumb` also
//! disables bars. The width of tables, help and messages is `COLUMNS`, or the width of the terminal.
//! Default: 80 columns.
//!
//! # Text of tools and models
//!
//! Names, descriptions, arguments, results, errors, updates and progress messages are shown by [`Escape`]: escape sequences,
//! control characters, and invisible characters or those that change the direction of text are escaped, such as
//! `\u{202e}`; joiners and variation selectors outside of emoji are, too. Only the command line itself adds colours. Text
//! within a line is limited to 300 characters, and a message to 8000 characters in 60 lines, followed by the number of
//! those that are left out. Results and JSON are written in full: a result to a terminal as described and to a pipe
//! unchanged, JSON with invisible characters as JSON escapes, such as `\u202e`, which is the same value.
//!
//! A question is the last text on the terminal, below the arguments of the call, which are shortened to fit a screen;
//! nothing else is written before the answer. Keys that were pressed before the question do not answer it.
//!
//! [`Escape`]: tool_runtime::policy::Escape
//! [`ToolDefinition::redacted`]: tool_runtime::ToolDefinition::redacted
//!
//! # Exit codes
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | success; also if the reader of the output closed it |
//! | 1 | a tool failed; `lint` or `check` found a problem, or a tool cannot be sent; an output cannot be written |
//! | 2 | the command line or the arguments are invalid, or an input cannot be read; nothing was run, except other calls of `run` |
//! | 3 | a call was not permitted or not approved |
//! | 4 | the program's tools cannot be used |
//! | 130 | the call was cancelled by Ctrl-C; a second Ctrl-C ends the program |
//!
//! For several calls, the first of 130, 3, 2 and 1 that one of them ended with.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

mod approvals;
mod cli;
mod closures;
mod command;
mod extension;
mod failure;
mod program;

mod approval_question;
mod approver;
mod argument_errors;
mod commands;
mod dialects;
mod flags;
mod grammar;
mod input;
mod keyboard;
mod page;
mod progress;
mod sanitize;
mod save;
mod secret;
mod stderr;
mod streamed;
mod terminal;
mod usage_error;

use std::process::ExitCode;

pub use clap;

pub use self::{
    approvals::Approvals,
    cli::Cli,
    closures::Provides,
    command::Command,
    commands::grammars,
    extension::{Extension, Item},
    failure::{Exit, Failure},
    program::Program,
};

/// Runs the command line of all tools that this program is linked with.
#[must_use]
pub fn main() -> ExitCode {
    Cli::new().main()
}

/// Runs the command line as [`main`](fn@main) does, for tools that need values: `provide` is called before a tool is
/// called, at most once.
///
/// [`Cli::tools`] adds tools that are not functions, such as the methods of a `#[toolset]`.
///
/// # Examples
///
/// ```no_run
/// # struct Stations;
/// # impl Stations { fn open() -> std::io::Result<Self> { Ok(Self) } }
/// fn main() -> std::process::ExitCode {
///     tool_cli::main_with(|builder| Stations::open().map(|stations| builder.provide(stations)))
/// }
/// ```
#[must_use]
pub fn main_with<P: Provides>(
    provide: impl FnOnce(tool_runtime::registry::RegistryBuilder) -> P + 'static,
) -> ExitCode {
    Cli::new().provide_with(provide).main()
}
