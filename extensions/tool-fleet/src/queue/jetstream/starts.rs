//! The starts of requests, each of which is a message that is stored once.

use bytes::Bytes;
use tool_runtime::definition::ContentHash;

use super::queue::JetStreamCallQueue;
use crate::{FleetError, QueueEpoch};

impl JetStreamCallQueue {
    fn start_subject(&self, request: ContentHash) -> String {
        self.subject(&format!("starts.{request}"))
    }

    /// Takes the start of a request that ends without one: a client of the broker that stores the request again does not start it.
    pub(super) async fn take_start(&self, request: ContentHash) -> Result<(), FleetError> {
        self.0.stream.store(&self.start_subject(request), 0, Bytes::from_static(b"{}")).await.map(drop)
    }

    /// Takes the start of a call for its body; `false` if it was taken before, but by an attempt of this process whose answer was lost.
    pub(super) async fn take_start_of_body(&self, call: &QueueEpoch) -> Result<bool, FleetError> {
        let subject = self.start_subject(call.request);
        let repeated = self.0.lost_starts.take(call);
        let is_repeated = repeated.is_some();
        // No other attempt of any process stores the same.
        let body = repeated.unwrap_or_else(|| self.0.stream.client.new_inbox().into());
        let taking = async {
            if self.0.stream.store(&subject, 0, body.clone()).await?.is_some() {
                return Ok(true);
            }
            Ok(is_repeated && self.0.stream.read(&subject).await?.is_some_and(|start| start.body == body))
        };
        let taken = taking.await;
        if taken.is_err() {
            self.0.lost_starts.note(call, body);
        }
        taken
    }

    /// Forgets an attempt to start a call, which ends.
    pub(super) fn forget_start(&self, call: &QueueEpoch) {
        self.0.lost_starts.take(call);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{CallQueue as _, JetStreamCallQueue, NatsTransport, NewCall, StartGrant};

    #[tokio::test]
    async fn a_start_whose_answer_was_lost_is_given_once() {
        let Some(url) = test_support::nats::shared_jetstream_url() else { return };
        let transport = NatsTransport::connect(url).await.unwrap();
        let queue = JetStreamCallQueue::open(&transport, "lost_starts").await.unwrap();
        let key = ContentHash::of("tool");
        for id in ["a-1", "b-1"] {
            let request = id.as_bytes().repeat(40).into();
            queue.put_call(NewCall { id: id.to_owned(), key, max_workers: 3, request }).await.unwrap();
            let lease = Duration::from_secs(30);
            let call = queue.take_call(&[key], "worker", lease).await.unwrap().unwrap().call;
            let (subject, body) = (queue.start_subject(call.request), Bytes::from_static(b"own"));
            queue.0.lost_starts.note(&call, body.clone());
            // The one that it has stored, or the one of another process.
            let stored = if id == "a-1" { body } else { Bytes::from_static(b"other") };
            queue.0.stream.store(&subject, 0, stored).await.unwrap().unwrap();
            let expected = if id == "a-1" { StartGrant::Given } else { StartGrant::GivenBefore };
            assert_eq!(queue.start_call(&call).await.unwrap(), expected);
            assert_eq!(queue.start_call(&call).await.unwrap(), StartGrant::GivenBefore);
        }
    }
}
