//! A command line for every program with tools.
//!
//! ```no_run
//! use tool_runtime::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(
//!     /// The one.
//!     a: i64,
//!     /// The other.
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
//! | `list` | lists the tools |
//! | `show NAME` | says all of one tool; `--dialect` as a provider is told it |
//! | `call NAME ..` | calls one tool: flags made of its schema, or `--json`, or JSON after the name; `-` is the standard input, `@file` a file |
//! | `run FILE` | runs the calls of a provider's response, whole or streamed, and writes what the provider is answered |
//! | `lint` | lists what dialects lose of the tools |
//! | `export` | writes the tools as a provider wants them |
//! | `pin FILE`, `check FILE` | write down what the tools are; say what changed since |
//! | `completions` | writes what bash, zsh or fish need to complete all of it |
//!
//! [`main_with`] and [`Cli::provide_with`] give tools their values; commands that call nothing do without.
//! [`Command`] adds a command.
//!
//! # Flags of tools and options of the program
//!
//! The flags of a tool are its properties: `--city`, `--address.city` for what is nested, `--tag a --tag b` for a
//! list, `--urgent` or `--urgent=false` for a boolean; an underscore may be written as a dash. Options of the
//! program stand before the name of the tool, always; after it, too, but for those that a property of the tool is
//! called like: `call --output json settings --json compact`. `call --help NAME` says the flags of any tool.
//!
//! Tuples, maps, choices between types, items that are objects and what is nested more than four levels deep are
//! written as JSON: `--stops '{"city": "Oslo"}'`. A property whose name is no word of a command line, such as `a b`,
//! is reached by JSON only. A value that begins with a dash and is no number is written with its flag: `--city=-x`.
//!
//! # Who decides
//!
//! `--approve` says what becomes of a call that wants to be approved: by its tool (`confirm`, `permission`), or in `run`,
//! where a model wants it, because the tool says that it is destructive. `ask` asks at the terminal, and approves
//! nothing where there is none; `never` approves nothing; `read-only` runs tools that say that they only read, and
//! no others; `always` approves everything.
//!
//! # What is written where
//!
//! Results go to the standard output; what happens meanwhile goes to the standard error: bars on a terminal, lines
//! in a pipe, JSON with `call --output json` and `run --events json`. There are colours on a terminal, unless
//! `NO_COLOR` is set or `TERM` is `dumb`, which has no bars either. Tables are as wide as `COLUMNS`, the terminal, or
//! else 80 columns.
//!
//! # Words of tools and models
//!
//! Names, descriptions, arguments, results, errors, updates and messages of progress are shown as [`Reveal`] shows them:
//! escape sequences, control characters, and all that cannot be seen or changes the direction of text, are written out,
//! such as `\u{202e}`; joiners and variation selectors of emoji are, too. Colours come from the command line alone. What
//! stands within a line has at most 300 characters, and messages have at most 8000 in 60 lines; the number of those that
//! are left out follows. Only a result, and JSON, are written in full: a result to a terminal as described and to a pipe
//! as the tool gave it, JSON with what cannot be seen as escapes, such as `\u202e`, which is the same value.
//!
//! A question stands last: below the arguments that it is about, which are shortened where they do not fit a screen, and
//! nothing else is written before it is answered. Keys that were pressed before it do not answer it.
//!
//! [`Reveal`]: tool_runtime::Reveal
//!
//! # Exit codes
//!
//! | code | says |
//! | --- | --- |
//! | 0 | all is well; also where whoever reads the output has gone |
//! | 1 | a tool failed; `lint` or `check` found something, or a tool cannot be sent; an output cannot be written |
//! | 2 | the command line is wrong, arguments were refused, an input cannot be read; nothing was run, but for the other calls of `run` |
//! | 3 | a call was not permitted or not approved |
//! | 4 | the program's tools cannot be used |
//! | 130 | the call was cancelled, by Ctrl-C; a second one ends the program, whatever its tools do |
//!
//! Of several calls, the first of 130, 3, 2 and 1 that fits one of them counts.

mod cli;
mod command;
mod failure;
mod program;

mod approve;
mod commands;
mod dialects;
mod flags;
mod harmless;
mod input;
mod page;
mod question;
mod refused;
mod stage;
mod terminal;
mod watch;

use std::process::ExitCode;

pub use clap;

pub use self::{
    cli::Cli,
    command::Command,
    failure::{Exit, Failure},
    program::{Program, Provides},
};

/// The command line of all tools that this program was linked with.
#[must_use]
pub fn main() -> ExitCode {
    Cli::new().main()
}

/// As [`main`](fn@main), where tools need values: `provide` is asked for them before a tool is called, and only then.
///
/// Tools that are no functions, such as the methods of a `#[toolset]`, are added by [`Cli::tools`].
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
    provide: impl FnOnce(tool_runtime::RegistryBuilder) -> P + 'static,
) -> ExitCode {
    Cli::new().provide_with(provide).main()
}
