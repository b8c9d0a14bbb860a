//! The clients of requests, as they describe themselves.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::{RoleServer, model::ClientCapabilities, service::RequestContext};
use serde_json::Value;
use tool_runtime::context::ClientInfo;

/// The description of a client. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct ClientDescription {
    pub(super) client: Arc<ClientInfo>,
    pub(super) capabilities: Arc<ClientCapabilities>,
}

impl ClientDescription {
    /// Decodes the description of the client of a request.
    pub(super) fn decode(context: &RequestContext<RoleServer>) -> Self {
        let mut client = ClientInfo::default();
        if let Some(info) = context.client_info() {
            client.name = info.name;
            client.title = info.title;
            client.version = Some(info.version);
        }
        let capabilities = context.client_capabilities();
        let object = capabilities.as_ref().map(|it| serde_json::to_value(it).unwrap_or_default());
        if let Some(Value::Object(object)) = object {
            client.capabilities = Some(object);
        }
        Self { client: Arc::new(client), capabilities: Arc::new(capabilities.unwrap_or_default()) }
    }
}

/// The last description that was decoded. From revision 2026-07-28 on, each request has one, and it is mostly the same.
#[derive(Debug, Default)]
pub(super) struct ClientDescriptionCache(Mutex<Option<Arc<CachedClient>>>);

#[derive(Debug)]
struct CachedClient {
    /// The name and the capabilities as received.
    received: [Value; 2],
    description: ClientDescription,
}

impl ClientDescriptionCache {
    /// Returns the description of the client of a request.
    pub(super) fn client_description(&self, context: &RequestContext<RoleServer>) -> ClientDescription {
        let meta = &context.meta.0.0;
        let member = |key| meta.get(key);
        let (Some(info), Some(capabilities)) = (
            member("io.modelcontextprotocol/clientInfo"),
            member("io.modelcontextprotocol/clientCapabilities"),
        ) else {
            return ClientDescription::decode(context);
        };
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(last) = last.filter(|last| [info, capabilities] == [&last.received[0], &last.received[1]])
        {
            return last.description.clone();
        }
        let description = ClientDescription::decode(context);
        // A description may be as large as a request: the last one is kept only if it is of a usual size.
        let is_usual = |value: &Value| value.to_string().len() <= MAX_CACHED_BYTES;
        if is_usual(info) && is_usual(capabilities) {
            let received = [info.clone(), capabilities.clone()];
            let last = Arc::new(CachedClient { received, description: description.clone() });
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        }
        description
    }
}

/// The largest part of a description that is kept, in bytes of JSON.
const MAX_CACHED_BYTES: usize = 4_096;
