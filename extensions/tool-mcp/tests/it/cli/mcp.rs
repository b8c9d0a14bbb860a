//! The command `mcp`.

use serde_json::{Value, json};
use tool_mcp::server::{McpServer, RequestHeaders};
use tool_runtime::prelude::*;

use super::{add, program, run, run_command};
use crate::server::{Served, serve};

/// Fails, and says for whom.
#[tool(register = false)]
fn fail(name: String) -> Result<(), ToolError> {
    Err(ToolError::failed(format!("no {name}")))
}

/// Returns a header.
#[tool(register = false)]
fn header(headers: Option<&RequestHeaders>) -> String {
    let value = headers.and_then(|headers| headers.get("x-key"));
    value.map_or("none", |value| value.to_str().unwrap()).to_owned()
}

async fn server() -> Served {
    let tools = Registry::builder().tool::<add>().tool::<fail>().tool::<header>().build().unwrap();
    serve(McpServer::new(tools).http().unwrap()).await
}

/// The JSON at the end of an output, after the lines of the test runner.
fn json_of(output: &str) -> Value {
    let start = output.find(['[', '{']).unwrap();
    serde_json::from_str(&output[start..]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_as_rows_or_as_received() {
    let served = server().await;
    let (code, output, _) = run(&["mcp", "list", &served.url]).await;
    let row = output.lines().find(|line| line.contains("Adds two numbers.")).unwrap();
    assert!(code == 0 && row.contains("add") && row.contains("read-only, idempotent"), "{output}");
    assert!(output.contains("Hints") && !output.contains("exactly"), "{output}");
    let (code, output, _) = run(&["mcp", "ls", "--json", &served.url]).await;
    let listed = json_of(&output);
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!((code, names), (0, vec![json!("add"), json!("fail"), json!("header")]));
    assert!(output.ends_with("]\n"), "{output}");

    let none = serve(McpServer::new(Registry::default()).http().unwrap()).await;
    let (code, output, _) = run(&["mcp", "list", &none.url]).await;
    assert!(code == 0 && output.ends_with("There are no tools.\n"), "{output}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_end_by_itself_is_ended_before_the_command_ends() {
    let folder = std::env::temp_dir().join(format!("tool-mcp-cli-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let ends = async |name: &str, arguments: &[&str]| {
        // The pipe ends with the process that goes on after the server.
        let pipe = folder.join(name);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let program = std::env::current_exe().unwrap();
        let server = format!(
            "'{}' client::child::serves --exact --ignored --nocapture\n(sleep 60; echo left) > '{}'\n",
            program.display(),
            pipe.display()
        );
        let script = folder.join(format!("{name}.sh"));
        std::fs::write(&script, server).unwrap();
        let target = format!("sh '{}'", script.display());
        let arguments: Vec<_> = arguments
            .iter()
            .map(|argument| if *argument == "SERVER" { &target } else { *argument })
            .collect();
        let (left, (code, output, error)) = tokio::join!(tokio::fs::read_to_string(&pipe), run(&arguments));
        assert_eq!((code, left.unwrap().as_str()), (0, ""), "{output}{error}");
    };
    let list = ends("list", &["mcp", "list", "SERVER"]);
    let call = ends("call", &["mcp", "call", "SERVER", "add", r#"{"a":2,"b":3}"#]);
    tokio::join!(list, call);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_prints_its_result_and_has_its_exit_code() {
    let served = server().await;
    let url = served.url.as_str();
    let (code, output, error) = run(&["mcp", "call", url, "add", r#"{"a":2,"b":3}"#]).await;
    assert!((code, error.as_str()) == (0, "") && output.ends_with("5\n"), "{output}{error}");
    let (code, output, _) = run(&["mcp", "c", "--json", url, "add", r#"{"a":2,"b":3}"#]).await;
    let result = json_of(&output);
    assert_eq!((code, &result["isError"], &result["content"][0]["text"]), (0, &json!(false), &json!("5")));
    let header = ["mcp", "call", "--header", "X-Key: secret", "--timeout", "60", url, "header"];
    let (code, output, _) = run(&header).await;
    assert!(code == 0 && output.ends_with("secret\n"), "{output}");
    // A failure that the arguments are no reason of.
    let (code, output, error) = run(&["mcp", "call", url, "fail", r#"{"name":"luck"}"#]).await;
    assert!((code, error.as_str()) == (1, "") && output.ends_with("no luck\n"), "{output}{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_do_not_fit_are_shown_beside_an_example() {
    let served = server().await;
    let url = served.url.as_str();
    let (code, output, error) = run(&["mcp", "call", url, "fail", r#"{"nam":1}"#]).await;
    assert!(code == 1 && output.contains("name"), "{output}");
    assert!(error.contains("the arguments do not fit the schema of `fail`"), "{error}");
    assert!(error.contains(r#"received: {"nam":1} example: '{"name":"#), "{error}");
    let (code, _, error) = run(&["mcp", "call", url, "fail", "name=a"]).await;
    assert!(code == 2 && error.contains("the arguments are not a JSON object"), "{error}");
    assert!(error.contains(r#"received: name=a example: '{"name":"#), "{error}");
    // Of a tool that does not exist, there is no example.
    let (code, _, error) = run(&["mcp", "call", url, "nothing", "name=a"]).await;
    assert!(code == 2 && error.ends_with("received: name=a"), "{error}");
    let (code, _, error) = run(&["mcp", "call", url, "ad"]).await;
    assert!(code == 1 && error.contains("`add`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_named_well_is_a_mistake_of_the_command_line() {
    for (arguments, expected) in [
        (
            &["mcp", "list", ""][..],
            "SERVER is empty; give a command line, a URL, or a name of the configuration",
        ),
        (&["mcp", "list", "localhost:1/mcp"], "`localhost:1/mcp` has no scheme"),
        (&["mcp", "list", "--header", "a", "http://localhost:1/mcp"], "`--header` has no colon"),
        (&["mcp", "call", "http://localhost:1/mcp"], "<TOOL>"),
    ] {
        let (code, _, error) = run(arguments).await;
        assert!(code == 2 && error.contains(expected), "{code} {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_the_folder_is_read_for_its_names_alone() {
    let served = server().await;
    let folder = std::env::temp_dir().join(format!("tool-mcp-default-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let servers =
        json!({ "mcpServers": { "known": { "url": served.url }, "other": { "command": "unused" } } });
    std::fs::write(folder.join(".mcp.json"), servers.to_string()).unwrap();
    let list = async |server: &str| {
        let mut command = program(&["mcp", "list", server]);
        command.current_dir(&folder);
        run_command(command).await
    };
    let (code, output, error) = list("known").await;
    assert!(code == 0 && output.contains("Adds two numbers."), "{output}{error}");
    // Another word is a command.
    let (code, _, error) = list("an-unknown-command").await;
    assert!(code == 1 && error.contains("an-unknown-command"), "{code} {error}");
    assert!(!error.contains("it is not in the file"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
