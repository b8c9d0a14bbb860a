//! The receivers of this process: in memory, and as rows that senders find.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};

use super::database::{Database, Value};
use crate::{Delivery, FleetError};

/// The time without a sign of life after which the receivers of a process count as gone.
pub(super) const LISTENER_LIFETIME: Duration = Duration::from_secs(6);

/// The messages that a receiver has not read; beyond, further ones are lost, which is logged.
const MAX_UNREAD: usize = 4096;

/// The receivers of a process.
pub(super) struct Listeners {
    /// A name that no other process has.
    process: String,
    local: Mutex<LocalListeners>,
    /// Grows with each change of `local`.
    version: AtomicU64,
    /// The version that the database has.
    stored_version: AtomicU64,
    /// Held for each statement about the rows, so that they have one order.
    statements: AsyncMutex<()>,
    /// Notified after each change of `local`.
    pub(super) changed: Notify,
}

#[derive(Default)]
struct LocalListeners {
    by_queue: HashMap<String, Vec<LocalListener>>,
    is_closed: bool,
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
    number: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.listeners.remove(&self.queue, self.number);
    }
}

impl Listeners {
    pub(super) fn new(process: String) -> Self {
        Self {
            process,
            local: Mutex::default(),
            version: AtomicU64::new(0),
            stored_version: AtomicU64::new(0),
            statements: AsyncMutex::default(),
            changed: Notify::new(),
        }
    }

    fn lock_local(&self) -> MutexGuard<'_, LocalListeners> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel of the notifications for this process.
    pub(super) fn channel(&self) -> String {
        format!("tool_fleet_{}", self.process)
    }

    /// Adds a receiver, which senders find after the next [`store`](Self::store); `None` if all receivers are closed.
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
        let number = self.version.fetch_add(1, Ordering::Relaxed);
        // Neither names of groups nor those of processes have the separator.
        let queue = match group {
            Some(group) => format!("{group}\u{1f}{pattern}"),
            None => format!("{}.{number}", self.process),
        };
        let (pattern, group) = (pattern.to_owned(), group.map(str::to_owned));
        let listener = LocalListener { number, pattern, group, deliveries: sender };
        local.by_queue.entry(queue.clone()).or_default().push(listener);
        drop(local);
        Some((Registration { listeners: Arc::clone(self), queue, number }, receiver))
    }

    fn remove(&self, queue: &str, number: u64) {
        let mut local = self.lock_local();
        if let Some(members) = local.by_queue.get_mut(queue) {
            members.retain(|member| member.number != number);
            if members.is_empty() {
                local.by_queue.remove(queue);
                self.version.fetch_add(1, Ordering::Relaxed);
            }
        }
        drop(local);
        self.changed.notify_one();
    }

    /// Ends the streams of all receivers.
    pub(super) fn close(&self) {
        let mut local = self.lock_local();
        local.is_closed = true;
        local.by_queue.clear();
        self.version.fetch_add(1, Ordering::Relaxed);
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

    /// Stores the changes of this process, if there are some that the database does not have.
    pub(super) async fn store_changes(&self, database: &Database) -> Result<(), FleetError> {
        if self.is_stored() {
            return Ok(());
        }
        let _order = self.statements.lock().await;
        // Another sender may have stored them.
        if self.is_stored() {
            return Ok(());
        }
        self.store_locked(database).await
    }

    /// Stores the receivers of this process, which shows that it lives.
    pub(super) async fn store(&self, database: &Database) -> Result<(), FleetError> {
        let _order = self.statements.lock().await;
        self.store_locked(database).await
    }

    fn is_stored(&self) -> bool {
        self.stored_version.load(Ordering::Acquire) >= self.version.load(Ordering::Acquire)
    }

    async fn store_locked(&self, database: &Database) -> Result<(), FleetError> {
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
        database.fetch(sql, &values).await?;
        self.stored_version.store(rows.version, Ordering::Release);
        Ok(())
    }

    fn rows(&self) -> ListenerRows {
        let local = self.lock_local();
        let mut rows = ListenerRows { version: self.version.load(Ordering::Acquire), ..Default::default() };
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
