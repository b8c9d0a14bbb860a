//! Changes of tools, resources and prompts, for clients.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rmcp::{
    ErrorData, RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscribeRequestMethod},
    service::{Peer, RequestContext, SubscriptionContext},
};
use serde::{Deserialize, Serialize};
use tool_runtime::toolbox::ToolboxChanges;

use super::{
    handler::RequestHandler,
    offer::{OfferChange, OfferChanges, Resources},
    offer_requests::protocol_error,
    request_run::wait_for_client_departure,
    server_state::ServerState,
    session_state::SessionState,
};

/// The changes of a server.
pub(super) struct ServerSignals {
    tools: Option<ToolboxChanges>,
    resources: OfferChanges,
    prompts: OfferChanges,
    /// Those of the other processes of a cluster.
    #[cfg(feature = "postgres")]
    others: Option<tokio::sync::broadcast::Receiver<ServerSignal>>,
}

/// A change of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum ServerSignal {
    Tools,
    Prompts,
    Resources,
    Updated(String),
    /// Changes of resources were lost: all may have changed.
    AllResources,
}

impl ServerSignals {
    /// The changes from now on.
    pub(super) fn from_now(shared: &ServerState) -> Self {
        #[cfg(feature = "postgres")]
        let others = shared.cluster.get().map(|link| link.changes.subscribe());
        Self {
            #[cfg(feature = "postgres")]
            others,
            ..Self::of_this_process(shared)
        }
    }

    /// The changes from now on, without those of other processes.
    pub(super) fn of_this_process(shared: &ServerState) -> Self {
        Self {
            #[cfg(feature = "postgres")]
            others: None,
            tools: shared.tools.toolbox().map(tool_runtime::Toolbox::changes),
            resources: OfferChanges::of_signal(shared.resources.as_ref().and_then(|it| it.changes())),
            prompts: OfferChanges::of_signal(shared.prompts.as_ref().and_then(|it| it.changes())),
        }
    }

    /// Waits for a change of another process. Cancel-safe.
    #[cfg(feature = "postgres")]
    async fn next_of_other_processes(
        others: &mut Option<tokio::sync::broadcast::Receiver<ServerSignal>>,
    ) -> ServerSignal {
        use tokio::sync::broadcast::error::RecvError;

        if let Some(receiver) = others {
            match receiver.recv().await {
                Ok(signal) => return signal,
                Err(RecvError::Lagged(_)) => return ServerSignal::AllResources,
                Err(RecvError::Closed) => *others = None,
            }
        }
        std::future::pending().await
    }

    /// Waits for a change. Cancel-safe.
    pub(super) async fn next(&mut self) -> ServerSignal {
        loop {
            let tools = async {
                match &mut self.tools {
                    Some(tools) => tools.changed().await,
                    None => std::future::pending().await,
                }
            };
            #[cfg(feature = "postgres")]
            let others = Self::next_of_other_processes(&mut self.others);
            #[cfg(not(feature = "postgres"))]
            let others = std::future::pending();
            tokio::select! {
                signal = others => return signal,
                is_open = tools => match is_open {
                    true => return ServerSignal::Tools,
                    false => self.tools = None,
                },
                change = self.resources.next() => return match change {
                    OfferChange::List => ServerSignal::Resources,
                    OfferChange::Updated(uri) => ServerSignal::Updated(uri),
                    OfferChange::All => ServerSignal::AllResources,
                },
                change = self.prompts.next() => if matches!(change, OfferChange::List | OfferChange::All) {
                    return ServerSignal::Prompts;
                },
            }
        }
    }
}

/// The most resources that a client subscribes to at once.
const MAX_SUBSCRIPTIONS: usize = 4_096;
/// The most bytes of a URI that a client subscribes to.
const MAX_URI_BYTES: usize = 4_096;
/// The most bytes that the URIs of all clients of a server have, with what a subscription costs beside its URI.
const MAX_SUBSCRIBED_BYTES: usize = 32 * 1024 * 1024;
/// The bytes that a subscription costs beside its URI.
const SUBSCRIPTION_BYTES: usize = 64;

/// The bytes of the subscriptions of a server.
pub(super) type SubscribedBytes = Arc<AtomicUsize>;

/// The resources that a client subscribed to; dropped, it no longer does.
pub(super) struct ResourceSubscriptions {
    /// Those whose program knows of them are `true`: in a cluster, it is the program of one process.
    uris: Mutex<HashMap<String, bool>>,
    resources: Option<Arc<dyn Resources>>,
    /// Of all clients.
    bytes: SubscribedBytes,
}

impl ResourceSubscriptions {
    pub(super) fn new(shared: &ServerState) -> Self {
        let bytes = Arc::clone(&shared.subscribed_bytes);
        Self { uris: Mutex::default(), resources: shared.resources.clone(), bytes }
    }

