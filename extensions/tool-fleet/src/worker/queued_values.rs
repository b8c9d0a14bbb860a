//! Requests and results of durable calls that are too large for their queue: they are in the store of large values.

use bytes::Bytes;
use tool_runtime::{ErrorKind, ToolError};

use super::{Server, state::RunningCall, storage_attempts::StorageAttempts};
use crate::{
    CallQueue, FleetError, QueueEpoch,
    queue::{
        CallEnd, CallSeal, SMALL_RESULT_BYTES, SealedContents, StoredRequest, request_value_name,
        result_value_name,
    },
    values::{LargeValues, ReadError, ValueOwner},
};

/// The sealed end of a call, as a worker stores it.
pub(super) struct SealedEnd {
    pub(super) bytes: Bytes,
    /// The name of its value.
    value: Option<String>,
}

impl SealedEnd {
    fn without_value(bytes: Bytes) -> Self {
        Self { bytes, value: None }
    }
}

impl Server {
    /// Returns an error if the store may remove a value that the queue still needs.
    pub(super) fn check_value_lifetime(&self) -> Result<(), FleetError> {
        match (&self.worker.queue, &self.values) {
            (Some(queue), Some(values)) => values.check_lifetime(queue.limits()),
            _ => Ok(()),
        }
    }

    /// Returns the request of a call, read from the store if it is there: again for a minute if the store does not answer.
    pub(super) async fn read_queued_request(
        &self,
        contents: SealedContents<StoredRequest>,
        call: &QueueEpoch,
        running: &RunningCall,
    ) -> Result<StoredRequest, ToolError> {
        let digest = match contents {
            SealedContents::Whole(request) => return Ok(request),
            SealedContents::Stored(digest) => digest,
        };
        let unavailable = |problem: String| {
            ToolError::new(ErrorKind::Unavailable, format!("{problem}; the tool did not run"))
        };
        let Some(values) = &self.values else {
            let problem = "the request is in a store of large values, and this worker has none; set `Worker::value_store`";
            return Err(unavailable(problem.to_owned()));
        };
        let name = || request_value_name(values.pool(), &call.id, call.request);
        let attempts = StorageAttempts::new(&call.id);
        loop {
            let contents = SealedContents::<StoredRequest>::Stored(digest);
            let reading = contents.read(Some(values), name, ValueOwner::QueuedRequest(&call.id));
            let read = tokio::select! {
                read = reading => read,
                () = running.token.cancelled() => return Err(ToolError::cancelled()),
            };
            match read {
                Ok(request) => return Ok(request),
                Err(ReadError::Unanswered(error)) => {
                    let waited =
                        attempts.wait_after(error, "the request of a durable call was not read").await;
                    waited.map_err(|error| unavailable(error.to_string()))?;
                }
                Err(ReadError::Lost(error)) => return Err(unavailable(error.to_string())),
            }
        }
    }

    /// Seals the end of a call, and stores it in the store of large values if it is too large for the queue, or for one that is `full`. An end that cannot be stored is
    /// replaced by an error that says so.
    ///
    /// # Errors
    ///
    /// If nothing can be sealed.
    pub(super) async fn seal_end(
        &self,
        queue: &dyn CallQueue,
        call: &QueueEpoch,
        seal: &CallSeal<'_>,
        end: &CallEnd,
        full: Option<FleetError>,
    ) -> Result<SealedEnd, FleetError> {
        let age = queue.limits().result_age;
        let max_bytes = queue.max_bytes();
        let max_bytes = if full.is_some() { max_bytes.min(SMALL_RESULT_BYTES) } else { max_bytes };
        let problem = match seal.seal_result(call, SealedContents::Whole(end), age) {
            Ok(bytes) if bytes.len() <= max_bytes => return Ok(SealedEnd::without_value(bytes)),
            Ok(bytes) => match &self.values {
                Some(values) => match store_value(values, call, end).await {
                    Ok((name, contents)) => {
                        let bytes = seal.seal_result(call, contents, age)?;
                        return Ok(SealedEnd { bytes, value: Some(name) });
                    }
                    Err(error) => error,
                },
                None => full.unwrap_or(FleetError::TooLargeForQueue { bytes: bytes.len(), limit: max_bytes }),
            },
            Err(error) => error,
        };
        // Its caller learns that there is a result, and why it is not here.
        let error = ToolError::failed(format!("the call ended, and its result is lost: {problem}"));
        let end = CallEnd::Error(Box::new(error));
        Ok(SealedEnd::without_value(seal.seal_result(call, SealedContents::Whole(&end), age)?))
    }

    /// Deletes the value of an end that the queue has refused.
    pub(super) async fn delete_refused(&self, end: SealedEnd) {
        if let (Some(values), Some(name)) = (&self.values, end.value) {
            values.delete_or_warn(&name).await;
        }
    }

    /// Deletes the value of the request of a call whose end is stored.
    pub(super) async fn delete_request_value(&self, call: &QueueEpoch) {
        if let Some(values) = &self.values {
            let name = request_value_name(values.pool(), &call.id, call.request);
            values.delete_or_warn(&name).await;
        }
    }
}

/// Stores the end of a call: again for a minute if the store fails. After an error, it may be stored nevertheless, and is deleted.
async fn store_value(
    values: &LargeValues,
    call: &QueueEpoch,
    end: &CallEnd,
) -> Result<(String, SealedContents<&'static CallEnd>), FleetError> {
    let text = serde_json::to_string(end).map_err(|error| FleetError::Unwritable(error.to_string()))?;
    let (sealed, digest) = values.seal_text(&text, "", ValueOwner::QueuedResult(&call.id))?;
    drop(text);
    let name = result_value_name(values.pool(), call);
    let attempts = StorageAttempts::new(&call.id);
    loop {
        let Err(error) = values.put_sealed(&name, sealed.clone()).await else {
            return Ok((name, SealedContents::Stored(digest)));
        };
        if let Err(error) =
            attempts.wait_after(error, "the value of the result of a durable call was not stored").await
        {
            values.delete_or_warn(&name).await;
            return Err(error);
        }
    }
}
