//! The command `sessions` for [`tool-cli`](tool_cli): the sessions of a store on the command line.
//!
//! ```no_run,standalone_crate
//! use tool_cli::Cli;
//! use tool_session::cli::Sessions;
//!
//! fn main() -> std::process::ExitCode {
//!     Cli::new().command(Sessions::new()).main()
//! }
//! ```
//!
//! ```text
//! $ shop sessions list
//! $ shop sessions show orders --limit 5
//! $ shop sessions export orders --file orders.jsonl
//! $ shop sessions import orders.jsonl --store postgres://app@db.example/agents
//! $ shop sessions prune --older-than 90d --yes
//! ```
//!
//! | command | does |
//! | --- | --- |
//! | `list` | lists the sessions, the last changed first |
//! | `show NAME` | shows a session and its last entries |
//! | `export NAME..` | writes sessions as JSONL to the standard output or a new file: see [`jsonl`](crate::jsonl) |
//! | `import FILE` | adds the sessions of such a file, all or none; `-` is the standard input |
//! | `delete NAME..` | deletes sessions; with `--all` all data of a user |
//! | `prune` | deletes sessions by age (`--older-than`) and number (`--keep`) |
//!
//! # The store
//!
//! `--store sqlite:PATH` is a file, and `--store postgres://user@host/database` a database of a server (feature `postgres`). A password is
//! never part of the command line, which other programs of the machine can read: `--store env:NAME` reads the URL from an environment
//! variable, `--store @FILE` from a file, and the variables of `psql`, such as `PGPASSFILE`, apply. Default: `sessions.sqlite` in a
//! folder with the name of the program, in the data folder of the user (`$XDG_DATA_HOME` or `~/.local/share`; on Windows, `%APPDATA%`).
//! The folder has the mode 0700 and the file 0600. A file that does not exist is made by `import` alone.
//!
//! Sessions belong to an app, which is the name of the program unless [`Sessions::app`] or `--app` names another one, and to a user:
//! `--user`. Without `--user`, `list`, `export --all` and `prune` are about the sessions of all users, and a name is the one of a session without a user,
//! as the command `chat` of `tool-agent` makes them.
//!
//! # Text of others
//!
//! Names, titles and entries may be text of models and users. They are shown through [`Escape`](tool_runtime::policy::Escape), and shortened:
//! an entry to 1,000 characters in 20 lines. `--output json` writes them in full, with invisible characters as JSON escapes.
//!
//! # Deletions
//!
//! `delete` and `prune` ask at the terminal; `--yes` answers the question. Without a terminal and without `--yes`, they are refused with the exit
//! code 3, and nothing is deleted.
//!
//! # Exit codes
//!
//! 0 for success; 1 if the store failed; 2 for an invalid command line, an unknown session, a store that cannot be opened, and a file that
//! cannot be read or imported: nothing was changed; 3 if a deletion was not confirmed.

mod deletion;
mod entry_text;
mod list;
mod request;
mod sessions;
mod show;
mod store_location;
mod time;
mod transfer;

pub use self::{
    sessions::Sessions,
    store_location::{StoreConnection, StoreLocation},
};
