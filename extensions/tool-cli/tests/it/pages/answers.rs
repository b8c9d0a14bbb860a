//! Results of `call`, and questions without a terminal.

use std::fs;

use super::{Line, file, folder, hold_lines};

#[test]
fn a_result_is_written_by_its_form() {
    let forms = ["empty", "line", "text", "failure", "error", "denied", "files"];
    let commands = forms.map(|form| ["call", "answer", "--form", form]);
    let mut lines: Vec<_> = commands.iter().map(|arguments| Line::new(arguments)).collect();
    let more: [&[&str]; 6] = [
        &["call", "deliver"],
        &["call", "cakes"],
        &["call", "count"],
        &["call", "values", r#"{"most": "1"}"#],
        &["call", "answer", "--form", "failure", "--save", "saved/"],
        &["call", "answer", "--form", "failure", "--output", "json"],
    ];
    lines.extend(more.map(Line::new));
    hold_lines("answers", &lines);
}

#[test]
fn files_of_a_result_are_saved() {
    let _ = fs::remove_dir_all(folder().join("saved"));
    let _ = fs::remove_dir_all(folder().join("locked"));
    for at in 1..=5 {
        let _ = fs::remove_file(folder().join(format!("all-{at}.x")));
    }
    file("taken.txt", "mine");
    file("all-2.x", "mine");
    let save = |to| ["call", "answer", "--form", "files", "--save", to];
    let commands =
        ["saved/", "saved", "all.x", "taken.txt", "absent/x", "taken.txt/", "taken.txt/inner/"].map(save);
    let mut lines: Vec<_> = commands.iter().map(|arguments| Line::new(arguments)).collect();
    let force: [&[&str]; 3] = [
        &["call", "--force", "answer", "--form", "files", "--save", "saved"],
        &["call", "--save", "saved", "answer", "--form", "line", "--force"],
        &["call", "answer", "--form", "text", "--save", "one.txt"],
    ];
    lines.extend(force.map(Line::new));
    hold_lines("saved", &lines);
    assert_eq!(fs::read(folder().join("saved/answer-1.png")).unwrap(), [1; 1234]);
    assert_eq!(fs::read_to_string(folder().join("all-2.x")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(folder().join("taken.txt")).unwrap(), "mine");
    assert!(!folder().join("one.txt").exists());
}

#[test]
fn without_a_terminal_the_option_decides() {
    let commands: [&[&str]; 14] = [
        &["call", "sell"],
        &["call", "sell", "--approve", "ask"],
        &["call", "sell", "--approve", "never"],
        &["call", "sell", "--approve", "read-only"],
        &["call", "sell", "--approve", "always"],
        &["call", "lend", "{\"to\": \"Ada\"}"],
        &["call", "lend", "{\"to\": \"Zoe\"}"],
        &["call", "lend", "{\"to\": \"Zoe\"}", "--approve", "always"],
        &["call", "lend", "{\"to\": \"Ada\"}", "--approve", "always"],
        &["call", "taste"],
        &["call", "taste", "--approve", "never"],
        &["call", "taste", "--approve", "always"],
        &["call", "parts", "--text", "a", "--approve", "read-only"],
        &["call", "--approve", "always", "sell", "--approve", "never"],
    ];
    hold_lines("approval", &commands.map(Line::new));
}
