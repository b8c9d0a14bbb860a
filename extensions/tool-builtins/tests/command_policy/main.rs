//! Rules over shell commands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]

mod attacks;
mod calls;
mod conservative;
mod hostile;
#[cfg(target_os = "linux")]
mod oracle;
mod reasons;
mod rules;
mod table;
mod verdicts;

use tool_builtins::CommandPolicy;

/// The rules of the table and of the comparisons with `bash`: those that allow, as words and what may follow.
const ALLOWED_COMMANDS: &[&str] = &[
    "git status",
    "git log *",
    "git diff *",
    "git branch",
    "cargo test *",
    "cargo build",
    "ls *",
    "cat *",
    "echo **",
    "grep *",
    "wc **",
    "head *",
    "tail *",
    "true",
    "false",
    "cd *",
    "pwd",
    "find *",
    "sort *",
    "test *",
    "[ *",
    "printf *",
    "date",
    "timeout 60 cargo test",
];

fn policy() -> CommandPolicy {
    let mut policy = CommandPolicy::builder();
    for rule in ALLOWED_COMMANDS {
        policy = policy.allow(rule).unwrap();
    }
    for rule in ["git push *", "rm *"] {
        policy = policy.deny(rule).unwrap();
    }
    for rule in ["sort -o*", "sort --o*", "curl *"] {
        policy = policy.ask(rule).unwrap();
    }
    policy.build()
}
