//! Functions of `confirm` and `permission` with each form of a reference.

use std::path::Path;
use tool_runtime::{definition::Permission, prelude::*};

fn has_one_lifetime<'a>(from: &'a str, to: &'a str) -> bool {
    from == to
}

fn is_generic<T: std::fmt::Debug>(name: &T, to: &str) -> bool {
    format!("{name:?}") == to
}

fn takes_any_text(path: impl AsRef<Path>, names: &[String]) -> Permission {
    match names.is_empty() && path.as_ref().is_absolute() {
        true => Permission::Allow,
        false => Permission::deny("no"),
    }
}

fn takes_nothing() -> bool {
    true
}

/// Moves a file.
#[tool(confirm = has_one_lifetime)]
fn rename(from: String, to: String) -> String {
    from + &to
}

/// Copies a file.
#[tool(confirm = is_generic)]
fn copy(from: u8, to: String) -> String {
    format!("{from}{to}")
}

/// Links a file.
#[tool(permission = takes_any_text, confirm = takes_any_text_too)]
fn link(path: String, names: Vec<String>) -> String {
    path + &names.concat()
}

fn takes_any_text_too(path: &String, names: &Vec<String>) -> bool {
    path.is_empty() && names.is_empty()
}

/// Stops.
#[tool(confirm = takes_nothing)]
fn stop() {}

fn main() {}
