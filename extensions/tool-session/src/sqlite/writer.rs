//! The one writer of a store: a task that commits the operations of many sessions together.
//!
//! Writes of different sessions share their statements: a statement costs a change to the thread of the connection and back, behind all
//! tasks of the runtime that are ready. An operation that may be refused halfway runs in a savepoint, so that it leaves the others as they
//! are. An error of the database ends the transaction; then each operation of it runs again, in a transaction of its own. After each
//! commit, the writer checks that the file is still the one at its path. After one that deletes, it empties the log, which still has what
//! was deleted.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use sqlx::{Connection, SqliteConnection};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};
use tool_runtime::BoxFuture;

use super::{
    error::{may_have_ended_transaction, store_error},
    file::DatabaseFile,
};
use crate::{Clock, Lease, SessionError, SessionVersion, SessionWrite, sql};

/// The maximum number of operations of one transaction.
///
/// With many sessions, most pages that a transaction changes are also changed by the next one: fewer, larger transactions write less.
const MAX_BATCH_OPERATIONS: usize = 512;
/// The maximum number of operations that wait for the writer.
const MAX_QUEUED_OPERATIONS: usize = 1024;
/// The maximum number of bytes of the bodies of writes that share their statements, which are copied for them. One write may have more.
const MAX_SHARED_BYTES: usize = 1 << 20;

/// A handle to the writer.
#[derive(Debug)]
pub(super) struct SqliteWriter {
    queue: Mutex<Option<mpsc::Sender<WriterJob>>>,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

type OperationFn =
    dyn for<'c> Fn(&'c mut SqliteConnection) -> BoxFuture<'c, Result<(), SessionError>> + Send + Sync;
type AnswerFn = dyn FnOnce(Result<(), SessionError>) + Send + Sync;

/// An operation that waits for its transaction.
struct WriterJob {
    operation: JobOperation,
    /// Answers the caller after the commit.
    answer: Box<AnswerFn>,
    kind: JobKind,
}

/// An operation, which may run for a second time after a rollback.
enum JobOperation {
    /// The write of a run.
    Write(Arc<QueuedWrite>),
    /// Any other one.
    Other(Box<OperationFn>),
}

struct QueuedWrite {
    lease: Lease,
    write: SessionWrite,
    version: SharedOutput<SessionVersion>,
}

/// The output of an operation, until its transaction ends.
type SharedOutput<T> = Arc<Mutex<Option<T>>>;

