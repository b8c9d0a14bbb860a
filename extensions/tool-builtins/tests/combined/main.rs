//! Files, shell, web and rules together.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "tests may"
)]
#![cfg(target_os = "linux")]

mod pdf;
mod sets;

/// Says that a test did not run.
fn report_skipped(test: &str, reason: &str) {
    use std::io::Write as _;
    println!("skipped: {test}: {reason}");
    if let Some(path) = std::env::var_os("TOOL_TESTS_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "tool-builtins: {test}: {reason}").unwrap();
    }
}
