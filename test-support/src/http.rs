//! Servers on loopback that end with the test, and one that records the requests.

use std::{
    collections::VecDeque,
    future::pending,
    ops::Deref,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderMap, Response},
};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

/// A server that ends when it is dropped.
#[derive(Debug)]
pub struct LocalServer {
    /// Without a path, such as `http://127.0.0.1:40123`.
    pub url: String,
    serving: JoinHandle<()>,
}

impl LocalServer {
    /// Serves `router` at a free port.
    pub async fn start(router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, serving }
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A request as a server received it.
#[derive(Debug, Clone)]
pub struct Received {
    /// The method, such as `GET`.
    pub method: String,
    /// Path and query, as they were sent.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Received {
    async fn read(request: Request) -> Self {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        Self { method: head.method.to_string(), target, headers: head.headers, body }
    }

    /// Returns a header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|it| it.to_str().ok())
    }

    /// Returns the body, which is text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Returns the body, which is JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A response whose body is known.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Answer {
    /// Status 200 with this JSON.
    pub fn json(text: &str) -> Self {
        Self::of(200, "application/json", text.to_owned())
    }

    /// An answer of this media type.
    pub fn of(status: u16, media_type: &str, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }.with_header("content-type", media_type)
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl From<Answer> for Response<Body> {
    fn from(Answer { status, headers, body }: Answer) -> Self {
        let response = Response::builder().status(status);
        let response = headers.into_iter().fold(response, |it, (name, value)| it.header(name, value));
        response.body(Body::from(body)).unwrap()
    }
}

/// A server that records the requests.
#[derive(Debug)]
pub struct Recorder {
    server: LocalServer,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Deref for Recorder {
    type Target = LocalServer;

    fn deref(&self) -> &LocalServer {
        &self.server
    }
}

impl Recorder {
    /// A server that gives the same answer to all requests.
    pub async fn new(answer: Answer) -> Self {
        Self::answering(move |_| answer.clone()).await
    }

    /// A server whose answer depends on the request.
    pub async fn answering(answer: impl Fn(&Received) -> Answer + Clone + Send + Sync + 'static) -> Self {
        Self::responding(move |received| Some(answer(received).into())).await
    }

    /// A server that gives each answer once; a request after the last one waits for ever.
    pub async fn scripted(answers: impl IntoIterator<Item = impl Into<Response<Body>>>) -> Self {
        let answers: VecDeque<Response<Body>> = answers.into_iter().map(Into::into).collect();
        let answers = Arc::new(Mutex::new(answers));
        Self::responding(move |_| answers.lock().unwrap().pop_front()).await
    }

    /// A server with any responses; a request without one waits for ever.
    pub async fn responding(
        respond: impl Fn(&Received) -> Option<Response<Body>> + Clone + Send + Sync + 'static,
    ) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let requests = Arc::clone(&received);
        let handle = move |request: Request| {
            let (requests, respond) = (Arc::clone(&requests), respond.clone());
            async move {
                let request = Received::read(request).await;
                let response = respond(&request);
                requests.lock().unwrap().push(request);
                match response {
                    Some(response) => response,
                    None => pending().await,
                }
            }
        };
        Self { server: LocalServer::start(Router::new().fallback(handle)).await, received }
    }

    /// Returns the requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Takes the requests so far.
    pub fn take(&self) -> Vec<Received> {
        std::mem::take(&mut *self.received.lock().unwrap())
    }

    /// Takes the only request so far.
    pub fn one(&self) -> Received {
        let mut all = self.take();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }
}
