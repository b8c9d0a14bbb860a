//! Servers from npm and PyPI, which `.ci/mcp/install` installs.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use tool_kit::{
    catalogue::{Catalogue, ConnectorSource, ConnectorState, ItemKind, ItemQuery, json_input},
    mcp::McpSource,
};
use tool_mcp::client::{Process, ServerConfig};
use tool_runtime::{output::ResourceBody, prelude::*};

use super::{
    Factory, info,
    mcp_servers::{one_tool, run},
    run_during, wait_for_state, wait_until_active,
};
use crate::catalogue::snapshot;

/// A variable of the installed servers; `None`, with a report, if they are not installed.
fn variable(name: &str) -> Option<String> {
    let value = env::var(name).ok();
    if value.is_none() {
        test_support::skipped::report(&format!(
            "`{name}` is not set; run `. \"$(.ci/mcp/install)/environment\"` for tests with real servers"
        ));
    }
    value
}

/// Kills the server whose process id is in the folder.
fn kill_server(folder: &Path) {
    let pid = fs::read_to_string(folder.join("pid")).unwrap();
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
}

/// The server `everything` from npm, as a process whose id is in a file, and which begins when another file is there; `None`, with a report, if it
/// is not installed.
fn everything(folder: &Path) -> Option<McpSource> {
    let (peers, node) = (variable("MCP_PEERS")?, variable("MCP_NODE")?);
    let script = format!("{peers}/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let command = r#"echo $$ > "$0/pid"; read -r line < "$0/start"; exec "$@" stdio"#;
    let arguments = ["-c", command, folder.to_str().unwrap(), &node, &script];
    Some(McpSource::new(ServerConfig::new("everything", Process::new("sh").args(arguments))))
}

/// Returns a folder whose named pipe `start` lets a server begin.
fn folder_with_pipe() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("start");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    (folder, pipe)
}

/// Lets the server begin, once it waits for it.
async fn let_begin(pipe: &Path) {
    tokio::fs::write(pipe, "\n").await.unwrap();
}

#[tokio::test]
async fn real_servers_that_are_slow_killed_and_of_one_name_change_nothing_for_others() {
    let [(slow, slow_pipe), (twin, twin_pipe)] = [folder_with_pipe(), folder_with_pipe()];
    let (Some(slow_source), Some(twin_source)) = (everything(slow.path()), everything(twin.path())) else {
        return;
    };
    let sources = [slow_source, twin_source];
    let factory = Factory(move |url: &str| {
        let source = sources[usize::from(url.ends_with("twin"))].clone();
        Ok(Some(Arc::new(source) as Arc<dyn ConnectorSource>))
    });
    let catalogue = Catalogue::new().with_connector_factory(factory);
    catalogue.add_source("own", one_tool(&Arc::default()).source()).unwrap();
    for url in ["http://h/slow", "http://h/twin"] {
        catalogue.add_server(url).unwrap();
    }
    run_during(&catalogue, async {
        wait_until_active(&catalogue, "own").await;
        // The others are slow: they wait.
        assert!(snapshot(&catalogue).await.lookup("own.files").is_ok());
        assert_eq!(info(&catalogue, "http://h/slow").state, ConnectorState::Connecting);
        let_begin(&slow_pipe).await;
        wait_until_active(&catalogue, "http://h/slow").await;
        let_begin(&twin_pipe).await;
        wait_for_state(&catalogue, "http://h/twin", |state| state == ConnectorState::Conflict).await; // U10
        let namespace = info(&catalogue, "http://h/slow").namespace.unwrap();
        let items = snapshot(&catalogue).await;
        for kind in [ItemKind::Tool, ItemKind::Prompt, ItemKind::Resource] {
            assert!(
                items.list(&ItemQuery::all().in_namespace(&namespace).of_kind(kind)).count > 1,
                "{kind:?}"
            ); // O01
        }
        let (key, input) = (format!("{namespace}.get-sum"), json_input(&json!({ "a": 2, "b": 3 })));
        let sum = catalogue.call(&run(), &key, vec![input]).await.unwrap().unwrap();
        assert!(matches!(sum.body, ResourceBody::Text(text) if text.contains('5')));
        kill_server(slow.path());
        wait_for_state(&catalogue, "http://h/slow", |state| state != ConnectorState::Active).await; // U16
        let items = snapshot(&catalogue).await;
        assert_eq!(items.list(&ItemQuery::all().in_namespace(&namespace)).count, 0); // U16
        assert!(items.lookup("own.files").is_ok());
        // Restarted.
        let_begin(&slow_pipe).await;
        wait_until_active(&catalogue, "http://h/slow").await;
        assert!(snapshot(&catalogue).await.lookup(&format!("{namespace}.get-sum")).is_ok()); // U16
        let removing = catalogue.remove_connector("http://h/slow");
        let beginning = let_begin(&twin_pipe);
        let (removed, ()) = tokio::join!(removing, beginning);
        removed.unwrap();
        wait_until_active(&catalogue, "http://h/twin").await;
        assert_eq!(info(&catalogue, "http://h/twin").namespace, Some(namespace)); // U14
    })
    .await;
}

