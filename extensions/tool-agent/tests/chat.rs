//! The command `chat`, in a process of its own.
#![allow(clippy::unwrap_used, reason = "tests")]

#[cfg(feature = "chat-store")]
#[path = "chat/store.rs"]
mod store;
#[cfg(unix)]
#[path = "chat/terminal.rs"]
mod terminal;

use std::{
    fs,
    io::Write as _,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use tool_agent::cli::Chat;
use tool_cli::Cli;
use tool_runtime::prelude::*;

/// The variable with the command line, as a JSON list.
const ARGUMENTS: &str = "TOOL_AGENT_TEST_ARGUMENTS";

/// The variable with the model of a configured command.
const MODEL: &str = "TOOL_AGENT_TEST_MODEL";

/// Adds two numbers.
#[tool(read_only)]
fn sum(a: i64, b: i64) -> i64 {
    a + b
}

/// Cancels an order.
#[tool(confirm)]
fn cancel_order(order: u32) -> String {
    format!("order {order} is cancelled")
}

/// Unlocks the door.
#[cfg(feature = "chat-store")]
#[tool(read_only)]
fn unlock(#[arg(secret)] pin: String) -> String {
    format!("a PIN of {} digits", pin.len())
}

/// The program.
#[test]
#[ignore = "a program for other tests"]
fn runs() {
    let arguments = std::env::var(ARGUMENTS).unwrap();
    let arguments: Vec<String> = serde_json::from_str(&arguments).unwrap();
    let chat = match std::env::var(MODEL) {
        Ok(model) => Chat::new().model(model).configure(|agent| {
            // The program decides who answers questions.
            agent.instruction("You are configured.").approvals_by_handle(true).wait_for_answers(true)
        }),
        Err(_) => Chat::new(),
    };
    let cli = Cli::new().command(chat);
    let exit = cli.run(["program".to_owned(), "chat".to_owned()].into_iter().chain(arguments));
    std::process::exit(exit.code().into());
}

/// The standard output, the standard error in one line and as it was written, and the exit code.
struct Ran {
    out: String,
    err: String,
    err_text: String,
    code: Option<i32>,
}

/// Starts the program with its standard streams piped.
fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Child {
    start_by(Command::new(std::env::current_exe().unwrap()), arguments, variables)
}

fn start_by(command: Command, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
    let mut program = program_of(command, arguments, variables);
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the program with its arguments and without the keys of this environment.
fn program_of(mut command: Command, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    for provider in ["OPENAI", "ANTHROPIC", "GEMINI"] {
        command.env_remove(format!("{provider}_API_KEY")).env_remove(format!("{provider}_BASE_URL"));
    }
    command
        .args(["runs", "--exact", "--ignored", "--nocapture", "--test-threads", "2"])
        .env(ARGUMENTS, serde_json::to_string(arguments).unwrap())
        .envs(variables.iter().copied());
    command
}

fn run_with(arguments: &[&str], input: &str, variables: &[(&str, &str)]) -> Ran {
    let mut child = start(arguments, variables);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    ran(child)
}

/// Waits for the end of the program.
fn ran(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let (_, out) = out.split_once("running 1 test\n").unwrap();
    let err_text = String::from_utf8(output.stderr).unwrap();
    let err = err_text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ran { out: out.to_owned(), err, err_text, code: output.status.code() }
}

fn run(arguments: &[&str], input: &str) -> Ran {
    run_with(arguments, input, &[])
}

/// A path for a new file.
fn file(name: &str) -> String {
    let path = format!("{}/chat-{}-{name}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    drop(fs::remove_file(&path));
    path
}

/// A script of these replies.
fn script(name: &str, replies: &[&str]) -> String {
    let path = file(name);
    fs::write(&path, replies.join("\n")).unwrap();
    path
}

const HELLO: &str = r#"{"response":{"parts":[{"text":"Hello."}]}}"#;
const FIVE: &str = r#"{"response":{"parts":[{"text":"5\n"}]}}"#;
const SUM: &str = r#"{"response":{"parts":[{"call":{"id":"c1","name":"sum","arguments":{"a":2,"b":3}}}]}}"#;
const CANCEL: &str =
    r#"{"response":{"parts":[{"call":{"id":"c2","name":"cancel_order","arguments":{"order":7}}}]}}"#;
const BROKEN: &str = r#"{"error":{"kind":"connection","message":"it broke"}}"#;

#[test]
fn a_prompt_is_answered_on_the_standard_output() {
    let path = script("prompt", &[SUM, FIVE]);
    let ran = run(&["--script", &path, "--prompt", "2 + 3?"], "");
    let calls = r#"about to call sum: {"a":2,"b":3} sum: 5"#;
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), ("5\n", calls, Some(0)));
    let path = script("input", &[HELLO]);
    let ran = run(&["--script", &path, "--prompt", "-"], "Hi.");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), ("Hello.\n", "", Some(0)));
    let ran = run(&["--script", &path, "--prompt", " "], "");
    let empty = "the message of `--prompt` is empty";
    assert!(ran.out.is_empty() && ran.err.contains(empty) && ran.code == Some(2), "{}", ran.err);
}

