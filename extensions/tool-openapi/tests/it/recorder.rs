//! A server that records requests and gives one answer to all of them.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, Response},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// A request as the server received it.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// Path and query, as they were sent.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|it| it.to_str().ok())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// The answer to every request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Answer {
    pub(crate) fn json(text: &str) -> Self {
        Self::of(200, "application/json", text.to_owned())
    }

    pub(crate) fn of(status: u16, media_type: &str, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }.with_header("content-type", media_type)
    }

    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

pub(crate) struct Recorder {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
    serving: JoinHandle<()>,
}

impl Recorder {
    pub(crate) async fn new(answer: Answer) -> Self {
        Self::answering(move |_| answer.clone()).await
    }

    /// A server whose answer depends on the request.
    pub(crate) async fn answering(
        answer: impl Fn(&Received) -> Answer + Clone + Send + Sync + 'static,
    ) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        let handle = move |request: Request| {
            let (kept, answer) = (Arc::clone(&kept), answer.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap();
                let target = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
                let one = Received { method: parts.method.to_string(), target, headers: parts.headers, body };
                let Answer { status, headers, body } = answer(&one);
                kept.lock().unwrap().push(one);
                let response = Response::builder().status(status);
                let response = headers.into_iter().fold(response, |it, (name, value)| it.header(name, value));
                response.body(Body::from(body)).unwrap()
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(handle);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, received, serving }
    }

    /// Takes the requests so far.
    pub(crate) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut *self.received.lock().unwrap())
    }

    /// Takes the only request so far.
    pub(crate) fn one(&self) -> Received {
        let mut all = self.take();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
