//! The state that all sessions of a server share.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::model::Implementation;
use tool_runtime::CancellationToken;

use super::{
    announce::SubscribedBytes,
    clients::ClientDescriptionCache,
    listed_tools::ListedTools,
    offer::{Prompts, Resources},
    running_requests::RunningRequests,
    seal::Seals,
    tasks::Tasks,
    tools::ServedTools,
};

/// The state that all sessions of a server share.
pub(super) struct ServerState {
    pub(super) tools: ServedTools,
    pub(super) resources: Option<Arc<dyn Resources>>,
    pub(super) prompts: Option<Arc<dyn Prompts>>,
    pub(super) implementation: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) page_size: usize,
    pub(super) seals: Seals,
    /// The tools as last listed.
    pub(super) listed: Mutex<Arc<ListedTools>>,
    pub(super) running: RunningRequests,
    pub(super) tasks: Tasks,
    pub(super) clients: ClientDescriptionCache,
    pub(super) subscribed_bytes: SubscribedBytes,
    /// Over HTTP, changes are sent while a client has a stream for them, and noted otherwise.
    #[cfg(feature = "http")]
    pub(super) announces_to_streams: std::sync::atomic::AtomicBool,
    #[cfg(feature = "postgres")]
    pub(super) cluster: std::sync::OnceLock<super::http::ClusterLink>,
    pub(super) shutdown_time: Duration,
    /// The time for the answer to a question, up to revision 2025-11-25.
    pub(super) question_timeout: Duration,
    /// Cancelled when the server ends: no new requests, and subscriptions end.
    pub(super) stopping: CancellationToken,
}

impl ServerState {
    /// Returns `true` if the transport compares parameters of the tool `name` with headers.
    #[cfg(feature = "http")]
    pub(super) fn has_header_parameters(&self, name: &str) -> bool {
        self.listed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).has_header_parameters(name)
    }
}
