//! One connection to a server.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    RoleClient, ServiceError,
    model::{
        CancelledNotificationParam, ClientRequest, GetExtensions, ProgressToken, ProtocolVersion, RequestId,
        RequestMetaObject, ServerNotification, ServerPeerInfo, ServerResult, SubscriptionFilter,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions,
        RequestHandle, RunningService, Subscription,
    },
    transport::Transport,
};
use tokio::{
    sync::mpsc::{self, UnboundedSender},
    task::{AbortHandle, JoinSet},
    time::Instant,
};
use tool_runtime::CancellationToken;

use super::{
    config::Timeouts,
    error::{ClientError, ClientErrorCause},
    handler::{ConnectionHandler, ServerChange},
    limits::ServerLimits,
    transport::{
        CallSlot, Reception, ReportDeliveringTransport, StderrTail, connection_loss, is_temporary_refusal,
    },
};

/// A connection, which ends when it is closed or dropped.
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Arc<ConnectionHandler>>>>,
    pub(super) handler: Arc<ConnectionHandler>,
    /// Takes the ids of abandoned requests, so that the server hears of it.
    abandoned: UnboundedSender<RequestId>,
    stderr: StderrTail,
    reception: Arc<Reception>,
    /// The server does not know the session any more.
    is_expired: AtomicBool,
    /// The tasks of the connection, which end with it.
    tasks: Mutex<JoinSet<()>>,
    /// The subscriptions to resources, by URI.
    subscriptions: Mutex<HashMap<String, AbortHandle>>,
}

/// The parts of a request beside its parameters.
#[derive(Default)]
pub(super) struct RequestParts {
    pub(super) timeouts: Option<Timeouts>,
    pub(super) meta: Option<RequestMetaObject>,
    pub(super) slot: Option<CallSlot>,
    #[cfg(feature = "http")]
    pub(super) headers: Option<super::transport::http_headers::RequestHeaders>,
}

impl RequestParts {
    pub(super) fn with_meta(mut self, meta: serde_json::Map<String, serde_json::Value>) -> Self {
        self.meta = Some(RequestMetaObject(rmcp::model::MetaObject(meta)));
        self
    }
}

