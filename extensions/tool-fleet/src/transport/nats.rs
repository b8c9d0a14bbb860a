//! A transport by a server of NATS, 2.9 or later.

use std::{sync::Arc, time::Duration};

pub use async_nats;
use async_nats::{Client, ConnectOptions, StatusCode, Subject, connection::State, subject::ToSubject};
use bytes::Bytes;
use futures_util::{StreamExt, future};
use tokio::time::{Instant, timeout, timeout_at};
use tool_runtime::BoxFuture;

use super::{Deliveries, Delivery, Payload, Transport, nats_refusals::Refusals};
use crate::FleetError;

/// The time in which the server confirms a subscription.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(5);

/// The time in which the client passes on a refusal that it has read.
const REFUSAL_WAIT: Duration = Duration::from_millis(20);

/// A transport by a server of NATS, 2.9 or later. It needs neither JetStream nor accounts;
/// a [`JetStreamCallQueue`](crate::JetStreamCallQueue) needs JetStream.
///
/// The permissions of the server can separate pools: all subjects of the pool `weather` begin with `tools.weather.`. A subscription that they
/// refuse is an error of [`Worker::serve`](crate::Worker::serve) and [`FleetToolSet::connect`](crate::FleetToolSet::connect) that names it.
#[derive(Debug, Clone)]
pub struct NatsTransport {
    client: Client,
    /// `None` for a client of the program, whose events it receives itself.
    refusals: Option<Arc<Refusals>>,
}

impl NatsTransport {
    /// Connects to the server at `url`, such as `nats://127.0.0.1:4222`.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached, or refuses the connection.
    pub async fn connect(url: &str) -> Result<Self, FleetError> {
        Self::connect_with(url, ConnectOptions::new()).await
    }

    /// Connects to the server at `url` with options of the program (`tool_fleet::nats::async_nats`, of the version that fits): TLS, credentials, names. The transport receives the events of the
    /// connection in place of a callback in `options`.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: ConnectOptions) -> Result<Self, FleetError> {
        let refusals = Arc::new(Refusals::default());
        let noting = Arc::clone(&refusals);
        let options = options.event_callback(move |event| {
            noting.note_event(&event);
            future::ready(())
        });
        let client = options.connect(url).await.map_err(|error| FleetError::Transport(error.to_string()))?;
        Ok(Self { client, refusals: Some(refusals) })
    }

    /// Waits until the server has read the subscription to `pattern`.
    ///
    /// # Errors
    ///
    /// If the server refuses it, or does not answer in time.
    async fn confirm_subscription(&self, pattern: &str) -> Result<(), FleetError> {
        let failed = |error: String| FleetError::Transport(error);
        let Some(refusals) = &self.refusals else {
            return self.client.flush().await.map_err(|error| failed(error.to_string()));
        };
        // The server answers in order: with the message, or with a refusal of the inbox or of the message to it.
        let inbox = self.client.new_inbox();
        let awaited = refusals.await_answer(&inbox);
        let subscribed = self.client.subscribe(inbox.clone()).await;
        let mut answers = subscribed.map_err(|error| failed(error.to_string()))?;
        let published = self.client.publish(inbox.clone(), Bytes::new()).await;
        published.map_err(|error| failed(error.to_string()))?;
        let refused = std::pin::pin!(awaited.refused());
        let answered = future::select(answers.next(), refused);
        if timeout(CONFIRM_TIMEOUT, answered).await.is_err() {
            return Err(failed(format!(
                "the server did not confirm the subscription to `{pattern}` within {CONFIRM_TIMEOUT:?}; try again, or check the connection"
            )));
        }
        match timeout_at(Instant::now() + REFUSAL_WAIT, refusals.refused(pattern)).await {
            Ok(()) => Err(failed(format!(
                "the server refuses the subscription to `{pattern}`; allow it in the permissions of the user"
            ))),
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

/// With a client that the program configured. A subscription that the server refuses is not noticed;
/// [`connect_with`](NatsTransport::connect_with) notices it.
impl From<Client> for NatsTransport {
    fn from(client: Client) -> Self {
        Self { client, refusals: None }
    }
}

/// A subject that the client copies once.
struct BorrowedSubject<'a>(&'a str);

impl ToSubject for BorrowedSubject<'_> {
    fn to_subject(&self) -> Subject {
        Subject::from(self.0)
    }
}

impl Transport for NatsTransport {
    fn send<'a>(
        &'a self,
        subject: &'a str,
        reply: Option<&'a str>,
        body: Bytes,
    ) -> BoxFuture<'a, Result<(), FleetError>> {
        Box::pin(async move {
            let sent = match reply {
                Some(reply) => {
                    self.client
                        .publish_with_reply(BorrowedSubject(subject), BorrowedSubject(reply), body)
                        .await
                }
                None => self.client.publish(BorrowedSubject(subject), body).await,
            };
            sent.map_err(|error| FleetError::Transport(error.to_string()))
        })
    }

    fn listen<'a>(
        &'a self,
        pattern: &'a str,
        group: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Deliveries, FleetError>> {
        Box::pin(async move {
            if let Some(refusals) = &self.refusals {
                refusals.forget(pattern);
            }
            let subscribed = match group {
                Some(group) => self.client.queue_subscribe(pattern.to_owned(), group.to_owned()).await,
                None => self.client.subscribe(pattern.to_owned()).await,
            };
            let subscriber = subscribed.map_err(|error| FleetError::Transport(error.to_string()))?;
            // What is sent from now on arrives.
            self.confirm_subscription(pattern).await?;
            let read = |message: async_nats::Message| Delivery {
                subject: message.subject.as_str().to_owned(),
                reply: message.reply.map(|reply| reply.as_str().to_owned()),
                payload: match message.status {
                    Some(StatusCode::NO_RESPONDERS) => Payload::NoReceiver,
                    _ => Payload::Body(message.payload),
                },
            };
            let deliveries = subscriber.map(read);
            let Some(refusals) = self.refusals.clone() else { return Ok(deliveries.boxed()) };
            let pattern = pattern.to_owned();
            // After a new connection, or a change of the permissions.
            let refused = async move {
                refusals.refused(&pattern).await;
                tracing::error!(pattern, "the server of NATS refuses a subscription");
            };
            Ok(deliveries.take_until(refused).boxed())
        })
    }

    fn max_bytes(&self) -> usize {
        self.client.max_payload()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), FleetError>> {
        Box::pin(async {
            self.client.flush().await.map_err(|error| FleetError::Transport(error.to_string()))
        })
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }
}
