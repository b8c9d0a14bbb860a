use std::{fs, path::Path};

use serde_json::json;
use tool_mcp::client::ServerConfig;

use super::{Server, npm};

#[tokio::test]
async fn what_one_process_writes_the_next_one_reads() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("memory-{}.json", std::process::id()));
    for round in 0..2 {
        let Some(process) = npm("server-memory", &[]) else { return };
        let process = process.env("MEMORY_FILE_PATH", file.to_str().unwrap());
        let server = Server::connect(ServerConfig::new("memory", process)).await;
        if round == 0 {
            let entity =
                json!({ "name": "Ada", "entityType": "person", "observations": ["writes programs"] });
            server.text("memory__create_entities", json!({ "entities": [entity] })).await;
        } else {
            let graph = server.call("memory__read_graph", json!({})).await;
            assert!(graph.text().contains("writes programs"), "{graph:?}");
        }
        // F07
        let refused =
            server.call("memory__create_entities", json!({ "entities": [{ "name": "Bob" }] })).await;
        assert!(refused.is_error() && refused.text().contains("/entities/0"), "{refused:?}");
        server.set.close().await;
    }
    fs::remove_file(file).unwrap();
}
