//! The command `serve`.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

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

#[tokio::test]
async fn an_address_is_served_at_the_url_that_is_printed() {
    let mut child = program(&["serve", "--http", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(start) = line.find("http://127.0.0.1:") {
            break line[start..].to_owned();
        }
    };
    assert!(url.ends_with("/mcp"), "{url}");
    let client = reqwest::Client::new();
    let list = modern("tools/list", json!({}));
    let answer =
        post(&client, &url, &list, &rmcp::model::ProtocolVersion::V_2026_07_28).send().await.unwrap();
    assert!(answer.text().await.unwrap().contains("\"add\""));
    child.kill().await.unwrap();
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
