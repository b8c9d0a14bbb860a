//! A server that says what a test tells it to.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tool_mcp::client::{McpToolSet, McpToolSetBuilder};

/// The far end of one connection.
pub(crate) struct Fake {
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

/// The far ends of the connections that a toolset makes.
#[derive(Clone, Default)]
pub(crate) struct Fakes(Arc<Mutex<VecDeque<Fake>>>);

impl Fakes {
    /// Returns a builder, and the far ends of its connections.
    pub(crate) fn builder(config: tool_mcp::client::ServerConfig) -> (McpToolSetBuilder, Self) {
        let fakes = Self::default();
        let made = fakes.clone();
        let builder = McpToolSet::builder(config).over(move || {
            let (near, far) = tokio::io::duplex(1024 * 1024);
            let (read, write) = tokio::io::split(far);
            let fake = Fake { read: BufReader::new(read).lines(), write };
            made.0.lock().unwrap().push_back(fake);
            async { Ok(tokio::io::split(near)) }
        });
        (builder, fakes)
    }

    /// Takes the far end of the next connection, which may not be made yet.
    pub(crate) async fn next(&self) -> Fake {
        loop {
            if let Some(fake) = self.0.lock().unwrap().pop_front() {
                return fake;
            }
            tokio::task::yield_now().await;
        }
    }

    /// The number of connections that no test has taken.
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Fake {
    /// The next message of the client; `None` if it closed the connection.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        let line = self.read.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// The next message, which has this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Value {
        let message = self.message().await.unwrap();
        assert_eq!(message["method"], method, "{message}");
        message
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.line(&message.to_string()).await;
    }

    pub(crate) async fn line(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        self.write.write_all(bytes).await.unwrap();
    }

    /// Answers a request.
    pub(crate) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    /// Refuses a request.
    pub(crate) async fn refuse(&mut self, request: &Value, code: i64, message: &str) {
        let error = json!({ "code": code, "message": message });
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    }

    /// Agrees on revision 2025-11-25.
    pub(crate) async fn initialize(&mut self) -> Value {
        let discover = self.expect("server/discover").await;
        self.refuse(&discover, -32601, "Method not found").await;
        let initialize = self.expect("initialize").await;
        let result = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "fake", "version": "9" },
        });
        self.answer(&initialize, result).await;
        let initialized = self.expect("notifications/initialized").await;
        // M03
        assert_eq!(initialized.get("id"), None);
        initialize
    }

    /// Answers a listing with these tools.
    pub(crate) async fn list(&mut self, tools: Value) {
        let request = self.expect("tools/list").await;
        self.answer(&request, json!({ "tools": tools })).await;
    }

    /// Agrees on a revision and lists one tool.
    pub(crate) async fn start(&mut self, tool: &str) {
        self.initialize().await;
        self.list(json!([{ "name": tool, "inputSchema": { "type": "object" } }])).await;
    }
}
