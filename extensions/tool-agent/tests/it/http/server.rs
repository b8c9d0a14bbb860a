//! The answers of a model over HTTP.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
};

use axum::{
    body::{Body, Bytes},
    http::Response,
};
use futures_util::{Stream, StreamExt as _, future, stream};
use serde_json::{Value, json};
use test_support::http::Recorder;

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

impl From<Answer> for Response<Body> {
    fn from(Answer { status, headers, body }: Answer) -> Self {
        let response = Response::builder().status(status);
        let response = headers.into_iter().fold(response, |it, (name, value)| it.header(name, value));
        response.body(body).unwrap()
    }
}

/// Starts a server that gives each answer once, but answers 400 to a request whose body `validate` rejects. A request after the
/// last answer waits for ever.
pub(super) async fn validating_server(
    answers: impl IntoIterator<Item = Answer>,
    validate: impl Fn(&Value) -> Result<(), String> + Clone + Send + Sync + 'static,
) -> Recorder {
    let answers: VecDeque<_> = answers.into_iter().collect();
    let answers = Arc::new(Mutex::new(answers));
    Recorder::responding(move |request| {
        let answer = match validate(&request.json()) {
            Ok(()) => answers.lock().unwrap().pop_front()?,
            Err(error) => Answer::text(400, json!({ "error": { "message": error } }).to_string()),
        };
        Some(answer.into())
    })
    .await
}
