//! A search engine of this process, with the answers of SearXNG, in place of the web.

use std::io;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tool_runtime::prelude::*;

use crate::notes::words_of;

/// The web: title, address and text of each page.
const PAGES: [[&str; 3]; 3] = [
    [
        "Paris to Rome by rail",
        "https://rails.example/paris-rome",
        "The railway from Paris to Rome has a length of 1,446 km.",
    ],
    ["Railways of Italy", "https://rails.example/italy", "Rome is the centre of the railway network."],
    ["Bread", "https://bakers.example/bread", "Bread needs flour, water and time."],
];

/// The maximum number of bytes of a request.
const MAX_REQUEST_BYTES: usize = 8 << 10;

/// The engine; it ends when it is dropped.
pub(crate) struct LocalEngine {
    port: u16,
    server: JoinHandle<()>,
}

impl LocalEngine {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Err(error) = answer_request(stream).await {
                    eprintln!("the local search engine: {error}");
                }
            }
        });
        Ok(Self { port, server })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for LocalEngine {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Answers one request: `GET /search?q=WORDS&format=json`.
async fn answer_request(mut stream: TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < MAX_REQUEST_BYTES {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    let request = String::from_utf8_lossy(&request);
    let target = request.split(' ').nth(1).unwrap_or_default();
    let query = target.split(['?', '&']).find_map(|part| part.strip_prefix("q=")).unwrap_or_default();
    let body = json!({ "results": results_for(&query.replace('+', " ")) }).to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await?;
    stream.shutdown().await
}

/// Returns the pages with at least two of the words.
fn results_for(query: &str) -> Vec<Value> {
    let wanted = words_of(query);
    let has_words = |text: &str| words_of(text).iter().filter(|word| wanted.contains(word)).count() >= 2;
    let found = PAGES.iter().filter(|[title, _, text]| has_words(&format!("{title} {text}")));
    found.map(|[title, url, text]| json!({ "title": title, "url": url, "content": text })).collect()
}
