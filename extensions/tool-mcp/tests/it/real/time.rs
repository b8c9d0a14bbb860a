use serde_json::json;
use tool_mcp::client::{Process, ServerConfig};

use super::{Server, variable};

#[tokio::test]
async fn a_server_in_python_is_called() {
    let Some(python) = variable("MCP_PYTHON") else { return };
    let process = Process::new(python).args(["-m", "mcp_server_time"]);
    let server = Server::connect(ServerConfig::new("time", process)).await;
    assert_eq!(server.names(), ["time__convert_time", "time__get_current_time"]);
    let arguments =
        json!({ "source_timezone": "Europe/Oslo", "time": "12:00", "target_timezone": "Etc/UTC" });
    let text = server.text("time__convert_time", arguments).await;
    assert!(text.contains("time_difference"), "{text}");
    // M16
    let refused = server.call("time__get_current_time", json!({ "timezone": "Nowhere" })).await;
    assert!(refused.is_error() && refused.text().contains("Nowhere"), "{refused:?}");
    server.set.close().await;
}
