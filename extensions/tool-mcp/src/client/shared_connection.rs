//! The connection that all tools of a server share: at most one at a time.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::OnceCell;

use super::{
    connection::Connection,
    connector::Connector,
    error::{ClientError, ClientErrorCause},
    handler::ServerChange,
};

/// The connection to a server, which is made when it is needed.
pub(super) struct SharedConnection {
    pub(super) connector: Connector,
    current: Mutex<Arc<ConnectionCell>>,
    is_closed: AtomicBool,
    was_connected: AtomicBool,
}

/// One connection, or the error of making it, which the first user sets for all that wait.
type ConnectionCell = OnceCell<Result<Arc<Connection>, ClientError>>;

impl SharedConnection {
    pub(super) fn new(connector: Connector) -> Self {
        Self {
            connector,
            current: Mutex::default(),
            is_closed: AtomicBool::new(false),
            was_connected: AtomicBool::new(false),
        }
    }

    fn current_cell(&self) -> Arc<ConnectionCell> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the connection as it is, or connects if there was none yet.
    pub(super) async fn get_or_connect(&self) -> Result<Arc<Connection>, ClientError> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(self.connector.error(ClientErrorCause::Closed));
        }
        let cell = self.current_cell();
        let connection = match cell.get_or_init(|| self.connect_announcing_reconnection()).await {
            Ok(connection) => connection,
            Err(error) => {
                // The next user tries again.
                self.discard_current_if(|current| Arc::ptr_eq(current, &cell));
                return Err(error.clone());
            }
        };
        // Closed while it was made: `close` did not see it.
        if self.is_closed.load(Ordering::Acquire) {
            connection.close().await;
            return Err(self.connector.error(ClientErrorCause::Closed));
        }
        Ok(Arc::clone(connection))
    }

    async fn connect_announcing_reconnection(&self) -> Result<Arc<Connection>, ClientError> {
        let connection = self.connector.connect().await?;
        if self.was_connected.swap(true, Ordering::AcqRel) {
            // Another process, maybe of another version.
            self.connector.changes.announce(ServerChange::Tools);
        }
        Ok(Arc::new(connection))
    }

    /// Returns another connection than `lost`: the one that another call has made already, or a new one.
    pub(super) async fn replacement_for(
        &self,
        lost: &Arc<Connection>,
    ) -> Result<Arc<Connection>, ClientError> {
        self.discard_if_current(lost);
        self.get_or_connect().await
    }

    /// Gives up a connection, unless it is replaced already.
    pub(super) fn discard_if_current(&self, lost: &Arc<Connection>) {
        self.discard_current_if(|current| matches!(current.get(), Some(Ok(it)) if Arc::ptr_eq(it, lost)));
    }

    /// Gives up the connection if it was lost.
    pub(super) fn discard_if_lost(&self) {
        if let Some(connection) = self.existing_connection().filter(|it| it.is_lost()) {
            self.discard_if_current(&connection);
        }
    }

    fn discard_current_if(&self, is_discarded: impl FnOnce(&Arc<ConnectionCell>) -> bool) {
        // A connection may end with it, outside of the lock.
        let _before = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            is_discarded(&current).then(|| std::mem::take(&mut *current))
        };
    }

    /// Returns the connection, if there is one.
    fn existing_connection(&self) -> Option<Arc<Connection>> {
        self.current_cell().get()?.as_ref().ok().cloned()
    }

    /// Waits until the present connection is known to be lost; returns at once if there is none.
    pub(super) async fn wait_for_loss(&self) -> ClientError {
        match self.existing_connection() {
            Some(connection) => connection.wait_for_loss().await,
            None => self.connector.error(ClientErrorCause::Closed),
        }
    }

    /// Ends the connection; later calls fail.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        if let Some(connection) = self.existing_connection() {
            connection.close().await;
        }
    }

    /// Does an operation that may be repeated, over new connections as far as they are allowed.
    pub(super) async fn run_with_reconnects<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        operation: impl Fn(Arc<Connection>) -> F,
    ) -> Result<T, ClientError> {
        let mut connection = self.get_or_connect().await?;
        let allowed = self.connector.config.reconnect;
        let mut left = allowed;
        loop {
            match operation(Arc::clone(&connection)).await {
                Err(error) if error.is_connection_loss() && left > 0 => {
                    left -= 1;
                    connection = self.replacement_for(&connection).await?;
                }
                Err(error) => {
                    if error.is_connection_loss() && allowed > 0 {
                        self.discard_if_current(&connection);
                    }
                    return Err(error);
                }
                Ok(done) => return Ok(done),
            }
        }
    }
}
