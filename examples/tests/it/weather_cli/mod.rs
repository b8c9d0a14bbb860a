//! Tests of the command line of `weather-cli`, for people and scripts.

mod bad_input;
mod call;
mod golden;
mod look;
mod pins;
mod run;
#[cfg(unix)]
mod terminal;

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// The result of one run of the program.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The standard output of a successful run without messages.
    #[track_caller]
    fn fine(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The standard error of a run with the exit code `code` and no other output.
    #[track_caller]
    fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        self.err
    }
}

/// The program with fixed environment variables, and with columns for any message in one line.
fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_weather-cli"));
    program.env("COLUMNS", "1000").env("TERM", "xterm").env_remove("NO_COLOR").env_remove("WEATHER_OFFLINE");
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

fn finish(program: &mut Command) -> Ran {
    let output = program.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn weather<const N: usize>(arguments: [&str; N]) -> Ran {
    finish(program().args(arguments))
}

/// Runs the program with `input` as its standard input.
fn weather_with<const N: usize>(input: &str, arguments: [&str; N]) -> Ran {
    let mut child = program().args(arguments).stdin(Stdio::piped()).spawn().unwrap();
    // A program that refuses the command line does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// A file of the fixtures.
fn fixture(name: &str) -> String {
    format!("{}/tests/it/weather_cli/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}
