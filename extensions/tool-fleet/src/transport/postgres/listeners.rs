//! The receivers of this process: in memory, and as rows that senders find.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, mpsc, watch};

use super::database::{Database, Deadline, Lane, Value};
use crate::{Delivery, FleetError};

/// The time without a sign of life after which the receivers of a process count as gone.
pub(super) const LISTENER_LIFETIME: Duration = Duration::from_secs(6);

/// The messages that a receiver has not read; beyond, further ones are lost, which is logged.
const MAX_UNREAD: usize = 4096;

/// The receivers of a process. One task stores them, one statement at a time; others wait for what it has stored, and not for each other.
pub(super) struct Listeners {
    /// A name that no other process has.
    process: String,
    local: Mutex<LocalListeners>,
    stored: watch::Sender<StoredListeners>,
    /// Notified after each change of `local`.
    pub(super) changed: Notify,
}

#[derive(Default)]
struct LocalListeners {
    by_queue: HashMap<String, Vec<LocalListener>>,
    /// Grows with each change.
    version: u64,
    /// The version of the last change that removed a row.
    removal: u64,
    is_closed: bool,
}

/// The last attempt to store the receivers.
#[derive(Default)]
struct StoredListeners {
    /// The version that the database has.
    version: u64,
    failure: Option<StoreFailure>,
}

struct StoreFailure {
    /// The version that was not stored.
    version: u64,
    problem: String,
}

struct LocalListener {
    number: u64,
    pattern: String,
    group: Option<String>,
    deliveries: mpsc::Sender<Delivery>,
}

/// The rows of a process, by columns.
#[derive(Default)]
struct ListenerRows {
    version: u64,
    queues: Vec<String>,
    patterns: Vec<String>,
    groups: Vec<Option<String>>,
}

/// A receiver, until it is dropped.
pub(super) struct Registration {
    listeners: Arc<Listeners>,
    queue: String,
    /// The version that has it.
    number: u64,
}

impl Registration {
    /// Waits until senders find the receiver.
    ///
    /// # Errors
    ///
    /// If it cannot be stored, or not in time.
    pub(super) async fn wait_until_stored(&self, deadline: Deadline) -> Result<(), FleetError> {
        self.listeners.wait_for_version(self.number, deadline).await
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.listeners.remove(&self.queue, self.number);
    }
}

impl Listeners {
    pub(super) fn new(process: String) -> Self {
        let (local, stored, changed) = (Mutex::default(), watch::Sender::default(), Notify::new());
        Self { process, local, stored, changed }
    }

    fn lock_local(&self) -> MutexGuard<'_, LocalListeners> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of the notifications for this process.
    pub(super) fn channel(&self) -> String {
        format!("tool_fleet_{}", self.process)
    }

    /// Adds a receiver, which senders find once it [is stored](Registration::wait_until_stored); `None` if all receivers are closed.
    pub(super) fn add(
        self: &Arc<Self>,
        pattern: &str,
        group: Option<&str>,
    ) -> Option<(Registration, mpsc::Receiver<Delivery>)> {
        let (sender, receiver) = mpsc::channel(MAX_UNREAD);
        let mut local = self.lock_local();
        if local.is_closed {
            return None;
        }
        local.version += 1;
        let number = local.version;
        // Neither names of groups nor those of processes have the separator.
        let queue = match group {
            Some(group) => format!("{group}\u{1f}{pattern}"),
            None => format!("{}.{number}", self.process),
        };
        let (pattern, group) = (pattern.to_owned(), group.map(str::to_owned));
        let listener = LocalListener { number, pattern, group, deliveries: sender };
        local.by_queue.entry(queue.clone()).or_default().push(listener);
        drop(local);
        self.changed.notify_one();
        Some((Registration { listeners: Arc::clone(self), queue, number }, receiver))
    }

    fn remove(&self, queue: &str, number: u64) {
        let mut local = self.lock_local();
        let Some(members) = local.by_queue.get_mut(queue) else { return };
        members.retain(|member| member.number != number);
        if members.is_empty() {
            local.by_queue.remove(queue);
            local.version += 1;
            local.removal = local.version;
            drop(local);
            self.changed.notify_one();
        }
    }

    /// Ends the streams of all receivers.
    pub(super) fn close(&self) {
        let mut local = self.lock_local();
        local.is_closed = true;
        local.by_queue.clear();
    }

    /// The queues whose messages this process takes.
    pub(super) fn queues(&self) -> Vec<String> {
        self.lock_local().by_queue.keys().cloned().collect()
    }

