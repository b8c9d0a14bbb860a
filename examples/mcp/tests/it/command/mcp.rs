use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

const SERVER: &str = concat!(env!("CARGO_BIN_EXE_mcp-everything"), " --stdio");

fn mcp(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mcp-command")).arg("mcp").args(arguments).output().unwrap()
}

/// The standard output of a command that succeeds.
fn output(arguments: &[&str]) -> String {
    let output = mcp(arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The exit code and the standard error of a command that fails.
fn failure(arguments: &[&str]) -> (i32, String) {
    let output = mcp(arguments);
    assert!(output.stdout.is_empty(), "{output:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn tools_of_a_server_are_listed() {
    let listed = output(&["list", SERVER]);
    assert!(listed.contains("test_echo"), "{listed}");
    let listed: Value = serde_json::from_str(&output(&["list", "--json", SERVER])).unwrap();
    let echo = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "test_echo").unwrap();
    assert_eq!(echo["inputSchema"]["required"], json!(["text"]));
}

#[test]
fn a_schema_is_written_as_received() {
    let listed: Value = serde_json::from_str(&output(&["list", "--json", SERVER])).unwrap();
    let tools = listed.as_array().unwrap();
    let contact = tools.iter().find(|tool| tool["name"] == "json_schema_2020_12_tool").unwrap();
    let keywords: Vec<_> = contact["inputSchema"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keywords,
        ["$schema", "type", "$defs", "properties", "allOf", "if", "then", "else", "additionalProperties"]
    );
}

#[test]
fn a_tool_of_a_server_is_called() {
    assert_eq!(output(&["call", SERVER, "test_echo", r#"{"text": "a\nb"}"#]), "a\nb\n");
    let result = output(&["call", "--json", SERVER, "test_structured_content", r#"{"city": "Oslo"}"#]);
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["structuredContent"], json!({ "city": "Oslo", "celsius": 21.5 }));
    let shown = output(&["call", SERVER, "test_multiple_content_types"]);
    let image = "[image: image/png, 69 bytes; `--json` writes it as base64]";
    assert!(shown.contains(image), "{shown}");
}

#[test]
fn a_command_serves_itself() {
    let itself = format!("{} serve", env!("CARGO_BIN_EXE_mcp-command"));
    assert_eq!(output(&["call", &itself, "greet", r#"{"name": "Ada"}"#]), "Hello, Ada!\n");
}

#[test]
fn a_failed_tool_has_the_exit_code_of_a_failure() {
    let output = mcp(&["call", SERVER, "test_error_handling"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "This tool intentionally returns an error for testing\n"
    );
}

#[test]
fn an_unknown_tool_is_an_error_that_names_close_tools() {
    let (code, error) = failure(&["call", SERVER, "test_ecko"]);
    assert_eq!(code, 1);
    assert!(error.contains("-32602") && error.contains("`test_echo`"), "{error}");
}

#[test]
fn a_server_of_a_file_is_reached_by_its_name() {
    let directory = directory("file");
    let file = directory.join("servers.json");
    let servers = json!({ "mcpServers": {
        "everything": { "command": env!("CARGO_BIN_EXE_mcp-everything"), "args": ["--stdio"] },
        "broken": { "type": "ws", "url": "ws://127.0.0.1:1" },
    } });
    fs::write(&file, servers.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let arguments = r#"{"text": "a"}"#;
    assert_eq!(output(&["call", "--config", file, "everything", "test_echo", arguments]), "a\n");
    let (code, error) = failure(&["list", "--config", file, "evrything"]);
    assert!(code == 2 && error.contains("`everything`"), "{error}");
    let (code, error) = failure(&["list", "--config", file, "broken"]);
    assert!(code == 2 && error.contains("the transport `ws` is unknown"), "{error}");
    let (code, error) = failure(&["list", "--config", "nowhere.json", "everything"]);
    assert!(code == 2 && error.contains("nowhere.json"), "{error}");

    // Without `--config`, the file of the working directory.
    fs::rename(file, directory.join(".mcp.json")).unwrap();
    let called = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
        .current_dir(&directory)
        .args(["mcp", "call", "everything", "test_echo", arguments])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&called.stdout), "a\n", "{called:?}");
    fs::remove_dir_all(directory).unwrap();
}

/// An empty directory of a test.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-{name}-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn an_invalid_command_line_starts_no_server() {
    for (arguments, expected) in [
        (vec!["call", SERVER, "test_echo", "@nowhere.json"], "nowhere.json cannot be read"),
        (vec!["list", "'a"], "a quotation mark in SERVER is not closed"),
        (vec!["list", "ftp://a/b"], "neither `http` nor `https`"),
        (vec!["list", "--header", "secret", "http://127.0.0.1:1/mcp"], "`--header` has no colon"),
        (vec!["list", "--header", "X-Key: secret", SERVER], "`--header` is for a server behind a URL"),
        (
            vec!["list", "--header", "X Key: secret", "http://127.0.0.1:1/mcp"],
            "the header name `X Key` is invalid",
        ),
    ] {
        let (code, error) = failure(&arguments);
        assert_eq!(code, 2, "{error}");
        let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(error.contains(expected) && !error.contains("secret"), "{error}");
    }
}

#[test]
fn a_server_that_cannot_be_started_is_named() {
    let (code, error) = failure(&["list", "no-such-server"]);
    assert_eq!(code, 1);
    assert!(error.contains("`no-such-server`"), "{error}");
}

/// A message without its line breaks.
fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn invalid_arguments_are_shown_with_an_example_of_the_tool() {
    let (code, error) = failure(&["call", SERVER, "test_echo", "text=a"]);
    let error = in_a_line(&error);
    assert_eq!(code, 2);
    let expected = "the arguments are not a JSON object: expected ident at line 1 column 2 received: text=a example: '{\"text\":";
    assert!(error.contains(expected), "{error}");

    let output = mcp(&["call", SERVER, "test_echo", r#"{"txt": 1}"#]);
    assert_eq!(output.status.code(), Some(1));
    let error = in_a_line(&String::from_utf8_lossy(&output.stderr));
    for expected in ["do not fit the schema of `test_echo`", "received: {\"txt\": 1}", "example: '{\"text\":"]
    {
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn disabled_servers_and_missing_variables_are_named() {
    let directory = directory("disabled");
    let file = directory.join("servers.json");
    let servers = json!({ "mcpServers": {
        "old": { "command": "old-server", "disabled": true },
        "unset": { "url": "https://example.com/${TOOL_MCP_UNSET}" },
    } });
    fs::write(&file, servers.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let (code, error) = failure(&["list", "--config", file, "old"]);
    let error = in_a_line(&error);
    assert!(code == 2 && error.contains("the server `old` is disabled in"), "{error}");
    let (code, error) = failure(&["list", "--config", file, "unset"]);
    let error = in_a_line(&error);
    let expected = "the environment variable `TOOL_MCP_UNSET` is not set; set it, or give a default by `${TOOL_MCP_UNSET:-default}`";
    assert!(code == 2 && error.contains(expected), "{error}");
    fs::remove_dir_all(directory).unwrap();
}

/// Answers one connection after another with `answer`.
fn web(answer: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/other", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            reader.read_exact(&mut vec![0; length]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    url
}

#[test]
fn a_url_of_no_server_says_what_to_check() {
    let page =
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi";
    let missing = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno";
    for (answer, expected) in [
        (
            page,
            "the answer has `text/html` in place of JSON or an event stream; check the path of the URL, which is often `/mcp`",
        ),
        (missing, "the answer is HTTP 404, not found; check the path of the URL, which is often `/mcp`"),
    ] {
        let (code, error) = failure(&["list", &web(answer)]);
        let error = in_a_line(&error);
        assert!(code == 1 && error.contains(expected), "{error}");
    }
}

#[test]
fn a_server_that_ends_at_once_is_named_with_its_status_and_last_words() {
    let (code, error) = failure(&["list", "sh -c 'echo no database >&2; exit 3'"]);
    let error = in_a_line(&error);
    assert_eq!(code, 1);
    assert!(
        error.contains("its process has ended (exit status: 3); its last output: no database"),
        "{error}"
    );
}
