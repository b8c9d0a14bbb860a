//! The connections of a transport, which are used again without a round trip between two statements: the pool of the driver asks the
//! server before it gives one and after it gets it back.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::{PgPool, Postgres, pool::PoolConnection, postgres::PgPoolOptions};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use super::{PostgresOptions, database::Lane};

/// The time for which a connection is used before the pool looks at it again, which closes old ones.
const MAX_USE: Duration = Duration::from_secs(60);

/// The time after which a connection that nothing uses goes back to the pool.
const MAX_IDLE: Duration = Duration::from_secs(10);

pub(super) struct Connections {
    pub(super) pool: PgPool,
    /// The connections beside the one that waits for notifications, so that none waits for a connection of `idle`.
    permits: Semaphore,
    /// The one of [`Lane::Refresh`], if there are enough.
    refresh_permit: Option<Semaphore>,
    idle: Mutex<Vec<IdleConnection>>,
}

struct IdleConnection {
    connection: PoolConnection<Postgres>,
    acquired: Instant,
    used: Instant,
}

/// A connection for one statement. Dropping it gives it to the pool, which asks the server whether it is in order.
pub(super) struct StatementConnection<'a> {
    connections: &'a Connections,
    pub(super) connection: PoolConnection<Postgres>,
    acquired: Instant,
    /// It was used before, and may have been lost since.
    pub(super) is_reused: bool,
    _permit: SemaphorePermit<'a>,
}

impl Connections {
    pub(super) fn new(options: &PostgresOptions) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.operation_timeout)
            .connect_lazy_with(options.connection.clone());
        let refresh_permit = (options.max_connections > 2).then(|| Semaphore::new(1));
        let others = 1 + u32::from(refresh_permit.is_some());
        let permits = Semaphore::new(options.max_connections.saturating_sub(others).max(1) as usize);
        Self { pool, permits, refresh_permit, idle: Mutex::default() }
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<IdleConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a connection, and opens one if none is idle.
    pub(super) async fn acquire(&self, lane: Lane) -> Result<StatementConnection<'_>, sqlx::Error> {
        let permits = match lane {
            Lane::Shared => &self.permits,
            Lane::Refresh => self.refresh_permit.as_ref().unwrap_or(&self.permits),
        };
        let permit = permits.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.take_idle();
        let is_reused = idle.is_some();
        let (connection, acquired) = match idle {
            Some(idle) => (idle.connection, idle.acquired),
            None => (self.pool.acquire().await?, Instant::now()),
        };
        Ok(StatementConnection { connections: self, connection, acquired, is_reused, _permit: permit })
    }

    /// Returns the connection that was used last.
    fn take_idle(&self) -> Option<IdleConnection> {
        let mut idle = self.lock_idle();
        let old = idle.extract_if(.., |it| it.used.elapsed() >= MAX_IDLE).collect::<Vec<_>>();
        let last = idle.pop();
        drop(idle);
        drop(old);
        last
    }

    /// Closes the connections that nothing uses, since one of them was lost.
    pub(super) fn close_idle(&self) {
        let idle = std::mem::take(&mut *self.lock_idle());
        for idle in idle {
            // Detached, it is closed without a task, which would need a runtime.
            drop(idle.connection.detach());
        }
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.close_idle();
    }
}

impl StatementConnection<'_> {
    /// Keeps the connection for the next statement, after one that has ended.
    pub(super) fn keep(self) {
        let Self { connections, connection, acquired, .. } = self;
        if acquired.elapsed() < MAX_USE {
            connections.lock_idle().push(IdleConnection { connection, acquired, used: Instant::now() });
        }
    }
}
