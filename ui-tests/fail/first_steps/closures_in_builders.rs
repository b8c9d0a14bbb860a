//! Closures and blocks of other forms than a builder takes.

use tool_runtime::{policy::Approval, prelude::*};

fn main() {
    let registry = || Registry::builder().build().unwrap();
    let _ = Registry::builder().add(|a: i64| a + 1);
    let _ = ToolBuilder::new("add").body(|a: i64| async move { a + 1 });
    let _ = Executor::builder(registry()).approver(async |_| Ok(Approval::Approved));
    let _ = Executor::builder(registry()).approver_fn(async { Ok(Approval::Approved) });
    let _ = Executor::builder(registry()).permission(|_| true);
    let _ = Executor::builder(registry()).hook(|_| async {});
}
