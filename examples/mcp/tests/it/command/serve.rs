use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// A server as a child process, to which the test writes its lines.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut server = Self { child, input, output: BufReader::new(output) };
        let client = json!({ "name": "it", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        server.ask(1, "initialize", params);
        server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// The result of a request. Each line of the standard output is a message of the protocol.
    fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!((&message["jsonrpc"], &message["id"]), (&json!("2.0"), &json!(id)), "{message}");
        message["result"].clone()
    }

    /// Closes the input; the rest of the standard output and the standard error.
    fn close(self) -> (String, String) {
        let Self { mut child, input, mut output } = self;
        drop(input);
        let (mut rest, mut error) = (String::new(), String::new());
        output.read_to_string(&mut rest).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert!(child.wait().unwrap().success(), "{error}");
        (rest, error)
    }
}

fn call(server: &mut Server, id: u32, tool: &str, arguments: Value) -> Value {
    server.ask(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

// O04
#[test]
fn three_lines_serve_a_tool() {
    let mut server = Server::start(env!("CARGO_BIN_EXE_mcp-stdio"), &[]);
    let result = call(&mut server, 2, "add", json!({ "a": 2, "b": 3 }));
    assert_eq!(result["structuredContent"], json!({ "result": 5 }));
    assert_eq!(server.close(), (String::new(), String::new()));
}

#[cfg(unix)]
#[test]
fn text_that_a_tool_prints_does_not_reach_the_protocol() {
    let mut server = Server::start(env!("CARGO_BIN_EXE_mcp-command"), &["serve"]);
    let result = call(&mut server, 2, "greet", json!({ "name": "Ada" }));
    assert_eq!(result["content"][0]["text"], "Hello, Ada!");
    assert_eq!(server.close(), (String::new(), "greeting Ada\n".to_owned()));
}

#[test]
fn the_guards_of_the_command_line_hold_for_remote_calls() {
    let mut server = Server::start(env!("CARGO_BIN_EXE_mcp-command"), &["serve"]);
    let result = call(&mut server, 2, "remove", json!({ "name": "Ada" }));
    assert_eq!(result["isError"], true, "{result}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("Ada is the host"), "{result}");
    let result = call(&mut server, 3, "remove", json!({ "name": "Bob" }));
    assert_eq!(result["isError"], false, "{result}");
    server.close();
}

#[test]
fn an_input_that_is_closed_at_once_is_no_failure() {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
        .arg("serve")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

#[test]
fn a_server_over_http_writes_its_url_and_serves_it() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
        .args(["serve", "--http", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    // It stays open: a tool prints to it.
    let mut output = BufReader::new(server.stdout.take().unwrap());
    output.read_line(&mut url).unwrap();
    let called = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
        .args(["mcp", "call", url.trim(), "greet", r#"{"name": "Ada"}"#])
        .output()
        .unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(String::from_utf8_lossy(&called.stdout), "Hello, Ada!\n", "{called:?}");
}

#[test]
fn an_address_that_cannot_be_served_is_named() {
    for (address, code, expected) in [
        ("192.0.2.1:3001", 1, "192.0.2.1:3001 cannot be served"),
        ("3001", 2, "`3001` is a port without an address; write `--http 127.0.0.1:3001`"),
        (":3001", 2, "`:3001` is a port without an address; write `--http 127.0.0.1:3001`"),
        ("localhost", 2, "`localhost` has no port; write `--http localhost:3001`"),
        ("[::1]", 2, "`[::1]` has no port; write `--http [::1]:3001`"),
        ("http://localhost:80/mcp", 2, "is a URL; write its address, `--http localhost:80`"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
            .args(["serve", "--http", address])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn an_address_that_other_machines_reach_is_a_note() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
        .args(["serve", "--http", "0.0.0.0:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    server.kill().unwrap();
    let mut error = String::new();
    server.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    server.wait().unwrap();
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        error.contains("is reachable from other machines") && error.contains("prefer 127.0.0.1"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_person_who_starts_a_server_reads_how_to_end_it() {
    use std::os::fd::OwnedFd;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let terminal: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let input = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let server = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
        .arg("serve")
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut terminal = std::fs::File::from(terminal);
    terminal.write_all(b"\x04").unwrap();
    let output = server.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(
        error.contains("speaks the Model Context Protocol") && error.contains("Ctrl-D ends it"),
        "{error}"
    );
}
