//! Pages on a terminal: styles, questions, prompts.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::fd::OwnedFd,
    process::Stdio,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::{Line, START, definitions::changed_pins, exit_line, file, hold, without_ids};

/// A command line, and texts to wait for, each with the keys that are then pressed.
type Case<'c> = (&'c [&'c str], &'c [(&'c str, &'c str)]);

impl Line<'_> {
    /// The text on a terminal of the line's columns, with escape sequences as `^[`. `answers` are texts to wait for, each
    /// with the keys that are then pressed.
    fn screen(&self, answers: &[(&str, &str)], variables: &[(&str, &str)]) -> String {
        let (mut screen, open) = open_terminal(self.columns);
        let mut program = self.program();
        program.env_remove("COLUMNS").stdin(open()).stdout(open()).stderr(open());
        program.envs(variables.iter().copied());
        let mut child = program.spawn().unwrap();
        // The command keeps its ends of the terminal open otherwise.
        drop(program);
        let mut seen = Vec::new();
        for (text, keys) in answers {
            let start = seen.len();
            while !String::from_utf8_lossy(&seen[start..]).contains(text) {
                let mut byte = [0];
                let read = screen.read(&mut byte).unwrap_or(0);
                assert_eq!(read, 1, "{text}: {}", String::from_utf8_lossy(&seen));
                seen.extend(byte);
            }
            screen.write_all(keys.as_bytes()).unwrap();
        }
        // The end of a pseudo-terminal is an error.
        let _ = screen.read_to_end(&mut seen);
        let seen = String::from_utf8(seen).unwrap().replace("\r\n", "\n");
        let seen = seen.split_once(START).unwrap().1.replace('\u{1b}', "^[");
        let variables: String = variables.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let end = if seen.ends_with('\n') { "" } else { "[no line end]\n" };
        let place = format!("  # a terminal of {} columns{variables}", self.columns);
        let header = Self { columns: 100, ..*self }.header(&place);
        header + &without_ids(&seen) + end + &exit_line(child.wait().unwrap().code())
    }
}

/// A terminal of `columns`, and its end for a program.
fn open_terminal(columns: u16) -> (File, impl Fn() -> Stdio) {
    let terminal: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let open = move || Stdio::from(OpenOptions::new().read(true).write(true).open(&path).unwrap());
    (File::from(terminal), open)
}

fn screens<'l>(lines: impl IntoIterator<Item = &'l [&'l str]>, variables: &[(&str, &str)]) -> String {
    let all: Vec<_> = lines.into_iter().map(|it| Line::new(it).columns(90).screen(&[], variables)).collect();
    all.join("\n")
}