#[test]
fn events_are_lines_of_json() {
    let path = script("events", &[SUM, FIVE]);
    let ran = run(&["--script", &path, "--prompt", "2 + 3?", "--events", "json"], "");
    assert_eq!((ran.err.as_str(), ran.code), ("", Some(0)));
    let events: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.last().unwrap()["end"]["text"], "5\n");
    assert!(events.iter().any(|event| event["type"] == "tool"));
}

#[test]
fn lines_are_messages_and_commands_and_the_worst_turn_is_the_exit_code() {
    let path = script("lines", &[HELLO, BROKEN, HELLO]);
    let ran =
        run(&["--script", &path], "Hi.\n\n/help\n/tools\n/nope 1\n//etc?\n/new\nHi.\n/exit\nnever read\n");
    assert_eq!((ran.out.as_str(), ran.code), ("Hello.\nHello.\n", Some(1)));
    for part in [
        "commands:",
        "cancel_order Cancels an order. sum Adds two numbers.",
        "there is no command `/nope`; /help lists the commands",
        "error: the model failed: it broke",
        "a new conversation begins",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(!ran.err.contains("cancelled"), "{}", ran.err);
    let ran = run(&["--script", &script("failing", &[HELLO, BROKEN])], "Hi.\nHi.\n");
    assert_eq!((ran.out.as_str(), ran.code), ("Hello.\n", Some(1)));
    let ran = run(&["--script", &script("fine", &[HELLO, HELLO])], "Hi.\nHi.\n");
    assert_eq!((ran.out.as_str(), ran.err_text.as_str(), ran.code), ("Hello.\nHello.\n", "", Some(0)));
    let ran = run(&["--script", &script("broken", &[BROKEN])], "");
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(0)), "no message, no turn");
}

#[test]
fn a_call_that_is_not_approved_is_an_exit_code_of_its_own() {
    let path = script("refused", &[CANCEL, HELLO, BROKEN]);
    let ran = run(&["--script", &path, "--approve", "never"], "Cancel it.\nHi.\n");
    assert_eq!((ran.out.as_str(), ran.code), ("Hello.\n", Some(3)));
    assert!(ran.err.contains("cancel_order failed: "), "{}", ran.err);
    let ran = run(&["--script", &path, "--approve", "always", "--prompt", "Cancel it."], "");
    assert_eq!((ran.out.as_str(), ran.code), ("Hello.\n", Some(0)));
    assert!(ran.err.contains("cancel_order: order 7 is cancelled"), "{}", ran.err);
    // The approvals of the program decide, whatever the agent is configured for.
    for option in [&["--approve", "never"][..], &[]] {
        let arguments = [&["--script", &path, "--prompt", "Cancel it."], option].concat();
        let ran = run_with(&arguments, "", &[(MODEL, "gemini:g")]);
        assert_eq!((ran.out.as_str(), ran.code), ("Hello.\n", Some(3)), "{option:?}: {}", ran.err);
    }
}

#[test]
fn a_recording_is_a_script() {
    let path = file("recorded");
    let source = script("source", &[SUM, FIVE]);
    let ran = run(&["--script", &source, "--prompt", "2 + 3?", "--record", &path], "");
    assert_eq!((ran.out.as_str(), ran.code), ("5\n", Some(0)));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    let ran = run(&["--script", &path, "--prompt", "2 + 3?"], "");
    assert_eq!((ran.out.as_str(), ran.code), ("5\n", Some(0)));
    let ran = run(&["--script", &path, "--prompt", "2 + 4?"], "");
    assert!(ran.out.is_empty() && ran.err.contains("differs from") && ran.code == Some(1), "{}", ran.err);
    let ran = run(&["--script", &source, "--record", &path], "");
    let exists = "exists; give `--record` a new file";
    assert!(ran.err.contains(exists) && ran.code == Some(2), "{}", ran.err);
    let ran = run(&["--script", &source, "--record", "nowhere/a.jsonl"], "");
    assert!(ran.err.contains("cannot be created: ") && ran.code == Some(2), "{}", ran.err);
}

