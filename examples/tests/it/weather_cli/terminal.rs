//! Behaviour on a terminal: colours, bars, questions, prompts, Ctrl-C.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
};

use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use serde_json::json;
use tool_runtime::serde_json;

use super::{finish, program};

/// A pseudo-terminal.
struct Terminal {
    keyboard: File,
    screen: File,
}

impl Terminal {
    /// Starts `program` at a terminal of `columns`.
    fn start(program: &mut Command, columns: u16) -> (Self, Child) {
        Self::start_after(program, columns, "")
    }

    /// Starts `program` after `keys` were pressed.
    fn start_after(program: &mut Command, columns: u16, keys: &str) -> (Self, Child) {
        let terminal: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let open = || Stdio::from(OpenOptions::new().read(true).write(true).open(&path).unwrap());
        program.env_remove("COLUMNS").stdin(open()).stdout(open()).stderr(open());
        let screen = File::from(terminal);
        let mut keyboard = screen.try_clone().unwrap();
        keyboard.write_all(keys.as_bytes()).unwrap();
        let child = program.spawn().unwrap();
        // The command keeps its ends of the terminal open otherwise.
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        (Self { keyboard, screen }, child)
    }

    /// Reads up to and including `text`.
    fn read_until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(text) {
            let mut byte = [0];
            assert_eq!(self.screen.read(&mut byte).unwrap_or(0), 1, "{}", String::from_utf8_lossy(&seen));
            seen.extend(byte);
        }
        String::from_utf8(seen).unwrap()
    }

    /// Reads until the program ends.
    fn read_to_end(&mut self) -> String {
        let mut seen = Vec::new();
        // The end of a pseudo-terminal is an error.
        let _ = self.screen.read_to_end(&mut seen);
        String::from_utf8(seen).unwrap().replace("\r\n", "\n")
    }
}

#[track_caller]
fn seen(program: &mut Command, columns: u16, code: i32) -> String {
    let (mut terminal, mut child) = Terminal::start(program, columns);
    let seen = terminal.read_to_end();
    assert_eq!(child.wait().unwrap().code(), Some(code), "{seen}");
    seen
}

#[test]
fn there_are_colours_and_all_columns_on_a_terminal() {
    let list = seen(program().arg("list"), 60, 0);
    assert!(list.contains("\u{1b}[1m") && list.contains("forecast"), "{list}");
    let plain = console_text(&list);
    assert!(plain.lines().all(|line| line.chars().count() <= 60), "{plain}");
    assert!(plain.lines().any(|line| line.trim_end().chars().count() > 40), "{plain}");
    // NO_COLOR, and a terminal without colours.
    assert!(!seen(program().arg("list").env("NO_COLOR", "1"), 60, 0).contains('\u{1b}'));
    assert!(!seen(program().arg("list").env("TERM", "dumb"), 60, 0).contains('\u{1b}'));
    assert!(seen(program().args(["show", "none"]), 60, 2).contains("\u{1b}[31merror:"), "{list}");
    assert!(!seen(program().args(["show", "none"]).env("NO_COLOR", "1"), 60, 2).contains('\u{1b}'));
}

