//! The stores of the SDK and of used states.

use std::{pin::Pin, sync::Arc, time::SystemTime};

use rmcp::transport::streamable_http_server::session::{
    EventStore, EventStoreError, EventStream, ServerSseMessage, SessionState, SessionStore, SessionStoreError,
};
use tool_runtime::{BoxFuture, ErrorKind, ToolError, call::CallId};

use super::{
    Cluster,
    database::Value,
    event_log::{StreamKey, StreamPosition, first_value},
    refuse_request,
    streams::{EventToken, StoredEvent},
};
use crate::server::UsedStates;

/// The stores that the SDK calls.
#[derive(Clone)]
pub(in crate::server::http) struct ClusterStores(Cluster);

impl Cluster {
    /// Returns the stores that the SDK calls.
    pub(in crate::server::http) fn stores(&self) -> Arc<ClusterStores> {
        Arc::new(ClusterStores(self.clone()))
    }
}

type Stored<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

impl SessionStore for ClusterStores {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, Option<SessionState>, SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { Ok(self.0.load_session(id).await.map_err(refuse_request)?) })
    }

    /// Does nothing: a session is stored before its `initialize` is answered, and this is called after it.
    fn store<'a, 'b, 'd, 'c>(&'a self, _: &'b str, _: &'d SessionState) -> Stored<'c, (), SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
        'd: 'c,
    {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Does nothing: a session is deleted when it is closed, before this is called.
    fn delete<'a, 'b, 'c>(&'a self, _: &'b str) -> Stored<'c, (), SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl EventStore for ClusterStores {
    fn store_event<'a, 'b, 'd, 'c>(
        &'a self,
        stream: &'b str,
        event: &'d ServerSseMessage,
    ) -> Stored<'c, String, EventStoreError>
    where
        'a: 'c,
        'b: 'c,
        'd: 'c,
    {
        Box::pin(async move {
            let stream = StreamKey::of_sdk(stream);
            let text = serde_json::to_string(&StoredEvent::of(event))?;
            // An event without a message is not waited for.
            let last = self.0.0.log.append(&stream, &text, event.message.is_some()).await?;
            Ok(EventToken::seal_own(&self.0, StreamPosition { stream, last })?)
        })
    }

    fn replay_events_after<'a, 'b, 'c>(&'a self, last: &'b str) -> Stored<'c, EventStream, EventStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move {
            let token = EventToken::unseal(&self.0, last).ok_or("there is no such event")?;
            Ok(Box::pin(self.0.follow_request(token, None)) as EventStream)
        })
    }
}

impl UsedStates for ClusterStores {
    fn mark<'a>(&'a self, id: &'a str, until: SystemTime) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async move {
            let log = &self.0.0.log;
            // If the statement is repeated, its first attempt is no other use.
            let own = CallId::generate().to_string();
            let sql = "INSERT INTO {schema}.used_states (app, id, use, expires_at) \
                       VALUES ($1, $2, $3, now() + make_interval(secs => $4)) \
                       ON CONFLICT (app, id) DO UPDATE SET id = excluded.id RETURNING use";
            let values = [
                Value::Text(&log.app),
                Value::Text(id),
                Value::Text(&own),
                Value::Seconds(until.duration_since(SystemTime::now()).unwrap_or_default()),
            ];
            let failed =
                |error: super::ClusterError| ToolError::new(ErrorKind::Unavailable, error.to_string());
            let rows = log.database.fetch(sql, &values).await.map_err(failed)?;
            Ok(first_value::<String>(&rows).map_err(failed)? == own)
        })
    }
}
