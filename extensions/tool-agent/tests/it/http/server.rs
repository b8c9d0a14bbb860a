//! A server with prepared answers, which records the requests.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, Response},
};
use futures_util::{Stream, StreamExt as _, future, stream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// An answer of the server.
pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Body,
}

impl Answer {
    pub(super) fn json(value: &Value) -> Self {
        Self::text(200, value.to_string())
    }

    pub(super) fn text(status: u16, body: impl Into<Body>) -> Self {
        Self { status, headers: vec![("content-type", "application/json".to_owned())], body: body.into() }
    }

    pub(super) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// An answer without a content type.
    pub(super) fn untyped(body: impl Into<Body>) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.into() }
    }

    /// The content of `events` as a stream of events has it.
    pub(super) fn event_text(events: &[Value]) -> String {
        chunks(events)
            .into_iter()
            .flatten()
            .map(|chunk| String::from_utf8_lossy(&chunk).into_owned())
            .collect()
    }

    fn stream(chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Self {
        let headers = vec![("content-type", "text/event-stream; charset=utf-8".to_owned())];
        Self { status: 200, headers, body: Body::from_stream(chunks) }
    }

    /// A stream that ends after `events`.
    pub(super) fn events(events: &[Value]) -> Self {
        Self::stream(stream::iter(chunks(events)))
    }

    /// A stream whose connection breaks after `events`.
    pub(super) fn broken(events: &[Value]) -> Self {
        let broken = stream::once(async {
            // The events before have to leave first.
            tokio::task::yield_now().await;
            Err(io::Error::other("cut"))
        });
        Self::stream(stream::iter(chunks(events)).chain(broken))
    }

    /// A stream that stays open after `events`.
    pub(super) fn open(events: &[Value]) -> Self {
        Self::stream(stream::iter(chunks(events)).chain(stream::once(future::pending())))
    }

    /// A stream that repeats `chunk` for ever after `events`.
    pub(super) fn endless_after(events: &[Value], chunk: &'static str) -> Self {
        let endless = stream::repeat_with(move || Ok(Bytes::from_static(chunk.as_bytes())));
        Self::stream(stream::iter(chunks(events)).chain(endless))
    }

    /// A stream that repeats `chunk` for ever.
    pub(super) fn endless(chunk: &'static str) -> Self {
        Self::stream(stream::repeat_with(move || Ok(Bytes::from_static(chunk.as_bytes()))))
    }
}

fn chunks(events: &[Value]) -> Vec<io::Result<Bytes>> {
    let written = |event: &Value| match event {
        Value::String(text) => Ok(format!("data: {text}\n\n").into()),
        event => match event["type"].as_str() {
            Some(name) => Ok(format!("event: {name}\ndata: {event}\n\n").into()),
            None => Ok(format!("data: {event}\n\n").into()),
        },
    };
    events.iter().map(written).collect()
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Received {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

pub(super) struct Server {
    pub(super) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    serving: JoinHandle<()>,
}

impl Server {
    /// Starts a server; a request after the last answer waits for ever.
    pub(super) async fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::validating(answers, |_| Ok(())).await
    }

    /// Starts a server that answers 400 to a request whose body `validate` rejects.
    pub(super) async fn validating(
        answers: impl IntoIterator<Item = Answer>,
        validate: impl Fn(&Value) -> Result<(), String> + Clone + Send + Sync + 'static,
    ) -> Self {
        let answers: VecDeque<_> = answers.into_iter().collect();
        let (answers, received) = (Arc::new(Mutex::new(answers)), Arc::new(Mutex::new(Vec::new())));
        let seen = Arc::clone(&received);
        let router = Router::new().fallback(move |request: Request| {
            let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
            let validate = validate.clone();
            async move {
                let (head, body) = request.into_parts();
                let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
                let valid = serde_json::from_str(&text).map_or(Ok(()), |body| validate(&body));
                seen.lock().unwrap().push(Received {
                    path: head.uri.to_string(),
                    headers: head.headers,
                    text,
                });
                let next = match valid {
                    Ok(()) => answers.lock().unwrap().pop_front(),
                    Err(error) => {
                        Some(Answer::text(400, json!({ "error": { "message": error } }).to_string()))
                    }
                };
                let Some(Answer { status, headers, body }) = next else { return future::pending().await };
                let mut response = Response::builder().status(status);
                for (name, value) in headers {
                    response = response.header(name, value);
                }
                Ok::<_, Infallible>(response.body(body).unwrap())
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, received, serving }
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
