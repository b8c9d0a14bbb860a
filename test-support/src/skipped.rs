//! Reports of tests that are skipped.

use std::{env, fs::OpenOptions, io::Write, thread};

/// Reports that the running test is skipped: on the standard error, and as a line `<crate>: <test>: <reason>` at the end
/// of the file that the variable `TOOL_TESTS_SKIPPED` names. A test that does nothing otherwise counts as passed.
pub fn report(reason: &str) {
    let test = thread::current().name().unwrap_or("unknown").to_owned();
    // Of the package whose test runs.
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let line = format!("{package}: {test}: {}\n", reason.replace(['\n', '\r'], " "));
    eprint!("SKIPPED: {line}");
    if let Some(file) = env::var_os("TOOL_TESTS_SKIPPED") {
        let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
        // One write: tests run at the same time.
        file.write_all(line.as_bytes()).unwrap();
    }
}
