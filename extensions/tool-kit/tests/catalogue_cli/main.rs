//! The commands of a catalogue: transcripts of all that they write. `UPDATE=1` rewrites them, for review.
//!
//! The test program starts itself as the program whose commands it runs.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a test may")]

mod library;
mod pages;
mod servers;

use std::{
    env, fs,
    io::{self, Write as _},
    path::PathBuf,
    process::{self, Stdio},
};

/// The variable with the arguments of the program, between unit separators.
const ARGUMENTS: &str = "CATALOGUE_CLI_ARGUMENTS";

/// Separates the output of the test harness from the output of the program.
const START: &str = "\u{2}start\n";

// The program. As a test, it checks that it starts.
#[test]
fn the_library_is_a_program_with_a_catalogue() {
    if let Ok(arguments) = env::var(ARGUMENTS) {
        io::stdout().write_all(START.as_bytes()).unwrap();
        io::stdout().flush().unwrap();
        let exit = library::cli().run(["library"].into_iter().chain(arguments.split('\u{1f}')));
        process::exit(exit.code().into());
    }
    assert_eq!(
        transcript(&["call", "add", "--a", "2", "--b", "3"], ""),
        "$ library call add --a 2 --b 3\n5\n"
    );
}

/// The program with these arguments, which runs in the folder of the test.
fn program(arguments: &[&str]) -> process::Command {
    let mut program = process::Command::new(env::current_exe().unwrap());
    program.args(["--exact", "the_library_is_a_program_with_a_catalogue", "--nocapture", "--test-threads=2"]);
    program.env(ARGUMENTS, arguments.join("\u{1f}"));
    program.env("COLUMNS", "100").env("TERM", "xterm").env_remove("NO_COLOR").current_dir(folder());
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

/// The command, its standard output, its standard error after `!`, and its exit code, if that is not 0.
fn transcript(arguments: &[&str], input: &str) -> String {
    let mut child = program(arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A program that refuses the command line does not read.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    let out = out.split_once(START).unwrap().1;
    let err: String = err.lines().map(|line| format!("! {line}").trim_end().to_owned() + "\n").collect();
    let end = if out.is_empty() || out.ends_with('\n') { "" } else { "[no line end]\n" };
    let word = |it: &&str| if it.contains([' ', '"']) { format!("'{it}'") } else { (*it).to_owned() };
    let words = arguments.iter().map(word).collect::<Vec<_>>().join(" ");
    let input = if input.is_empty() { String::new() } else { format!(" < {input:?}") };
    let exit = match output.status.code() {
        Some(0) => String::new(),
        code => format!("[exit code {}]\n", code.unwrap()),
    };
    format!("$ library {words}{input}\n{out}{end}{err}{exit}")
}

/// The folder of the program, for relative paths in transcripts.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("catalogue_cli");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compares the transcripts of command lines with the golden file `name`.
#[track_caller]
fn hold_lines(name: &str, lines: &[&[&str]]) {
    let all: Vec<_> = lines.iter().map(|arguments| transcript(arguments, "")).collect();
    hold(name, &all.join("\n"));
}

/// Compares `seen` with the golden file `name`.
#[track_caller]
fn hold(name: &str, seen: &str) {
    let path = format!("{}/tests/catalogue_cli/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, seen).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(seen == expected, "{path} differs:\n{}", first_difference(&expected, seen));
}

/// The first line that differs, with the line that was expected.
fn first_difference(expected: &str, seen: &str) -> String {
    let same = expected.lines().zip(seen.lines()).take_while(|(one, other)| one == other).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("[end]").to_owned();
    format!("line {}\n  expected: {}\n  seen:     {}", same + 1, line(expected), line(seen))
}
