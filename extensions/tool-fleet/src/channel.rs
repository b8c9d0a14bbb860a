//! Sealed messages of one pool: each is bound to its subject, names its sender, and expires.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use tool_runtime::{
    definition::ContentHash,
    open_calls::{PoolKey, ProvenText},
};

use crate::{Deliveries, FleetError, Transport, message::Message};

/// The time for which a message is accepted. Clocks of the machines may differ by as much.
const VALID_FOR: Duration = Duration::from_secs(60);

/// A message with what it is bound to beside its subject. Kind, address, epoch and hash of the definition are in the message.
#[derive(Serialize, Deserialize)]
struct Envelope {
    sender: String,
    /// Milliseconds since the Unix epoch.
    expires: u64,
    message: Message,
}

/// The side of a pool on which a process is.
#[derive(Clone)]
pub(crate) struct Channel {
    key: PoolKey,
    transport: Arc<dyn Transport>,
    /// A name that no other process has.
    name: String,
}

/// A message that a holder of the key sent to this subject.
pub(crate) struct Received {
    pub(crate) message: Message,
    pub(crate) text: ProvenText,
}

impl Channel {
    pub(crate) fn new(key: PoolKey, transport: Arc<dyn Transport>) -> Result<Self, FleetError> {
        let pool = key.pool();
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
        if pool.is_empty() || pool.len() > 64 || !pool.chars().all(is_part) {
            return Err(FleetError::InvalidPool(pool.to_owned()));
        }
        Ok(Self { key, transport, name: random_name() })
    }

    pub(crate) fn pool(&self) -> &str {
        self.key.pool()
    }

    /// The subject of the pool that ends with `rest`.
    pub(crate) fn subject(&self, rest: &str) -> String {
        format!("tools.{}.{rest}", self.pool())
    }

    /// The subject of this process that ends with `rest`.
    pub(crate) fn own_subject(&self, rest: &str) -> String {
        self.subject(&format!("process.{}.{rest}", self.name))
    }

    pub(crate) fn calls_subject(&self, registry: ContentHash) -> String {
        self.subject(&format!("calls.{registry}"))
    }

    pub(crate) fn definitions_subject(&self, registry: ContentHash) -> String {
        self.subject(&format!("definitions.{registry}"))
    }

    pub(crate) fn process_name(&self) -> &str {
        &self.name
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.transport.max_bytes()
    }

    pub(crate) async fn listen(&self, pattern: &str, group: Option<&str>) -> Result<Deliveries, FleetError> {
        self.transport.listen(pattern, group).await
    }

    /// Seals and sends a message.
    pub(crate) async fn send_message(
        &self,
        subject: &str,
        reply: Option<&str>,
        message: Message,
    ) -> Result<(), FleetError> {
        let expires = millis_since_epoch().saturating_add(VALID_FOR.as_millis() as u64);
        let envelope = Envelope { sender: self.name.clone(), expires, message };
        let text =
            serde_json::to_string(&envelope).map_err(|error| FleetError::Unwritable(error.to_string()))?;
        let sealed = self.key.seal(&text, &context_of(subject, reply)).map_err(FleetError::Unwritable)?;
        let limit = self.max_bytes();
        if sealed.len() > limit {
            return Err(FleetError::TooLarge { bytes: sealed.len(), limit });
        }
        self.transport.send(subject, reply, sealed.into()).await
    }

    /// Returns `false` for a report whose controls would go to a subject other than one of a process of the pool: its writer has no power over others.
    fn is_within_pool(&self, message: &Message) -> bool {
        match message {
            Message::Report(report) => report.control.starts_with(&self.subject("process.")),
            _ => true,
        }
    }

    /// Opens a message that was sent to `subject` with the reply subject `reply`; `None` if it is not one of a holder of the key, of another
    /// subject, cut, altered, or old.
    pub(crate) fn open_message(&self, subject: &str, reply: Option<&str>, body: &[u8]) -> Option<Received> {
        let opened = self.key.unseal(body, &context_of(subject, reply)).and_then(|text| {
            let envelope: Envelope = serde_json::from_str(text.as_str()).ok()?;
            let now = millis_since_epoch();
            let latest = now.saturating_add(2 * VALID_FOR.as_millis() as u64);
            (now <= envelope.expires && envelope.expires <= latest && self.is_within_pool(&envelope.message))
                .then_some(Received { message: envelope.message, text })
        });
        if opened.is_none() {
            tracing::warn!(
                pool = self.pool(),
                subject,
                bytes = body.len(),
                "a message is not one of this pool, or is old; it is ignored"
            );
        }
        opened
    }
}

/// The context of a sealed message: the subject to which it is sent, and the one of its answer.
fn context_of(subject: &str, reply: Option<&str>) -> Vec<u8> {
    let mut context = b"tool-fleet message 1".to_vec();
    for part in [subject, reply.unwrap_or_default()] {
        context.extend_from_slice(&(part.len() as u64).to_le_bytes());
        context.extend_from_slice(part.as_bytes());
    }
    context
}

fn millis_since_epoch() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A random name, which no other process or call has by chance. It is no secret, since the broker shows subjects.
pub(crate) fn random_name() -> String {
    format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}