fn set_output<T>(output: &SharedOutput<T>, value: T) {
    *output.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobKind {
    Write,
    /// It is refused, if at all, before it changes anything, so that it needs no savepoint.
    Lease,
    /// After its commit, the log is emptied, which still has what was deleted.
    Deletion,
}

impl SqliteWriter {
    /// Starts the task, which owns `connection`.
    pub(super) fn start(connection: SqliteConnection, file: DatabaseFile, clock: Clock) -> Self {
        let (queue, jobs) = mpsc::channel(MAX_QUEUED_OPERATIONS);
        #[expect(
            clippy::disallowed_methods,
            reason = "it ends with `queue`, after the jobs in it; `close` joins it"
        )]
        let task = tokio::spawn(run_jobs_until_closed(WriterConnection { connection, file, clock }, jobs));
        Self { queue: Mutex::new(Some(queue)), task: tokio::sync::Mutex::new(Some(task)) }
    }

    /// Runs `operation` in a transaction, and returns its output after the commit. If the returned future is dropped, the
    /// operation may take effect all the same.
    pub(super) async fn run_in_transaction<T, F>(
        &self,
        kind: JobKind,
        operation: F,
    ) -> Result<T, SessionError>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, SessionError>>
            + Send
            + Sync
            + 'static,
    {
        let output = SharedOutput::default();
        let run_output = Arc::clone(&output);
        let run: Box<OperationFn> = Box::new(move |connection| {
            let running = operation(connection);
            let output = Arc::clone(&run_output);
            Box::pin(async move {
                set_output(&output, running.await?);
                Ok(())
            })
        });
        self.submit_and_await(kind, JobOperation::Other(run), output).await
    }

    /// Applies a write as [`run_in_transaction`](Self::run_in_transaction) does, in statements that it shares with the writes of other sessions.
    pub(super) async fn apply_write(
        &self,
        lease: Lease,
        write: SessionWrite,
    ) -> Result<SessionVersion, SessionError> {
        let version = SharedOutput::default();
        let kind = if write.removed_views.is_empty() { JobKind::Write } else { JobKind::Deletion };
        let write = QueuedWrite { lease, write, version: Arc::clone(&version) };
        self.submit_and_await(kind, JobOperation::Write(write.into()), version).await
    }

    async fn submit_and_await<T: Send + 'static>(
        &self,
        kind: JobKind,
        operation: JobOperation,
        output: SharedOutput<T>,
    ) -> Result<T, SessionError> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let queue = queue.ok_or(SessionError::Closed)?;
        let (sender, receiver) = oneshot::channel();
        let answer: Box<AnswerFn> = Box::new(move |committed| {
            let value = output.lock().unwrap_or_else(PoisonError::into_inner).take();
            // A caller that is gone needs no answer.
            drop(sender.send(committed.and_then(|()| value.ok_or(SessionError::Closed))));
        });
        queue.send(WriterJob { operation, answer, kind }).await.map_err(|_| SessionError::Closed)?;
        receiver.await.unwrap_or(Err(SessionError::Closed))
    }

    /// Ends the task after all operations that wait, and waits for its end.
    pub(super) async fn close_and_join(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(task) = self.task.lock().await.take() {
            // A task that panicked has ended, too.
            drop(task.await);
        }
    }
}

/// The connection of a writer, and its file.
struct WriterConnection {
    connection: SqliteConnection,
    file: DatabaseFile,
    clock: Clock,
}

async fn run_jobs_until_closed(mut connection: WriterConnection, mut jobs: mpsc::Receiver<WriterJob>) {
    let mut batch = Vec::new();
    while jobs.recv_many(&mut batch, MAX_BATCH_OPERATIONS).await > 0 {
        connection.run_and_answer_batch(std::mem::take(&mut batch)).await;
    }
    if let Err(error) = connection.connection.close().await {
        tracing::warn!(%error, "the connection of a store of sessions was not closed");
    }
}

/// A transaction that had no effect, or none that is known.
struct FailedTransaction {
    error: SessionError,
    /// `true` if smaller transactions may succeed.
    can_split: bool,
}

impl WriterConnection {
    /// Runs and answers operations: together, or one by one if that fails.
    async fn run_and_answer_batch(&mut self, jobs: Vec<WriterJob>) {
        match self.run_transaction(&jobs).await {
            Ok(results) => jobs.into_iter().zip(results).for_each(|(job, result)| (job.answer)(result)),
            Err(FailedTransaction { error, can_split }) if jobs.len() == 1 || !can_split => {
                jobs.into_iter().for_each(|job| (job.answer)(Err(error.clone())));
            }
            Err(_) => {
                for job in jobs {
                    let results = self.run_transaction(std::slice::from_ref(&job)).await;
                    let result = results.map_err(|failed| failed.error);
                    (job.answer)(result.and_then(|results| results.into_iter().collect()));
                }
            }
        }
    }

    /// Runs operations in one transaction; returns the result of each.
    async fn run_transaction(
        &mut self,
        jobs: &[WriterJob],
    ) -> Result<Vec<Result<(), SessionError>>, FailedTransaction> {
        let begin = self.execute_sql("BEGIN IMMEDIATE").await;
        begin.map_err(|error| FailedTransaction { error, can_split: false })?;
        let results = match self.run_operations(jobs).await {
            Ok(results) => self.execute_sql("COMMIT").await.map(|()| results),
            Err(error) => Err(error),
        };
        match results {
            Ok(results) => match self.file.check_not_replaced() {
                Ok(()) => {
                    if jobs.iter().any(|job| job.kind == JobKind::Deletion) {
                        self.truncate_log().await;
                    }
                    Ok(results)
                }
                // The writes went to a file that no other process finds, and would again.
                Err(error) => Err(FailedTransaction { error, can_split: false }),
            },
            Err(error) => {
                // If it fails, the database has ended the transaction by itself.
                drop(self.execute_sql("ROLLBACK").await);
                Err(FailedTransaction { error, can_split: true })
            }
        }
    }

