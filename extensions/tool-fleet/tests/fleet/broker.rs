//! A process that forges messages, by a broker in memory of which a test sees them.

use std::time::{SystemTime, UNIX_EPOCH};

use tool_fleet::{MemoryTransport, Transport};
use tool_runtime::{open_calls::PoolKey, prelude::*};

pub(crate) use crate::test_broker::{Sent, TestBroker};

/// A process with the key of the pool that sends any message.
pub(crate) struct Forger {
    pub(crate) key: PoolKey,
    pub(crate) transport: MemoryTransport,
    /// The name of the process.
    pub(crate) sender: String,
    /// Milliseconds from now.
    pub(crate) expires_in: i64,
}

impl Forger {
    pub(crate) fn new(transport: &MemoryTransport, pool: &str) -> Self {
        let key = super::program_key().pool_key(pool);
        Self { key, transport: transport.clone(), sender: "forger".to_owned(), expires_in: 30_000 }
    }

    pub(crate) async fn send(&self, subject: &str, reply: Option<&str>, kind: &str, body: Value) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let expires = i64::try_from(since.as_millis()).unwrap() + self.expires_in;
        let message = json!({ kind: body });
        let envelope = json!({ "sender": self.sender, "expires": expires, "message": message });
        let sealed = self.key.seal(&envelope.to_string(), &context_of(subject, reply)).unwrap();
        self.transport.send(subject, reply, sealed.into()).await.unwrap();
    }

    /// Announces a registry of one tool.
    pub(crate) async fn announce(&self, registry: &str) {
        let subject = format!("tools.{}.announcements", self.key.pool());
        self.send(&subject, None, "announce", json!({ "registry": registry, "tools": 1 })).await;
    }

    /// Reads a message that was sent.
    pub(crate) fn read(&self, sent: &Sent) -> Value {
        let context = context_of(&sent.subject, sent.reply.as_deref());
        let text = self.key.unseal(&sent.body, &context).unwrap();
        serde_json::from_str(text.as_str()).unwrap()
    }
}

fn context_of(subject: &str, reply: Option<&str>) -> Vec<u8> {
    let mut context = b"tool-fleet message 1".to_vec();
    for part in [subject, reply.unwrap_or_default()] {
        context.extend_from_slice(&(part.len() as u64).to_le_bytes());
        context.extend_from_slice(part.as_bytes());
    }
    context
}
