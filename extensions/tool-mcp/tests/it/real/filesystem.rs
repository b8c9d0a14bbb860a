use std::{fs, path::Path};

use serde_json::json;
use tool_mcp::client::ServerConfig;

use super::{Server, npm};

#[tokio::test]
async fn files_are_written_and_read_in_one_directory_only() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("real-{}", std::process::id()));
    let Some(process) = npm("server-filesystem", &[directory.to_str().unwrap()]) else { return };
    fs::create_dir_all(&directory).unwrap();
    let server = Server::connect(ServerConfig::new("files", process)).await;
    let path = directory.join("a.txt");
    server.text("files__write_file", json!({ "path": path, "content": "one\ntwo\n" })).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    assert!(server.text("files__read_text_file", json!({ "path": path, "head": 1 })).await.contains("one"));
    assert!(server.text("files__list_directory", json!({ "path": directory })).await.contains("a.txt"));
    // M16
    let refused = server.call("files__read_text_file", json!({ "path": "/etc/passwd" })).await;
    assert!(refused.is_error() && refused.text().contains("Access denied"), "{refused:?}");
    // M14
    let tools = server.executor.tools();
    let hints = |name: &str| {
        let metadata = tools.get(name).unwrap().definition().metadata().clone();
        (metadata.read_only, metadata.destructive, metadata.concurrency_safe)
    };
    assert_eq!(hints("files__read_text_file"), (Some(true), None, None));
    assert_eq!(hints("files__write_file"), (Some(false), Some(true), None));
    server.set.close().await;
    fs::remove_dir_all(directory).unwrap();
}
