//! The command `chat`, by scripts and against a local server.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    thread,
};

use tool_runtime::serde_json::{self, Value};

use crate::terminal::{Terminal, hold};

const SCRIPT: &str = "chat/orders.jsonl";

/// The command `chat` of the program, without the keys of this machine.
fn chat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orders"));
    for provider in ["OPENAI", "ANTHROPIC", "GEMINI"] {
        command.env_remove(format!("{provider}_API_KEY")).env_remove(format!("{provider}_BASE_URL"));
    }
    command.env("COLUMNS", "80").env("TERM", "xterm").env_remove("NO_COLOR");
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("chat");
    command
}

/// The standard output, the standard error, and the exit code.
struct Ran {
    out: String,
    err: String,
    code: Option<i32>,
}

/// Runs a command with this standard input.
fn run(command: &mut Command, input: &str) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// A new file of this name for a test.
fn file(name: &str) -> String {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    drop(fs::remove_file(&path));
    path
}

/// A script with these lines.
fn script(name: &str, lines: &[&str]) -> String {
    let path = file(name);
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

#[test]
fn the_help_fits_80_columns() {
    let help = run(chat().arg("--help"), "");
    assert!(help.out.lines().all(|line| line.chars().count() <= 80), "{}", help.out);
    hold("help", &help.out);
}

#[test]
fn a_prompt_is_answered_on_the_standard_output_and_nothing_else_is() {
    let ran = run(chat().args(["--script", SCRIPT, "--prompt", "Where is order 7?"]), "");
    assert_eq!(ran.out, "Order 7 (two lamps) is packed. It was not sent yet.\n");
    let calls =
        "about to call order_status: {\"order\":7}\norder_status: order 7: two lamps, packed, not sent\n";
    assert_eq!((ran.err.as_str(), ran.code), (calls, Some(0)));
    // The prompt may be long.
    let ran = run(chat().args(["--script", SCRIPT, "--prompt", "-"]), "Where is order 7?");
    assert_eq!((ran.out.lines().count(), ran.code), (1, Some(0)));
}

#[test]
fn lines_of_a_pipe_are_one_conversation_and_unapproved_calls_do_not_run() {
    let ran = run(chat().args(["--script", SCRIPT]), "Where is order 7?\n\nCancel it.\n");
    let answers =
        "Order 7 (two lamps) is packed. It was not sent yet.\nI did what you decided about order 7.\n";
    assert_eq!((ran.out.as_str(), ran.code), (answers, Some(3)));
    hold("piped", &ran.err);
    // The option decides without a terminal.
    let lines = "Where is order 7?\nCancel it.\n/exit\nnever read\n";
    let ran = run(chat().args(["--script", SCRIPT, "--approve", "always"]), lines);
    assert_eq!((ran.out.as_str(), ran.code), (answers, Some(0)));
    assert!(ran.err.ends_with("cancel_order: order 7 is cancelled\n"), "{}", ran.err);
}

#[test]
fn events_are_one_json_object_per_line_on_the_standard_output() {
    let ran = run(chat().args(["--script", SCRIPT, "--prompt", "Where is order 7?", "--events", "json"]), "");
    assert_eq!((ran.err.as_str(), ran.code), ("", Some(0)));
    let events: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types[..5], ["message", "message", "tool", "tool", "message"]);
    assert_eq!(types[types.len() - 2..], ["message", "ended"]);
    let text: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(text, events.last().unwrap()["end"]["text"]);
}

#[test]
fn a_recorded_conversation_replays_identically() {
    let lines = "Where is order 7?\nCancel it.\n";
    let path = file("recorded.jsonl");
    let recorded = run(chat().args(["--script", SCRIPT, "--approve", "always", "--record", &path]), lines);
    let replayed = run(chat().args(["--script", &path, "--approve", "always"]), lines);
    assert_eq!((recorded.out, recorded.err, recorded.code), (replayed.out, replayed.err, replayed.code));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 4);
    // Another decision is another conversation.
    let other = run(chat().args(["--script", &path, "--approve", "never"]), lines);
    assert_eq!(other.code, Some(3));
    let result = "/messages/6/parts/0/result/text: expected \"order 7 is cancelled\", got";
    let err = other.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(err.contains(result), "{err}");
}

