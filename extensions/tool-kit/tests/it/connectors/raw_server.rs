//! An MCP server that is written by hand, for answers that no library gives.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tool_kit::mcp::McpSource;
use tool_mcp::client::{McpToolSet, McpToolSetBuilder, Process, ServerConfig};
use tool_runtime::{
    CancellationToken,
    serde_json::{Value, json},
};

type Answering = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// Answers requests by their methods; those that the function does not know have empty lists. Clones are the same server.
#[derive(Clone)]
pub(super) struct RawServer {
    name: Arc<Mutex<String>>,
    answer: Arc<Answering>,
    /// The connections that are open, to end them.
    ends: Arc<Mutex<Vec<CancellationToken>>>,
    /// Sent after the handshake, many times.
    notification: Option<(&'static str, usize)>,
}

impl RawServer {
    pub(super) fn new(name: &str, answer: impl Fn(&str) -> Option<Value> + Send + Sync + 'static) -> Self {
        let (name, ends) = (Arc::new(Mutex::new(name.to_owned())), Arc::default());
        Self { name, answer: Arc::new(answer), ends, notification: None }
    }

    /// Sends a notification so many times after each handshake.
    pub(super) fn notifying(mut self, method: &'static str, times: usize) -> Self {
        self.notification = Some((method, times));
        self
    }

    pub(super) fn rename(&self, name: &str) {
        *self.name.lock().unwrap() = name.to_owned();
    }

    /// Ends the connections that are open, as a process that is killed.
    pub(super) fn kill(&self) {
        self.ends.lock().unwrap().drain(..).for_each(|end| end.cancel());
    }

    pub(super) fn source(&self) -> McpSource {
        self.source_with(|builder| builder)
    }

    pub(super) fn source_with(
        &self,
        settings: impl Fn(McpToolSetBuilder) -> McpToolSetBuilder + Send + Sync + 'static,
    ) -> McpSource {
        let server = self.clone();
        McpSource::with(ServerConfig::new("raw", Process::new("unused")), move |config| {
            let server = server.clone();
            settings(McpToolSet::builder(config)).over(move || {
                let (near, far) = tokio::io::duplex(256 * 1024);
                let end = CancellationToken::new();
                server.ends.lock().unwrap().push(end.clone());
                let serving = server.clone().serve(far);
                #[expect(clippy::disallowed_methods, reason = "it ends with the connection")]
                tokio::spawn(async move { end.run_until_cancelled(serving).await });
                async { Ok(tokio::io::split(near)) }
            })
        })
    }

    pub(super) async fn serve(self, stream: DuplexStream) {
        let (read, mut write) = tokio::io::split(stream);
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = tool_runtime::serde_json::from_str(&line).unwrap();
            let method = message["method"].as_str().unwrap_or_default();
            if method == "notifications/initialized"
                && let Some((method, times)) = self.notification
            {
                let notification = format!("{}\n", json!({ "jsonrpc": "2.0", "method": method }));
                for _ in 0..times {
                    if write.write_all(notification.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
            let Some(id) = message.get("id") else { continue };
            if method == "resources/read" && self.send_endless_text(id, &mut write).await.is_err() {
                return;
            }
            let answer = match self.result_of(method) {
                Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                None => {
                    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "unknown" } })
                }
            };
            if write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn result_of(&self, method: &str) -> Option<Value> {
        if let Some(result) = (self.answer)(method) {
            return Some(result);
        }
        let changing = json!({ "listChanged": true });
        Some(match method {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": changing, "prompts": changing, "resources": changing },
                "serverInfo": { "name": *self.name.lock().unwrap(), "version": "1" },
            }),
            "tools/list" => json!({ "tools": [] }),
            "prompts/list" => json!({ "prompts": [] }),
            "resources/list" => json!({ "resources": [] }),
            _ => return None,
        })
    }

    /// Sends a gigabyte as the text of a resource.
    async fn send_endless_text(
        &self,
        id: &Value,
        write: &mut (impl tokio::io::AsyncWrite + Unpin),
    ) -> std::io::Result<()> {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"contents":[{{"uri":"r:0","text":""#);
        write.write_all(head.as_bytes()).await?;
        let part = vec![b'x'; 1 << 20];
        for _ in 0..1_024 {
            write.write_all(&part).await?;
        }
        write.write_all(b"\"}]}}\n").await
    }
}