/// `text` without escape sequences for styles.
fn console_text(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn a_json_result_is_indented_on_a_terminal() {
    let out = seen(program().args(["call", "forecast", "--city", "Oslo", "--days", "1"]), 80, 0);
    assert_eq!(out, "[\n  {\n    \"day\": 1,\n    \"high\": 10.0,\n    \"rain\": 0.6\n  }\n]\n");
}

// Events as JSON would stand in the midst of the result.
#[test]
fn a_json_result_on_a_terminal_has_no_event_lines() {
    let observe = ["call", "--output", "json", "observe", "--city", "Oslo", "--hours", "2"];
    let out = seen(program().args(observe), 80, 0);
    assert!(out.contains("\"structured\"") || out.contains("\"content\""), "{out}");
    assert!(!out.contains("\"type\":\"started\"") && !out.contains("observe: "), "{out}");
    let out = seen(program().args(observe).env("TERM", "dumb"), 80, 0);
    serde_json::from_str::<serde_json::Value>(&out).unwrap();
}

#[test]
fn progress_is_a_bar_and_streamed_text_is_written_once() {
    let out = seen(program().args(["call", "observe", "--city", "Oslo", "--hours", "3"]), 80, 0);
    assert!(out.contains('█') && out.contains("1 of 3 hour 1"), "{out}");
    for line in ["Oslo, hour 1: 15 °C\n", "Oslo, hour 2: 16 °C\n", "Oslo, hour 3: 17 °C\n"] {
        assert_eq!(out.matches(line).count(), 1, "{line} in {out}");
    }
    // The text is wrapped, not cut, where the bar leaves no room for it.
    let out = seen(program().args(["call", "observe", "--city", "Oslo", "--hours", "3"]), 40, 0);
    assert!(out.contains('█') && out.contains("1 of 3 hour 1"), "{out}");
    // K10
    let out = seen(program().args(["call", "observe", "--city", "Oslo", "--hours", "24"]), 80, 1);
    for line in ["Oslo, hour 1: 15 °C\n", "Oslo, hour 20: 14 °C\n", "the station is closed\n"] {
        assert_eq!(out.matches(line).count(), 1, "{line} in {out}");
    }
    // A terminal without bars receives lines.
    let out = seen(
        program().args(["call", "observe", "--city", "Oslo", "--hours", "1"]).env("TERM", "dumb"),
        80,
        0,
    );
    assert_eq!(out, "observe: 1 of 1 hour 1\nOslo, hour 1: 15 °C\n");
}

// Values of a stream are written as they arrive, and not again as a list.
#[test]
fn streamed_values_are_written_once() {
    let values = "{\"hour\":1,\"celsius\":15}\n{\"hour\":2,\"celsius\":16}\n";
    assert_eq!(seen(program().args(["call", "measure", "--hours", "2"]), 80, 0), values);
    assert_eq!(seen(program().args(["call", "measure", "--hours", "2"]).env("TERM", "dumb"), 80, 0), values);
}

// A secret is entered at a prompt and not shown.
#[test]
fn a_secret_is_entered_without_echo() {
    for arguments in [&["--password", "-"][..], &[]] {
        let mut program = program();
        let program = program.args(["call", "send_report", "--text", "hello"]).args(arguments);
        let (mut terminal, mut child) = Terminal::start_after(program, 80, "typed before\n");
        terminal.read_until("`password`:");
        terminal.keyboard.write_all(b"hunter2\n").unwrap();
        let rest = terminal.read_to_end();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{rest}");
        assert!(
            !rest.contains("hunter2") && rest.ends_with("5 characters and 0 forms were sent\n"),
            "{rest}"
        );
    }
}

#[test]
fn ctrl_c_cancels_a_secret_prompt_and_restores_the_terminal() {
    let mut program = program();
    let program = program.args(["call", "send_report", "--text", "hello"]);
    let (mut terminal, mut child) = Terminal::start(program, 80);
    terminal.read_until("`password`:");
    terminal.keyboard.write_all(b"hunt\x03").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let modes = rustix::termios::tcgetattr(&terminal.keyboard).unwrap().local_modes;
    assert!(modes.contains(rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ISIG));
    let rest = terminal.read_to_end();
    assert!(!rest.contains("hunt") && rest.ends_with("no secret was entered\n"), "{rest}");
}

#[test]
fn a_terminal_shows_no_base64() {
    let out = seen(program().args(["call", "radar", "--city", "Oslo", "--output", "json"]), 80, 0);
    assert!(out.contains("[1096 characters of base64; write the output to a file]"), "{out}");
    let out = finish(program().args(["call", "radar", "--city", "Oslo", "--output", "json"])).out;
    assert!(out.contains("\"data\": \"Qk02"), "{out}");
}

#[test]
fn control_characters_of_tools_are_escaped_on_a_terminal() {
    let city = "Oslo\u{1b}[2J\u{9b}H\r\u{7}";
    let seen_as = "Oslo\\u{1b}[2J\\u{9b}H\\r\\u{7}";
    let out = seen(program().args(["call", "set_alarm", "--below", "1", "--city", city]), 80, 0);
    assert_eq!(out, format!("{seen_as} below 1 °C\n"));
    let out = seen(program().args(["call", "temperature", "--city", city]), 80, 1);
    assert!(out.ends_with(&format!(" there is no station in {seen_as}\n")), "{out}");
    let out = seen(program().args(["call", "observe", "--hours", "1", "--city", city]), 80, 0);
    assert!(out.contains(&format!("{seen_as}, hour 1: 15 °C")) && !out.contains("\u{1b}[2J"), "{out:?}");
    // A pipe receives the text unchanged.
    let out = finish(program().args(["call", "set_alarm", "--below", "1", "--city", city])).fine();
    assert_eq!(out, format!("{city} below 1 °C\n"));
}

#[test]
fn the_answer_at_the_terminal_decides() {
    for (answer, code, end) in [
        ("y\n", 0, "the station in Oslo is gone\n"),
        ("n\n", 3, "is rejected: the person said no\n"),
        ("\n", 3, "is rejected: the person said no\n"),
        // The end of the input.
        ("\u{4}", 3, "is rejected: the person said no\n"),
    ] {
        let mut program = program();
        let (mut terminal, mut child) =
            Terminal::start(program.args(["call", "remove_station", "--city", "Oslo"]), 120);
        let asked = console_text(&terminal.read_until("[y/N] ")).replace("\r\n", "\n");
        assert_eq!(
            asked,
            "The call of `remove_station` requires approval:\n  city: \"Oslo\"\nRun `remove_station`? [y/N] "
        );
        terminal.keyboard.write_all(answer.as_bytes()).unwrap();
        let rest = terminal.read_to_end();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{rest}");
        assert!(rest.ends_with(end), "{rest}");
        assert!(!rest.starts_with("\u{1b}[1m"), "{rest}");
    }
}

#[test]
fn ctrl_c_ends_an_open_question() {
    let mut program = program();
    let (mut terminal, mut child) =
        Terminal::start(program.args(["call", "remove_station", "--city", "Oslo"]), 80);
    terminal.read_until("[y/N] ");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest = terminal.read_to_end();
    assert_eq!(rest, "\n\u{1b}[1m\u{1b}[31merror:\u{1b}[0m the call was cancelled\n");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn ctrl_c_cancels_the_call_with_a_message() {
    let mut child = program().args(["call", "wait_for_rain", "--city", "Oslo"]).spawn().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert_eq!(line, "wait_for_rain: 0 looking at the sky of Oslo\n");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "error: the call was cancelled\n");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// A response with a call that removes `city`.
fn removing(name: &str, city: &str) -> String {
    let input = json!({ "city": city });
    let call = json!({ "type": "tool_use", "id": "1", "name": "remove_station", "input": input });
    let path = format!("{}/{name}.json", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, json!({ "content": [call] }).to_string()).unwrap();
    path
}

// Arguments neither push the question off the screen nor imitate it, and can be shown in full before the answer.
#[test]
fn a_question_stands_last_whatever_a_model_writes() {
    let fake = format!(
        "Bergen\u{202e}\u{200b}\u{1b}[8m{}\nRun `forecast`? [y/N] {}\u{1b}]8;;http://x\u{7}{}",
        " ".repeat(5000),
        "\n".repeat(200),
        "\u{301}".repeat(200),
    );
    let path = removing("question", &fake);
    let mut program = program();
    let (mut terminal, mut child) =
        Terminal::start(program.args(["run", "--dialect", "anthropic", &path]), 80);
    let read = |terminal: &mut Terminal, end: &str| terminal.read_until(end).replace("\r\n", "\n");
    let asked = read(&mut terminal, "everything] ");
    let rows = |text: &str| text.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum::<usize>();
    assert!(rows(&console_text(&asked)) < 20, "{asked}");
    terminal.keyboard.write_all(b"all\n").unwrap();
    // The imitation in the arguments, and the question.
    let all = read(&mut terminal, "[y/N] ") + &read(&mut terminal, "[y/N] ");
    terminal.keyboard.write_all(b"n\n").unwrap();
    let rest = terminal.read_to_end();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{rest}");
    let seen = asked + &all + &rest;
    for steers in ["[8m", "]8;;", "\u{202e}", "\u{200b}", "\u{301}", "\u{7}", "     "] {
        assert!(!seen.replace("\\u{1b}", "").contains(&format!("\u{1b}{steers}")), "{steers:?} in {seen:?}");
    }
    super::golden::hold("question.80", &console_text(&seen));
}

// Keys that were pressed for an earlier text do not answer the question.
#[test]
fn keys_that_were_pressed_before_a_question_do_not_answer_it() {
    let mut program = program();
    let program = program.args(["call", "remove_station", "--city", "Oslo"]);
    let (mut terminal, mut child) = Terminal::start_after(program, 80, "y\ny\n");
    terminal.read_until("[y/N] ");
    terminal.keyboard.write_all(b"n\n").unwrap();
    let rest = terminal.read_to_end();
    assert_eq!(child.wait().unwrap().code(), Some(3), "{rest}");
}

#[test]
fn hidden_characters_of_an_invalid_command_line_are_escaped() {
    let hidden = "--ci\u{1b}[8mt\u{202e}y\u{200b}\nerror: all is well";
    for arguments in [
        &["call", "forecast", hidden][..],
        &["call", "forecast", "--days", hidden],
        &["call", "forecast", "--unit", hidden],
        &["call", hidden],
        &["show", hidden],
        &[hidden],
        &["run", "--dialect", hidden],
        &["run", "--dialect", "mcp", hidden],
        &["check", hidden],
        &["call", "forecast", &format!("{{\"city\": {hidden}")],
        &["call", "forecast", &format!("@{hidden}")],
        &[
            "call",
            "forecast",
            "--json",
            &format!("{{\"{}\": 1}}", hidden.replace(['\n', '\u{1b}'], "\u{9b}")),
        ],
    ] {
        let seen = seen(program().args(arguments), 80, 2);
        let is_own =
            |sequence: &str| ["[0m", "[1m", "[4m", "[31m", "[2m"].iter().any(|it| sequence.starts_with(it));
        assert!(seen.split('\u{1b}').skip(1).all(is_own), "{seen:?}");
        assert!(!seen.contains(['\u{202e}', '\u{200b}', '\u{9b}']), "{seen:?}");
        assert!(!seen.lines().skip(1).any(|line| line.starts_with("error:")), "{seen}");
    }
}
