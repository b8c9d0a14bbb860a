//! Servers that run as child processes.

use serde_json::json;
use tool_mcp::client::{ClientErrorKind, McpToolSet, Process, ServerConfig};
use tool_runtime::prelude::*;

use super::{call, names_of};

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: i64, b: i64) -> i64 {
    println!("adding {a} and {b}");
    a + b
}

/// Returns a variable of the environment.
#[tool(register = false)]
fn variable(name: String) -> Option<String> {
    std::env::var(name).ok()
}

/// The server of the other tests, which they start as a child process. What the test runner prints comes before the
/// protocol, as the output of a careless server does.
#[tokio::test]
#[ignore = "a server for other tests"]
async fn serves() {
    let tools = Registry::builder().tool::<add>().tool::<variable>().build().unwrap();
    tool_mcp::server::serve_stdio(tools).await.unwrap();
}

/// This test binary as a server.
fn process() -> Process {
    let program = std::env::current_exe().unwrap();
    Process::new(program.to_str().unwrap()).args([
        "client::child::serves",
        "--exact",
        "--ignored",
        "--nocapture",
    ])
}

#[tokio::test]
async fn a_child_process_is_started_used_and_closed() {
    let set = McpToolSet::connect(ServerConfig::new("child", process())).await.unwrap();
    assert_eq!(names_of(&set).await, ["add", "variable"]);
    let result = call(set.clone(), "add", json!({ "a": 2, "b": 3 })).await;
    assert_eq!((result.text().as_ref(), result.is_error()), ("5", false));
    let raw = set.call_raw("add", json!({ "a": 2, "b": 4 }).as_object().unwrap().clone()).await.unwrap();
    assert_eq!(raw.structured_content, Some(json!(6)));
    // M22
    set.close().await;
    set.close().await;
    let error = set.call_raw("add", serde_json::Map::new()).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Closed);
    assert_eq!(error.to_string(), "the toolset of the MCP server `child` is closed");
}

/// A shell script as a server.
fn script(script: &str) -> ServerConfig {
    ServerConfig::new("script", Process::new("sh").args(["-c", script]))
}

/// A script that agrees on revision 2025-11-25, lists the tool `one`, and then runs `rest`.
fn speaking(rest: &str) -> ServerConfig {
    script(&format!(
        r#"
        id() {{ printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }}
        answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$(id "$line")" "$1"; }}
        read -r line; printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"?"}}}}\n' "$(id "$line")"
        read -r line; answer '{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}'
        read -r line
        read -r line; answer '{{"tools":[{{"name":"one","inputSchema":{{"type":"object"}}}}]}}'
        {rest}
        "#
    ))
}

#[tokio::test]
async fn a_server_that_floods_its_standard_error_and_prints_junk_is_used() {
    let rest = r#"
        head -c 1048576 /dev/zero | tr '\0' 'x' >&2
        read -r line
        echo 'Listening on stdio {'; echo; echo '[1,2'; echo '{"a":1}'; echo '{"jsonrpc":"2.0","id":999,"result":{}}'
        printf '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"working"}}\n'
        answer '{"content":[{"type":"text","text":"done"}]}'
        read -r line
    "#;
    let set = McpToolSet::connect(speaking(rest)).await.unwrap();
    // M17
    assert_eq!(call(set.clone(), "one", json!({})).await.text(), "done");
    set.close().await;
}

#[tokio::test]
async fn a_server_that_dies_is_an_error_with_its_last_words() {
    let mut config = script("echo 'no database at secret-1' >&2; exit 3");
    let tool_mcp::client::Transport::Stdio(process) = &mut config.transport else { panic!() };
    process.env.insert("PASSWORD".to_owned(), "secret-1".to_owned());
    let error = McpToolSet::connect(config).await.unwrap_err();
    // M09
    assert_eq!(error.kind(), ClientErrorKind::Connect);
    assert_eq!(
        error.to_string(),
        "cannot connect to the MCP server `script`: its process has ended (exit status: 3); its last output: no database at [redacted]"
    );
    let error = McpToolSet::connect(script("exec >/dev/null <&-; exit 4")).await.unwrap_err();
    assert!(error.to_string().ends_with("its process has ended (exit status: 4)"), "{error}");

    let set = McpToolSet::connect(speaking("read -r line; echo 'out of memory' >&2; exit 1")).await.unwrap();
    let error = set.call_raw("one", serde_json::Map::new()).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Lost);
    assert_eq!(
        error.to_string(),
        "the connection to the MCP server `script` was lost: its process has ended (exit status: 1); its last output: out of memory"
    );
    // M22
    for _ in 0..2 {
        set.close().await;
        let error = set.call_raw("one", serde_json::Map::new()).await.unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::Closed, "{error}");
    }
}

