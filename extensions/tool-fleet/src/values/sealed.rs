//! Sealed values in a store.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use hmac_sha256::Hash;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::sync::Semaphore;
use tool_runtime::{
    definition::ContentHash,
    guard::catch_async,
    open_calls::{PoolKey, ProvenText},
};

use super::{MAX_VALUE_BYTES, ValueStore};
use crate::{FleetError, QueueLimits, channel::random_name};

/// The time of one operation of the store.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(60);

/// A value in the store, as the message names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ValueReference {
    name: String,
    #[serde(flatten)]
    digest: ValueDigest,
}

/// A value in the store, without its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ValueDigest {
    /// The size of the sealed value.
    bytes: usize,
    /// The SHA-256 of the sealed value.
    hash: ContentHash,
}

/// Why a value is not read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The store did not answer. It may later.
    Unanswered(FleetError),
    /// The store does not have the value.
    Lost(FleetError),
}

impl From<ReadError> for FleetError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unanswered(error) | ReadError::Lost(error) => error,
        }
    }
}

impl ValueReference {
    pub(crate) fn new(name: String, digest: ValueDigest) -> Self {
        Self { name, digest }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// The owner of a value, which is not readable as one of another owner.
#[derive(Clone, Copy)]
pub(crate) enum ValueOwner<'a> {
    /// The call of this name, in all epochs.
    Call(&'a str),
    /// The reports about the call of this name.
    Reports(&'a str),
    /// The step whose answer goes to the reply subject of this name.
    Step(&'a str),
    /// The request of the durable call of this id. Its name is not a part of what is sealed.
    QueuedRequest(&'a str),
    /// The same of the end of the call.
    QueuedResult(&'a str),
}

/// The bytes of values that one worker or caller reads at once; further reads wait. JSON takes several times as much once it is read.
const MAX_READ_BYTES: usize = 256 << 20;

/// The bytes for which one permit stands.
const PERMIT_BYTES: usize = 1024;

/// The store of one pool.
pub(crate) struct LargeValues {
    key: PoolKey,
    store: Arc<dyn ValueStore>,
    reads: Semaphore,
}

impl LargeValues {
    pub(crate) fn new(key: PoolKey, store: Arc<dyn ValueStore>) -> Self {
        Self { key, store, reads: Semaphore::new(MAX_READ_BYTES / PERMIT_BYTES) }
    }

    /// Returns a name that no other value has.
    ///
    /// # Errors
    ///
    /// If no random numbers are available.
    pub(crate) fn new_name(&self) -> Result<String, FleetError> {
        Ok(format!("{}.{}", self.key.pool(), random_name()?))
    }

    /// Seals and stores a text under `name`. After an error, it may be stored nevertheless.
    pub(crate) async fn put_text(
        &self,
        name: String,
        text: &str,
        owner: ValueOwner<'_>,
    ) -> Result<ValueReference, FleetError> {
        let (sealed, digest) = self.seal_text(text, &name, owner)?;
        self.put_sealed(&name, sealed).await?;
        Ok(ValueReference { name, digest })
    }

    /// Seals a text that is to be stored under `name`.
    pub(crate) fn seal_text(
        &self,
        text: &str,
        name: &str,
        owner: ValueOwner<'_>,
    ) -> Result<(Bytes, ValueDigest), FleetError> {
        // Sealing adds to it.
        check_size(text.len())?;
        let sealed = self.key.seal(text, &context_of(name, owner)).map_err(FleetError::Unwritable)?;
        let bytes = sealed.len();
        check_size(bytes)?;
        let hash = ContentHash::from(Hash::hash(&sealed));
        Ok((Bytes::from(sealed), ValueDigest { bytes, hash }))
    }

    /// Stores a sealed value under `name`. After an error, it may be stored nevertheless.
    pub(crate) async fn put_sealed(&self, name: &str, sealed: Bytes) -> Result<(), FleetError> {
        run_in_time("store", async { self.store.put(name, sealed).await }).await
    }

    pub(crate) fn pool(&self) -> &str {
        self.key.pool()
    }

    /// Returns an error if the store may remove a value that a queue with these limits still needs.
    pub(crate) fn check_lifetime(&self, limits: QueueLimits) -> Result<(), FleetError> {
        let QueueLimits { call_age, result_age, .. } = limits;
        let (lifetime, needed) = (self.store.lifetime(), call_age.saturating_add(result_age));
        match lifetime >= needed {
            true => Ok(()),
            false => Err(FleetError::Invalid(format!(
                "the store of large values keeps a value for {lifetime:?}, and the queue of the pool `{}` needs it for {needed:?} (`call_age` and \
                 `result_age`); give the store a longer lifetime (`ValueStore::lifetime`), or the queue shorter ages",
                self.pool()
            ))),
        }
    }

    /// Returns an error for a reference that no peer makes.
    pub(crate) fn check_reference(&self, reference: &ValueReference) -> Result<(), FleetError> {
        let ValueReference { name, digest } = reference;
        check_size(digest.bytes)?;
        // Of this pool: no name of another one's, and no path.
        let random = name.strip_prefix(self.key.pool()).and_then(|rest| rest.strip_prefix('.'));
        match random {
            Some(random) if random.len() == 26 && random.bytes().all(|it| it.is_ascii_alphanumeric()) => {
                Ok(())
            }
            _ => Err(FleetError::ValueStore("the reference to a value names none of this pool".to_owned())),
        }
    }

    /// Reads a value, if it is exactly the one that was stored.
    pub(crate) async fn read_json<T: DeserializeOwned>(
        &self,
        reference: &ValueReference,
        owner: ValueOwner<'_>,
    ) -> Result<T, FleetError> {
        Ok(self.try_read_json(reference, owner).await?)
    }

    /// As [`read_json`](Self::read_json), with an error that separates a store that does not answer from a value that is lost.
    pub(crate) async fn try_read_json<T: DeserializeOwned>(
        &self,
        reference: &ValueReference,
        owner: ValueOwner<'_>,
    ) -> Result<T, ReadError> {
        self.check_reference(reference).map_err(ReadError::Lost)?;
        let permits = u32::try_from(reference.digest.bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        // Until it is parsed.
        let _room = self.reads.acquire_many(permits).await;
        let text = self.read_text(reference, owner).await?;
        let unreadable = |_| FleetError::ValueStore("a value is not what its message says".to_owned());
        serde_json::from_str(text.as_str()).map_err(|error| ReadError::Lost(unreadable(error)))
    }

    async fn read_text(
        &self,
        reference: &ValueReference,
        owner: ValueOwner<'_>,
    ) -> Result<ProvenText, ReadError> {
        let ValueReference { name, digest: ValueDigest { bytes, hash } } = reference;
        let reading = run_in_time("read", async { self.store.get(name, *bytes).await });
        let value = reading.await.map_err(ReadError::Unanswered)?;
        let problem = match value {
            None => "it is missing; both sides need the same store".to_owned(),
            Some(value) if value.len() != *bytes => {
                format!("it has {} bytes in place of {bytes}", value.len())
            }
            Some(value) if ContentHash::from(Hash::hash(&value)) != *hash => "it was changed".to_owned(),
            Some(value) => match self.key.unseal(&value, &context_of(name, owner)) {
                Some(text) => return Ok(text),
                None => "it belongs to another call, or is under another key".to_owned(),
            },
        };
        let error = FleetError::ValueStore(format!("a value of {bytes} bytes cannot be used: {problem}"));
        Err(ReadError::Lost(error))
    }

    /// Deletes a value. If that fails, it is left to the rules of the store.
    pub(crate) async fn delete_or_warn(&self, name: &str) {
        if let Err(error) = run_in_time("delete", async { self.store.delete(name).await }).await {
            tracing::warn!(%error, name, "a large value is left in the store");
        }
    }
}

fn check_size(bytes: usize) -> Result<(), FleetError> {
    match bytes <= MAX_VALUE_BYTES {
        true => Ok(()),
        false => Err(FleetError::ValueTooLarge { bytes, limit: MAX_VALUE_BYTES }),
    }
}

/// Runs an operation of the store inside the panic barrier, for a limited time.
async fn run_in_time<T>(
    verb: &str,
    operation: impl Future<Output = Result<T, FleetError>>,
) -> Result<T, FleetError> {
    match tokio::time::timeout(OPERATION_TIMEOUT, catch_async(|| operation)).await {
        Ok(Ok(output)) => output,
        Ok(Err(panic)) => Err(FleetError::ValueStore(format!("the store {panic}"))),
        Err(_) => {
            Err(FleetError::ValueStore(format!("it did not {verb} a value within {OPERATION_TIMEOUT:?}")))
        }
    }
}

/// The context of a sealed value.
fn context_of(name: &str, owner: ValueOwner<'_>) -> Vec<u8> {
    let (kind, call, name) = match owner {
        ValueOwner::Call(call) => ("call", call, name),
        ValueOwner::Reports(call) => ("reports", call, name),
        ValueOwner::Step(reply) => ("step", reply, name),
        // The name follows from the sealed record, which has the hash of the value.
        ValueOwner::QueuedRequest(id) => ("queued request", id, ""),
        ValueOwner::QueuedResult(id) => ("queued result", id, ""),
    };
    let mut context = b"tool-fleet value 1".to_vec();
    for part in [kind, call, name] {
        context.extend_from_slice(&(part.len() as u64).to_le_bytes());
        context.extend_from_slice(part.as_bytes());
    }
    context
}

#[cfg(test)]
mod tests;
