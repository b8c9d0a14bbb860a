//! Bytes between processes.

mod memory;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "nats")]
mod nats_refusals;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use tool_runtime::BoxFuture;

pub use self::memory::MemoryTransport;
#[cfg(feature = "nats")]
pub use self::nats::NatsTransport;
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresOptions, PostgresTransport};
use crate::FleetError;

/// Sends bytes to subjects: names with parts between dots. A pattern ends with `.>` for all subjects that begin as it does.
///
/// A transport may lose, repeat, delay and reorder messages: workers and callers expect all of it. It never changes one, which
/// sealing detects.
pub trait Transport: Send + Sync + 'static {
    /// Sends `body` to the receivers of `subject`: to each one without a group, and to one of each group. If there is none and `reply` is
    /// given, [`Payload::NoReceiver`] is delivered to the subject `reply`.
    ///
    /// # Errors
    ///
    /// Returns an error if the message was not given to the broker.
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>>;

    /// Receives what is sent to the subjects of `pattern` from now on, until the stream is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if the broker cannot be reached, or refused.
    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>>;

    /// Returns the maximum size of a message, in bytes.
    fn max_bytes(&self) -> usize;

    /// Waits until the broker has what was sent, and does not send to receivers that were dropped: before the process ends. Default: nothing
    /// is waited for.
    ///
    /// # Errors
    ///
    /// Returns an error if the broker cannot be reached.
    fn flush(&self) -> BoxFuture<'_, Result<(), FleetError>> {
        Box::pin(async { Ok(()) })
    }

    /// Returns `false` while the connection to the broker is known to be lost. Default: `true`, for a transport without a connection.
    fn is_connected(&self) -> bool {
        true
    }
}

/// A transport that is chosen while the program runs.
impl Transport for Arc<dyn Transport> {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        (**self).send(subject, reply, body)
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        (**self).listen(pattern, group)
    }

    fn max_bytes(&self) -> usize {
        (**self).max_bytes()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), FleetError>> {
        (**self).flush()
    }

    fn is_connected(&self) -> bool {
        (**self).is_connected()
    }
}

/// The messages of one subscription.
pub type Deliveries = BoxStream<'static, Delivery>;

/// A message of the broker.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The subject to which it was sent.
    pub subject: String,
    /// The subject for its answer.
    pub reply: Option<String>,
    /// The message, or the news that it had no receiver.
    pub payload: Payload,
}

/// The contents of a [`Delivery`].
#[derive(Debug, Clone)]
pub enum Payload {
    /// The bytes of the sender.
    Body(Bytes),
    /// A message that named this subject for its answer had no receiver.
    NoReceiver,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::StreamExt as _;

    use super::*;

    /// A transport that counts what it flushes, and is not connected.
    struct LostTransport(MemoryTransport, AtomicUsize);

    impl Transport for LostTransport {
        fn send<'a>(
            &'a self,
            subject: &'a str,
            reply: Option<&'a str>,
            body: Bytes,
        ) -> BoxFuture<'a, Result<(), FleetError>> {
            self.0.send(subject, reply, body)
        }

        fn listen<'a>(
            &'a self,
            pattern: &'a str,
            group: Option<&'a str>,
        ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
            self.0.listen(pattern, group)
        }

        fn max_bytes(&self) -> usize {
            7
        }

        fn flush(&self) -> BoxFuture<'_, Result<(), FleetError>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Err(FleetError::Transport("lost".to_owned())) })
        }

        fn is_connected(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn a_transport_that_is_chosen_while_the_program_runs_is_the_chosen_one() {
        let lost = Arc::new(LostTransport(MemoryTransport::new(), AtomicUsize::new(0)));
        let chosen: Arc<dyn Transport> = lost.clone();
        let chosen = &chosen;
        let mut deliveries = Transport::listen(chosen, "a.>", None).await.unwrap();
        Transport::send(chosen, "a.b", Some("c"), "body".into()).await.unwrap();
        let Delivery { subject, reply, payload } = deliveries.next().await.unwrap();
        assert_eq!((&*subject, reply.as_deref()), ("a.b", Some("c")));
        assert!(matches!(payload, Payload::Body(body) if body == "body"));
        assert_eq!((Transport::max_bytes(chosen), Transport::is_connected(chosen)), (7, false));
        assert!(Transport::flush(chosen).await.is_err());
        assert_eq!(lost.1.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_transport_without_a_connection_is_connected_and_has_nothing_to_flush() {
        let transport = MemoryTransport::new();
        assert!(transport.is_connected() && transport.flush().await.is_ok());
    }
}