#[tokio::test]
async fn a_handshake_that_cannot_be_used_is_the_reason_and_not_the_end_of_the_process() {
    let config = script(
        r#"
        read -r line; printf '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"?"}}\n'
        read -r line; printf '{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{}}}\n' "$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')"
        read -r line
        "#,
    );
    let error = McpToolSet::connect(config).await.unwrap_err().to_string();
    assert!(error.contains("protocolVersion") && !error.contains("process"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_child_runs_in_its_directory_with_its_arguments() {
    let directory = std::env::temp_dir().canonicalize().unwrap();
    let rest = r#"read -r line; answer "{\"content\":[{\"type\":\"text\",\"text\":\"$(pwd -P) $1\"}]}"; read -r line"#;
    let mut config = speaking(rest);
    let tool_mcp::client::Transport::Stdio(process) = &mut config.transport else { panic!() };
    *process = process.clone().args(["name", "argument"]).cwd(&directory);
    let set = McpToolSet::connect(config).await.unwrap();
    // M02, M17
    assert_eq!(call(set, "one", json!({})).await.text(), format!("{} argument", directory.display()));
}

#[tokio::test]
async fn a_child_has_a_small_environment_unless_it_inherits_all() {
    let present = "CARGO_MANIFEST_DIR";
    for (process, expected) in [
        (process(), [Some("value"), None]),
        (process().inherit_env(), [Some("value"), std::env::var(present).ok().as_deref()]),
    ] {
        let set = McpToolSet::connect(ServerConfig::new("child", process.env("OWN", "value"))).await.unwrap();
        // M17
        for (name, expected) in ["OWN", present].into_iter().zip(expected) {
            let arguments = json!({ "name": name }).as_object().unwrap().clone();
            let result = set.call_raw("variable", arguments).await.unwrap();
            let value = result.structured_content.filter(|value| !value.is_null());
            assert_eq!(
                value.as_ref().and_then(|it| it["result"].as_str().or(it.as_str())),
                expected,
                "{name}"
            );
        }
        let arguments = json!({ "name": "PATH" }).as_object().unwrap().clone();
        assert!(set.call_raw("variable", arguments).await.unwrap().content[0].as_text().is_some());
        set.close().await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn processes_that_a_server_started_end_with_it() {
    // The first server ends by itself; the second has to be killed.
    for (rest, closes) in [("read -r line", true), ("cat > /dev/null", false)] {
        let pipe = std::env::temp_dir().join(format!("tool-mcp-{}-{closes}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let rest = format!("sleep 1000 > {} & {rest}", pipe.display());
        let set = McpToolSet::connect(speaking(&rest)).await.unwrap();
        // Both ends are open once this is.
        let mut open = tokio::fs::File::open(&pipe).await.unwrap();
        std::fs::remove_file(&pipe).unwrap();
        // M17
        match closes {
            true => set.close().await,
            false => drop(set),
        }
        // The pipe ends with the last process that writes to it.
        let mut read = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut open, &mut read).await.unwrap();
        assert!(read.is_empty());
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_does_not_end_by_itself_is_ended_when_it_is_closed() {
    for rest in ["exec sleep 1000", "trap '' TERM; while :; do sleep 1000; done"] {
        let set = McpToolSet::connect(speaking(rest)).await.unwrap();
        tokio::time::pause();
        set.close().await;
        tokio::time::resume();
    }
}
