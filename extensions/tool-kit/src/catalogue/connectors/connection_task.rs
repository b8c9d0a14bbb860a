//! The task of one connector: connects, holds the connection, waits, connects again.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tool_runtime::{
    ErrorKind, ToolError,
    guard::{catch, catch_async, discard},
    policy::Escape,
};

use super::{
    ConnectorState,
    attach::connector_panic_error,
    schedule::{ReconnectSchedule, STABLE_AFTER},
    table::{SlotSource, SlotTask, TaskTokens},
};
use crate::{
    catalogue::{CatalogueInner, Connector, ConnectorSource},
    names::namespace_of_server_name,
    problem::problem_text,
};

/// The characters of a problem that the list of connectors shows.
const MAX_ERROR_CHARS: usize = 500;
/// The characters of the name of a server that the list of connectors shows.
const MAX_NAME_CHARS: usize = 100;
/// The time that a connection may take to end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The task of one connector. When it ends or is dropped, nothing of its connection stays.
pub(super) struct ConnectionTask {
    inner: Arc<CatalogueInner>,
    id: u64,
    key: Arc<str>,
    source: Arc<dyn ConnectorSource>,
    has_fixed_namespace: bool,
    tokens: TaskTokens,
}

/// The end of an attempt.
enum AttemptEnd {
    /// There was no connection, or it ended.
    Lost(ToolError),
    /// The connection held for the time.
    Held(ToolError),
    /// The name of the server cannot be its namespace.
    Conflict(ToolError),
    Stopped,
}

impl ConnectionTask {
    pub(super) fn new(
        inner: &Arc<CatalogueInner>,
        id: u64,
        key: &Arc<str>,
        source: &SlotSource,
        tokens: TaskTokens,
    ) -> Self {
        let SlotSource { source, has_fixed_namespace, .. } = source;
        let (inner, key, source) = (Arc::clone(inner), Arc::clone(key), Arc::clone(source));
        Self { inner, id, key, source, has_fixed_namespace: *has_fixed_namespace, tokens }
    }

    pub(super) async fn run(self) {
        let mut waits = ReconnectSchedule::new();
        let mut freed = self.inner.connectors.freed.subscribe();
        loop {
            let Some(delay) = waits.next() else { return self.mark_as_failed() };
            if !self.wait_before_attempt(delay).await {
                return;
            }
            freed.mark_unchanged();
            match self.run_connection_to_end().await {
                AttemptEnd::Stopped => return,
                AttemptEnd::Lost(error) => self.report_failure(&error),
                AttemptEnd::Held(error) => {
                    self.report_failure(&error);
                    waits = ReconnectSchedule::new();
                }
                AttemptEnd::Conflict(error) => {
                    self.report_failure(&error);
                    self.release_namespace_unless_fixed();
                    self.inner.set_state(self.id, ConnectorState::Conflict);
                    let is_taken = error.kind() == ErrorKind::Conflict;
                    tokio::select! {
                        () = self.tokens.stop.cancelled() => return,
                        Ok(()) = freed.changed(), if is_taken => waits = ReconnectSchedule::new(),
                    }
                }
            }
        }
    }

    /// Returns `false` if the task is to end.
    async fn wait_before_attempt(&self, delay: Duration) -> bool {
        if !delay.is_zero() {
            self.inner.set_state(self.id, ConnectorState::Waiting { delay });
        }
        let stop = &self.tokens.stop;
        stop.run_until_cancelled(tokio::time::sleep(delay)).await.is_some() && !stop.is_cancelled()
    }

    async fn run_connection_to_end(&self) -> AttemptEnd {
        self.inner.set_state(self.id, ConnectorState::Connecting);
        let connecting = catch_async(|| self.source.connect());
        match self.tokens.stop.run_until_cancelled(connecting).await {
            None => AttemptEnd::Stopped,
            Some(connected) => match connected.map_err(connector_panic_error).and_then(|connected| connected)
            {
                Ok(connector) => {
                    let end = self.attach_until_closed(&connector).await;
                    discard(connector);
                    end
                }
                Err(error) => AttemptEnd::Lost(error),
            },
        }
    }

