//! The members of a configuration as JSON, one by one.

use std::time::Duration;

use serde_json::{Value, json};
use tool_mcp::client::{
    DEFAULT_TIMEOUT, DEFAULT_TOTAL_TIMEOUT, Endpoint, McpServers, Process, ServerConfig, Transport,
};

fn read(config: Value) -> Result<ServerConfig, String> {
    serde_json::from_value(config).map_err(|error| error.to_string())
}

/// The error of reading a configuration.
#[track_caller]
fn refused(config: Value, expected: &str) {
    let error = read(config.clone()).unwrap_err();
    assert!(error.contains(expected), "{config}: {error}");
}

#[test]
fn a_configuration_has_only_the_members_that_differ_from_the_defaults() {
    let written = |config: &ServerConfig| serde_json::to_value(config).unwrap();
    let process = ServerConfig::new("a", Process::new("c"));
    assert_eq!(written(&process), json!({ "name": "a", "type": "stdio", "command": "c" }));
    assert_eq!((process.timeout, process.total_timeout), (DEFAULT_TIMEOUT, DEFAULT_TOTAL_TIMEOUT));
    assert_eq!((process.reconnect, process.description.as_deref()), (0, None));
    let endpoint = Endpoint::new("http://h/mcp").header("X", "1");
    let full = ServerConfig::new("b", Transport::Sse(endpoint))
        .description("d")
        .timeout(Duration::from_millis(1))
        .total_timeout(Duration::from_millis(2))
        .client_info("n", "v")
        .reconnect(3);
    assert_eq!(
        written(&full),
        json!({
            "name": "b", "type": "sse", "url": "http://h/mcp", "headers": { "X": "1" }, "description": "d",
            "timeout": 1, "totalTimeout": 2, "clientInfo": { "name": "n", "version": "v" }, "reconnect": 3,
        })
    );
    let process = Process::new("c").args(["x", "y"]).env("K", "v").cwd("/d").inherit_env();
    assert_eq!(
        written(&ServerConfig::new("c", process)),
        json!({
            "name": "c", "type": "stdio", "command": "c", "args": ["x", "y"], "env": { "K": "v" }, "cwd": "/d",
            "inheritEnv": true,
        })
    );
}

#[test]
fn reconnections_are_between_one_and_ten_if_they_are_set_at_all() {
    for (attempts, expected) in [(0, 1), (1, 1), (10, 10), (11, 10)] {
        assert_eq!(ServerConfig::new("a", Process::new("c")).reconnect(attempts).reconnect, expected);
    }
    for (attempts, expected) in [(0, 0), (10, 10), (11, 10)] {
        let config = json!({ "name": "a", "command": "c", "reconnect": attempts });
        assert_eq!(read(config).unwrap().reconnect, expected);
    }
}

#[test]
fn the_names_of_a_transport_and_of_its_url_are_those_of_editors() {
    let url = "http://h/mcp";
    for kind in ["http", "streamable", "streamable_http", "streamable-http", "streamableHttp", " http "] {
        assert_eq!(read(json!({ "name": "a", "type": kind, "url": url })).unwrap().transport.name(), "http");
    }
    for member in ["url", "serverUrl", "httpUrl"] {
        let config = read(json!({ "name": "a", member: url })).unwrap();
        assert_eq!(config.transport, Transport::Http(Endpoint::new(url)));
    }
    let sse = read(json!({ "name": "a", "type": "sse", "url": url, "headers": { "X": "1" } })).unwrap();
    assert_eq!(sse.transport, Transport::Sse(Endpoint::new(url).header("X", "1")));
    assert_eq!(read(json!({ "name": " a ", "command": "c" })).unwrap().name, "a");
}

#[test]
fn each_member_of_the_other_transport_is_a_contradiction() {
    for members in [
        json!({ "command": "c" }),
        json!({ "args": ["x"] }),
        json!({ "env": { "K": "v" } }),
        json!({ "cwd": "/d" }),
        json!({ "inheritEnv": true }),
    ] {
        let mut config = json!({ "name": "a", "type": "http", "url": "http://h/mcp" });
        config.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        refused(config, "a server behind a URL has no `command`, `args`, `env`, `cwd` and `inheritEnv`");
    }
    for members in [json!({ "url": "http://h" }), json!({ "headers": { "X": "1" } })] {
        let mut config = json!({ "name": "a", "type": "stdio", "command": "c" });
        config.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        refused(config, "a `stdio` server has neither `url` nor `headers`");
    }
    refused(json!({ "name": "a", "type": "stdio" }), "`command` is missing");
    refused(json!({ "name": "a", "type": "sse" }), "`url` is missing");
    refused(json!({ "name": "a", "type": "", "command": "c", "url": "http://h" }), "exclude each other");
}