#[test]
fn each_mistake_of_the_command_line_states_what_to_do() {
    let mut seen = String::new();
    for arguments in [
        &[][..],
        &["--model", "gpt-5"],
        &["--model", "other:gpt-5"],
        &["--model", "openai:"],
        &["--model", "anthropic:claude-sonnet-4-5"],
        &["--model", "openai:qwen3", "--base-url", "localhost:11434"],
        &["--script", "missing.jsonl"],
        &["--script", "tests/it/fixtures/broken.jsonl"],
        &["--script", SCRIPT, "--model", "openai:gpt-5"],
        &["--script", SCRIPT, "--record", SCRIPT],
        &["--script", SCRIPT, "--record", "missing/talk.jsonl"],
        &["--script", SCRIPT, "--prompt", " "],
        &["--script", SCRIPT, "--events", "xml"],
    ] {
        let ran = run(chat().args(arguments), "");
        assert_eq!((ran.out.as_str(), ran.code), ("", Some(2)), "{arguments:?}");
        seen.push_str(&format!("$ orders chat {}\n{}\n", arguments.join(" "), ran.err));
    }
    hold("mistakes", &seen);
}

#[test]
fn a_model_that_fails_ends_the_program_with_its_error() {
    let ran = run(chat().args(["--script", SCRIPT, "--prompt", "Where is order 9?"]), "");
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(1)));
    let error = "error: the model failed: request 1 differs from chat/orders.jsonl, line 1:\n      \
                 /messages/0/parts/0/text: expected \"Where is order 7?\", got \"Where is\n      order 9?\"\n";
    assert_eq!(ran.err, error);
    let path = script(
        "failing.jsonl",
        &[r#"{"error":{"kind":"connection","message":"the \u001b[8mstream broke","stream":["It is"]}}"#],
    );
    let ran = run(chat().args(["--script", &path, "--prompt", "Hi."]), "");
    assert_eq!(ran.err, "error: the model failed: the \\u{1b}[8mstream broke\n");
}

#[test]
fn a_conversation_at_a_terminal() {
    let mut terminal = Terminal::start(chat().args(["--script", SCRIPT]));
    terminal.enter("> ", "/help\n");
    terminal.enter("> ", "/tools\n");
    terminal.enter("> ", "/exti\n");
    terminal.enter("> ", "Where is order 7?\n");
    terminal.enter("\n> ", "Cancel it.\n");
    terminal.enter("[y/N] ", "y\n");
    terminal.enter("> ", "One more.\n");
    terminal.enter("> ", "/new\n");
    terminal.enter("> ", "/exit\n");
    let (seen, code) = terminal.finish();
    assert_eq!(code, Some(0));
    hold("conversation", &seen);
}

#[test]
fn no_answer_and_the_end_of_the_input_reject_a_call() {
    for answer in ["n\n", "\n", "\u{4}"] {
        let mut terminal = Terminal::start(chat().args(["--script", SCRIPT]));
        terminal.enter("> ", "Where is order 7?\n");
        terminal.enter("\n> ", "Cancel it.\n");
        terminal.enter("[y/N] ", answer);
        // The end of the input ends the program at the prompt.
        terminal.enter("\n> ", "\u{4}");
        let (seen, code) = terminal.finish();
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("cancel_order failed: Denied: "), "{seen}");
        assert!(seen.ends_with("I did what you decided about order 7.\n> \n"), "{seen}");
    }
}

