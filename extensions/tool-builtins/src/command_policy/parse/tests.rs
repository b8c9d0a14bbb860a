//! Readings of texts: their commands, redirections and doubts.

use super::parse_script;
use crate::command_policy::script::{ShellScript, ShellWord};

/// Texts in one line each, with `\n`, `\t` and `\\`, and indented below them what is read of them.
const SCRIPTS: &str = include_str!("scripts.txt");

fn unescaped_text(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => text.push(match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                _ => '\\',
            }),
            c => text.push(c),
        }
    }
    text
}

fn escaped_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

fn shown_word(word: &ShellWord) -> String {
    let quote = if word.is_quoted { "'" } else { "" };
    let expansion = word.expansion.map_or_else(String::new, |kind| format!("{{{kind}}}"));
    format!("{quote}{}{quote}{expansion}", word.text)
}

/// A line for each command with its source, each redirection and each doubt.
fn shown_script(script: &ShellScript) -> String {
    let commands = script.commands.iter().map(|command| {
        let words: Vec<_> = command.words.iter().map(shown_word).collect();
        format!("runs {} <- {}", words.join(" "), command.source)
    });
    let redirections = script.redirections.iter().map(|redirection| {
        format!("{} `{}`", if redirection.writes { "writes" } else { "reads" }, redirection.path)
    });
    let doubts = script.doubts.iter().map(|doubt| format!("{}: {}", doubt.what, doubt.source));
    let lines = commands.chain(redirections).chain(doubts);
    lines.map(|line| format!("    {}\n", escaped_text(&line))).collect()
}

#[test]
fn each_text_is_read_as_its_commands_redirections_and_doubts() {
    let mut wrong = String::new();
    let mut lines = SCRIPTS.lines().peekable();
    while let Some(text) = lines.next() {
        let mut expected = String::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("    ")) {
            expected.push_str(&format!("{line}\n"));
        }
        let shown = shown_script(&parse_script(&unescaped_text(text), 0));
        if shown != expected {
            wrong.push_str(&format!("{text}\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "read otherwise:\n{wrong}");
    assert!(SCRIPTS.lines().count() > 600);
}

#[test]
fn a_text_within_another_one_has_a_doubt_about_a_comment() {
    for (depth, doubts) in [(0, 0), (1, 1)] {
        assert_eq!(parse_script("ls # a", depth).doubts.len(), doubts);
    }
}

#[test]
fn at_most_eight_doubts_are_kept_and_the_commands_behind_them_are_read() {
    let script = parse_script(&"x=1 ls;".repeat(9), 0);
    assert_eq!((script.doubts.len(), script.commands.len()), (8, 9));
}

#[test]
fn a_source_has_at_most_120_characters() {
    for (length, end) in [(120, ""), (121, "…")] {
        let command = "a".repeat(length);
        let script = parse_script(&command, 0);
        let source = script.commands.first().map(|command| command.source.clone());
        assert_eq!(source, Some(format!("{}{end}", "a".repeat(120))));
    }
}

#[test]
fn thirty_two_levels_are_read_and_one_more_is_a_doubt() {
    for (levels, count) in [(32, 0), (33, 1)] {
        for (open, close) in [("( ", " )"), ("echo $(", ")"), ("{ ", "; }")] {
            let text = format!("{}ls{}", open.repeat(levels), close.repeat(levels));
            let script = parse_script(&text, 0);
            let deep = script.doubts.iter().filter(|doubt| doubt.what == "is nested too deeply").count();
            assert_eq!(deep, count, "{text}");
        }
    }
    assert!(parse_script(&"(ls);".repeat(40), 0).doubts.is_empty());
    assert_eq!(parse_script("(ls)", 32).doubts.len(), 1);
}
