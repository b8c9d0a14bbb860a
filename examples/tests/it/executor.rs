//! Tests of the output of the examples with an executor.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// Returns the output of `program` for `input`.
fn output(program: &str, input: &str) -> String {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn strategies_change_the_order_of_calls_and_not_of_results() {
    let output = output(env!("CARGO_BIN_EXE_strategies"), "");
    let results = "  -> 4 °C in Oslo\n  -> 11 °C in Paris\n  -> 17 °C in Rome\n";
    let expected = format!(
        "Sequential\n  Oslo: request\n  Oslo: response\n  Paris: request\n  Paris: response\n  Rome: request\n  \
         Rome: response\n{results}\
         Parallel\n  Oslo: request\n  Paris: request\n  Rome: request\n  Rome: response\n  Paris: response\n  \
         Oslo: response\n{results}\
         Batched {{ size: 2 }}\n  Oslo: request\n  Paris: request\n  Paris: response\n  Oslo: response\n  \
         Rome: request\n  Rome: response\n{results}"
    );
    assert_eq!(output, expected);
}

#[test]
fn rules_are_applied_before_approval_is_requested() {
    let question = |path: &str| format!("May the tool remove be called? {{\"path\":\"{path}\"}} [y/N] \n");
    let expected = question("draft.txt")
        + &question("notes.txt")
        + "remove: removed draft.txt\n\
           remove: Denied: the \"remove\" call is rejected: rejected by the user\n\
           remove: Denied: secrets must not be removed\n";
    let output = output(env!("CARGO_BIN_EXE_approval"), "y\nn\n");
    assert!(output.starts_with(&expected), "{output}");
    assert!(output.ends_with("remaining: [\"notes.txt\",\"secrets.txt\"]\n"), "{output}");
}

#[test]
fn progress_is_printed_as_lines_in_a_pipe() {
    let output = output(env!("CARGO_BIN_EXE_progress"), "");
    let of = |id: &str| output.lines().filter_map(|line| line.strip_prefix(id)).collect::<Vec<_>>();
    assert_eq!(
        of("photos "),
        ["started", "1 of 5", "2 of 5", "3 of 5", "4 of 5", "5 of 5", "finished: 5 files copied"]
    );
    assert_eq!(of("songs "), ["started", "1 of 3", "2 of 3", "3 of 3", "finished: 3 files copied"]);
    // The calls run in parallel, and their results are in the order of the calls.
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines[..2], ["photos started", "songs started"]);
    assert_eq!(lines[lines.len() - 2], "photos finished: 5 files copied");
}

#[test]
fn an_external_call_takes_one_result() {
    assert_eq!(
        output(env!("CARGO_BIN_EXE_external"), ""),
        "The program runs its own calls:\n  \
           call_1: It rains in Oslo.\n  \
           call_2: external, with {\"city\":\"Oslo\"}\n\
         The front end submits its result:\n  \
           call_2: The map shows Oslo.\n\
         A second result is refused:\n  \
           no call call_2 is open: there was none with this id, or it was answered before\n"
    );
}
