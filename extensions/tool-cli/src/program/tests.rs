//! Tests of the program that commands run in.

use super::*;
use crate::commands::built_in_commands;

// Z19: commands that list tools start no threads.
#[test]
fn no_runtime_is_started_before_a_call() {
    let terminal = Terminal::new();
    let program = Program::new(
        "program".to_owned(),
        None,
        terminal,
        ProgramClosures::default(),
        built_in_commands(),
        built_in_commands,
    );
    program.grammar().debug_assert();
    assert!(program.tools().unwrap().is_empty() && program.callable().unwrap().is_empty());
    assert!(program.runtime.get().is_none());
    assert_eq!(program.block_on(async { 3 }).unwrap(), 3);
    assert!(program.runtime.get().is_some());
}

// An error has its sources, once each.
#[test]
fn an_error_is_reported_with_its_sources() {
    let error = anyhow::anyhow!("locked").context("no database").context("no values");
    assert_eq!(error_chain("unusable", error.as_ref()), "unusable: no values: no database: locked");
}

/// The variable that makes the test the program that it starts.
const AS_PROGRAM: &str = "TOOL_CLI_WITHOUT_TOOLS";

#[test]
fn a_program_without_tools_explains_it_once() {
    if std::env::var_os(AS_PROGRAM).is_some() {
        let cli = crate::Cli::new();
        let exit = cli.run(["/bin/shop.exe", "completions", "bash"]);
        assert_eq!(exit, Exit::Done);
        return;
    }
    let mut program = std::process::Command::new(std::env::current_exe().unwrap());
    let this = "program::tests::a_program_without_tools_explains_it_once";
    let program = program.args(["--exact", this, "--nocapture"]).env(AS_PROGRAM, "1").env("COLUMNS", "1000");
    let output = program.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told.lines().filter(|line| *line == format!("note: {WITHOUT_TOOLS}")).count(), 1, "{told}");
    // The program is named as its file.
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(script.contains("-o default shop\n"), "{script}");
}

#[test]
fn a_program_without_arguments_shows_its_help() {
    assert_eq!(crate::Cli::new().run(Vec::<OsString>::new()), Exit::Usage);
}