    /// Gives a message to a receiver of the queue: if there are several, to any one.
    pub(super) fn deliver(&self, queue: &str, delivery: Delivery) {
        let local = self.lock_local();
        // Its receiver has left.
        let Some(members) = local.by_queue.get(queue) else { return };
        let first = fastrand::usize(..members.len().max(1));
        let mut delivery = delivery;
        for member in members.iter().cycle().skip(first).take(members.len()) {
            match member.deliveries.try_send(delivery) {
                Ok(()) => return,
                Err(mpsc::error::TrySendError::Full(back) | mpsc::error::TrySendError::Closed(back)) => {
                    delivery = back;
                }
            }
        }
        tracing::warn!(subject = delivery.subject, "a message is lost, since its receiver does not read");
    }

    /// Waits until the database has all changes.
    ///
    /// # Errors
    ///
    /// If they cannot be stored, or not in time.
    pub(super) async fn wait_for_changes(&self, deadline: Deadline) -> Result<(), FleetError> {
        let version = self.lock_local().version;
        self.wait_for_version(version, deadline).await
    }

    /// Waits until senders no longer find the receivers that have left.
    ///
    /// # Errors
    ///
    /// As [`wait_for_changes`](Self::wait_for_changes).
    pub(super) async fn wait_for_removals(&self, deadline: Deadline) -> Result<(), FleetError> {
        let removal = self.lock_local().removal;
        self.wait_for_version(removal, deadline).await
    }

    async fn wait_for_version(&self, version: u64, deadline: Deadline) -> Result<(), FleetError> {
        let mut stored = self.stored.subscribe();
        if stored.borrow_and_update().version >= version {
            return Ok(());
        }
        let ended = async {
            // The sender lives as long as `self`.
            while stored.changed().await.is_ok() {
                let stored = stored.borrow_and_update();
                if stored.version >= version {
                    return Ok(());
                }
                if let Some(failure) = stored.failure.as_ref().filter(|it| it.version >= version) {
                    return Err(FleetError::Transport(failure.problem.clone()));
                }
            }
            Ok(())
        };
        let problem = "the receivers of this process are not stored";
        tokio::time::timeout_at(deadline.time, ended).await.unwrap_or_else(|_| Err(deadline.error(&problem)))
    }

    /// Returns `true` unless the last attempt to store the receivers failed.
    pub(super) fn is_stored(&self) -> bool {
        self.stored.borrow().failure.is_none()
    }

    /// Returns `true` if the database does not have the last change.
    pub(super) fn has_changes(&self) -> bool {
        self.lock_local().version > self.stored.borrow().version
    }

    /// Stores the receivers of this process, which shows that it lives. Only one task does so: statements have one order.
    ///
    /// # Errors
    ///
    /// If the database fails, which those that wait receive, too.
    pub(super) async fn store(&self, database: &Database) -> Result<(), FleetError> {
        let rows = self.rows();
        let sql = "WITH gone AS (DELETE FROM {schema}.listeners WHERE process = $1 AND queue <> ALL ($2)) \
                   INSERT INTO {schema}.listeners (process, queue, pattern, group_name, expires_at) \
                   SELECT $1, new.queue, new.pattern, new.group_name, now() + make_interval(secs => $5) \
                   FROM unnest($2::text[], $3::text[], $4::text[]) AS new (queue, pattern, group_name) \
                   ON CONFLICT (process, queue) DO UPDATE SET expires_at = excluded.expires_at";
        let values = [
            Value::Text(&self.process),
            Value::Texts(&rows.queues),
            Value::Texts(&rows.patterns),
            Value::OptionalTexts(&rows.groups),
            Value::Seconds(LISTENER_LIFETIME),
        ];
        let fetched = database.fetch_until(sql, &values, database.deadline(), Lane::Refresh).await;
        self.stored.send_modify(|stored| match &fetched {
            Ok(_) => *stored = StoredListeners { version: rows.version, failure: None },
            Err(error) => {
                let problem = match error {
                    FleetError::Transport(problem) => problem.clone(),
                    error => error.to_string(),
                };
                stored.failure = Some(StoreFailure { version: rows.version, problem });
            }
        });
        fetched.map(drop)
    }

    fn rows(&self) -> ListenerRows {
        let local = self.lock_local();
        let mut rows = ListenerRows { version: local.version, ..Default::default() };
        for (queue, members) in &local.by_queue {
            if let Some(member) = members.first() {
                rows.queues.push(queue.clone());
                rows.patterns.push(member.pattern.clone());
                rows.groups.push(member.group.clone());
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests;
