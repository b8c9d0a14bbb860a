//! The command `serve`.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    process::{Child, Command},
};
use tool_cli::Cli;
use tool_mcp::cli::Serve;
use tool_runtime::{
    policy::{Rule, Rules},
    prelude::*,
};

use super::{program, run};
use crate::server::{initialize, modern, post};

#[tokio::test]
async fn the_standard_streams_are_served_until_the_client_closes_them() {
    let mut child = program(&["serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answer = async || -> Value {
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            // Other lines are of the test runner.
            if let Some(start) = line.find('{') {
                return serde_json::from_str(&line[start..]).unwrap();
            }
        }
    };
    input.write_all(format!("{}\n", initialize()).as_bytes()).await.unwrap();
    let opened = answer().await["result"].clone();
    assert_eq!(
        (&opened["serverInfo"]["name"], &opened["instructions"]),
        (&json!("program"), &json!("Adds."))
    );
    let params = json!({ "name": "add", "arguments": { "a": 2, "b": 3 } });
    for message in [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }),
    ] {
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    assert_eq!(answer().await["result"]["content"][0]["text"], "5");
    drop(input);
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

/// Starts the program at `address`; returns it with its URL.
async fn serve_at(address: &str) -> (Child, String) {
    let mut command = program(&["serve", "--http", address]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(start) = line.find("http://") {
            return (child, line[start..].to_owned());
        }
    }
}

/// Ends the program; returns its standard error in one line.
async fn kill(mut child: Child) -> String {
    child.start_kill().unwrap();
    let error = String::from_utf8(child.wait_with_output().await.unwrap().stderr).unwrap();
    error.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn an_address_is_served_at_the_url_that_is_printed() {
    let (child, url) = serve_at("127.0.0.1:0").await;
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp"), "{url}");
    let client = reqwest::Client::new();
    let list = modern("tools/list", json!({}));
    let answer =
        post(&client, &url, &list, &rmcp::model::ProtocolVersion::V_2026_07_28).send().await.unwrap();
    assert!(answer.text().await.unwrap().contains("\"add\""));
    assert_eq!(kill(child).await, "");
}

#[tokio::test]
async fn an_address_that_other_machines_reach_has_a_warning() {
    let (child, url) = serve_at("0.0.0.0:0").await;
    let address = url.strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp")).unwrap();
    assert!(address.starts_with("0.0.0.0:"), "{url}");
    let expected = format!(
        "{address} is reachable from other machines, and every request that names this machine `localhost` or \
         `127.0.0.1` is answered without authentication; prefer 127.0.0.1"
    );
    let error = kill(child).await;
    assert!(error.ends_with(&expected), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_is_interrupted_answers_the_calls_that_run() {
    let (mut child, url) = serve_at("127.0.0.1:0").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let arguments = json!({ "port": listener.local_addr().unwrap().port() });
    let call = modern("tools/call", json!({ "name": "wait", "arguments": arguments }));
    let client = reqwest::Client::new();
    let call = post(&client, &url, &call, &rmcp::model::ProtocolVersion::V_2026_07_28).send();
    let interrupted = async {
        let running = listener.accept().await.unwrap();
        let interrupt = Command::new("kill").args(["-INT", &child.id().unwrap().to_string()]).status();
        assert!(interrupt.await.unwrap().success());
        // It serves no more, and has not ended.
        let other = post(
            &reqwest::Client::new(),
            &url,
            &modern("tools/list", json!({})),
            &rmcp::model::ProtocolVersion::V_2026_07_28,
        );
        while other.try_clone().unwrap().send().await.is_ok_and(|answer| answer.status() == 200) {}
        assert_eq!(child.try_wait().unwrap(), None);
        drop(running);
    };
    let (answer, ()) = tokio::join!(call, interrupted);
    assert!(answer.unwrap().text().await.unwrap().contains("waited"));
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).await.unwrap();
    assert_eq!(error, "");
}

/// A program whose server has a rule that fits no tool.
#[test]
#[ignore = "a program for other tests"]
fn serves_with_a_rule() {
    let serve = Serve::new().configure(|server| {
        let executor = Executor::builder(Registry::default()).rules(Rules::new([Rule::deny("bash")]));
        server.tools(executor.build().unwrap())
    });
    let exit = Cli::new().command(serve).run(["program", "serve"]);
    std::process::exit(exit.code().into());
}

#[tokio::test]
async fn a_rule_of_the_server_that_fits_no_tool_has_a_note() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["cli::serve::serves_with_a_rule", "--exact", "--ignored", "--nocapture"]);
    let output = command.stdin(Stdio::null()).output().await.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.matches("the rule `deny bash` fits no tool").count(), 1, "{error}");
    assert_eq!(output.status.code(), Some(0));
}

#[tokio::test]
async fn an_address_that_cannot_be_served_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = taken.local_addr().map(|address| (address.to_string(), taken)).unwrap();
    for (address, code, expected) in [
        ("3001", 2, "`3001` is a port without an address; write `--http 127.0.0.1:3001`".to_owned()),
        (&taken.0, 1, format!("{} cannot be served: ", taken.0)),
    ] {
        let (found, _, error) = run(&["serve", "--http", address]).await;
        assert!(found == code && error.contains(&expected), "{found} {error}");
    }
}

#[tokio::test]
async fn an_input_that_is_closed_is_no_failure() {
    let (code, _, error) = run(&["serve"]).await;
    assert_eq!((code, error.as_str()), (0, ""));
}
