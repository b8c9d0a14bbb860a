//! The output of each program, as in `transcripts/` (`UPDATE=1` rewrites them).
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::{env, fs};

use tokio::process::Command;

/// Returns the output of a program that succeeds.
async fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).kill_on_drop(true).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compares a text with the transcript of this name.
fn compare(name: &str, output: &str) {
    let path = format!("{}/tests/kit_examples/transcripts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, output).unwrap();
    }
    assert_eq!(output, fs::read_to_string(&path).unwrap_or_default(), "{path}");
}

// Z14 U27 U43
#[tokio::test]
async fn the_delegate_runs_prompts_and_lists_on_each_change() {
    compare("delegate", &output_of(env!("CARGO_BIN_EXE_kit-delegate"), &[]).await);
}

// U06 U16 U17 U19 U24 U27 Z15
#[tokio::test]
async fn the_port_of_a_toolkit_prints_its_transcript_and_its_length() {
    let ports = env!("CARGO_BIN_EXE_kit-ports");
    compare("gllm_toolkit", &output_of(ports, &["gllm_toolkit"]).await);
    compare("lengths", &output_of(ports, &[]).await);
}
