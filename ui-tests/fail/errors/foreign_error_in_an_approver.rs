//! `?` on an error of another crate, in the closure of an approver.

use tool_runtime::{policy::Approval, prelude::*};

#[derive(Debug)]
struct Offline;

fn answer() -> Result<bool, Offline> {
    Err(Offline)
}

fn main() {
    let registry = Registry::builder().build().unwrap();
    let _ = Executor::builder(registry).approver_fn(|_| async move {
        match answer()? {
            true => Ok(Approval::Approved),
            false => Ok(Approval::Rejected("no".to_owned())),
        }
    });
}
