//! Pages and searches, against servers of this machine.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests may"
)]

mod domains;
mod fetches;
mod hostile;
mod markdown;
mod robots;
mod searches;
mod styles;

use std::net::IpAddr;

use test_support::http::{Answer, Recorder};
use tool_builtins::{WebTools, web::WebToolsBuilder};
use tool_http::{AddressPolicy, HttpClient, HttpClientBuilder};
use tool_runtime::prelude::*;

/// A client for which each name is this machine, whose address is permitted.
fn client() -> HttpClientBuilder {
    let local: IpAddr = "127.0.0.1".parse().unwrap();
    HttpClient::builder()
        .addresses(AddressPolicy::public().allow_address(local))
        .resolver(move |_| async move { Ok(vec![local]) })
}

fn builder() -> WebToolsBuilder {
    WebTools::builder().client(client().build().unwrap())
}

/// Calls a tool; the text of its result, or of its error.
async fn call(web: &WebTools, tool: &str, arguments: Value) -> Result<ToolOutput, String> {
    let tools = Registry::builder().toolset(web.clone()).build().unwrap();
    tools.call(tool, arguments).await.map_err(|error| error.to_string())
}

async fn fetch(web: &WebTools, url: &str) -> Result<String, String> {
    call(web, "web_fetch", json!({ "url": url })).await.map(ToolOutput::into_text)
}

/// A site with one page at each path, and no `robots.txt`.
struct Site {
    server: Recorder,
}

impl Site {
    async fn new(answer: Answer) -> Self {
        Self::answering(move |_| answer.clone()).await
    }

    async fn answering(answer: impl Fn(&str) -> Answer + Clone + Send + Sync + 'static) -> Self {
        let server = Recorder::answering(move |received| match received.target.as_str() {
            "/robots.txt" => Answer::of(404, "text/plain", ""),
            target => answer(target),
        });
        Self { server: server.await }
    }

    async fn html(body: &str) -> Self {
        Self::new(Answer::of(200, "text/html; charset=utf-8", body.to_owned())).await
    }

    fn port(&self) -> u16 {
        self.server.url.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("http://page.example:{}{path}", self.port())
    }

    /// Takes the targets of the requests, without those of `robots.txt`.
    fn targets(&self) -> Vec<String> {
        let received = self.server.take().into_iter().map(|it| it.target);
        received.filter(|it| it != "/robots.txt").collect()
    }
}
