//! The stores of runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tool_agent::Runner;
use tool_runtime::RunContext;
use tool_session::{PostgresOptions, SqliteStore};

use crate::Outcome;

/// A database that is removed with its value; `None` is in memory.
pub(crate) struct Database {
    folder: Option<PathBuf>,
}

impl Database {
    /// Returns `runner` with its sessions in a new database: `memory`, `sqlite` with its default of `synchronous = FULL`, or `postgres`
    /// with `fsync`.
    pub(crate) async fn open(name: &str, runner: Runner) -> Outcome<(Self, Runner)> {
        match name {
            "memory" => Ok((Self { folder: None }, runner)),
            "sqlite" => {
                let folder = format!("rounds-{}", std::process::id());
                let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
                let store = SqliteStore::open(folder.join("sessions.sqlite")).await?;
                Ok((Self { folder: Some(folder) }, runner.with_store(store)))
            }
            "postgres" => {
                let url = test_support::postgres::shared_url().ok_or("there is no server of Postgres")?;
                let options = PostgresOptions::new(&url)?.schema(test_support::postgres::new_schema())?;
                Ok((Self { folder: None }, runner.with_store(options.open().await?)))
            }
            other => Err(format!("unknown store `{other}`; use `memory`, `sqlite` or `postgres`").into()),
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            drop(fs::remove_dir_all(folder));
        }
    }
}

/// Returns the context of a run in a session of its own.
pub(crate) fn session_run(number: usize) -> RunContext {
    RunContext::new().with_app("bench").with_user("bench").with_session(format!("s-{number}"))
}