#[test]
fn a_model_has_a_provider_a_name_and_a_key_or_a_server_of_its_own() {
    let broken = script("no-script", &["{}"]);
    for (arguments, expected) in [
        (&[][..], "`--model` is missing; give a provider and a name"),
        (&["--model", "gpt"], "`--model`: expected `PROVIDER:NAME`"),
        (&["--model", "openai:"], "`--model`: expected `PROVIDER:NAME`"),
        (
            &["--model", "openai:a"],
            "there is no key for openai `a`; set the environment variable `OPENAI_API_KEY`",
        ),
        (
            &["--model", "openai:a", "--base-url", "localhost:1"],
            "`--base-url`: expected a URL that begins with",
        ),
        (&["--script", "nowhere.jsonl"], "give `--script` a file that `--record` wrote"),
        (&["--script", &broken], "correct the line"),
        (&["--script", &broken, "--model", "openai:a"], "cannot be used with"),
    ] {
        let ran = run(arguments, "");
        assert!(ran.code == Some(2) && ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    }
    // A blank variable is none.
    let blank = [("OPENAI_API_KEY", " "), ("OPENAI_BASE_URL", " ")];
    let ran = run_with(&["--model", "openai:a"], "", &blank);
    assert!(ran.code == Some(2) && ran.err.contains("there is no key for openai"), "{}", ran.err);
    // Both need no key: nothing is asked, since there is no message.
    for (arguments, variables) in [
        (&["--model", "openai:a", "--base-url", "http://127.0.0.1:1/v1"][..], &[][..]),
        (&["--model", "openai:a"], &[("OPENAI_API_KEY", "sk-test")]),
        (&["--model", "openai:a"], &[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]),
    ] {
        let ran = run_with(arguments, "", variables);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?} {variables:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_cancels_the_turn_of_a_prompt() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let child = start(&["--model", "openai:a", "--base-url", &url, "--prompt", "Hi."], &[]);
    // The model is asked, and does not answer.
    let _asked = listener.accept().unwrap();
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ran = ran(child);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(130)));
    assert_eq!(ran.err_text, "error: the turn was cancelled\n");
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[cfg(unix)]
#[test]
fn an_interrupt_of_a_turn_ends_a_conversation_without_a_terminal() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut child = start(&["--model", "openai:a", "--base-url", &url], &[]);
    child.stdin.take().unwrap().write_all(b"Hi.\nAgain.\n").unwrap();
    let _asked = listener.accept().unwrap();
    interrupt(&child);
    let ran = ran(child);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str(), ran.code),
        ("", "note: the turn was cancelled", Some(130))
    );
    // The second message was not sent.
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}

#[cfg(unix)]
#[test]
fn an_interrupt_between_turns_ends_the_program() {
    use std::io::{BufRead as _, BufReader};

    let mut child = start(&["--script", &script("prompted", &[HELLO])], &[]);
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"/help\n").unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("commands:")));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(input);
}

#[test]
fn a_new_conversation_has_none_of_the_messages_before() {
    let line = |messages: &str| {
        format!(r#"{{"request":{{"messages":[{messages}]}},"response":{{"parts":[{{"text":"Hello."}}]}}}}"#)
    };
    let (first, second) =
        (line(r#"{"role":"user"}"#), line(r#"{"role":"user"},{"role":"assistant"},{"role":"user"}"#));
    let path = script("new", &[&first, &second, &first, &first]);
    let ran = run(&["--script", &path], "Hi.\nHi.\n/new\nHi.\n/new\nHi.\n");
    assert_eq!((ran.out.as_str(), ran.code), ("Hello.\nHello.\nHello.\nHello.\n", Some(0)), "{}", ran.err);
}

#[test]
fn a_command_has_the_model_and_the_instruction_of_its_program() {
    let variables = [(MODEL, "gemini:g")];
    let missing = run_with(&[], "", &variables);
    assert!(
        missing.code == Some(2) && missing.err.contains("`g`; set the environment variable `GEMINI_API_KEY`"),
        "{}",
        missing.err
    );
    let other = run_with(&["--model", "openai:a"], "", &variables);
    assert!(other.err.contains("there is no key for openai `a`"), "{}", other.err);
    for (arguments, instruction) in
        [(&[][..], "You are configured."), (&["--instruction", "Be brief."], "Be brief.")]
    {
        let line = format!(
            r#"{{"request":{{"instruction":"{instruction}"}},"response":{{"parts":[{{"text":"Hello."}}]}}}}"#
        );
        let path = script("instruction", &[&line]);
        let ran = run_with(&[&["--script", &path, "--prompt", "Hi."], arguments].concat(), "", &variables);
        assert_eq!((ran.out.as_str(), ran.code), ("Hello.\n", Some(0)), "{instruction}: {}", ran.err);
    }
}

#[test]
fn a_question_without_a_terminal_is_remarked_at_the_end() {
    let path = script("question", &[CANCEL, HELLO]);
    let ran = run(&["--script", &path, "--prompt", "Cancel it."], "");
    assert_eq!((ran.out.as_str(), ran.code), ("Hello.\n", Some(3)));
    let remark = "note: stdin is not a terminal, so that no question can be asked; `--approve always` approves the call";
    assert!(ran.err.ends_with(remark), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_recording_that_fails_is_an_exit_code_of_its_own() {
    // No file may become longer than nothing.
    let limited = r#"trap "" XFSZ; ulimit -f 0; exec "$0" "$@""#;
    for (replies, code) in [(&[HELLO][..], 1), (&[CANCEL, HELLO], 3)] {
        let (path, source) = (file("limited"), script("limited-source", replies));
        let mut command = Command::new("sh");
        command.args(["-c", limited]).arg(std::env::current_exe().unwrap());
        let arguments = ["--script", &source, "--record", &path, "--prompt", "Hi.", "--approve", "never"];
        let ran = ran(start_by(command, &arguments, &[]));
        assert_eq!((ran.out.as_str(), ran.code), ("Hello.\n", Some(code)), "{}", ran.err);
        assert!(ran.err.contains("note: the recording ended: "), "{}", ran.err);
    }
}