impl Connection {
    /// Starts the protocol over `transport`.
    pub(super) async fn start_protocol<T: Transport<RoleClient> + 'static>(
        transport: T,
        handler: ConnectionHandler,
        reception: Arc<Reception>,
        mode: ClientLifecycleMode,
        stderr: StderrTail,
        mut tasks: JoinSet<()>,
        limits: ServerLimits,
    ) -> Result<Self, ClientInitializeError> {
        let handler = Arc::new(handler);
        let transport = ReportDeliveringTransport::new(
            transport,
            Arc::clone(&handler.server),
            Arc::clone(&handler.calls),
        )
        .with_end_signal(reception.lost.clone());
        let service = match Arc::clone(&handler).serve_with_lifecycle(transport, mode).await {
            Ok(service) => service,
            Err(error) => {
                stderr.wait_for_process_end().await;
                return Err(error);
            }
        };
        let peer = service.peer().clone();
        let (abandoned, mut ids) = mpsc::unbounded_channel();
        let canceller = peer.clone();
        tasks.spawn(async move {
            while let Some(id) = ids.recv().await {
                let reason = Some("the call was cancelled".to_owned());
                let params = CancelledNotificationParam::new(Some(id), reason);
                let _ = canceller.notify_cancelled(params).await;
            }
        });
        if let Some(filter) = list_change_filter(&peer) {
            let following =
                ListChangeSubscription { peer: peer.clone(), handler: Arc::clone(&handler), limits, filter };
            let lost = reception.lost.clone();
            tasks.spawn(async move { following.deliver_and_resubscribe(&lost).await });
        }
        let (service, tasks) = (Mutex::new(Some(service)), Mutex::new(tasks));
        let (is_expired, subscriptions) = (AtomicBool::new(false), Mutex::default());
        Ok(Self { peer, service, handler, abandoned, stderr, reception, is_expired, tasks, subscriptions })
    }

    /// The description that the server gave of itself.
    pub(super) fn server_info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// Returns `true` up to revision 2025-11-25.
    pub(super) fn protocol_has_initialize(&self) -> bool {
        self.server_info().is_some_and(|info| info.protocol_version.has_initialize())
    }

    /// Listens to the changes of a resource.
    pub(super) async fn subscribe_to_resource(
        &self,
        uri: &str,
        filter: SubscriptionFilter,
    ) -> Result<(), ClientError> {
        let subscription = match self.peer.listen(filter).await {
            Ok(subscription) => subscription,
            Err(error) => return Err(self.record_request_error(error).await),
        };
        let handler = Arc::clone(&self.handler);
        let passing = async move { deliver_changes(subscription, &handler).await };
        let task = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).spawn(passing);
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = subscriptions.insert(uri.to_owned(), task) {
            before.abort();
        }
        Ok(())
    }

    /// Ends the subscription to a resource.
    pub(super) fn end_subscription(&self, uri: &str) {
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = subscriptions.remove(uri) {
            task.abort();
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.peer.is_transport_closed() || self.is_expired.load(Ordering::Acquire)
    }

    /// Waits until the connection is known to be lost, and returns the reason.
    pub(super) async fn wait_for_loss(&self) -> ClientError {
        self.reception.lost.cancelled().await;
        self.stderr.wait_for_process_end().await;
        self.loss_error()
    }

    fn loss_error(&self) -> ClientError {
        let message = "the server closed it".to_owned();
        let cause = ClientErrorCause::Lost { message, never_sent: true };
        ClientError::new(&self.handler.server, cause).with_process_end(&self.stderr)
    }

    /// Makes an error of a failed request.
    pub(super) async fn record_request_error(&self, error: ServiceError) -> ClientError {
        let error = ClientError::from_service_error(&self.handler.server, error);
        if error.is_connection_loss() {
            self.reception.lost.cancel();
            self.stderr.wait_for_process_end().await;
        }
        if error.is_session_expiry() {
            self.is_expired.store(true, Ordering::Release);
        }
        error.with_process_end(&self.stderr)
    }

    /// Sends a request and returns its result. Dropping the future cancels the request.
    pub(super) async fn send_request(
        &self,
        mut request: ClientRequest,
        parts: RequestParts,
    ) -> Result<ServerResult, ClientError> {
        let name = &self.handler.server;
        if self.is_expired.load(Ordering::Acquire) {
            return Err(ClientError::new(name, ClientErrorCause::SessionExpired));
        }
        if self.is_lost() {
            return Err(self.loss_error());
        }
        if let Some(slot) = &parts.slot {
            request.extensions_mut().insert(slot.clone());
        }
        #[cfg(feature = "http")]
        if let Some(headers) = parts.headers {
            request.extensions_mut().insert(headers);
        }
        let mut waiting =
            PendingRequest { connection: self, id: None, sent: None, slot: parts.slot, token: None };
        let mut options = PeerRequestOptions::no_options();
        options.meta = parts.meta;
        let sending = self.peer.send_request_with_option(request, options);
        // A server that does not read delays the sender, too.
        let sent = match parts.timeouts {
            Some(Timeouts { idle, .. }) => tokio::time::timeout(idle, sending)
                .await
                .unwrap_or(Err(ServiceError::Timeout { timeout: idle })),
            None => sending.await,
        };
        let handle = match sent {
            Ok(handle) => handle,
            Err(error) => return Err(self.record_request_error(error).await),
        };
        waiting.id = Some(handle.id.clone());
        waiting.sent = Some(handle.id.clone());
        waiting.token = Some(handle.progress_token.clone());
        match self.await_answer(handle, parts.timeouts).await {
            // Its end, and the server hears of it.
            Err(error @ ServiceError::Timeout { .. }) => Err(self.record_request_error(error).await),
            answer => {
                waiting.id = None;
                match answer {
                    Ok(answer) => Ok(answer),
                    Err(error) => Err(self.record_request_error(error).await),
                }
            }
        }
    }

    /// Waits for the answer to a request.
    async fn await_answer(
        &self,
        handle: RequestHandle<RoleClient>,
        timeouts: Option<Timeouts>,
    ) -> Result<ServerResult, ServiceError> {
        let Some(Timeouts { idle, total }) = timeouts else { return handle.await_response().await };
        let progress = self.handler.calls.progress_signal(&handle.progress_token);
        let mut answer = pin!(handle.await_response());
        let mut in_all = pin!(tokio::time::sleep(total));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer,
                () = &mut in_all => return Err(ServiceError::Timeout { timeout: total }),
                () = progress.notified() => {}
                () = tokio::time::sleep(idle) => return Err(ServiceError::Timeout { timeout: idle }),
            }
        }
    }

    /// Ends the connection and waits for it.
    pub(super) async fn close(&self) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(service) = service {
            let _ = service.cancel().await;
        }
    }
}

