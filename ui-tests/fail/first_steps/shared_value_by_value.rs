//! A value of the program, taken as `Arc<Db>` in place of `&Db`.

use std::sync::Arc;

use tool_runtime::prelude::*;

struct Db;

/// Counts the rows.
#[tool]
fn count(db: Arc<Db>) -> u64 {
    let _ = db;
    0
}

/// Counts the rows.
#[tool]
fn count_plain(db: Db) -> u64 {
    let _ = db;
    0
}

fn main() {}
