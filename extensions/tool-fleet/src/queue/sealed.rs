//! The bytes of a queue: requests and results, sealed under the key of the pool.
//!
//! Each is bound to the pool, the id of its call, its kind, the hash of the definition, the epoch and, for a result, its request, and expires with the queue: bytes that were
//! moved to another record, or to another place of one, are not read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tool_runtime::{ToolError, ToolOutput, call::CallAddress, definition::ContentHash, open_calls::PoolKey};

use crate::{FleetError, QueueEpoch, message::CallRequest, values::ValueDigest};

/// The time by which clocks may differ.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Seals and opens the bytes of one call.
pub(crate) struct CallSeal<'a> {
    pub(crate) key: &'a PoolKey,
    pub(crate) id: &'a str,
    pub(crate) definition: ContentHash,
}

/// A request that waits.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredRequest {
    pub(crate) request: CallRequest,
    /// The subject on which its caller waits for the end.
    pub(crate) reply: Option<String>,
}

/// The end of a call at its worker: the result that waits.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CallEnd {
    Output(Box<ToolOutput>),
    /// The output of a body whose work goes on elsewhere, under the operation that it names.
    Interim(Box<ToolOutput>),
    Error(Box<ToolError>),
}

/// The contents of the bytes of a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum SealedContents<T> {
    Whole(T),
    /// It is in the store of large values.
    Stored(ValueDigest),
}

#[derive(Serialize, Deserialize)]
struct SealedBody<T> {
    /// Milliseconds since the Unix epoch.
    expires: u64,
    body: SealedContents<T>,
}

impl CallSeal<'_> {
    pub(crate) fn seal_request(
        &self,
        request: SealedContents<&StoredRequest>,
        age: Duration,
    ) -> Result<Bytes, FleetError> {
        self.seal_body("request", "", request, age)
    }

    /// Returns the request; `None` if it is not one of a holder of the key, of another call, or too old.
    pub(crate) fn open_request(&self, sealed: &[u8]) -> Option<SealedContents<StoredRequest>> {
        self.open_body("request", "", sealed)
    }

    pub(crate) fn seal_result(
        &self,
        call: &QueueEpoch,
        end: SealedContents<&CallEnd>,
        age: Duration,
    ) -> Result<Bytes, FleetError> {
        self.seal_body("result", &text_of(call), end, age)
    }

    pub(crate) fn open_result(&self, call: &QueueEpoch, sealed: &[u8]) -> Option<SealedContents<CallEnd>> {
        self.open_body("result", &text_of(call), sealed)
    }

    fn seal_body(
        &self,
        kind: &str,
        epoch: &str,
        body: SealedContents<&impl Serialize>,
        age: Duration,
    ) -> Result<Bytes, FleetError> {
        let expires = millis_at(SystemTime::now() + age + CLOCK_TOLERANCE);
        let text = serde_json::to_string(&SealedBody { expires, body })
            .map_err(|error| FleetError::Unwritable(error.to_string()))?;
        let sealed = self.key.seal(&text, &self.context(kind, epoch)).map_err(FleetError::Unwritable)?;
        Ok(sealed.into())
    }

    fn open_body<T: DeserializeOwned>(
        &self,
        kind: &str,
        epoch: &str,
        sealed: &[u8],
    ) -> Option<SealedContents<T>> {
        let text = self.key.unseal(sealed, &self.context(kind, epoch))?;
        let SealedBody { expires, body } = serde_json::from_str(text.as_str()).ok()?;
        (millis_at(SystemTime::now()) <= expires).then_some(body)
    }

    fn context(&self, kind: &str, epoch: &str) -> Vec<u8> {
        let mut context = b"tool-fleet queue 1".to_vec();
        let definition = self.definition.to_string();
        for part in [kind, self.key.pool(), self.id, &definition, epoch] {
            context.extend_from_slice(&(part.len() as u64).to_le_bytes());
            context.extend_from_slice(part.as_bytes());
        }
        context
    }
}

/// The epoch of a result, and the request that it answers.
fn text_of(call: &QueueEpoch) -> String {
    format!("{} {}", call.epoch, call.request)
}

/// Returns the beginning of the ids of a call: equal for all its attempts, in any process.
pub(crate) fn id_prefix(pool: &str, address: &CallAddress) -> String {
    let mut hash = ContentHash::of(&("tool-fleet queued call", pool, address)).to_string();
    hash.truncate(32);
    hash
}

/// Returns the id of one attempt of a call. A call that is repeated after a crash has the same one.
pub(crate) fn call_id(pool: &str, address: &CallAddress, attempt: u32) -> String {
    format!("{}-{attempt}", id_prefix(pool, address))
}

fn millis_at(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
