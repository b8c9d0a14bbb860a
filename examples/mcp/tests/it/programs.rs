//! The programs that show one idea each.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::json;

/// A server over HTTP, which ends with the test.
struct Server(Child, String);

impl Server {
    fn start(program: &str) -> Self {
        let mut child = Command::new(program).arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self(child, url.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The output of `mcp-servers` with a file of `servers`.
fn servers(name: &str, servers: serde_json::Value, arguments: &[&str]) -> (String, String) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.json", std::process::id()));
    fs::write(&file, json!({ "mcpServers": servers }).to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-servers"))
        .arg(&file)
        .args(arguments)
        .env("TOKEN_OF_ADA", "ada")
        .output()
        .unwrap();
    fs::remove_file(file).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

// Z10
#[test]
fn callers_of_a_protected_server_have_the_rights_of_their_token() {
    let server = Server::start(env!("CARGO_BIN_EXE_mcp-http"));
    let secure = |token: &str| {
        let headers = json!({ "Authorization": format!("Bearer {token}") });
        json!({ "secure": { "url": server.1, "headers": headers } })
    };
    let note = ["secure__write_note", r#"{"text": "milk"}"#];
    let (written, _) = servers("ada", secure("${TOKEN_OF_ADA}"), &note);
    let header = ["--header", "Authorization: Bearer ada", "--header", "X-Trace: 1"];
    let called = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
        .args(["mcp", "call"])
        .args(header)
        .args([&server.1, "notes"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&called.stdout), "[\"Ada: milk\"]\n", "{called:?}");
    assert_eq!(written, "Ada: milk\n");
    let (_, refused) = servers("bob", secure("bob"), &note);
    assert!(refused.contains("does not permit"), "{refused}");
    let (listed, _) = servers("bob-lists", secure("bob"), &["secure__notes"]);
    assert_eq!(listed, "[\"Ada: milk\"]\n");
    let (none, error) = servers("eve", secure("eve"), &[]);
    assert!(none.is_empty() && error.contains("requires an authorization"), "{none}{error}");
}

// Z10
#[test]
fn a_server_with_a_stream_of_events_is_listed_and_called() {
    let server = Server::start(env!("CARGO_BIN_EXE_mcp-sse"));
    for (arguments, expected) in [(r#"{"n": 4}"#, "8\n"), (r#"{"n": -1}"#, "-2\n")] {
        let called = Command::new(env!("CARGO_BIN_EXE_mcp-command"))
            .args(["mcp", "call", &server.1, "double", arguments])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&called.stdout), expected, "{called:?}");
    }
    let file = json!({ "events": { "type": "sse", "url": server.1 } });
    assert_eq!(servers("events", file.clone(), &[]).0, "events__double\n");
    assert_eq!(servers("events-call", file, &["events__double", r#"{"n": 21}"#]).0, "42\n");
}

// Z10
#[test]
fn tools_of_all_servers_of_a_file_are_listed_under_the_names_of_their_servers() {
    let two = json!({
        "math": { "command": env!("CARGO_BIN_EXE_mcp-stdio") },
        "guests": { "command": env!("CARGO_BIN_EXE_mcp-command"), "args": ["serve"], "icon": "guests.png" },
        "off": { "command": "no-such-server", "disabled": true },
    });
    let (listed, error) = servers("two", two.clone(), &[]);
    assert_eq!(listed, "guests__greet\nguests__remove\nmath__add\n", "{error}");
    assert!(error.contains("`icon`"), "{error}");
    let (called, _) = servers("call", two, &["math__add", r#"{"a": 2, "b": 3}"#]);
    assert_eq!(called, "5\n");
}

// Z10
#[test]
fn tools_come_and_go_and_a_request_has_headers_of_its_own() {
    let menu = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("menu-{}.txt", std::process::id()));
    fs::remove_file(&menu).ok();
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcp-dynamic"))
        .args(["serve", "--http", "127.0.0.1:0"])
        .env("MENU", &menu)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let notes = BufReader::new(child.stderr.take().unwrap());
    let server = Server(child, url.trim().to_owned());
    let mcp = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_mcp-command")).arg("mcp").args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = mcp(&["list", &server.1]);
    assert!(listed.contains("seat") && !listed.contains("menu__"), "{listed}");
    // A person finds the reason.
    let lines = notes.lines().map(Result::unwrap).take(3).collect::<Vec<_>>();
    let note = lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = "the set `menu` could not list its tools, and is used with the 0 it listed last: the menu cannot be read";
    assert!(note.contains(reason), "{note}");

    fs::write(&menu, "soup\nbread\n").unwrap();
    let listed = mcp(&["list", &server.1]);
    assert!(["menu__soup", "menu__bread"].iter().all(|dish| listed.contains(dish)), "{listed}");
    assert_eq!(mcp(&["call", &server.1, "menu__soup", r#"{"plates": 2}"#]), "2 x soup\n");
    fs::write(&menu, "bread\n").unwrap();
    let listed = mcp(&["list", &server.1]);
    assert!(listed.contains("menu__bread") && !listed.contains("menu__soup"), "{listed}");
    fs::remove_file(menu).unwrap();

    for table in ["4", "7"] {
        let header = format!("X-Table: {table}");
        assert_eq!(mcp(&["call", &server.1, "seat", "--header", &header]), format!("table {table}\n"));
    }
}

// Z11
#[test]
fn a_broker_finds_and_calls_a_tool() {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-broker")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for expected in ["Each feature of the protocol.", "test_multiple_content_types", "\"city\"", "21.5"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }

    // N18: the skill names a server, whose only tool is listed, inspected and called.
    let (_, skill) = text.split_once("> read_skill {}\nForecasts come from the MCP server ").unwrap();
    let (url, after) = skill.split_once("\n\n").unwrap();
    let steps: Vec<_> = after.lines().filter(|line| line.starts_with("> ")).collect();
    assert_eq!(
        steps,
        [
            format!("> mcp_list_tools {}", json!({ "selector": url })),
            format!("> mcp_inspect_tools {}", json!({ "selector": url, "tools": ["forecast"] })),
            format!(
                "> mcp_call {}",
                json!({ "selector": format!("{url}.forecast"), "arguments": { "city": "Oslo" } })
            ),
        ]
    );
    let last = after.trim_end().lines().last().unwrap();
    assert!(last.contains("Sunny in Oslo."), "{last}");
}

// N18, Z11
#[test]
fn a_skill_reveals_a_server_and_hooks_add_the_token_and_replace_the_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-skills")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let expected = [
        ("skill_load", "the MCP server ORDERS"),
        ("mcp_list_tools", "\"ORDERS.order_state\""),
        ("mcp_inspect_tools", "\"number\""),
        ("mcp_call", "Ada: order 7 is on its way"),
        ("remove_order", "the skill `orders` is active and allows only"),
        ("skill_load", "the MCP server ARCHIVE"),
        ("mcp_list_tools", "the user has no access to this server"),
    ];
    let text = text.trim_end();
    let (text, answer) = text.rsplit_once("\n\n").unwrap();
    assert_eq!(answer, "Order 7 is on its way. You have no access to the archive.");
    let mut answers: Vec<String> = Vec::new();
    for part in text.split("\n\n").filter(|part| !part.trim().is_empty()) {
        match (part.starts_with("> "), answers.last_mut()) {
            // The result of `skill_load` has blank lines.
            (false, Some(before)) => before.push_str(part),
            _ => answers.push(part.to_owned()),
        }
    }
    assert_eq!(answers.len(), expected.len(), "{text}");
    for (answer, (tool, part)) in answers.iter().zip(expected) {
        assert!(answer.starts_with(&format!("> {tool}\n")) && answer.contains(part), "{answer}");
    }
    assert!(!text.contains("token-of-ada"), "{text}");
}
