//! Comparison with the shells: what the policy allows is run by `bash` and `dash`, without a single program, and every
//! command that they try to run must be one that a rule allows.
//!
//! `bash` runs with all builtins disabled and an empty `PATH`; the function for commands that are not found records
//! them. `dash` finds programs that record their names, for its own builtins cannot be disabled.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tool_runtime::definition::Permission;

use crate::{
    ALLOWED_COMMANDS, policy,
    table::{DENIED, ORDINARY, bypasses},
};

const MUTATIONS: usize = 20_000;
const RANDOM_TEXTS: usize = 200_000;
/// The maximum number of allowed texts that the shells run.
const MAX_COMPARED_TEXTS: usize = 300;

/// Programs that `dash` finds.
const PROGRAMS: &[&str] = &[
    "git", "cargo", "ls", "cat", "grep", "wc", "head", "tail", "find", "sort", "date", "evil", "rm", "curl",
    "env", "xargs", "timeout", "sudo", "nohup", "bash", "sh", "status", "log", "time", "function", "x",
];

/// Sourced by `bash` before a text. The size of the record is limited, which ends a loop.
const BASH_SETUP: &str = r#"
command_not_found_handle() {
    /usr/bin/printf '%s\036' "$@" $'\035' >>RECORD || /bin/sh -c 'kill -9 0'
}
ulimit -f 2
enable -n alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo eval exec
enable -n exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read
enable -n readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias
enable -n unset wait . : [ enable
"#;

/// The program that `dash` runs instead of each program.
const STUB: &str = r#"#!/bin/dash
ulimit -f 4
( /usr/bin/printf '%s\036' "${0##*/}" "$@" "$(/usr/bin/printf '\035')" >>RECORD ) || kill -9 0
"#;

struct Shells {
    folder: tempfile::TempDir,
}

/// The commands and files of a shell that ran a text.
struct Run {
    commands: Vec<Vec<String>>,
    new_files: Vec<String>,
}

impl Shells {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("record");
        let prepared = |text: &str| text.replace("RECORD", record.to_str().unwrap());
        fs::write(folder.path().join("setup"), prepared(BASH_SETUP)).unwrap();
        fs::create_dir(folder.path().join("programs")).unwrap();
        for program in PROGRAMS {
            let path = folder.path().join("programs").join(program);
            fs::write(&path, prepared(STUB)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        Self { folder }
    }

    fn run(&self, shell: &str, text: &str) -> Run {
        let (record, start) = (self.folder.path().join("record"), self.folder.path().join("start"));
        let _ = fs::remove_file(&record);
        let _ = fs::remove_dir_all(&start);
        fs::create_dir(&start).unwrap();
        fs::write(start.join("notes.txt"), "notes\n").unwrap();
        // A loop that runs commands is ended by its record; this ends one that runs none.
        let mut command = Command::new("/usr/bin/timeout");
        command.args(["-s", "KILL", "20", &format!("/bin/{shell}")]).env_clear().current_dir(&start);
        match shell {
            "bash" => {
                command.args(["--norc", "--noprofile"]).env("BASH_ENV", self.folder.path().join("setup"))
            }
            _ => command.env("PATH", self.folder.path().join("programs")),
        };
        command.args(["-c", text]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if shell == "bash" {
            command.env("PATH", "/nowhere");
        }
        command.status().unwrap();
        let names =
            fs::read_dir(&start).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let record = String::from_utf8(fs::read(&record).unwrap_or_default()).unwrap();
        // The last record of a loop that was ended may be cut off.
        let complete = record.rfind("\u{1d}\u{1e}").map_or("", |end| &record[..end]);
        let commands = complete.split("\u{1d}\u{1e}").filter(|command| !command.is_empty());
        let words = |command: &str| command.split_terminator('\u{1e}').map(str::to_owned).collect();
        Run {
            commands: commands.map(words).collect(),
            new_files: names.filter(|name| name != "notes.txt").collect(),
        }
    }

    /// A command or a file of `text` that no rule allows, in one of the shells.
    fn violation(&self, text: &str) -> Option<String> {
        ["bash", "dash"].into_iter().find_map(|shell| {
            let run = self.run(shell, text);
            let forbidden = run.commands.iter().find(|command| !is_allowed(command));
            forbidden.map(|command| format!("{shell} runs {command:?} in {text:?}")).or_else(|| {
                (!run.new_files.is_empty()).then(|| format!("{shell} writes {:?} in {text:?}", run.new_files))
            })
        })
    }
}

/// Compares a command with the rules, by words.
fn is_allowed(command: &[String]) -> bool {
    ALLOWED_COMMANDS.iter().any(|rule| {
        let mut words: Vec<_> = rule.split(' ').collect();
        let is_open = words.last().is_some_and(|word| word.starts_with('*'));
        words.truncate(words.len() - usize::from(is_open));
        command.starts_with(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
            && (is_open || command.len() == words.len())
    })
}

/// Asserts for each allowed text, without repetitions, that the shells run allowed commands only; returns the number of
/// texts and of commands of `bash`.
fn compare(texts: impl Iterator<Item = String>, most: usize) -> (usize, usize) {
    let (shells, policy) = (Shells::new(), policy());
    let mut compared = HashSet::new();
    let mut commands = 0;
    for text in texts.filter(|text| policy.judge(text) == Permission::Allow) {
        if compared.len() < most && compared.insert(text.clone()) {
            assert_eq!(shells.violation(&text), None);
            commands += shells.run("bash", &text).commands.len();
        }
    }
    (compared.len(), commands)
}

/// Texts of a generator with a fixed seed.
fn generated<T>(strategy: impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[36; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

// R04
#[test]
fn the_shells_run_what_they_are_expected_to_run() {
    let shells = Shells::new();
    for (text, expected) in [
        ("git status; evil", "evil"),
        ("ls \"$(evil x)\"", "evil x"),
        ("cat <<E\n$(evil)\nE", "evil"),
        ("sudo git status", "sudo git status"),
        ("while sort x; do evil; done", "evil"),
    ] {
        for shell in ["bash", "dash"] {
            let commands: Vec<_> =
                shells.run(shell, text).commands.iter().map(|words| words.join(" ")).collect();
            assert!(commands.iter().any(|command| command == expected), "{shell} {text}: {commands:?}");
        }
        assert!(shells.violation(text).is_some(), "{text}");
    }
    assert!(shells.violation("eval evil").is_some());
    assert!(shells.violation("git status > x").is_some());
}

// R04
#[test]
fn the_shells_run_allowed_commands_only_for_the_allowed_texts_of_the_table() {
    let all = ORDINARY.iter().chain(DENIED).copied().chain(bypasses()).map(str::to_owned);
    let (texts, commands) = compare(all, usize::MAX);
    assert_eq!(texts, ORDINARY.len());
    assert!(commands >= ORDINARY.len(), "{commands}");
}

/// Characters and words with a meaning for shells.
const TOKENS: &[&str] = &[
    " ",
    " ",
    " ",
    "\t",
    "\n",
    ";",
    "&",
    "|",
    "&&",
    "||",
    "(",
    ")",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "`",
    "$",
    "$(",
    "$((",
    "))",
    "${",
    "<",
    ">",
    "<<",
    "<<<",
    "<(",
    ">(",
    "<<E\n",
    "\nE\n",
    "E",
    "#",
    "!",
    "=",
    "x=",
    "~",
    "*",
    "?",
    "[",
    "]",
    "[[",
    "]]",
    "-",
    "-c",
    "2>&1",
    ">/dev/null",
    "\\\n",
    ":-",
    "$x",
    "x",
    "0",
    "if ",
    "; then ",
    "; fi",
    "while ",
    "; do ",
    "; done",
    "for x in ",
    "case x in ",
    ") ",
    ";; esac",
    "function ",
    "time ",
    "evil",
    " evil ",
    "git status",
    "git log ",
    "git push",
    "echo ",
    "ls ",
    "cat ",
    "env ",
    "eval ",
    "true",
    "false",
    "\r",
    "é",
    "$'",
    "$\"",
    "{a,b}",
    "..",
    "in",
    "do",
    "then",
    "}; ",
    "{ ",
    "\0",
];

// R04
#[test]
fn the_shells_run_allowed_commands_only_for_mutations_of_allowed_texts() {
    let index = any::<prop::sample::Index>();
    let edit = (index, 0..4_u8, prop::sample::select(TOKENS), any::<prop::sample::Index>());
    let mutation = (prop::sample::select(ORDINARY), prop::collection::vec(edit, 1..4));
    let texts = generated(mutation, MUTATIONS).into_iter().map(|(text, edits)| {
        let mut text: Vec<char> = text.chars().collect();
        for (at, kind, token, other) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + 1 + other.index(3)).min(text.len());
            match kind {
                0 => drop(text.splice(at..end, token.chars())),
                1 => drop(text.drain(at..end)),
                // Part of another place.
                2 => {
                    let from = other.index(text.len() + 1);
                    let part = text[from..(from + 6).min(text.len())].to_vec();
                    text.splice(at..at, part);
                }
                _ => drop(text.splice(at..at, token.chars())),
            }
        }
        text.into_iter().collect()
    });
    let (texts, commands) = compare(texts, MAX_COMPARED_TEXTS);
    assert!(texts == MAX_COMPARED_TEXTS && commands >= texts, "{texts} {commands}");
}

// R04
#[test]
fn the_shells_run_allowed_commands_only_for_random_texts() {
    let parts = prop::collection::vec(prop::sample::select(TOKENS), 1..10);
    let texts = generated(parts, RANDOM_TEXTS).into_iter().map(|parts| parts.concat());
    let (texts, commands) = compare(texts, MAX_COMPARED_TEXTS);
    assert!(texts >= MAX_COMPARED_TEXTS / 2 && commands > 0, "{texts} {commands}");
}
