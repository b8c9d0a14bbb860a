//! The examples of batches of calls.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// What `program` prints, given `input`.
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
fn strategies_differ_in_when_calls_run_and_not_in_the_results() {
    let output = output(env!("CARGO_BIN_EXE_strategies"), "");
    let results = "  -> 4 °C in Oslo\n  -> 11 °C in Paris\n  -> 17 °C in Rome\n";
    let expected = format!(
        "Sequential\n  Oslo is asked\n  Oslo answers\n  Paris is asked\n  Paris answers\n  Rome is asked\n  \
         Rome answers\n{results}\
         Parallel\n  Oslo is asked\n  Paris is asked\n  Rome is asked\n  Rome answers\n  Paris answers\n  \
         Oslo answers\n{results}\
         Batched {{ size: 2 }}\n  Oslo is asked\n  Paris is asked\n  Paris answers\n  Oslo answers\n  \
         Rome is asked\n  Rome answers\n{results}"
    );
    assert_eq!(output, expected);
}

#[test]
fn a_person_decides_and_a_rule_before_them() {
    let question = |path: &str| format!("May the tool remove be called? {{\"path\":\"{path}\"}} [y/N] \n");
    let expected = question("draft.txt")
        + &question("notes.txt")
        + "remove: draft.txt is gone\n\
           remove: Denied: the \"remove\" call is rejected: the user said no\n\
           remove: Denied: secrets stay\n";
    let output = output(env!("CARGO_BIN_EXE_approval"), "y\nn\n");
    assert!(output.starts_with(&expected), "{output}");
    assert!(output.ends_with("left: [\"notes.txt\",\"secrets.txt\"]\n"), "{output}");
}

#[test]
fn progress_is_told_line_by_line_in_a_pipe() {
    let output = output(env!("CARGO_BIN_EXE_progress"), "");
    let of = |id: &str| output.lines().filter_map(|line| line.strip_prefix(id)).collect::<Vec<_>>();
    assert_eq!(
        of("photos "),
        ["started", "1 of 5", "2 of 5", "3 of 5", "4 of 5", "5 of 5", "finished: 5 files copied"]
    );
    assert_eq!(of("songs "), ["started", "1 of 3", "2 of 3", "3 of 3", "finished: 3 files copied"]);
    // Both at once, and their ends in the order in which they were asked for.
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines[..2], ["photos started", "songs started"]);
    assert_eq!(lines[lines.len() - 2], "photos finished: 5 files copied");
}

#[test]
fn what_is_left_to_a_front_end_is_answered_once() {
    assert_eq!(
        output(env!("CARGO_BIN_EXE_external"), ""),
        "The program runs what it can:\n  \
           call_1: It rains in Oslo.\n  \
           call_2: left to the front end, with {\"city\":\"Oslo\"}\n\
         The front end answers:\n  \
           call_2: The map shows Oslo.\n\
         And once more, by mistake:\n  \
           no call call_2 is open: there was none of that id, or it was answered before\n"
    );
}