#[test]
fn times_are_positive_numbers_of_milliseconds() {
    let config = read(json!({ "name": "a", "command": "c", "timeout": 1, "totalTimeout": 0 })).unwrap();
    assert_eq!((config.timeout, config.total_timeout), (Duration::from_millis(1), Duration::ZERO));
    refused(json!({ "name": "a", "command": "c", "timeout": 0 }), "`timeout` is zero");
    refused(json!({ "name": "a", "command": "c", "timeout": -1 }), "`timeout` is negative");
    refused(json!({ "name": "a", "command": "c", "totalTimeout": -1 }), "`totalTimeout` is negative");
}

#[test]
fn a_url_has_a_scheme_and_a_host() {
    for url in ["http://h", "HTTPS://h/x", "http://me@h:80?x", "http://[::1]/mcp", "http://h#x"] {
        assert!(read(json!({ "name": "a", "url": url })).is_ok(), "{url}");
    }
    for (url, expected) in [
        ("h/mcp", "`url` has no scheme; it begins with `http://` or `https://`"),
        ("ws://h", "the scheme of `url` is neither `http` nor `https`"),
        ("http://", "`url` has no host"),
        ("http://?x", "`url` has no host"),
        ("http://#x", "`url` has no host"),
        ("http://:80", "`url` has no host"),
        ("http://me@", "`url` has no host"),
    ] {
        refused(json!({ "name": "a", "url": url }), expected);
    }
}

#[test]
fn a_url_is_shown_without_its_user_its_query_and_its_fragment() {
    for (url, shown) in [
        ("http://h", "http://h"),
        ("https://me:pw@h:80/p/q?key=1", "https://h:80/p/q?…"),
        ("http://h/p#f", "http://h/p?…"),
        ("http://h/a@b", "http://h/a@b"),
        ("me@h?x", "me@h?…"),
    ] {
        let debug = format!("{:?}", Endpoint::new(url).header("Key", "hidden"));
        assert_eq!(debug, format!("Endpoint {{ url: {shown:?}, headers: [\"Key\"] }}"));
    }
    let process = Process::new("c").args(["hidden", "hidden"]).env("Key", "hidden").cwd("/d");
    assert_eq!(
        format!("{process:?}"),
        "Process { command: \"c\", args: [2], env: [\"Key\"], cwd: Some(\"/d\"), inherit_env: false }"
    );
}

#[test]
fn variables_are_replaced_in_all_texts_of_a_transport_and_nowhere_else() {
    let lookup = |name: &str| (name == "A").then(|| "x".to_owned());
    let process = Process::new("c${A}").args(["1${A}", "2${A}"]).env("K", "3${A}").cwd("/d${A}");
    let config = ServerConfig::new("n${A}", process).description("d${A}").expanded(lookup).unwrap();
    let expected = Process::new("cx").args(["1x", "2x"]).env("K", "3x").cwd("/dx");
    assert_eq!(config.transport, Transport::Stdio(expected));
    assert_eq!((config.name.as_str(), config.description.as_deref()), ("n${A}", Some("d${A}")));
    let endpoint = Endpoint::new("http://${env:A}/${B:-b}").header("H", "${A}");
    let expected = Endpoint::new("http://x/b").header("H", "x");
    for transport in [Transport::Http, Transport::Sse] {
        let config = ServerConfig::new("n", transport(endpoint.clone())).expanded(lookup).unwrap();
        assert_eq!(config.transport, transport(expected.clone()));
    }
    let error = ServerConfig::new("n", Process::new("${env:B}")).expanded(lookup).unwrap_err();
    assert_eq!(
        error.to_string(),
        "configuration of the MCP server `n`: the environment variable `B` is not set; set it, or give a default by \
         `${B:-default}`"
    );
    assert_eq!(error.server(), "n");
    let unnamed = read(json!({ "command": "c" })).unwrap_err();
    assert_eq!(unnamed, "configuration of an MCP server: the name is empty");
}

/// A file with one server, which has this member.
fn file(member: &str, value: &Value) -> McpServers {
    let mut server = json!({ "command": "c" });
    if ["url", "serverUrl", "httpUrl", "headers"].contains(&member) {
        server = json!({ "url": "http://h/mcp" });
        if member != "headers" {
            server = json!({});
        }
    }
    server[member] = value.clone();
    McpServers::parse(&json!({ "mcpServers": { "s": server } }).to_string()).unwrap()
}

