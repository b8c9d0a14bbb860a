//! The stores of the SDK and of used states.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::SystemTime,
};

use rmcp::{
    model::RequestId,
    transport::streamable_http_server::session::{
        EventStore, EventStoreError, EventStream, ServerSseMessage, SessionState, SessionStore,
        SessionStoreError,
    },
};
use tool_runtime::{BoxFuture, ErrorKind, ToolError, call::CallId};

use super::{
    Cluster,
    database::SqlValue,
    event_log::{StreamKey, StreamPosition, decode_first_value},
    sessions::hash_of,
    streams::{EventToken, StoredEvent},
};
use crate::server::{UsedStates, http::current_request::CurrentRequest};

/// The stores that the SDK calls.
#[derive(Clone)]
pub(in crate::server::http) struct ClusterStores(Cluster);

impl Cluster {
    /// Returns the stores that the SDK calls.
    pub(in crate::server::http) fn stores(&self) -> Arc<ClusterStores> {
        Arc::new(ClusterStores(self.clone()))
    }

    /// Returns the store of the events of a request without a session.
    pub(in crate::server::http) fn request_event_store(
        &self,
        current: &CurrentRequest,
    ) -> Arc<dyn EventStore> {
        Arc::new(RequestEvents {
            cluster: self.clone(),
            request: current.id().cloned(),
            caller: current.identity().map(|identity| hash_of("caller", &identity.subject)),
            last: AtomicI64::new(StreamPosition::BEFORE_ALL),
        })
    }

    /// Stores an event, and returns its id; `None` if that is done later. An event without a message is the first one of its stream, and needs no row.
    /// An answer is stored behind its sending: it ends its stream, so that no client goes on after its id.
    async fn store_event(
        &self,
        stream: &StreamKey,
        event: &ServerSseMessage,
    ) -> Result<Option<i64>, EventStoreError> {
        if event.message.is_none() {
            return Ok(Some(StreamPosition::BEFORE_ALL));
        }
        let text = serde_json::to_string(&StoredEvent::of(event))?;
        if StoredEvent::is_answer(event.message.as_deref()) {
            self.0.log.append_later(stream, &text)?;
            return Ok(Some(StreamPosition::BEFORE_ALL));
        }
        Ok(self.0.log.append_or_store_later(stream, &text).await?)
    }
}

type Stored<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

impl SessionStore for ClusterStores {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, Option<SessionState>, SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { Ok(self.0.load_session_state(id).await?) })
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

/// The events of sessions, whose ids the session seals again, with their request.
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
            // Without an id, a client goes on after the event before this one.
            let Some(last) = self.0.store_event(&stream, event).await? else { return Ok(String::new()) };
            let mut token = EventToken::of_own(&self.0, StreamPosition { stream, last });
            token.is_end = StoredEvent::is_answer(event.message.as_deref());
            Ok(token.seal(&self.0)?)
        })
    }

    /// Refuses: a session follows its streams itself.
    fn replay_events_after<'a, 'b, 'c>(&'a self, _: &'b str) -> Stored<'c, EventStream, EventStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(std::future::ready(Err("a stream of a session belongs to its session".into())))
    }
}

/// The events of one request without a session. Their ids name the request, so that any process can end it, and its caller, who alone reads them.
struct RequestEvents {
    cluster: Cluster,
    /// `None` for a request that resumes a stream.
    request: Option<RequestId>,
    caller: Option<String>,
    /// The last event that was stored.
    last: AtomicI64,
}

impl EventStore for RequestEvents {
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
            let last = match self.cluster.store_event(&stream, event).await? {
                Some(id) => {
                    self.last.store(id, Ordering::Relaxed);
                    id
                }
                None => self.last.load(Ordering::Relaxed),
            };
            let mut token = EventToken::of_own(&self.cluster, StreamPosition { stream, last });
            token.request.clone_from(&self.request);
            token.caller.clone_from(&self.caller);
            token.is_end = StoredEvent::is_answer(event.message.as_deref());
            Ok(token.seal(&self.cluster)?)
        })
    }

    fn replay_events_after<'a, 'b, 'c>(&'a self, last: &'b str) -> Stored<'c, EventStream, EventStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move {
            let token = EventToken::unseal(&self.cluster, last).filter(|token| token.caller == self.caller);
            let token = token.ok_or("there is no such event")?;
            let request = token.request.clone().ok_or("the event is none of a request")?;
            Ok(Box::pin(self.cluster.follow_request_stream(token, request)) as EventStream)
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
                SqlValue::Text(&log.app),
                SqlValue::Text(id),
                SqlValue::Text(&own),
                SqlValue::Seconds(until.duration_since(SystemTime::now()).unwrap_or_default()),
            ];
            let failed =
                |error: super::ClusterError| ToolError::new(ErrorKind::Unavailable, error.to_string());
            let rows = log.database.fetch(sql, &values).await.map_err(failed)?;
            Ok(decode_first_value::<String>(&rows).map_err(failed)? == own)
        })
    }
}
