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
    // Messages and lines of the input are not wrapped.
    let is_table = matches!(arguments[0], "list" | "show" | "--help");
    assert!(!is_table || width <= columns.parse().unwrap(), "{width} columns in {name}");
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
    let page = |arguments: &[&str]| finish(program().args(arguments)).fine();
    let help = page(&["--help"]);
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<_> = commands.filter(|line| !line.starts_with("   ")).collect();
    let commands: Vec<_> = commands.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(commands.len(), 10, "{help}");
    let list = page(&["list"]);
    let tools: Vec<_> = list.lines().skip(1).filter(|line| !line.starts_with(' ')).collect();
    let tools: Vec<_> = tools.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(tools.len(), 13, "{list}");
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

#[test]
fn each_violation_is_marked_in_its_line() {
    at_both_widths("refused_flags", &["call", "convert", "--celsius", "-300.5", "--to", "celsius"]);
    at_both_widths("refused_file", &["call", "forecast", "@tests/it/weather_cli/fixtures/forecast.json"]);
    let trip = r#"{"from":{"city":"Oslo"},"stops":[{"city":"Rome","nights":31},{"nights":1}],"mean":"train",
        "traveller":{"name":"Ada","contact":{"phone":"+49"}}}"#;
    at_both_widths("refused_json", &["call", "plan_trip", trip]);
}

#[test]
fn lint_lists_diagnostics_by_tool() {
    at_both_widths("lint", &["lint", "--show", "note"]);
}