    /// Moves the log into the file, and empties it. Waits for readers as a write waits; one that reads for longer prevents it.
    async fn truncate_log(&mut self) {
        let emptied =
            sqlx::query_scalar("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut self.connection).await;
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

    /// Runs operations in their order: writes together as far as they can share statements, each other one alone.
    async fn run_operations(
        &mut self,
        jobs: &[WriterJob],
    ) -> Result<Vec<Result<(), SessionError>>, SessionError> {
        let mut results = Vec::with_capacity(jobs.len());
        while let Some(job) = jobs.get(results.len()) {
            match &job.operation {
                JobOperation::Write(_) => {
                    let writes = leading_shareable_writes(&jobs[results.len()..]);
                    results.extend(self.apply_writes(&writes).await?);
                }
                JobOperation::Other(run) if job.kind == JobKind::Lease => {
                    results.push(separate_database_error(run(&mut self.connection).await)?);
                }
                JobOperation::Other(run) => results.push(self.run_in_savepoint(run).await?),
            }
        }
        Ok(results)
    }

    async fn run_in_savepoint(
        &mut self,
        run: &OperationFn,
    ) -> Result<Result<(), SessionError>, SessionError> {
        self.execute_sql("SAVEPOINT operation").await?;
        let result = separate_database_error(run(&mut self.connection).await)?;
        let end =
            if result.is_ok() { "RELEASE operation" } else { "ROLLBACK TO operation; RELEASE operation" };
        self.execute_sql(end).await?;
        Ok(result)
    }

    /// Applies writes of different sessions, without a savepoint: one that is refused changes nothing.
    async fn apply_writes(
        &mut self,
        writes: &[&QueuedWrite],
    ) -> Result<Vec<Result<(), SessionError>>, SessionError> {
        let values: Vec<_> = writes.iter().map(|queued| (&queued.lease, &queued.write)).collect();
        let results = sql::apply_writes(&mut self.connection, &values, self.clock.now()).await?;
        let set_version = |(queued, result): (&&QueuedWrite, Result<_, _>)| {
            result.map(|version| set_output(&queued.version, version))
        };
        Ok(writes.iter().zip(results).map(set_version).collect())
    }

    async fn execute_sql(&mut self, sql: &'static str) -> Result<(), SessionError> {
        // Prepared once: a step has several of them.
        sqlx::query(sql).execute(&mut self.connection).await.map(drop).map_err(store_error)
    }
}

/// Returns the result of an operation, or the error after which its transaction must end.
fn separate_database_error(
    result: Result<(), SessionError>,
) -> Result<Result<(), SessionError>, SessionError> {
    match result {
        Err(error) if may_have_ended_transaction(&error) => Err(error),
        result => Ok(result),
    }
}

/// Returns the writes at the begin of `jobs` that can share statements: each is of another session.
fn leading_shareable_writes(jobs: &[WriterJob]) -> Vec<&QueuedWrite> {
    let (mut writes, mut keys, mut bytes) = (Vec::new(), HashSet::new(), 0);
    for job in jobs {
        let JobOperation::Write(queued) = &job.operation else { break };
        bytes += queued.write.body_bytes();
        let is_full = bytes > MAX_SHARED_BYTES && !writes.is_empty();
        if is_full || !keys.insert(&queued.lease.key) {
            break;
        }
        writes.push(&**queued);
    }
    writes
}

#[cfg(test)]
mod tests;
