//! The clients of requests, as they describe themselves.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::{RoleServer, model::ClientCapabilities, service::RequestContext};
use serde_json::Value;
use tool_runtime::context::ClientInfo;

/// The description of a client. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Described {
    pub(super) client: Arc<ClientInfo>,
    pub(super) capabilities: Arc<ClientCapabilities>,
}

impl Described {
    /// Decodes the description of the client of a request.
    pub(super) fn by(context: &RequestContext<RoleServer>) -> Self {
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
pub(super) struct Clients(Mutex<Option<Arc<Last>>>);

#[derive(Debug)]
struct Last {
    /// The name and the capabilities as received.
    received: [Value; 2],
    described: Described,
}

impl Clients {
    /// Returns the description of the client of a request.
    pub(super) fn described(&self, context: &RequestContext<RoleServer>) -> Described {
        let meta = &context.meta.0.0;
        let member = |key| meta.get(key);
        let (Some(info), Some(capabilities)) = (
            member("io.modelcontextprotocol/clientInfo"),
            member("io.modelcontextprotocol/clientCapabilities"),
        ) else {
            return Described::by(context);
        };
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(last) = last.filter(|last| [info, capabilities] == [&last.received[0], &last.received[1]])
        {
            return last.described.clone();
        }
        let described = Described::by(context);
        // A description may be as large as a request: the last one is kept only if it is of a usual size.
        let is_usual = |value: &Value| value.to_string().len() <= LARGEST;
        if is_usual(info) && is_usual(capabilities) {
            let received = [info.clone(), capabilities.clone()];
            let last = Arc::new(Last { received, described: described.clone() });
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        }
        described
    }
}

/// The largest part of a description that is kept, in bytes of JSON.
const LARGEST: usize = 4_096;