    fn lock_uris(&self) -> std::sync::MutexGuard<'_, HashMap<String, bool>> {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why the client may not subscribe to `uri`, too, if there is one.
    fn refusal_reason(&self, uri: &str) -> Option<String> {
        let uris = self.lock_uris();
        let bytes = self.bytes.load(Ordering::Relaxed).saturating_add(uri.len());
        match () {
            () if uri.len() > MAX_URI_BYTES
                || (uris.len() >= MAX_SUBSCRIPTIONS && !uris.contains_key(uri)) =>
            {
                Some(format!(
                    "a client subscribes to {MAX_SUBSCRIPTIONS} URIs of {MAX_URI_BYTES} bytes at most"
                ))
            }
            () if bytes > MAX_SUBSCRIBED_BYTES && !uris.contains_key(uri) => Some(format!(
                "the subscriptions of all clients have {MAX_SUBSCRIBED_BYTES} bytes, the limit of the server; try again later"
            )),
            () => None,
        }
    }

    fn add_own(&self, uri: &str) {
        self.insert(uri, true);
    }

    /// Adds a subscription that the program of another process knows of.
    #[cfg(feature = "postgres")]
    pub(super) fn note_of_other_process(&self, uri: &str) {
        if !self.contains(uri) {
            self.insert(uri, false);
        }
    }

    fn insert(&self, uri: &str, is_own: bool) {
        if self.lock_uris().insert(uri.to_owned(), is_own).is_none() {
            self.bytes.fetch_add(uri.len() + SUBSCRIPTION_BYTES, Ordering::Relaxed);
        }
    }

    pub(super) fn remove(&self, uri: &str) {
        let Some(is_own) = self.lock_uris().remove(uri) else { return };
        self.bytes.fetch_sub(uri.len() + SUBSCRIPTION_BYTES, Ordering::Relaxed);
        if let Some(resources) = self.resources.as_ref().filter(|_| is_own) {
            tool_runtime::guard::discard(Unsubscribed(resources, uri));
        }
    }

    pub(super) fn contains(&self, uri: &str) -> bool {
        self.lock_uris().contains_key(uri)
    }

    pub(super) fn uris(&self) -> Vec<String> {
        self.lock_uris().keys().cloned().collect()
    }
}

impl Drop for ResourceSubscriptions {
    fn drop(&mut self) {
        for uri in self.uris() {
            self.remove(&uri);
        }
    }
}

/// Ends a subscription when it is dropped, which is inside the panic barrier.
struct Unsubscribed<'a>(&'a Arc<dyn Resources>, &'a str);

impl Drop for Unsubscribed<'_> {
    fn drop(&mut self) {
        self.0.unsubscribe(self.1);
    }
}