    /// Lists the items of a connector until its connection ends, and closes it.
    async fn attach_until_closed(&self, connector: &Arc<dyn Connector>) -> AttemptEnd {
        let connected_at = Instant::now();
        let end = match self.attach_connector(connector) {
            Err(error) => error,
            Ok(()) => match self.tokens.stop.run_until_cancelled(catch_async(|| connector.closed())).await {
                None => AttemptEnd::Stopped,
                Some(closed) => {
                    let error = closed.unwrap_or_else(connector_panic_error);
                    match connected_at.elapsed() >= STABLE_AFTER {
                        true => AttemptEnd::Held(error),
                        false => AttemptEnd::Lost(error),
                    }
                }
            },
        };
        self.inner.detach_connector(self.id);
        let closing = catch_async(|| connector.close());
        if tokio::time::timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            tracing::warn!(
                connector = &*self.key,
                "a connection did not end in {CLOSE_TIMEOUT:?} and was dropped"
            );
        }
        end
    }

    fn attach_connector(&self, connector: &Arc<dyn Connector>) -> Result<(), AttemptEnd> {
        let facts = catch(|| (connector.namespace().to_owned(), connector.toolset()));
        let (name, set) = facts.map_err(|panic| AttemptEnd::Lost(connector_panic_error(panic)))?;
        let shown = Escape::LINE.at_most(MAX_NAME_CHARS).text(&name);
        let fixed = self.inner.connectors.change_slot(self.id, |slot| {
            slot.server_name = Some(shown.as_str().into());
            slot.namespace.clone().filter(|_| self.has_fixed_namespace)
        });
        let namespace = match fixed.flatten() {
            Some(namespace) => namespace,
            None => namespace_of_server_name(&name)
                .ok_or_else(|| AttemptEnd::Conflict(ToolError::bad_parameter("the server reports no name")))?
                .into(),
        };
        self.inner.claim_namespace(self.id, &namespace).map_err(AttemptEnd::Conflict)?;
        self.inner.attach(self.id, &namespace, connector, set).map_err(AttemptEnd::Lost)?;
        tracing::info!(connector = &*self.key, namespace = &*namespace, "a connector was connected");
        Ok(())
    }

    fn report_failure(&self, error: &ToolError) {
        let shown = |text: &str| Escape::LINE.at_most(MAX_ERROR_CHARS).text(text);
        let (problem, error) = (shown(&problem_text(error)), shown(&error.to_string()));
        let recorded = self.inner.connectors.change_slot(self.id, |slot| {
            slot.last_error = Some(problem.as_str().into());
            slot.namespace.clone()
        });
        let namespace = recorded.flatten();
        tracing::warn!(connector = &*self.key, namespace = namespace.as_deref(), error, "a connector failed");
    }

    fn release_namespace_unless_fixed(&self) {
        if !self.has_fixed_namespace {
            self.inner.release_namespace(self.id);
        }
    }

    fn mark_as_failed(self) {
        self.release_namespace_unless_fixed();
        tracing::error!(connector = &*self.key, "a connector was given up");
        self.inner.set_state(self.id, ConnectorState::Failed);
    }
}

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.inner.detach_connector(self.id);
        let ended = self.inner.connectors.change_slot(self.id, |slot| {
            let task = slot.source.as_mut().map(|it| std::mem::replace(&mut it.task, SlotTask::Ended));
            (matches!(task, Some(SlotTask::Removing)), slot.state)
        });
        match ended {
            Some((true, _)) => self.inner.remove_slot(self.id),
            Some((false, ConnectorState::Failed)) | None => {}
            Some((false, _)) if self.tokens.stop.is_cancelled() => {
                self.inner.set_state(self.id, ConnectorState::Stopped);
            }
            // A mistake of this task itself.
            Some((false, _)) => self.inner.set_state(self.id, ConnectorState::Failed),
        }
        self.tokens.ended.cancel();
    }
}
