//! Complete outputs. `UPDATE=1` rewrites them, for review.

use std::{env, fs};

use super::{finish, program};

/// Compares the standard output, followed by the standard error, with a file.
#[track_caller]
fn golden(name: &str, columns: &str, arguments: &[&str]) {
    let ran =
        finish(program().env("COLUMNS", columns).current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments));
    let seen = format!("{}{}exit code {}\n", ran.out, ran.err, ran.code);
    hold(&format!("{name}.{columns}"), &seen);
    let width = seen.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    assert!(width <= columns.parse().unwrap(), "{width} columns in {name}");
}

/// Compares `seen` with a file.
#[track_caller]
pub(super) fn hold(name: &str, seen: &str) {
    let path = format!("{}/tests/it/weather_cli/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, seen).unwrap();
    }
    assert_eq!(seen, fs::read_to_string(&path).unwrap_or_default(), "{path}");
}

fn at_both_widths(name: &str, arguments: &[&str]) {
    golden(name, "80", arguments);
    golden(name, "120", arguments);
}

// Z19
#[test]
fn the_help_of_the_program_names_commands_and_exit_codes() {
    at_both_widths("help", &["--help"]);
}

// Z19
#[test]
fn a_list_fits_the_terminal() {
    at_both_widths("list", &["list"]);
}

// Z19
#[test]
fn a_tool_is_shown_with_all_its_arguments() {
    at_both_widths("show_plan_trip", &["show", "plan_trip"]);
    at_both_widths("show_forecast", &["show", "forecast"]);
    at_both_widths("show_remove_station", &["show", "remove_station"]);
}

#[test]
fn the_help_of_a_tool_is_made_of_its_documentation() {
    at_both_widths("call_help_forecast", &["call", "--help", "forecast"]);
    at_both_widths("call_help_plan_trip", &["call", "plan_trip", "-h"]);
    at_both_widths("call_help", &["call", "--help"]);
}

#[test]
fn an_argument_named_help_does_not_print_help() {
    at_both_widths("call_help_settings", &["call", "--help", "settings"]);
}

#[test]
fn every_line_of_every_help_page_fits_80_columns() {
    let page = |arguments: &[&str]| finish(program().env("COLUMNS", "80").args(arguments)).fine();
    let help = page(&["--help"]);
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<_> = commands.filter(|line| !line.starts_with("   ")).collect();
    let commands: Vec<_> = commands.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(commands.len(), 10, "{help}");
    let list = page(&["list"]);
    let tools: Vec<_> = list.lines().skip(1).filter(|line| !line.starts_with(' ')).collect();
    let tools: Vec<_> = tools.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(tools.len(), 14, "{list}");
    let mut pages = vec![help.clone(), page(&["-h"]), page(&["help"])];
    for command in commands.iter().filter(|it| **it != "help") {
        pages.extend([page(&[command, "--help"]), page(&[command, "-h"]), page(&["help", command])]);
    }
    for tool in tools {
        pages.extend([page(&["call", "-h", tool]), page(&["call", "--help", tool]), page(&["show", tool])]);
    }
    for line in pages.iter().flat_map(|page| page.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

// The error of each command for a wrong word, option and value.
#[test]
fn every_line_of_an_error_fits_80_columns() {
    let long = "a tool with a name of many words that does not exist at all, in a long line";
    let wrong: [&[&str]; 17] = [
        &["list", "--wrong"],
        &["show", "--wrong"],
        &["show", long],
        &["call", long],
        &["call", "--approve", long],
        &["call", "forecast", "--city", "Oslo", "--days", "15"],
        &["call", "forecast", "--city", "Oslo", "--unit", "kelvin"],
        &["call", "forecast", "--city", long, "--days", "1"],
        &["call", "send_report", "--password", "1234"],
        &["call", "send_report", r#"{"text": "abc", "password": "1234"}"#],
        &["call", "plan_trip", "{}"],
        &["call", "plan_trip", "--from.city", "Oslo", "--stops", "Rome"],
        &["run", "--strategy", "batched=0", "Cargo.toml"],
        &["run", "Cargo.toml"],
        &["lint", "--show", "all"],
        &["check", "Cargo.toml"],
        &["completions", "powershell"],
    ];
    for arguments in wrong {
        let mut program = program();
        let program = program.env("COLUMNS", "80").current_dir(env!("CARGO_MANIFEST_DIR"));
        let ran = finish(program.args(arguments));
        assert!(matches!(ran.code, 1..=3) && !ran.err.is_empty(), "{arguments:?}");
        for line in ran.err.lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
}

#[test]
fn each_violation_is_marked_in_its_line() {
    at_both_widths("refused_flags", &["call", "convert", "--celsius", "-300.5", "--to", "celsius"]);
    at_both_widths("refused_file", &["call", "forecast", "@tests/it/weather_cli/fixtures/forecast.json"]);
    let trip = r#"{"from":{"city":"Oslo"},"stops":[{"city":"Rome","nights":31},{"nights":1}],"mean":"train",
        "traveller":{"name":"Ada","contact":{"phone":"+49"}}}"#;
    at_both_widths("refused_json", &["call", "plan_trip", trip]);
}

#[test]
fn all_unknown_flags_are_reported_with_the_flags_of_the_tool() {
    at_both_widths(
        "unknown_flags",
        &["call", "plan_trip", "--form.city=Oslo", "--wheels", "2", "--mean", "train"],
    );
}

#[test]
fn words_without_flags_are_answered_with_the_command_that_was_meant() {
    at_both_widths("loose_words", &["call", "convert", "10", "fahrenheit"]);
    at_both_widths("too_many_words", &["call", "convert", "10", "celsius", "fahrenheit"]);
}

#[test]
fn lint_lists_diagnostics_by_tool() {
    at_both_widths("lint", &["lint", "--show", "note"]);
}
