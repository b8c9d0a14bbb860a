//! The verdict on each command of the table.

use tool_runtime::definition::Permission;

use crate::{
    policy,
    table::{DENIED, ORDINARY, bypasses},
};

// R04
#[test]
fn ordinary_commands_are_allowed() {
    let policy = policy();
    let wrong: Vec<_> = ORDINARY.iter().map(|command| (command, policy.judge(command))).collect();
    let wrong: Vec<_> = wrong.into_iter().filter(|(_, verdict)| *verdict != Permission::Allow).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// R04
#[test]
fn no_bypass_is_allowed() {
    let policy = policy();
    let wrong: Vec<_> = bypasses().filter(|command| policy.judge(command) == Permission::Allow).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(ORDINARY.len() >= 150 && bypasses().count() >= 150);
}

// R04
#[test]
fn a_denied_command_is_denied_wherever_it_stands() {
    let policy = policy();
    let wrong: Vec<_> = DENIED.iter().map(|command| (command, policy.judge(command))).collect();
    let wrong: Vec<_> =
        wrong.into_iter().filter(|(_, verdict)| !matches!(verdict, Permission::Deny { .. })).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
