//! A server that gives the same answer to every connection, and records the requests.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};

pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

/// The continuation of a connection after the answer.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum End {
    Close,
    /// The connection stays open, and silent.
    Silence,
    /// The answer is repeated for ever.
    Repeat,
}

impl Server {
    /// A server at `host` that answers with the bytes `answer`.
    pub(crate) async fn at(host: &str, answer: impl Into<Vec<u8>>, end: End) -> Self {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, received) = (Arc::<[u8]>::from(answer.into()), Arc::clone(&requests));
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, received) = (Arc::clone(&answer), Arc::clone(&received));
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        request.push(byte);
                    }
                    received.lock().unwrap().push(String::from_utf8(request).unwrap());
                    let _ = stream.write_all(&answer).await;
                    match end {
                        End::Close => {}
                        End::Silence => std::future::pending().await,
                        End::Repeat => while stream.write_all(&answer).await.is_ok() {},
                    }
                });
            }
        });
        Self { port, requests, serving }
    }

    /// A server at the permitted address with an answer that has a head and ends.
    pub(crate) async fn new(status: u16, head: &str, body: impl AsRef<[u8]>) -> Self {
        Self::at(crate::PERMITTED, answer(status, head, body), End::Close).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}:{}", crate::PERMITTED, self.port)
    }

    /// Takes the requests that were received.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// An answer whose body ends with the connection.
pub(crate) fn answer(status: u16, head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} It\r\nconnection: close\r\n{head}\r\n");
    [head.as_bytes(), body.as_ref()].concat()
}
