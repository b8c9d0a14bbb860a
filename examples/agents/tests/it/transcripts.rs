//! The output of each program on its script, as in `transcripts/` (`UPDATE=1` rewrites them).

use std::{env, fs, path::Path, process::Stdio};

use tokio::{io::AsyncWriteExt as _, process::Command};

/// Compares the output of a program with its transcript.
async fn check(program: &str, variables: &[(&str, &str)], input: &str) {
    let output = output_of(program, &[], variables, input).await;
    let name = Path::new(program).file_stem().unwrap().to_str().unwrap();
    compare(name, &output);
}

/// Returns the output of a program that succeeds.
pub(crate) async fn output_of(
    program: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
    input: &str,
) -> String {
    let mut command = Command::new(program);
    command.env_remove("MODEL").args(arguments).envs(variables.iter().copied()).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that does not read its input may have ended.
    let mut stdin = child.stdin.take().unwrap();
    drop(stdin.write_all(input.as_bytes()).await);
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compares a text with the transcript of this name.
pub(crate) fn compare(name: &str, output: &str) {
    let path = format!("{}/tests/it/transcripts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, output).unwrap();
    }
    assert_eq!(output, fs::read_to_string(&path).unwrap_or_default(), "{path}");
}

// Z05
#[tokio::test]
async fn weather_shows_each_part_of_a_streamed_result() {
    check(env!("CARGO_BIN_EXE_weather-agent"), &[("NOW", "1760000000")], "").await;
}

// Z07
#[tokio::test]
async fn retry_shows_that_attempt_1_failed_and_2_succeeded() {
    check(env!("CARGO_BIN_EXE_retry-agent"), &[], "").await;
}

// Z13
#[tokio::test]
async fn filter_shows_the_tools_of_each_user_and_refuses_the_others() {
    check(env!("CARGO_BIN_EXE_filter-agent"), &[], "").await;
}

// Z13
#[tokio::test]
async fn external_continues_with_the_result_of_the_front_end() {
    check(env!("CARGO_BIN_EXE_external-agent"), &[], "").await;
}

// Z13
#[tokio::test]
async fn approval_asks_for_each_payment_and_denies_by_rule() {
    check(env!("CARGO_BIN_EXE_approval-agent"), &[], "y\nn\n").await;
}

// Z12
#[tokio::test]
async fn manager_shows_the_calls_of_the_researcher_below_its_own() {
    check(env!("CARGO_BIN_EXE_manager"), &[], "").await;
}

// V08 R23
#[tokio::test]
async fn loop_shows_two_drafts_and_ends_by_the_critic() {
    check(env!("CARGO_BIN_EXE_loop"), &[], "").await;
}

// R26 V08
#[tokio::test]
async fn transfer_goes_to_the_specialist_and_back_over_three_messages() {
    check(env!("CARGO_BIN_EXE_transfer"), &[], "").await;
}

// Q24, Q25
#[tokio::test]
async fn dynamic_agent_has_one_tool_of_the_clerk_and_passes_its_rules() {
    check(env!("CARGO_BIN_EXE_dynamic-agent"), &[], "").await;
}

// Y02
#[tokio::test]
async fn extract_prints_the_corrected_value() {
    check(env!("CARGO_BIN_EXE_extract"), &[], "").await;
}

// Z04
#[tokio::test]
async fn discovery_prints_the_schemas_of_both_crates() {
    check(env!("CARGO_BIN_EXE_discovery-agent"), &[], "").await;
}

#[tokio::test]
async fn conversation_continues_in_the_second_run() {
    check(env!("CARGO_BIN_EXE_conversation"), &[], "").await;
}
