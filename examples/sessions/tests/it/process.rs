//! Processes of the service, and their clients.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicU64, Ordering},
};

use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

pub(crate) const ADA: &str = "token of ada";
pub(crate) const BOB: &str = "token of bob";

/// The folder of a service, which is removed with its value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("approvals-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    /// Returns the payments that were made, which the tool writes to a file of its own.
    pub(crate) fn payments(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join("payments.txt")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A process of the service.
pub(crate) struct Service {
    process: Child,
    url: String,
    client: Client,
}

/// A status and a body.
pub(crate) type Answer = (u16, Value);

impl Service {
    /// Starts a process, and waits until it listens.
    pub(crate) async fn start(folder: &Folder) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_approvals-service"));
        command.arg(&folder.0).arg("127.0.0.1:0").env_remove("MODEL");
        command.env("APPROVALS_USERS", format!("ada={ADA},bob={BOB}"));
        let mut process = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().expect("the service prints its URL");
        Self { process, url, client: Client::builder().no_proxy().build().unwrap() }
    }

    /// Kills the process, as a crash does.
    pub(crate) async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }

    pub(crate) fn request(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answer {
        answer(self.request(path).bearer_auth(token)).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: impl Into<String>) -> Answer {
        let request = self.client.post(format!("{}{path}", self.url)).bearer_auth(token);
        answer(request.body(body.into())).await
    }

    pub(crate) async fn send(&self, token: &str, session: &str, text: &str) -> Answer {
        let body = serde_json::json!({ "text": text }).to_string();
        self.post(token, &format!("/sessions/{session}/messages"), body).await
    }

    /// Answers a call of the session `s-1`.
    pub(crate) async fn answer(&self, token: &str, id: &str, body: &str) -> Answer {
        self.post(token, &format!("/sessions/s-1/calls/{id}"), body).await
    }

    /// Returns the calls that wait for a user.
    pub(crate) async fn calls(&self, token: &str) -> Vec<Value> {
        let (status, body) = self.get(token, "/calls").await;
        assert_eq!((status, &body["omitted"]), (200, &Value::from(0)));
        body["calls"].as_array().unwrap().clone()
    }
}

pub(crate) async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// Returns the id of a call in a list.
pub(crate) fn id(call: &Value) -> &str {
    call["id"].as_str().unwrap()
}
