//! Configurations and `mcpServers` files.

use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::client::{Endpoint, McpServers, Process, ServerConfig, Transport};
use tool_runtime::policy::Escape;

fn read(config: Value) -> Result<ServerConfig, String> {
    serde_json::from_value(config).map_err(|error| error.to_string())
}

#[test]
fn transports_have_names_and_are_inferred() {
    let url = "https://example.com/mcp";
    // M01
    for kind in ["http", "streamable", "streamable_http"] {
        let config = read(json!({ "name": "a", "transport": kind, "url": url })).unwrap();
        assert_eq!(config.transport, Transport::Http(Endpoint::new(url)));
    }
    let error = read(json!({ "name": "a", "type": "ws", "url": url })).unwrap_err();
    for choice in ["`ws`", "`stdio`", "`http`", "`streamable_http`", "`sse`"] {
        assert!(error.contains(choice), "{error}");
    }
    // N02
    let inferred = |config| read(config).unwrap().transport.name();
    assert_eq!(inferred(json!({ "name": "a", "command": "b" })), "stdio");
    assert_eq!(inferred(json!({ "name": "a", "url": url, "type": " " })), "http");
}

#[test]
fn configurations_that_contradict_themselves_are_rejected() {
    let check = |config: Value, expected: &str| {
        let error = read(config).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    // N02
    check(
        json!({ "name": "a", "type": "stdio", "command": "b", "url": "http://c" }),
        "neither `url` nor `headers`",
    );
    check(json!({ "name": "a", "type": "stdio", "command": "b", "headers": { "c": "d" } }), "neither `url`");
    check(json!({ "name": "a", "type": "http", "command": "b", "url": "http://c" }), "has no `command`");
    check(json!({ "name": "a", "command": "b", "url": "http://c" }), "exclude each other");
    check(json!({ "name": "a", "url": "ftp://c" }), "neither `http` nor `https`");
    check(json!({ "name": "a", "url": "http:///path" }), "no host");
    check(json!({ "name": "a", "url": "http://user@:80/path" }), "no host");
    check(json!({ "name": "a", "command": "b", "timeout": -1 }), "`timeout` is negative");
    check(json!({ "name": "a", "command": " " }), "`command` is empty");
    check(json!({ "name": " ", "command": "b" }), "the name is empty");
    check(json!({ "name": "a" }), "`command` or `url` is missing");
}

#[test]
fn a_configuration_survives_json() {
    let process = Process::new("server").args(["--all"]).env("KEY", "value").cwd("/tmp").inherit_env();
    let process = ServerConfig::new("a", process)
        .description("Files.")
        .timeout(Duration::from_millis(1500))
        .client_info("program", "1.0")
        .reconnect(99);
    // M12
    assert_eq!(process.reconnect, 10);
    let endpoint = ServerConfig::new("b", Endpoint::new("http://localhost/mcp").header("X-Key", "k"));
    let sse = ServerConfig::new("c", Transport::Sse(Endpoint::new("http://localhost/sse")));
    for config in [process, endpoint, sse] {
        let text = serde_json::to_string(&config).unwrap();
        // M02
        assert_eq!(serde_json::from_str::<ServerConfig>(&text).unwrap(), config, "{text}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let process = Process::new("server").args(["--token=hidden"]).env("KEY", "hidden");
    let endpoint =
        Endpoint::new("https://me:hidden@example.com/mcp?key=hidden#hidden").header("Key", "hidden");
    for transport in [Transport::from(process), endpoint.clone().into(), Transport::Sse(endpoint)] {
        // E10
        let shown = format!("{:?}", ServerConfig::new("a", transport));
        assert!(!shown.contains("hidden"), "{shown}");
    }
}

#[test]
fn variables_are_replaced_once() {
    let lookup = |name: &str| match name {
        "A" => Some("${B}".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    let expanded = |text: &str| {
        let config = ServerConfig::new("s", Process::new("c").env("V", text)).expanded(lookup);
        config.map(|config| match config.transport {
            Transport::Stdio(process) => process.env["V"].clone(),
            _ => unreachable!(),
        })
    };
    // M02
    assert_eq!(expanded("a ${A} ${env:A} $A").unwrap(), "a ${B} ${B} $A");
    assert_eq!(expanded("${NONE:-x}${EMPTY:-y}${EMPTY}").unwrap(), "xy");
    assert!(expanded("${NONE}").unwrap_err().to_string().contains("`NONE` is not set"));
    assert!(expanded("${A").unwrap_err().to_string().contains("not closed"));
}

#[test]
fn a_file_of_servers_is_read_as_editors_write_it() {
    let servers = McpServers::parse(
        &json!({
            "theme": "dark",
            "mcpServers": {
                "files": { "command": "npx", "args": ["-y", "x"], "env": { "K": "${PATH}" }, "alwaysAllow": [] },
                "search": { "type": "streamable-http", "url": "https://${HOST_NONE}/mcp" },
                "old": { "command": "old", "disabled": true },
                "off": { "command": "off", "enabled": false },
                "wrong": { "command": "c", "args": "secret" },
                "neither": {},
            }
        })
        .to_string(),
    )
    .unwrap();
    assert_eq!(servers.names().collect::<Vec<_>>(), ["files", "search", "wrong", "neither"]);
    assert!(servers.is_disabled("old") && servers.is_disabled("off") && !servers.is_disabled("files"));
    let codes: Vec<_> = servers.diagnostics().iter().map(|it| it.code).collect();
    assert_eq!(codes, ["unknown_member", "invalid_server", "invalid_server"]);
    let Transport::Stdio(process) = servers.config("files").unwrap().transport else { panic!() };
    assert_eq!(process.env["K"], std::env::var("PATH").unwrap());
    let error = |name: &str| servers.config(name).unwrap_err().to_string();
    assert!(error("search").contains("`HOST_NONE` is not set"), "{}", error("search"));
    assert!(error("wrong").contains("`args` must be a list of strings"), "{}", error("wrong"));
    assert!(!error("wrong").contains("secret"));
    assert!(error("none").contains("`files`"));
    assert!(servers.config("old").is_ok());
    assert_eq!(servers.toolsets().iter().filter(|set| set.is_ok()).count(), 1);
}

#[test]
fn a_file_without_servers_or_with_two_of_a_name_is_an_error() {
    let error = |text: &str| McpServers::parse(text).unwrap_err().to_string();
    assert!(error("{}").contains("`mcpServers`"));
    assert!(error(r#"{ "mcpServers": { "a": {}, "a": {} } }"#).contains("`a` is there twice"));
    assert!(error(r#"{ "mcpServers": "#).contains("not valid JSON at line 1"));
    assert!(
        McpServers::from_file("/nonexistent.json").unwrap_err().to_string().contains("/nonexistent.json")
    );
}

#[test]
fn names_of_a_file_are_shown_with_a_hundred_characters_at_most() {
    for length in [100, 101] {
        let (server, member) = ("s".repeat(length), "m".repeat(length));
        let shown = |name: &str| Escape::LINE.at_most(100).text(name);
        let file = json!({ "mcpServers": { server.as_str(): { "command": "c", member.as_str(): 1 } } });
        let servers = McpServers::parse(&file.to_string()).unwrap();
        let messages: Vec<_> = servers.diagnostics().iter().map(|it| it.message.clone()).collect();
        let (server_shown, member_shown) = (shown(&server), shown(&member));
        let unknown = format!(
            "the member `{member_shown}` of the server `{server_shown}` is unknown, and has no effect"
        );
        assert_eq!(messages, [unknown]);
        let file = json!({ "mcpServers": { server.as_str(): 7 } });
        let servers = McpServers::parse(&file.to_string()).unwrap();
        let expected = format!("configuration of the MCP server `{server_shown}`: it is not an object");
        assert_eq!(servers.diagnostics()[0].message, expected);
        let twice = format!(r#"{{ "mcpServers": {{ "{server}": {{}}, "{server}": {{}} }} }}"#);
        let error = McpServers::parse(&twice).unwrap_err().to_string();
        let start =
            format!("the servers cannot be read: the server `{server_shown}` is there twice at line 1");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn errors_do_not_repeat_their_source() {
    let error = McpServers::from_file("/nonexistent.json").unwrap_err();
    assert_eq!(error.to_string(), "`/nonexistent.json`: the servers cannot be read");
    assert!(std::error::Error::source(&error).is_some());
    let error = tool_mcp::server::ServeError::Listener(std::io::Error::other("in use"));
    assert_eq!(error.to_string(), "the address cannot be listened at");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "in use");
}
