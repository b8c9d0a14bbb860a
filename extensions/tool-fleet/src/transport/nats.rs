//! A transport by a server of NATS, 2.9 or later.

pub use async_nats;
use async_nats::{Client, StatusCode, connection::State};
use bytes::Bytes;
use futures_util::StreamExt;
use tool_runtime::BoxFuture;

use super::{Deliveries, Delivery, Payload, Transport};
use crate::FleetError;

/// A transport by a server of NATS, 2.9 or later. It needs neither JetStream nor accounts.
///
/// The permissions of the server can separate pools: all subjects of the pool `weather` begin with `tools.weather.`.
#[derive(Debug, Clone)]
pub struct NatsTransport {
    client: Client,
}

impl NatsTransport {
    /// Connects to the server at `url`, such as `nats://127.0.0.1:4222`.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached, or refuses the connection.
    pub async fn connect(url: &str) -> Result<Self, FleetError> {
        let connected = async_nats::connect(url).await;
        connected.map(Self::from).map_err(|error| FleetError::Transport(error.to_string()))
    }
}

/// With a client that the program configured: TLS, credentials, names.
impl From<Client> for NatsTransport {
    fn from(client: Client) -> Self {
        Self { client }
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
                    self.client.publish_with_reply(subject.to_owned(), reply.to_owned(), body).await
                }
                None => self.client.publish(subject.to_owned(), body).await,
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
            let subscribed = match group {
                Some(group) => self.client.queue_subscribe(pattern.to_owned(), group.to_owned()).await,
                None => self.client.subscribe(pattern.to_owned()).await,
            };
            let subscriber = subscribed.map_err(|error| FleetError::Transport(error.to_string()))?;
            // What is sent from now on arrives.
            self.client.flush().await.map_err(|error| FleetError::Transport(error.to_string()))?;
            let read = |message: async_nats::Message| Delivery {
                subject: message.subject.as_str().to_owned(),
                reply: message.reply.map(|reply| reply.as_str().to_owned()),
                payload: match message.status {
                    Some(StatusCode::NO_RESPONDERS) => Payload::NoReceiver,
                    _ => Payload::Body(message.payload),
                },
            };
            Ok(subscriber.map(read).boxed())
        })
    }

    fn max_bytes(&self) -> usize {
        self.client.server_info().max_payload
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
