//! Servers over the standard streams of a process, whatever these are.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tool_mcp::server::McpServer;
use tool_runtime::{CancellationToken, prelude::*};

/// Returns what is on the standard input of the program and of a process that it starts, and prints.
#[tool(register = false)]
fn input() -> io::Result<String> {
    println!("printed");
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let copied = Command::new("wc").arg("-c").stdout(Stdio::piped()).spawn()?.wait_with_output()?;
    Ok(format!("{text}{}", String::from_utf8_lossy(&copied.stdout).trim()))
}

/// Says it again.
#[tool(register = false)]
fn echo(text: String) -> String {
    text
}

#[tokio::test]
#[ignore = "a server for other tests"]
async fn serves() {
    tool_mcp::server::serve_stdio(tools()).await.unwrap();
}

fn tools() -> Registry {
    Registry::builder().tool::<input>().tool::<echo>().build().unwrap()
}

/// The requests of a suite that any transport passes, and the number of their answers.
fn suite() -> (String, usize) {
    let request = |id: u32, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let client = json!({ "name": "test", "version": "1" });
    let lines = [
        request(
            1,
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }),
        ),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
        request(2, "tools/list", json!({})),
        request(3, "tools/call", json!({ "name": "echo", "arguments": { "text": "a" } })),
        request(4, "tools/call", json!({ "name": "echo", "arguments": { "text": {} } })),
        request(5, "tools/call", json!({ "name": "none" })),
        request(6, "tools/guess", json!({})),
        request(7, "tools/call", json!({ "arguments": {} })),
        "{ no json".to_owned(),
    ];
    let answers = lines.len() - 1;
    (lines.map(|line| line + "\n").concat(), answers)
}

/// Reads the answers of the suite, in the order of their ids.
fn answers(output: impl Read) -> Vec<Value> {
    let lines = BufReader::new(output).lines().map(Result::unwrap);
    let answers = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let mut answers: Vec<_> = answers.filter(|it| it["jsonrpc"] == "2.0").take(suite().1).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

// O04
#[tokio::test]
async fn one_suite_passes_over_a_pipe_in_memory_and_over_the_streams_of_a_process() {
    let mut server = start(Stdio::piped(), Stdio::piped(), Stdio::null());
    let mut input = server.stdin.take().unwrap();
    input.write_all(suite().0.as_bytes()).unwrap();
    let of_process = answers(server.stdout.take().unwrap());
    drop(input);
    assert!(server.wait().unwrap().success());

    let (near, far) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(far);
    let serving = tokio::spawn(McpServer::new(tools()).serve(read, write, CancellationToken::new()));
    let (mut read, mut write) = tokio::io::split(near);
    write.write_all(suite().0.as_bytes()).await.unwrap();
    write.shutdown().await.unwrap();
    let mut output = Vec::new();
    read.read_to_end(&mut output).await.unwrap();
    serving.await.unwrap().unwrap();
    let of_pipe = answers(&*output);

    assert_eq!(of_pipe, of_process);
    let codes: Vec<_> = of_pipe.iter().filter_map(|it| it["error"]["code"].as_i64()).collect();
    assert_eq!(codes, [-32700, -32602, -32601, -32602]);
    let results: Vec<_> = of_pipe.iter().filter_map(|it| it["result"]["isError"].as_bool()).collect();
    assert_eq!(results, [false, true]);
}

fn start(input: impl Into<Stdio>, output: impl Into<Stdio>, error: impl Into<Stdio>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["server::standard::serves", "--exact", "--ignored", "--nocapture"])
        .stdin(input)
        .stdout(output)
        .stderr(error)
        .spawn()
        .unwrap()
}

/// The requests of a client: the session, and two calls.
fn requests(text: &str) -> String {
    let client = json!({ "name": "test", "version": "1" });
    let session = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": session }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "input" } }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "echo", "arguments": { "text": text } } }),
    ];
    messages.iter().map(|message| format!("{message}\n")).collect()
}

/// Reads the answers to all requests; other lines are of the test runner, or printed.
fn check(output: impl Read, text: &str) {
    let lines = BufReader::new(output).lines().map(Result::unwrap);
    let answers = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    let mut answers: Vec<_> = answers.filter(|it| it["id"].is_u64()).take(3).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let texts: Vec<_> = answers[1..].iter().map(|it| it["result"]["content"][0]["text"].as_str()).collect();
    assert_eq!(texts, [Some("0"), Some(text)]);
}

/// Longer than the buffer of a pipe.
fn long() -> String {
    "text ".repeat(100_000)
}

#[test]
fn pipes_are_of_the_protocol_alone() {
    let mut server = start(Stdio::piped(), Stdio::piped(), Stdio::null());
    let mut input = server.stdin.take().unwrap();
    let writing = std::thread::spawn(move || {
        input.write_all(requests(&long()).as_bytes()).unwrap();
        input
    });
    check(server.stdout.take().unwrap(), &long());
    drop(writing.join().unwrap());
    assert!(server.wait().unwrap().success());
}

#[test]
fn sockets_are_served() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let theirs = || OwnedFd::from(theirs.try_clone().unwrap());
    let mut server = start(theirs(), theirs(), Stdio::null());
    let mut input = ours.try_clone().unwrap();
    let writing = std::thread::spawn(move || input.write_all(requests(&long()).as_bytes()).unwrap());
    check(&ours, &long());
    writing.join().unwrap();
    ours.shutdown(std::net::Shutdown::Both).unwrap();
    assert!(server.wait().unwrap().success());
}

#[test]
fn files_are_served() {
    let name = |it: &str| std::env::temp_dir().join(format!("tool-mcp-{}-{it}", std::process::id()));
    let (input, output) = (name("input"), name("output"));
    fs::write(&input, requests(&long())).unwrap();
    let mut server = start(File::open(&input).unwrap(), File::create(&output).unwrap(), Stdio::null());
    assert!(server.wait().unwrap().success());
    check(File::open(&output).unwrap(), &long());
    for file in [input, output] {
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_stream_that_is_the_standard_error_too_is_served_and_printing_to_it_waits() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let theirs = || OwnedFd::from(theirs.try_clone().unwrap());
    let mut server = start(Stdio::piped(), theirs(), theirs());
    let mut input = server.stdin.take().unwrap();
    input.write_all(requests("text").as_bytes()).unwrap();
    check(&ours, "text");
    // A stream that is polled never blocks, for all processes that have it.
    let flags = rustix::fs::fcntl_getfl(theirs()).unwrap();
    assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK));
    drop(input);
    ours.shutdown(std::net::Shutdown::Both).unwrap();
    server.wait().unwrap();
}