#[test]
fn a_terminal_has_styles_and_its_own_columns() {
    let commands: [&[&str]; 15] = [
        &["list"],
        &["show", "bake"],
        &["show", "hints"],
        &["show", "zzz"],
        &["call", "--help", "bake"],
        &["few", "lint", "--show", "note"],
        &["lint", "--show", "error"],
        &["call", "bake", "--eggs", "x"],
        &["call", "bake", "--egs", "1", "--zzz"],
        &["call", "many", "a", "b"],
        &["call", "bake", "{\"eggs\": 1}"],
        &["few", "check", "pins-terminal.json"],
        &["words"],
        &["lst"],
        &["call", "values", r#"{"most": "1"}"#],
    ];
    file("pins-terminal.json", &changed_pins());
    hold("terminal", &screens(commands, &[]));
    let plain: [&[&str]; 2] = [&["list"], &["show", "zzz"]];
    let all = [&[("NO_COLOR", "1")][..], &[("TERM", "dumb")], &[("NO_COLOR", "")], &[("COLUMNS", "60")]];
    let all = all.map(|variables| screens(plain, variables));
    hold("terminal_without_styles", &all.join("\n"));
}

#[test]
fn a_result_on_a_terminal_is_escaped_and_indented() {
    let forms = ["empty", "line", "text", "failure", "error", "files"];
    let commands = forms.map(|form| ["call", "answer", "--form", form]);
    let seen = screens(commands.iter().map(|it| &it[..]), &[("TERM", "dumb")]);
    let more: [&[&str]; 4] = [
        &["call", "answer", "--form", "base64", "--output", "json"],
        &["call", "answer", "--form", "text", "--output", "json"],
        &["call", "chatty", "--output", "json"],
        &["call", "chatty"],
    ];
    let more = screens(more, &[("TERM", "dumb")]);
    hold("terminal_results", &format!("{seen}\n{more}"));
}

// K10
#[test]
fn a_stream_on_a_terminal_is_written_line_by_line_once() {
    let texts = ["one/two", "one|two", "one/|two/", "one|!", "one/|two/|!", "!", ""];
    let commands = texts.map(|text| ["call", "parts", "--text", text]);
    let seen = screens(commands.iter().map(|it| &it[..]), &[("TERM", "dumb")]);
    let values = ["0", "2", "3"].map(|most| ["call", "values", "--most", most]);
    let values = screens(values.iter().map(|it| &it[..]), &[("TERM", "dumb")]);
    hold("terminal_parts", &format!("{seen}\n{values}"));
}

// K10
#[test]
fn a_stream_on_a_terminal_with_bars_is_written_once() {
    for text in ["one/two", "one/|two/", "one|!"] {
        let seen = Line::new(&["call", "parts", "--text", text]).screen(&[], &[]);
        // The first one is the command.
        assert_eq!(seen.matches("one").count(), 2, "{seen}");
    }
}

// K10
#[test]
fn a_stream_in_a_pipe_is_shown_on_a_terminal_for_errors() {
    for (text, term, shown, output) in [
        ("one|two", "xterm", &["parts: one", "parts: two"][..], "onetwo\n"),
        ("one|!", "xterm", &["parts: one", "a page is missing"], ""),
        ("one|two", "dumb", &[], "onetwo\n"),
        ("one|!", "dumb", &["parts: one", "a page is missing"], ""),
    ] {
        let (mut screen, open) = open_terminal(90);
        let mut program = Line::new(&["call", "parts", "--text", text]).program();
        program.env_remove("COLUMNS").env("TERM", term).env("NO_COLOR", "1");
        let child = program.stdin(open()).stderr(open()).spawn().unwrap();
        drop(program);
        let mut seen = Vec::new();
        // The end of a pseudo-terminal is an error.
        let _ = screen.read_to_end(&mut seen);
        let seen = String::from_utf8(seen).unwrap();
        let written = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(written.split_once(START).unwrap().1, output, "{text} {term}");
        for part in ["parts: one", "parts: two", "a page is missing"] {
            let count = usize::from(shown.contains(&part));
            assert_eq!(seen.matches(part).count(), count, "{text} {term} {part}: {seen}");
        }
    }
}

// I03
#[test]
fn a_question_shows_the_call_and_waits_for_the_answer() {
    let many: Vec<_> = (0..14).map(|at| format!("\"argument_{at}\": {}", at * 1000)).collect();
    let many = format!("{{{}}}", many.join(", "));
    let long = format!("{{\"note\": \"{}\", \"{}\": 1}}", "word ".repeat(80), "name".repeat(20));
    let big: Vec<_> = (0..8).map(|at| format!("\"a{at}\": \"{}\"", "x".repeat(200))).collect();
    let big = format!("{{{}}}", big.join(", "));
    let ask = "[y/N";
    let cases: [Case<'_>; 15] = [
        (&["call", "sell"], &[(ask, "y\n")]),
        (&["call", "sell"], &[(ask, "YES \n")]),
        (&["call", "sell"], &[(ask, "yess\n")]),
        (&["call", "sell"], &[(ask, "all\n")]),
        (&["call", "sell"], &[(ask, "\n")]),
        (&["call", "sell"], &[(ask, "\u{4}")]),
        (&["call", "sell", "{\"cake\": \"tart\\u0007\", \"number\": 2}"], &[(ask, "y\n")]),
        (&["call", "sell", &many], &[(ask, "all\n"), (ask, "y\n")]),
        (&["call", "sell", &long], &[(ask, "all\n"), (ask, "all\n"), (ask, "n\n")]),
        (&["call", "sell", &big], &[(ask, "n\n")]),
        (&["call", "lend", "{\"to\": \"Ada\"}"], &[(ask, "y\n")]),
        (&["call", "lend", "{\"to\": \"Zoe\"}"], &[]),
        (&["call", "taste"], &[(ask, "y\n")]),
        (&["call", "taste"], &[(ask, "n\n")]),
        (&["call", "sell", "--approve", "never"], &[]),
    ];
    let seen = cases
        .map(|(arguments, answers)| Line::new(arguments).columns(90).screen(answers, &[("TERM", "dumb")]));
    hold("questions", &seen.join("\n"));
    let styled = Line::new(&["call", "sell", "{\"cake\": 1}"]).screen(&[(ask, "y\n")], &[]);
    hold("question_styles", &styled);
}

#[test]
fn a_secret_is_asked_for_and_not_shown() {
    let cases: [Case<'_>; 9] = [
        (&["call", "login"], &[("`pin`:", "4711\n")]),
        // A secret inside an object that is optional is not asked for.
        (&["call", "login", "--pin", "env:SHOP_PIN", "--box.size", "1"], &[]),
        (&["call", "login", "{\"user\": \"ada\", \"user\": \"bo\"}"], &[]),
        (&["call", "login", "--user", "ada"], &[("`pin`:", "4711\n")]),
        (&["call", "login", "--pin", "-"], &[("`pin`:", "4711\n")]),
        (&["call", "login", "--pin", "-"], &[("`pin`:", "hunter2\n")]),
        (&["call", "login", "--pin", "-"], &[("`pin`:", "47\u{3}")]),
        (&["call", "login", "--pin", "-"], &[("`pin`:", "\u{4}")]),
        (&["words", "line"], &[("> ", "one\n"), ("> ", "\u{4}")]),
    ];
    let seen = cases.map(|(arguments, answers)| Line::new(arguments).screen(answers, &[("NO_COLOR", "1")]));
    hold("prompts", &seen.join("\n"));
}

// A bar is drawn at times, so that only its end is the same in each run.
#[test]
fn progress_on_a_terminal_is_a_bar_and_other_events_are_lines() {
    let seen = Line::new(&["call", "chatty"]).screen(&[], &[]);
    for line in ["a log line\n", "an update\n", "    error: a second\\u{7}\n"] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    assert!(seen.contains("2 of 4 half") && seen.contains("█") && seen.ends_with("done\n"), "{seen}");
    // The progress has no line of its own.
    assert!(!seen.contains("chatty^[[0m: 2 of 4") && !seen.contains("chatty: 2 of 4"), "{seen}");
    let json = Line::new(&["call", "chatty", "--output", "json"]).screen(&[], &[]);
    assert!(!json.contains("a log line") && !json.contains("an update"), "{json}");
    let parts = Line::new(&["call", "parts", "--text", "one/|two|/"]).screen(&[], &[]);
    assert_eq!(parts.lines().skip(1).collect::<Vec<_>>(), ["one", "two"], "{parts}");
}

#[test]
fn an_interrupt_cancels_the_call() {
    use std::io::{BufRead, BufReader};

    for (arguments, rest) in [
        (&["call", "wait"][..], "error: the call was cancelled\n"),
        (&["run", "run-wait.json"], "error: wait: Cancelled\n"),
    ] {
        let call = r#"{"type": "tool_use", "id": "1", "name": "wait", "input": {}}"#;
        file("run-wait.json", &format!("{{\"content\": [{call}]}}"));
        let mut child = Line::new(arguments).program().spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        assert_eq!(line, "wait: 0 the door is open\n");
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
            .unwrap();
        let mut end = String::new();
        told.read_to_string(&mut end).unwrap();
        assert_eq!((child.wait().unwrap().code(), &*end), (Some(130), rest), "{arguments:?}");
    }
}
