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

use crate::{Deliveries, FleetError, Transport, ignored::IgnoredMessages, message::Message};

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
    ignored: Arc<IgnoredMessages>,
}

/// A message that a holder of the key sent to this subject.
pub(crate) struct Received {
    /// The name of its process.
    pub(crate) sender: String,
    pub(crate) message: Message,
    pub(crate) text: ProvenText,
}

impl Channel {
    pub(crate) fn new(key: PoolKey, transport: Arc<dyn Transport>) -> Result<Self, FleetError> {
        let pool = key.pool();
        check_pool_name(pool)?;
        let ignored = Arc::new(IgnoredMessages::new(pool));
        Ok(Self { key, transport, name: random_name(), ignored })
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
        self.process_subject(&self.name, rest)
    }

    /// The subject of a process that ends with `rest`.
    pub(crate) fn process_subject(&self, process: &str, rest: &str) -> String {
        self.subject(&format!("process.{process}.{rest}"))
    }

    pub(crate) fn calls_subject(&self, registry: ContentHash) -> String {
        self.subject(&format!("calls.{registry}"))
    }

    pub(crate) fn definitions_subject(&self, registry: ContentHash) -> String {
        self.subject(&format!("definitions.{registry}"))
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.transport.max_bytes()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.transport.is_connected()
    }

    pub(crate) async fn flush(&self) -> Result<(), FleetError> {
        self.transport.flush().await
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

    /// Opens a message that was sent to `subject` with the reply subject `reply`; `None` if it is not one of a holder of the key, of another
    /// subject, cut, altered, or old.
    pub(crate) fn open_message(&self, subject: &str, reply: Option<&str>, body: &[u8]) -> Option<Received> {
        let opened = self.key.unseal(body, &context_of(subject, reply)).and_then(|text| {
            let envelope: Envelope = serde_json::from_str(text.as_str()).ok()?;
            let now = millis_since_epoch();
            let latest = now.saturating_add(2 * VALID_FOR.as_millis() as u64);
            let Envelope { sender, expires, message } = envelope;
            // Answers go to the subjects of the sender, which has no power over others.
            (now <= expires && expires <= latest && is_subject_part(&sender)).then_some(Received {
                sender,
                message,
                text,
            })
        });
        if opened.is_none() {
            self.ignored.note_message(subject, body.len());
        }
        opened
    }
}

/// Returns an error for the name of a pool that is no part of a subject.
pub(crate) fn check_pool_name(pool: &str) -> Result<(), FleetError> {
    match is_subject_part(pool) {
        true => Ok(()),
        false => Err(FleetError::InvalidPool(pool.to_owned())),
    }
}

/// Returns `true` for the name of a pool or process: a part of a subject, without dots and wildcards.
fn is_subject_part(name: &str) -> bool {
    let is_valid = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    (1..=64).contains(&name.len()) && name.chars().all(is_valid)
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
