//! The stores of several processes.

use std::{
    collections::VecDeque,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use rmcp::transport::streamable_http_server::session::{
    EventStore, EventStoreError, EventStream, ServerSseMessage, SessionState, SessionStore, SessionStoreError,
};
use serde_json::{Value, json};
use tool_mcp::server::UsedStates;
use tool_runtime::{BoxFuture, ToolError};

type Stored<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The stores of all processes: a directory.
pub(super) struct Directory(PathBuf, AtomicUsize);

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path, AtomicUsize::new(0))
    }

    fn of(&self, kind: &str, id: &str) -> PathBuf {
        let mut hash = DefaultHasher::new();
        id.hash(&mut hash);
        self.0.join(format!("{kind}-{:016x}", hash.finish()))
    }

    /// Writes a file as a whole, for readers in other processes.
    fn write(&self, path: &Path, value: &Value) -> io::Result<()> {
        let number = self.1.fetch_add(1, Ordering::Relaxed);
        let new = self.0.join(format!("new-{}-{number}", std::process::id()));
        fs::write(&new, value.to_string())?;
        fs::rename(new, path)
    }

    fn read(path: &Path) -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }
}

impl SessionStore for Directory {
    fn load<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, Option<SessionState>, SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        let state = Self::read(&self.of("session", id));
        Box::pin(async move { Ok(state.map(serde_json::from_value).transpose()?) })
    }

    fn store<'a, 'b, 'd, 'c>(
        &'a self,
        id: &'b str,
        state: &'d SessionState,
    ) -> Stored<'c, (), SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
        'd: 'c,
    {
        Box::pin(async move { Ok(self.write(&self.of("session", id), &serde_json::to_value(state)?)?) })
    }

    fn delete<'a, 'b, 'c>(&'a self, id: &'b str) -> Stored<'c, (), SessionStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move { Ok(fs::remove_file(self.of("session", id))?) })
    }
}

impl EventStore for Directory {
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
            let number = self.1.fetch_add(1, Ordering::Relaxed);
            let id = format!("{}/{number}", std::process::id());
            let event =
                json!({ "id": id, "stream": stream, "number": number, "message": event.message.as_deref() });
            self.write(&self.of("event", &id), &event)?;
            Ok(id)
        })
    }

    fn replay_events_after<'a, 'b, 'c>(&'a self, last: &'b str) -> Stored<'c, EventStream, EventStoreError>
    where
        'a: 'c,
        'b: 'c,
    {
        Box::pin(async move {
            let last = Self::read(&self.of("event", last)).ok_or("no such event")?;
            let files = fs::read_dir(&self.0)?.filter_map(|file| Some(file.ok()?.path()));
            let is_event = |path: &PathBuf| {
                path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("event-"))
            };
            let events = files.filter(is_event).filter_map(|path| Self::read(&path));
            let mut later: Vec<_> = events
                .filter(|it| {
                    it["stream"] == last["stream"] && it["number"].as_u64() > last["number"].as_u64()
                })
                .collect();
            later.sort_by_key(|it| it["number"].as_u64());
            let events: Result<VecDeque<_>, _> = later.into_iter().map(event_of).collect();
            Ok(Box::pin(futures_util::stream::iter(events?)) as EventStream)
        })
    }
}

fn event_of(stored: Value) -> Result<ServerSseMessage, serde_json::Error> {
    let mut event = ServerSseMessage::default();
    event.event_id = stored["id"].as_str().map(str::to_owned);
    if !stored["message"].is_null() {
        event.message = Some(Arc::new(serde_json::from_value(stored["message"].clone())?));
    }
    Ok(event)
}

impl UsedStates for Directory {
    fn mark<'a>(&'a self, id: &'a str, _: SystemTime) -> BoxFuture<'a, Result<bool, ToolError>> {
        Box::pin(async move {
            match fs::File::create_new(self.of("state", id)) {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(ToolError::from_source(error)),
            }
        })
    }
}