#[test]
fn text_of_a_model_and_of_tools_is_escaped_on_a_terminal() {
    let hostile = "a\\u001b[2Jb\\u202e\\u0007";
    let call = format!(r#"{{"call":{{"name":"{hostile}","arguments":"{hostile}"}}}}"#);
    let first = format!(r#"{{"response":{{"parts":[{call}]}}}}"#);
    let second = format!(r#"{{"response":{{"stream":["{hostile}","{hostile}"]}}}}"#);
    let path = script("hostile.jsonl", &[&first, &second]);
    let mut terminal = Terminal::start(chat().args(["--script", &path]));
    terminal.enter("> ", "Hi.\n");
    terminal.enter("\n> ", "/exit\n");
    let (seen, _) = terminal.finish();
    assert!(!seen.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{seen:?}");
    assert!(seen.contains("a\\u{1b}[2Jb\\u{202e}\\u{7}a\\u{1b}[2Jb"), "{seen:?}");
}

/// A server that accepts one request, and answers what `answer` writes.
fn server(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).unwrap() > 0);
        answer(&mut stream);
        // Until the client has closed the connection.
        while stream.read(&mut request).unwrap_or(0) > 0 {}
    });
    url
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

#[test]
fn a_model_at_a_base_url_needs_no_key() {
    let url = server(|stream| {
        let text = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello."}}]}"#;
        let end = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
        write!(stream, "{STREAM}{text}\n\n{end}\n\ndata: [DONE]\n\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let ran = run(chat().args(["--model", "openai:qwen3", "--base-url", &url, "--prompt", "Hi."]), "");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), ("Hello.\n", "", Some(0)));
}

/// A response that begins and does not end.
fn thinking(stream: &mut TcpStream) {
    let text = r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Let me think"}}]}"#;
    write!(stream, "{STREAM}{text}\n\n").unwrap();
}

#[test]
fn ctrl_c_ends_the_turn_and_not_the_program() {
    let url = server(thinking);
    let path = file("cancelled.jsonl");
    let mut terminal =
        Terminal::start(chat().args(["--model", "openai:qwen3", "--base-url", &url, "--record", &path]));
    terminal.enter("> ", "Hi.\n");
    terminal.wait("Let me think");
    terminal.interrupt();
    terminal.enter("> ", "/help\n");
    terminal.wait("> ");
    terminal.interrupt();
    let (seen, code) = terminal.finish();
    assert_eq!(code, Some(130), "{seen}");
    assert!(seen.contains("Let me think\n") && seen.contains("note: the turn was cancelled\n> "), "{seen}");
    // The text that was shown is in the recording.
    let line = fs::read_to_string(path).unwrap();
    let error =
        r#""error":{"kind":"cancelled","message":"the request was cancelled","stream":["Let me think"]}}"#;
    assert!(line.trim_end().ends_with(error), "{line}");
}

#[test]
fn ctrl_c_ends_an_open_question_and_the_next_line_is_a_message() {
    let mut terminal = Terminal::start(chat().args(["--script", SCRIPT]));
    terminal.enter("> ", "Where is order 7?\n");
    terminal.enter("\n> ", "Cancel it.\n");
    terminal.wait("[y/N] ");
    terminal.interrupt();
    terminal.enter("> ", "What did you do?\n");
    terminal.enter("\n> ", "/exit\n");
    let (seen, code) = terminal.finish();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("cancel_order failed: Cancelled\n"), "{seen}");
    assert!(seen.contains("> What did you do?\nI did what you decided about order 7.\n> "), "{seen}");
}

#[test]
fn ctrl_c_ends_a_program_with_a_prompt() {
    let url = server(thinking);
    let arguments = ["--model", "openai:qwen3", "--base-url", &url, "--prompt", "Hi."];
    let mut terminal = Terminal::start(chat().args(arguments));
    terminal.wait("Let me think");
    terminal.interrupt();
    let (seen, code) = terminal.finish();
    assert_eq!(code, Some(130), "{seen}");
    assert!(seen.ends_with("error: the turn was cancelled\n"), "{seen}");
}

#[test]
fn a_response_that_breaks_off_is_withdrawn_and_asked_for_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (text, reason) in [("It is s", "null"), ("It is 5.", "\"stop\"")] {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            let delta = format!("{{\"delta\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\"index\":0");
            write!(stream, "{STREAM}data: {{\"choices\":[{delta},\"finish_reason\":{reason}}}]}}\n\n")
                .unwrap();
        }
    });
    let arguments = ["--model", "openai:qwen3", "--base-url", &url, "--prompt", "2 + 3?"];
    let (seen, code) = Terminal::start(chat().args(arguments)).finish();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.starts_with("It is s\nnote: the text above is withdrawn: attempt 1 failed ("), "{seen}");
    assert!(seen.ends_with("\nIt is 5.\n"), "{seen}");
}