impl RequestHandler {
    /// Sends the changes to the client of a session; with `to_streams`, while it has a stream for them.
    pub(super) async fn announce_changes(state: Arc<SessionState>, peer: Peer<RoleServer>, to_streams: bool) {
        let mut noted = state.signals.lock().await;
        let Some(signals) = noted.as_mut() else { return };
        let (mut listeners, subscribed) = (state.listener_count(), &state.subscribed);
        loop {
            if to_streams && listeners.wait_for(|number| *number > 0).await.is_err() {
                return;
            }
            let updated = |uri| peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri));
            let signal = tokio::select! {
                signal = signals.next() => signal,
                // The next one is sent on the next stream.
                _ = listeners.wait_for(|number| *number == 0), if to_streams => continue,
            };
            let sent = match signal {
                ServerSignal::Tools => peer.notify_tool_list_changed().await,
                ServerSignal::Prompts => peer.notify_prompt_list_changed().await,
                ServerSignal::Resources => peer.notify_resource_list_changed().await,
                ServerSignal::Updated(uri) if subscribed.contains(&uri) => updated(uri).await,
                ServerSignal::Updated(_) => Ok(()),
                ServerSignal::AllResources => {
                    for uri in subscribed.uris() {
                        updated(uri).await.ok();
                    }
                    peer.notify_resource_list_changed().await
                }
            };
            if sent.is_err() {
                return;
            }
        }
    }

    /// Subscribes the client of a session to `uri`.
    pub(super) fn subscribe_to(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let resources = self.require_resources::<SubscribeRequestMethod>()?;
        if resources.changes().is_none() {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        }
        self.subscribe_resource(resources, uri, context, &self.state.subscribed)
    }

    pub(super) fn unsubscribe_from(&self, uri: &str) {
        self.state.subscribed.remove(uri);
    }

    fn subscribe_resource(
        &self,
        resources: &Arc<dyn Resources>,
        uri: &str,
        context: &RequestContext<RoleServer>,
        subscribed: &ResourceSubscriptions,
    ) -> Result<(), ErrorData> {
        if let Some(reason) = subscribed.refusal_reason(uri) {
            return Err(ErrorData::invalid_params(reason, None));
        }
        let run = Arc::new(self.run_context(context));
        let accepted = tool_runtime::guard::catch(|| resources.subscribe(&run, uri));
        match accepted {
            Ok(Ok(())) => {
                subscribed.add_own(uri);
                Ok(())
            }
            Ok(Err(error)) => Err(protocol_error(&error, Some(uri))),
            Err(panic) => Err(ErrorData::internal_error(panic.into_message(), None)),
        }
    }

    /// Sends the changes that a client asked for, until it cancels the subscription, is gone, or the server ends.
    pub(super) async fn send_subscribed_changes(
        &self,
        context: SubscriptionContext,
    ) -> Result<(), ErrorData> {
        let mut signals = self.take_accepted_signals();
        let subscribed = ResourceSubscriptions::new(&self.shared);
        if let (Some(uris), Some(resources)) =
            (&context.accepted().resource_subscriptions, &self.shared.resources)
        {
            for uri in uris {
                self.subscribe_resource(resources, uri, context.request_context(), &subscribed)?;
            }
        }
        let wants = context.accepted().clone();
        let sink = context.sink();
        let is_wanted = |kind: Option<bool>| kind == Some(true);
        let mut departure = pin!(wait_for_client_departure(context.request_context()));
        loop {
            let signal = tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = &mut departure => return Ok(()),
                () = self.shared.stopping.cancelled() => return Ok(()),
                signal = signals.next() => signal,
            };
            let sent = match signal {
                ServerSignal::Tools if is_wanted(wants.tools_list_changed) => {
                    sink.notify_tool_list_changed().await
                }
                ServerSignal::Prompts if is_wanted(wants.prompts_list_changed) => {
                    sink.notify_prompt_list_changed().await
                }
                ServerSignal::Resources if is_wanted(wants.resources_list_changed) => {
                    sink.notify_resource_list_changed().await
                }
                ServerSignal::Updated(uri) if subscribed.contains(&uri) => {
                    sink.notify_resource_updated(uri).await
                }
                ServerSignal::AllResources => {
                    for uri in subscribed.uris() {
                        sink.notify_resource_updated(uri).await.ok();
                    }
                    match is_wanted(wants.resources_list_changed) {
                        true => sink.notify_resource_list_changed().await,
                        false => Ok(()),
                    }
                }
                _ => Ok(()),
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subscriptions_of_all_clients_have_a_limit() {
        let bytes = SubscribedBytes::default();
        let client =
            || ResourceSubscriptions { uris: Mutex::default(), resources: None, bytes: Arc::clone(&bytes) };
        let uri = |number: usize| format!("{number:0>width$}", width = MAX_URI_BYTES);
        let subscribe = |client: &ResourceSubscriptions, number| {
            let refusal = client.refusal_reason(&uri(number));
            if refusal.is_none() {
                client.add_own(&uri(number));
            }
            refusal
        };
        let [first, second, third] = [(); 3].map(|()| client());
        for number in 0..MAX_SUBSCRIPTIONS {
            assert_eq!(subscribe(&first, number), None);
        }
        assert!(subscribe(&first, MAX_SUBSCRIPTIONS).is_some_and(|reason| reason.contains("a client")));
        assert_eq!(subscribe(&first, 0), None, "it is subscribed to");
        let refused =
            (0..MAX_SUBSCRIPTIONS).filter_map(|number| subscribe(&second, number)).collect::<Vec<_>>();
        assert!(!refused.is_empty() && refused.iter().all(|reason| reason.contains("of all clients")));
        assert!(subscribe(&third, 0).is_some());
        drop(first);
        assert_eq!(subscribe(&third, 0), None);
        drop((second, third));
        assert_eq!(bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_subscription_counts_once_and_its_limits_are_exact() {
        let bytes = SubscribedBytes::default();
        let client =
            ResourceSubscriptions { uris: Mutex::default(), resources: None, bytes: Arc::clone(&bytes) };
        let longest = "u".repeat(MAX_URI_BYTES);
        assert_eq!(client.refusal_reason(&longest), None);
        assert!(client.refusal_reason(&format!("{longest}u")).is_some());
        for _ in 0..2 {
            client.add_own("a:a");
        }
        assert_eq!(bytes.load(Ordering::Relaxed), 3 + SUBSCRIPTION_BYTES);
        client.remove("a:b");
        assert!(client.contains("a:a") && !client.contains("a:b"));
        assert_eq!(bytes.load(Ordering::Relaxed), 3 + SUBSCRIPTION_BYTES);
        bytes.store(MAX_SUBSCRIBED_BYTES - 3, Ordering::Relaxed);
        assert_eq!(client.refusal_reason("b:b"), None);
        bytes.fetch_add(1, Ordering::Relaxed);
        assert!(client.refusal_reason("b:b").is_some());
        assert_eq!(client.refusal_reason("a:a"), None, "it is subscribed to");
        client.remove("a:a");
        assert_eq!(bytes.load(Ordering::Relaxed), MAX_SUBSCRIBED_BYTES - 2 - 3 - SUBSCRIPTION_BYTES);
    }
}
