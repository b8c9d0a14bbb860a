//! Help, and messages about an invalid command line.

use super::{Line, hold_lines};

// Z19
#[test]
fn each_command_has_a_page_of_help() {
    let commands: [&[&str]; 12] = [
        &["--help"],
        &["-h"],
        &["list", "--help"],
        &["show", "--help"],
        &["call", "--help"],
        &["run", "--help"],
        &["run", "-h"],
        &["lint", "--help"],
        &["export", "--help"],
        &["pin", "--help"],
        &["check", "--help"],
        &["completions", "--help"],
    ];
    hold_lines("help", &commands.map(Line::new));
}

// Z19
#[test]
fn each_tool_has_a_page_of_help() {
    let commands: [&[&str]; 7] = [
        &["call", "--help", "bake"],
        &["call", "--help", "settings"],
        &["call", "settings", "-h"],
        &["call", "bake", "-h"],
        &["call", "login", "--help"],
        &["call", "hints", "--help"],
        &["call", "bake", "cake", "--help"],
    ];
    let mut lines: Vec<_> = commands.into_iter().map(Line::new).collect();
    lines.push(Line::new(commands[0]).columns(50));
    hold_lines("help_of_tools", &lines);
}

#[test]
fn an_invalid_command_line_is_answered_with_the_fix() {
    let commands: [&[&str]; 13] = [
        &[],
        &["lst"],
        &["c\u{7}ll"],
        &["zzz"],
        &["call"],
        &["call", "--approve", "maybe"],
        &["call", "--json", "hints"],
        &["show"],
        &["list", "--jsno"],
        &["run", "--strategy", "batched=0"],
        &["run", "--strategy", "batched=x"],
        &["run", "--strategy", "both"],
        &["run", "--dialect", "morse"],
    ];
    hold_lines("usage", &commands.map(Line::new));
}

#[test]
fn commands_of_the_program_write_with_escapes_in_messages() {
    super::file("input.txt", "from a file\n");
    hold_lines(
        "words",
        &[
            Line::new(&["words"]),
            Line::new(&["words", "@input.txt"]),
            Line::new(&["words", "-"]).input("from the input"),
            Line::new(&["words", "@absent\u{7}.txt"]),
            Line::new(&["words", "line"]).input("one\n\ntwo\r\nthree"),
            Line::new(&["words", "secret=env:SHOP_PIN"]),
            Line::new(&["words", "secret=env:SHOP_ABSENT"]),
            Line::new(&["words", "secret=env:"]),
            Line::new(&["words", "secret=@"]),
            Line::new(&["words", "secret=@input.txt"]),
            Line::new(&["words", "secret=@absent.txt"]),
            Line::new(&["words", "secret=4711"]),
            Line::new(&["words", "secret=-"]).input("12\r\n34\n"),
            Line::new(&["words", "secret=-"]).input("12\r"),
            Line::new(&["words", "secret=-"]),
        ],
    );
}
