//! The one writer of a store: a task that commits the operations of many sessions together.
//!
//! Each operation runs in a savepoint, so that one that is refused leaves the others as they are. An error of the database ends the
//! transaction; then each operation of it runs again, in a transaction of its own. After each commit, the writer checks that the file is
//! still the one at its path. After one that deletes, it empties the log, which still has what was deleted.

use std::sync::{Arc, Mutex, PoisonError};

use sqlx::{Connection, SqliteConnection};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tool_runtime::BoxFuture;

use super::{
    error::{is_of_database, store_error},
    file::DatabaseFile,
};
use crate::SessionError;

/// The maximum number of operations of one transaction.
const MAX_BATCH_OPERATIONS: usize = 128;
/// The maximum number of operations that wait for the writer.
const MAX_QUEUED_OPERATIONS: usize = 1024;

/// A handle to the writer.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

type Run = dyn for<'c> Fn(&'c mut SqliteConnection) -> BoxFuture<'c, Result<(), SessionError>> + Send + Sync;
type Answer = dyn FnOnce(Result<(), SessionError>) + Send + Sync;

/// An operation that waits for its transaction.
struct Job {
    /// Runs the operation, perhaps for a second time after a rollback.
    run: Box<Run>,
    /// Answers the caller after the commit.
    answer: Box<Answer>,
    kind: JobKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobKind {
    Write,
    /// After its commit, the log is emptied, which still has what was deleted.
    Deletion,
}

impl Writer {
    /// Starts the task, which owns `connection`.
    pub(super) fn start(connection: SqliteConnection, file: DatabaseFile) -> Self {
        let (queue, jobs) = mpsc::channel(MAX_QUEUED_OPERATIONS);
        #[expect(
            clippy::disallowed_methods,
            reason = "it ends with `queue`, after the jobs in it; `close` joins it"
        )]
        let task = tokio::spawn(run_jobs(connection, file, jobs));
        Self { queue: Mutex::new(Some(queue)), task: tokio::sync::Mutex::new(Some(task)) }
    }

    /// Runs `operation` in a transaction, and returns its output after the commit. If the returned future is dropped, the
    /// operation may take effect all the same.
    pub(super) async fn run<T, F>(&self, kind: JobKind, operation: F) -> Result<T, SessionError>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, SessionError>>
            + Send
            + Sync
            + 'static,
    {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let queue = queue.ok_or(SessionError::Closed)?;
        let (sender, receiver) = oneshot::channel();
        let output = Arc::new(Mutex::new(None));
        let last_output = Arc::clone(&output);
        let run: Box<Run> = Box::new(move |connection| {
            let running = operation(connection);
            let output = Arc::clone(&output);
            Box::pin(async move {
                let value = running.await?;
                *output.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                Ok(())
            })
        });
        let answer: Box<Answer> = Box::new(move |committed| {
            let value = last_output.lock().unwrap_or_else(PoisonError::into_inner).take();
            // A caller that is gone needs no answer.
            drop(sender.send(committed.and_then(|()| value.ok_or(SessionError::Closed))));
        });
        queue.send(Job { run, answer, kind }).await.map_err(|_| SessionError::Closed)?;
        receiver.await.unwrap_or(Err(SessionError::Closed))
    }

    /// Ends the task after all operations that wait, and waits for its end.
    pub(super) async fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(task) = self.task.lock().await.take() {
            // A task that panicked has ended, too.
            drop(task.await);
        }
    }
}

async fn run_jobs(mut connection: SqliteConnection, file: DatabaseFile, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::new();
    while jobs.recv_many(&mut batch, MAX_BATCH_OPERATIONS).await > 0 {
        run_batch(&mut connection, &file, std::mem::take(&mut batch)).await;
    }
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the connection of a store of sessions was not closed");
    }
}

/// Runs and answers operations: together, or one by one if that fails.
async fn run_batch(connection: &mut SqliteConnection, file: &DatabaseFile, jobs: Vec<Job>) {
    match run_transaction(connection, file, &jobs).await {
        Ok(results) => jobs.into_iter().zip(results).for_each(|(job, result)| (job.answer)(result)),
        Err(Rollback { error, can_split }) if jobs.len() == 1 || !can_split => {
            jobs.into_iter().for_each(|job| (job.answer)(Err(error.clone())));
        }
        Err(_) => {
            for job in jobs {
                let results = run_transaction(connection, file, std::slice::from_ref(&job)).await;
                let result = results.map_err(|rollback| rollback.error);
                (job.answer)(result.and_then(|results| results.into_iter().collect()));
            }
        }
    }
}

/// A transaction that had no effect, or none that is known.
struct Rollback {
    error: SessionError,
    /// `true` if smaller transactions may succeed.
    can_split: bool,
}

/// Runs operations in one transaction; returns the result of each.
async fn run_transaction(
    connection: &mut SqliteConnection,
    file: &DatabaseFile,
    jobs: &[Job],
) -> Result<Vec<Result<(), SessionError>>, Rollback> {
    let begin = execute_sql(connection, "BEGIN IMMEDIATE").await;
    begin.map_err(|error| Rollback { error, can_split: false })?;
    let results = match run_operations(connection, jobs).await {
        Ok(results) => execute_sql(connection, "COMMIT").await.map(|()| results),
        Err(error) => Err(error),
    };
    match results {
        Ok(results) => match file.check() {
            Ok(()) => {
                if jobs.iter().any(|job| job.kind == JobKind::Deletion) {
                    empty_log(connection).await;
                }
                Ok(results)
            }
            // The writes went to a file that no other process finds, and would again.
            Err(error) => Err(Rollback { error, can_split: false }),
        },
        Err(error) => {
            // If it fails, the database has ended the transaction by itself.
            drop(execute_sql(connection, "ROLLBACK").await);
            Err(Rollback { error, can_split: true })
        }
    }
}

/// Moves the log into the file, and empties it. Waits for readers as a write waits; one that reads for longer prevents it.
async fn empty_log(connection: &mut SqliteConnection) {
    let emptied = sqlx::query_scalar("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(connection).await;
    let reason = match emptied {
        Ok(0_i64) => return,
        Ok(_) => "another connection reads".to_owned(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(
        reason,
        "the log of a database keeps what was deleted until the next deletion, or until the last process closes it"
    );
}

async fn run_operations(
    connection: &mut SqliteConnection,
    jobs: &[Job],
) -> Result<Vec<Result<(), SessionError>>, SessionError> {
    let mut results = Vec::with_capacity(jobs.len());
    for job in jobs {
        execute_sql(connection, "SAVEPOINT operation").await?;
        let result = (job.run)(connection).await;
        match &result {
            Ok(()) => execute_sql(connection, "RELEASE operation").await?,
            Err(error) if is_of_database(error) => return Err(error.clone()),
            Err(_) => execute_sql(connection, "ROLLBACK TO operation; RELEASE operation").await?,
        }
        results.push(result);
    }
    Ok(results)
}

async fn execute_sql(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), SessionError> {
    sqlx::raw_sql(sql).execute(connection).await.map(drop).map_err(store_error)
}