/// A request that waits for its answer.
struct PendingRequest<'a> {
    connection: &'a Connection,
    /// `None` before it is sent, and once it is answered.
    id: Option<RequestId>,
    /// `None` before it is sent.
    sent: Option<RequestId>,
    slot: Option<CallSlot>,
    token: Option<ProgressToken>,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.connection.handler.calls.end_request(self.slot.as_ref(), self.token.as_ref());
        if let Some(id) = &self.sent {
            self.connection.reception.forget_request(id);
        }
        if let Some(id) = self.id.take() {
            let _ = self.connection.abandoned.send(id);
        }
    }
}

/// Returns the changes to listen for: from revision 2026-07-28 on, a server announces only those.
fn list_change_filter(peer: &Peer<RoleClient>) -> Option<SubscriptionFilter> {
    let info = peer.peer_info()?;
    if info.protocol_version.has_initialize() {
        return None;
    }
    let wanted = SubscriptionFilter::builder()
        .tools_list_changed()
        .prompts_list_changed()
        .resources_list_changed()
        .build()
        .supported_by(&info.capabilities);
    (wanted != SubscriptionFilter::default()).then_some(wanted)
}

/// The subscription to the changes of lists, which is made again when it ends.
struct ListChangeSubscription {
    peer: Peer<RoleClient>,
    handler: Arc<ConnectionHandler>,
    limits: ServerLimits,
    filter: SubscriptionFilter,
}

impl ListChangeSubscription {
    /// Passes changes on until the server cannot be asked for them any more; cancels `lost` then.
    async fn deliver_and_resubscribe(self, lost: &CancellationToken) {
        let server = &*self.handler.server;
        let ServerLimits { min_reconnect_pause, max_reconnect_pause, stable_after, .. } = self.limits;
        let mut pause = min_reconnect_pause;
        let (mut has_listened, mut may_have_missed) = (false, false);
        loop {
            let subscription = match self.peer.listen(self.filter.clone()).await {
                Ok(subscription) => subscription,
                Err(error) if !has_listened && is_temporary_refusal(&error) => {
                    may_have_missed = true;
                    tokio::time::sleep(take_pause_and_double(&mut pause, max_reconnect_pause)).await;
                    continue;
                }
                Err(error) => {
                    let is_lost = has_listened || connection_loss(&error).is_some();
                    tracing::warn!(server, %error, is_lost, "the MCP server does not announce its changes");
                    if is_lost {
                        lost.cancel();
                    }
                    return;
                }
            };
            has_listened = true;
            if std::mem::replace(&mut may_have_missed, true) {
                for change in [ServerChange::Tools, ServerChange::Prompts, ServerChange::Resources] {
                    (self.handler.changed)(change);
                }
            }
            let opened_at = Instant::now();
            deliver_changes(subscription, &self.handler).await;
            if opened_at.elapsed() >= stable_after {
                pause = min_reconnect_pause;
            }
            tokio::time::sleep(take_pause_and_double(&mut pause, max_reconnect_pause)).await;
        }
    }
}

/// Returns the pause, and doubles the next one.
fn take_pause_and_double(pause: &mut Duration, max: Duration) -> Duration {
    let next = pause.saturating_mul(2).min(max);
    std::mem::replace(pause, next)
}

/// Passes the changes of a subscription on until it ends.
async fn deliver_changes(mut subscription: Subscription, handler: &ConnectionHandler) {
    while let Ok(Some(change)) = subscription.next().await {
        (handler.changed)(match change {
            ServerNotification::ToolListChangedNotification(_) => ServerChange::Tools,
            ServerNotification::PromptListChangedNotification(_) => ServerChange::Prompts,
            ServerNotification::ResourceListChangedNotification(_) => ServerChange::Resources,
            ServerNotification::ResourceUpdatedNotification(update) => {
                ServerChange::Resource { uri: update.params.uri }
            }
            _ => continue,
        });
    }
}

/// Revision 2026-07-28 if the server speaks it, and otherwise `initialize` with the revision before.
pub(super) fn automatic_lifecycle() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_before_another_attempt_double_up_to_the_longest() {
        let mut pause = Duration::from_secs(1);
        let pauses: Vec<_> =
            (0..5).map(|_| take_pause_and_double(&mut pause, Duration::from_secs(6)).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 6, 6]);
        let mut pause = Duration::MAX;
        assert_eq!(take_pause_and_double(&mut pause, Duration::MAX), Duration::MAX);
        assert_eq!(pause, Duration::MAX);
    }
}
