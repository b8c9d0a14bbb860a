//! Sealed messages of one pool: each is bound to its subject, names its sender, and expires.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tool_runtime::{
    definition::ContentHash,
    open_calls::{PoolKey, ProvenText},
};

use crate::{
    Deliveries, FleetError, Transport, ignored::IgnoredMessages, message::Message, metrics::Metrics,
};

/// The time for which a message is accepted. Clocks of the machines may differ by as much.
const VALID_FOR: Duration = Duration::from_secs(60);

/// The room for a message of usual size.
const MESSAGE_CAPACITY: usize = 512;

/// A message with what it is bound to beside its subject. Kind, address, epoch and hash of the definition are in the message.
#[derive(Serialize, Deserialize)]
struct Envelope<S, M> {
    sender: S,
    /// Milliseconds since the Unix epoch.
    expires: u64,
    message: M,
}

/// The side of a pool on which a process is. Clones share it.
#[derive(Clone)]
pub(crate) struct Channel(Arc<ChannelParts>);

struct ChannelParts {
    key: PoolKey,
    transport: Arc<dyn Transport>,
    /// A name that no other process has.
    name: String,
    /// The number of names that were made of it.
    names: AtomicU64,
    ignored: IgnoredMessages,
    metrics: Metrics,
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
        let (name, ignored, metrics) = (random_name()?, IgnoredMessages::new(pool), Metrics::new(pool));
        let names = AtomicU64::new(0);
        Ok(Self(Arc::new(ChannelParts { key, transport, name, names, ignored, metrics })))
    }

    pub(crate) fn pool(&self) -> &str {
        self.0.key.pool()
    }

    /// Returns a name that no call of this or another process has had: a part of the name of this process, and a number.
    pub(crate) fn next_call_name(&self) -> String {
        let start = self.0.name.get(..CALL_NAME_START).unwrap_or_default();
        let mut name = String::with_capacity(CALL_NAME_START + 8);
        name.push_str(start);
        let mut number = u128::from(self.0.names.fetch_add(1, Ordering::Relaxed));
        loop {
            name.push(lowest_digit(number));
            number /= 32;
            if number == 0 {
                return name;
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// The subject of the pool that ends with `rest`.
    pub(crate) fn subject(&self, rest: &str) -> String {
        ["tools.", self.pool(), ".", rest].concat()
    }

    /// The subject of this process that ends with `rest`.
    pub(crate) fn own_subject(&self, rest: &str) -> String {
        self.process_subject(&self.0.name, rest)
    }

    /// The subject of a process that ends with `rest`.
    pub(crate) fn process_subject(&self, process: &str, rest: &str) -> String {
        ["tools.", self.pool(), ".process.", process, ".", rest].concat()
    }

    pub(crate) fn calls_subject(&self, registry: ContentHash) -> String {
        ["tools.", self.pool(), ".calls.", &registry.to_string()].concat()
    }

    pub(crate) fn definitions_subject(&self, registry: ContentHash) -> String {
        ["tools.", self.pool(), ".definitions.", &registry.to_string()].concat()
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.0.transport.max_bytes()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.0.transport.is_connected()
    }

    pub(crate) async fn flush(&self) -> Result<(), FleetError> {
        self.0.transport.flush().await
    }

    pub(crate) async fn listen(&self, pattern: &str, group: Option<&str>) -> Result<Deliveries, FleetError> {
        self.0.transport.listen(pattern, group).await
    }

    /// Seals and sends a message.
    pub(crate) async fn send_message(
        &self,
        subject: &str,
        reply: Option<&str>,
        message: Message,
    ) -> Result<(), FleetError> {
        self.send_or_return(subject, reply, message).await.map_err(|(error, _)| error)
    }

    /// Seals and sends a message; returns one that is too large for the broker.
    pub(crate) async fn send_or_return(
        &self,
        subject: &str,
        reply: Option<&str>,
        message: Message,
    ) -> Result<(), (FleetError, Option<Box<Message>>)> {
        let sealed = self.seal_message(subject, reply, message)?;
        self.send_sealed(subject, reply, sealed).await.map_err(|error| (error, None))
    }

    /// Seals a message, which is valid for a minute; returns one that is too large for the broker.
    pub(crate) fn seal_message(
        &self,
        subject: &str,
        reply: Option<&str>,
        message: Message,
    ) -> Result<Bytes, (FleetError, Option<Box<Message>>)> {
        let expires = millis_since_epoch().saturating_add(VALID_FOR.as_millis() as u64);
        let envelope = Envelope { sender: self.0.name.as_str(), expires, message };
        let text = write_text(&envelope).map_err(|error| (error, None))?;
        let limit = self.max_bytes();
        let too_large =
            |bytes, message| Err((FleetError::TooLarge { bytes, limit }, Some(Box::new(message))));
        // Sealing adds to it.
        if text.len() > limit {
            return too_large(text.len(), envelope.message);
        }
        let sealed = self.0.key.seal(&text, &context_of(subject, reply));
        let sealed = sealed.map_err(|problem| (FleetError::Unwritable(problem), None))?;
        if sealed.len() > limit {
            return too_large(sealed.len(), envelope.message);
        }
        Ok(sealed.into())
    }

    /// Seals a message of this process again, which is valid for a minute from now; `None` if it is none for these subjects.
    pub(crate) fn seal_again(&self, subject: &str, reply: Option<&str>, sealed: &[u8]) -> Option<Bytes> {
        let text = self.0.key.unseal(sealed, &context_of(subject, reply))?;
        let envelope: Envelope<String, Message> = serde_json::from_str(text.as_str()).ok()?;
        self.seal_message(subject, reply, envelope.message).ok()
    }

    /// Sends a message that was sealed for these subjects.
    pub(crate) async fn send_sealed(
        &self,
        subject: &str,
        reply: Option<&str>,
        sealed: Bytes,
    ) -> Result<(), FleetError> {
        self.0.transport.send(subject, reply, sealed).await
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn key(&self) -> &PoolKey {
        &self.0.key
    }

    /// Opens a message that was sent to `subject` with the reply subject `reply`; `None` if it is not one of a holder of the key, of another
    /// subject, cut, altered, or old.
    pub(crate) fn open_message(&self, subject: &str, reply: Option<&str>, body: &[u8]) -> Option<Received> {
        let opened = self.0.key.unseal(body, &context_of(subject, reply)).and_then(|text| {
            let envelope: Envelope<String, Message> = serde_json::from_str(text.as_str()).ok()?;
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
            self.0.ignored.note_message(subject, body.len());
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
    const START: &[u8] = b"tool-fleet message 1";
    let reply = reply.unwrap_or_default();
    let mut context = Vec::with_capacity(START.len() + subject.len() + reply.len() + 16);
    context.extend_from_slice(START);
    for part in [subject, reply] {
        context.extend_from_slice(&(part.len() as u64).to_le_bytes());
        context.extend_from_slice(part.as_bytes());
    }
    context
}

fn millis_since_epoch() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn write_text(envelope: &Envelope<&str, Message>) -> Result<String, FleetError> {
    let unwritable = |error: String| FleetError::Unwritable(error);
    let mut text = Vec::with_capacity(MESSAGE_CAPACITY);
    serde_json::to_writer(&mut text, envelope).map_err(|error| unwritable(error.to_string()))?;
    String::from_utf8(text).map_err(|error| unwritable(error.to_string()))
}

/// The number of characters with which names of calls begin, of 5 bits each.
const CALL_NAME_START: usize = 13;

/// A random name of 128 bits of the operating system, which no other process has by chance. It is no secret, since the broker shows subjects.
pub(crate) fn random_name() -> Result<String, FleetError> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)
        .map_err(|error| FleetError::Unwritable(format!("no random numbers are available: {error}")))?;
    let bits = u128::from_le_bytes(bits);
    Ok((0..26).map(|at| lowest_digit(bits >> (5 * at))).collect())
}

/// The digit of the lowest 5 bits.
fn lowest_digit(number: u128) -> char {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    char::from(DIGITS.get((number % 32) as usize).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests;
