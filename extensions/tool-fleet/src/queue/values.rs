//! The requests and results of durable calls in the store of large values.
//!
//! The sealed record has size and hash of such a value. Its name follows from what is known of the record: the process that removes a record deletes its values,
//! without its bytes.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde::de::DeserializeOwned;
use tool_runtime::definition::ContentHash;

use super::{CallSeal, QueueEpoch, QueuedCall, SealedContents, StoredRequest};
use crate::{
    FleetError, QueueLimits,
    values::{LargeValues, ReadError, ValueOwner, ValueReference},
};

/// The greatest size of sealed bytes that stand for a value.
const MAX_DIGEST_BYTES: u64 = 256;

/// The results of earlier epochs that are deleted: of workers that ended before they stored the record of theirs.
const MAX_EPOCHS: u32 = 16;

/// The deletions at once.
const DELETIONS_AT_ONCE: usize = 8;

/// The name of the value of a request. One that is stored again under the id of its call has another one.
pub(crate) fn request_value_name(pool: &str, id: &str, request: ContentHash) -> String {
    value_name(pool, &ContentHash::of(&("tool-fleet queued request", pool, id, request)))
}

/// The name of the value of a result.
pub(crate) fn result_value_name(pool: &str, QueueEpoch { id, epoch, request }: &QueueEpoch) -> String {
    value_name(pool, &ContentHash::of(&("tool-fleet queued result", pool, id, request, epoch)))
}

/// A name as [`LargeValues`] gives them.
fn value_name(pool: &str, hash: &ContentHash) -> String {
    let mut end = hash.to_string();
    end.truncate(26);
    format!("{pool}.{end}")
}

/// Returns the names of the values that a record may have.
pub(crate) fn value_names(pool: &str, call: &QueuedCall) -> Vec<String> {
    if !(1..=MAX_DIGEST_BYTES).contains(&call.bytes) {
        return Vec::new();
    }
    let QueuedCall { id, request, epoch, .. } = call;
    let result = |epoch| result_value_name(pool, &QueueEpoch { id: id.clone(), request: *request, epoch });
    let epochs = epoch.saturating_sub(MAX_EPOCHS) + 1..=*epoch;
    std::iter::once(request_value_name(pool, id, *request)).chain(epochs.map(result)).collect()
}

/// Deletes values; what fails is left to the rules of the store, with a warning.
pub(crate) async fn delete_values(values: &LargeValues, names: Vec<String>) {
    let delete = |name: String| async move { values.delete_or_warn(&name).await };
    stream::iter(names).for_each_concurrent(DELETIONS_AT_ONCE, delete).await;
}

/// Deletes the values of records that were removed.
pub(crate) async fn delete_values_of(values: Option<&LargeValues>, removed: &[QueuedCall]) {
    let Some(values) = values else { return };
    let names = removed.iter().flat_map(|call| value_names(values.pool(), call)).collect();
    delete_values(values, names).await;
}

impl CallSeal<'_> {
    /// Seals a request that is too large for its queue: returns the bytes of the record, and those of the value.
    pub(crate) fn seal_large_request(
        &self,
        request: &StoredRequest,
        limits: QueueLimits,
        values: &LargeValues,
    ) -> Result<(Bytes, Bytes), FleetError> {
        let text =
            serde_json::to_string(request).map_err(|error| FleetError::Unwritable(error.to_string()))?;
        let (value, digest) = values.seal_text(&text, "", ValueOwner::QueuedRequest(self.id))?;
        Ok((self.seal_request(SealedContents::Stored(digest), limits.call_age)?, value))
    }
}

impl<T: DeserializeOwned> SealedContents<T> {
    /// Returns the contents, read from the store if they are there.
    pub(crate) async fn read(
        self,
        values: Option<&LargeValues>,
        name: impl FnOnce() -> String,
        owner: ValueOwner<'_>,
    ) -> Result<T, ReadError> {
        let digest = match self {
            Self::Whole(contents) => return Ok(contents),
            Self::Stored(digest) => digest,
        };
        let no_store = || {
            let problem = "the value is in a store, and this process has none; set `value_store` of `DurableCalls` and of workers";
            ReadError::Unanswered(FleetError::ValueStore(problem.to_owned()))
        };
        let values = values.ok_or_else(no_store)?;
        values.try_read_json(&ValueReference::new(name(), digest), owner).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::CallState;

    fn call(epoch: u32, bytes: u64) -> QueuedCall {
        QueuedCall {
            id: "a-1".to_owned(),
            key: ContentHash::of("tool"),
            request: ContentHash::of("request"),
            state: CallState::Finished,
            epoch,
            workers: 1,
            was_started: true,
            cancel_requested: false,
            created: SystemTime::UNIX_EPOCH,
            changed: SystemTime::UNIX_EPOCH,
            bytes,
        }
    }

    fn result_name(epoch: u32) -> String {
        let QueuedCall { id, request, .. } = call(epoch, 1);
        result_value_name("trip", &QueueEpoch { id, request, epoch })
    }

    fn request_name() -> String {
        request_value_name("trip", "a-1", ContentHash::of("request"))
    }

    #[test]
    fn a_record_names_the_values_of_its_request_and_of_its_last_epochs() {
        assert_eq!(value_names("trip", &call(0, 100)), [request_name()]);
        assert_eq!(value_names("trip", &call(2, 100)), [request_name(), result_name(1), result_name(2)]);
        let names = |first, last| {
            std::iter::once(request_name()).chain((first..=last).map(result_name)).collect::<Vec<_>>()
        };
        assert_eq!(value_names("trip", &call(16, 100)), names(1, 16));
        assert_eq!(value_names("trip", &call(17, 100)), names(2, 17));
    }

    /// One that is larger is in the record itself.
    #[test]
    fn a_record_without_bytes_or_with_many_has_no_values() {
        let has_values = [0, 1, 256, 257].map(|bytes| !value_names("trip", &call(1, bytes)).is_empty());
        assert_eq!(has_values, [false, true, true, false]);
    }

    #[test]
    fn names_of_values_differ_by_what_they_belong_to() {
        let request = ContentHash::of("request");
        let result = |pool: &str, id: &str, request, epoch| {
            result_value_name(pool, &QueueEpoch { id: id.to_owned(), request, epoch })
        };
        let other = ContentHash::of("other");
        let names = [
            request_name(),
            request_value_name("mail", "a-1", request),
            request_value_name("trip", "a-2", request),
            request_value_name("trip", "a-1", other),
            result_name(1),
            result("mail", "a-1", request, 1),
            result("trip", "a-2", request, 1),
            result("trip", "a-1", other, 1),
            result("trip", "a-1", request, 2),
        ];
        for (at, name) in names.iter().enumerate() {
            let (pool, end) = name.split_once('.').unwrap_or_default();
            assert!(["trip", "mail"].contains(&pool) && end.len() == 26, "{name}");
            let ends = names[..at].iter().map(|other| other.split_once('.').unwrap_or_default().1);
            assert!(!ends.into_iter().any(|other| other == end), "{name}");
        }
    }
}