/// A server by the official SDK for Python, whose name is in a file.
const SERVER_IN_PYTHON: &str = r#"
import os, pathlib, sys
from mcp.server import MCPServer

folder = pathlib.Path(sys.argv[1])
server = MCPServer((folder / "name").read_text())

@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b

@server.prompt()
def greet(name: str) -> str:
    """Greets someone."""
    return f"Greet {name}."

@server.resource("notes://today")
def today() -> str:
    """The notes of today."""
    return "Buy milk."

(folder / "pid").write_text(str(os.getpid()))
server.run()
"#;

#[tokio::test]
async fn a_real_server_in_python_that_is_killed_is_connected_again_under_its_new_name() {
    let Some(python) = variable("MCP_PYTHON") else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("name"), "kitchen").unwrap();
    let process = |arguments: &[&str]| Process::new(&*python).args(arguments.iter().copied());
    let kitchen = process(&["-c", SERVER_IN_PYTHON, folder.path().to_str().unwrap()]);
    let kitchen = McpSource::new(ServerConfig::new("kitchen", kitchen));
    let factory = Factory(move |_: &str| Ok(Some(Arc::new(kitchen.clone()) as Arc<dyn ConnectorSource>)));
    let catalogue = Catalogue::new().with_connector_factory(factory);
    catalogue.add_server("http://h/kitchen").unwrap();
    let time = ServerConfig::new("time", process(&["-m", "mcp_server_time"]));
    catalogue.add_source("time", McpSource::new(time)).unwrap();
    let call = async |key: &str, input: Value| {
        let result = catalogue.call(&run(), key, vec![json_input(&input)]).await.unwrap().unwrap();
        format!("{:?}", result.body)
    };
    run_during(&catalogue, async {
        for key in ["http://h/kitchen", "time"] {
            wait_until_active(&catalogue, key).await;
        }
        let items = snapshot(&catalogue).await;
        assert!(call("kitchen.add", json!({ "a": 2, "b": 3 })).await.contains('5')); // O01
        assert!(call("time.get_current_time", json!({ "timezone": "Etc/UTC" })).await.contains("UTC")); // O01
        let greet = items.lookup("kitchen.greet").unwrap().prompt().unwrap();
        assert_eq!(greet.render(&run(), &json!({ "name": "Ada" })).await.unwrap().text(), "Greet Ada."); // O01
        let notes = items.resource("notes://today#kitchen").unwrap().read(&run()).await.unwrap();
        assert_eq!(notes.body, ResourceBody::Text("Buy milk.".to_owned())); // O01

        fs::write(folder.path().join("name"), "bakery").unwrap();
        kill_server(folder.path());
        wait_for_state(&catalogue, "http://h/kitchen", |state| state != ConnectorState::Active).await;
        let items = snapshot(&catalogue).await;
        assert_eq!(items.list(&ItemQuery::all().in_namespace("kitchen")).count, 0); // U16
        assert!(items.lookup("time.get_current_time").is_ok()); // U23
        wait_until_active(&catalogue, "http://h/kitchen").await;
        let items = snapshot(&catalogue).await;
        for key in ["bakery.add", "bakery.greet", "notes://today#bakery"] {
            assert!(items.lookup(key).is_ok(), "{key}"); // U10 U16
        }
        assert!(items.lookup("kitchen.add").is_err()); // U10
    })
    .await;
}
