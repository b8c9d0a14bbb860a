use std::{
    fs,
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
    let directory = directory();
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

/// An empty directory of this test process.
fn directory() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mcp-{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn an_invalid_command_line_starts_no_server() {
    for (arguments, expected) in [
        (vec!["call", SERVER, "test_echo", "[]"], "not a JSON object"),
        (vec!["call", SERVER, "test_echo", "@nowhere.json"], "nowhere.json cannot be read"),
        (vec!["list", "'a"], "a quotation mark in SERVER is not closed"),
        (vec!["list", "ftp://a/b"], "neither `http` nor `https`"),
    ] {
        let (code, error) = failure(&arguments);
        assert_eq!(code, 2, "{error}");
        let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_server_that_cannot_be_started_is_named() {
    let (code, error) = failure(&["list", "no-such-server"]);
    assert_eq!(code, 1);
    assert!(error.contains("`no-such-server`"), "{error}");
}
