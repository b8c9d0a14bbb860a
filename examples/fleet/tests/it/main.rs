//! The example: a broker, workers in processes, and a caller.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod approval;
mod commands;
mod script;

use std::{path::Path, process::Command};

/// The worker, with the commands of `tool-cli`.
fn worker() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fleet-worker"))
}

/// A file of the example.
fn path_of(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}
