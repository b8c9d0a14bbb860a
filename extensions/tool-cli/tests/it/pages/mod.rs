//! Whole pages: all that a command writes, on a terminal and not, as transcripts. `UPDATE=1` rewrites them, for review.
//!
//! The test program starts itself as the program whose commands it runs.

mod answers;
mod arguments;
mod definitions;
mod helps;
mod parts;
mod runs;
mod shop;
mod terminal;

use std::{
    env, fs,
    io::{self, Write as _},
    path::PathBuf,
    process::{self, Stdio},
};

/// The variable with the arguments of the program, between unit separators.
const ARGUMENTS: &str = "TOOL_CLI_PAGES_ARGUMENTS";

/// Separates the output of the test harness from the output of the program.
const START: &str = "\u{2}start\n";

// The program. As a test, it checks that it starts.
#[test]
fn the_shop_is_a_program_with_tools() {
    if let Ok(arguments) = env::var(ARGUMENTS) {
        io::stdout().write_all(START.as_bytes()).unwrap();
        io::stdout().flush().unwrap();
        let arguments = arguments.split('\u{1f}').map(str::to_owned).filter(|_| !arguments.is_empty());
        let exit = shop::cli().run(["shop".to_owned()].into_iter().chain(arguments));
        process::exit(exit.code().into());
    }
    assert_eq!(Line::new(&["call", "hints"]).transcript(), "$ shop call hints\nserved\n");
}

/// A command line and its surroundings.
#[derive(Clone, Copy)]
struct Line<'l> {
    arguments: &'l [&'l str],
    input: Option<&'l str>,
    /// `true` if the transcript leaves the input out.
    is_short: bool,
    columns: u16,
}

impl<'l> Line<'l> {
    /// A command line without input, with lines of 100 columns.
    fn new(arguments: &'l [&'l str]) -> Self {
        Self { arguments, input: None, is_short: false, columns: 100 }
    }

    fn input(self, input: &'l str) -> Self {
        Self { input: Some(input), ..self }
    }

    fn short(self) -> Self {
        Self { is_short: true, ..self }
    }

    fn columns(self, columns: u16) -> Self {
        Self { columns, ..self }
    }

    /// The program, which runs in the folder of the test.
    fn program(&self) -> process::Command {
        let mut program = process::Command::new(env::current_exe().unwrap());
        let this = "pages::the_shop_is_a_program_with_tools";
        program.args(["--exact", this, "--nocapture", "--test-threads=2"]);
        program.env(ARGUMENTS, self.arguments.join("\u{1f}"));
        program.env("COLUMNS", self.columns.to_string()).env("TERM", "xterm").env("SHOP_PIN", "4711");
        program.env_remove("NO_COLOR").env_remove("SHOP_ABSENT").current_dir(folder());
        program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        program
    }

    /// The command, its standard output, its standard error after `!`, and its exit code, if that is not 0.
    fn transcript(&self) -> String {
        let mut child = self.program().stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        // A program that refuses the command line does not read.
        let _ = input.write_all(self.input.unwrap_or_default().as_bytes());
        drop(input);
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        let out = out.split_once(START).unwrap().1;
        let line = |line| format!("! {}", event_kind(line).unwrap_or(line)).trim_end().to_owned() + "\n";
        let err: String = err.lines().map(line).collect();
        let end = if out.is_empty() || out.ends_with('\n') { "" } else { "[no line end]\n" };
        self.header("") + &without_ids(out) + end + &err + &exit_line(output.status.code())
    }

    fn header(&self, place: &str) -> String {
        let word = |it: &&str| match it.contains([' ', '\n', '"']) || it.is_empty() {
            true => format!("'{}'", it.replace('\n', "\\n")),
            false => (*it).to_owned(),
        };
        let words: Vec<_> = self.arguments.iter().map(word).collect();
        let input = match self.input {
            Some(_) if self.is_short => " < ...".to_owned(),
            Some(input) => format!(" < {input:?}"),
            None => String::new(),
        };
        let columns =
            if self.columns == 100 { String::new() } else { format!("  # {} columns", self.columns) };
        format!("$ shop {}{input}{columns}{place}\n", words.join(" "))
    }
}

/// The kind of an event as JSON, which has ids and times.
fn event_kind(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("{\"time\":")?.split_once("\"type\":\"")?;
    rest.split_once('"').map(|(kind, _)| kind)
}

/// `text` without the ids and times of results as JSON.
fn without_ids(text: &str) -> String {
    let is_varying = |line: &str| {
        ["  \"id\": \"call_", "  \"durationMs\": ", "  \"finishedAtMs\": "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    text.split_inclusive('\n').filter(|line| !is_varying(line)).collect()
}

fn exit_line(code: Option<i32>) -> String {
    match code {
        Some(0) => String::new(),
        code => format!("[exit code {}]\n", code.unwrap()),
    }
}

/// The folder of the program, for relative paths in transcripts.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a file to the folder of the program, and returns its name.
fn file<'n>(name: &'n str, text: &str) -> &'n str {
    fs::write(folder().join(name), text).unwrap();
    name
}

/// Compares the transcripts of `lines` with the golden file `name`.
#[track_caller]
fn hold_lines(name: &str, lines: &[Line<'_>]) {
    let all: Vec<_> = lines.iter().map(Line::transcript).collect();
    hold(name, &all.join("\n"));
}

/// Compares `seen` with the golden file `name`.
#[track_caller]
fn hold(name: &str, seen: &str) {
    let path = format!("{}/tests/it/pages/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
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