#[test]
fn a_member_of_the_wrong_type_is_named_with_the_type_that_it_must_have() {
    for (member, right, wrong, expected) in [
        ("args", json!(["x"]), json!(["x", 7]), "a list of strings"),
        ("args", json!([]), json!("x"), "a list of strings"),
        ("env", json!({ "K": "v" }), json!({ "K": "v", "L": 7 }), "an object of strings"),
        ("headers", json!({ "K": "v" }), json!(["hidden"]), "an object of strings"),
        ("inheritEnv", json!(true), json!("hidden"), "a boolean"),
        ("timeout", json!(5), json!("hidden"), "a number of milliseconds"),
        ("totalTimeout", json!(5), json!(5.5), "a number of milliseconds"),
        ("reconnect", json!(2), json!(-2), "a number from 0 to 10"),
        (
            "clientInfo",
            json!({ "name": "n", "version": "v" }),
            json!("hidden"),
            "an object with `name` and `version`",
        ),
        ("limits", json!({ "maxConcurrentQuestions": 2 }), json!({ "max": 2 }), "an object of limits"),
        ("description", json!("d"), json!(7), "a string"),
        ("type", json!("stdio"), json!(7), "a string"),
        ("command", json!("c"), json!(["hidden"]), "a string"),
        ("url", json!("http://h"), json!(7), "a string"),
        ("cwd", json!("/d"), json!(7), "a string"),
    ] {
        let servers = file(member, &right);
        assert!(servers.config("s").is_ok(), "{member}: {:?}", servers.config("s"));
        assert_eq!(servers.diagnostics().len(), 0, "{member}");
        let servers = file(member, &wrong);
        let error = servers.config("s").unwrap_err().to_string();
        assert!(error.contains(&format!("`{member}` must be {expected}")), "{error}");
        assert!(!error.contains("hidden"), "{error}");
        let diagnostics = servers.diagnostics();
        assert_eq!((diagnostics.len(), diagnostics[0].code), (1, "invalid_server"), "{member}");
        assert!(diagnostics[0].to_string().contains(&error), "{}", diagnostics[0]);
    }
}

#[test]
fn the_servers_of_a_file_are_under_either_name() {
    let names = |text: Value| {
        let servers = McpServers::parse(&text.to_string()).unwrap();
        servers.names().map(str::to_owned).collect::<Vec<_>>()
    };
    let one = json!({ "a": { "command": "c" } });
    assert_eq!(names(json!({ "mcpServers": one })), ["a"]);
    assert_eq!(names(json!({ "servers": one })), ["a"]);
    assert_eq!(names(json!({ "mcpServers": {}, "servers": one })), [""; 0]);
    let error = |text: &str| McpServers::parse(text).unwrap_err().to_string();
    assert_eq!(
        error(r#"{ "mcpServers": [] }"#),
        "the servers cannot be read: no object of servers at line 1, column 16"
    );
    assert_eq!(error("{}"), "there is no member `mcpServers`");
}

#[test]
fn a_disabled_server_differs_from_an_unknown_one() {
    let text = json!({ "mcpServers": {
        "a": { "command": "c", "disabled": false, "enabled": true },
        "b": { "command": "c", "disabled": true },
        "c": { "command": "c", "enabled": false },
        "d": 7,
        "e": { "command": "c", "custom": 1 },
    } });
    let servers = McpServers::parse(&text.to_string()).unwrap();
    assert_eq!(servers.names().collect::<Vec<_>>(), ["a", "d", "e"]);
    for (name, is_disabled) in [("a", false), ("b", true), ("c", true), ("d", false), ("none", false)] {
        assert_eq!(servers.is_disabled(name), is_disabled, "{name}");
    }
    assert_eq!(
        servers.config("none").unwrap_err().to_string(),
        "configuration of the MCP server `none`: it is not in the file, which has `a`, `d`, `e`"
    );
    assert!(servers.config("d").unwrap_err().to_string().contains("it is not an object"));
    let texts: Vec<_> = servers.diagnostics().iter().map(|it| (it.code, it.message.to_string())).collect();
    assert_eq!(texts[0].0, "invalid_server");
    let unknown = "the member `custom` of the server `e` is unknown, and has no effect";
    assert_eq!(texts[1], ("unknown_member", unknown.to_owned()));
    assert_eq!(texts.len(), 2);
    assert_eq!(servers.toolset("a").unwrap().config().name, "a");
    assert_eq!(servers.builder("e").unwrap().lazy().config().name, "e");
    assert_eq!(servers.toolsets().iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
}
