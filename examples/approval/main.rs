//! Approval: destructive calls run only after a person at the terminal approves them.
//!
//! ```sh
//! cargo run -p examples --bin approval
//! printf 'y\nn\n' | cargo run -p examples --bin approval
//! ```

use std::{
    collections::BTreeSet,
    io::{self, Write},
    sync::Mutex,
};

use tool_runtime::{
    Executor, ToolCall,
    policy::{Approval, ApprovalHandle, Approver, Escape, PathPattern, Rule, Rules},
    prelude::*,
};

/// File names; this example removes no real files.
struct Files(Mutex<BTreeSet<String>>);

impl Files {
    fn remove(&self, path: &str) -> bool {
        self.0.lock().is_ok_and(|mut files| files.remove(path))
    }

    fn list(&self) -> Vec<String> {
        self.0.lock().map(|files| files.iter().cloned().collect()).unwrap_or_default()
    }
}

/// Removes a file permanently.
#[tool(destructive, confirm)]
fn remove(
    files: &Files,
    /// Path of the file.
    path: &str,
) -> Result<String, String> {
    match files.remove(path) {
        true => Ok(format!("removed {path}")),
        false => Err(format!("file not found: {path}")),
    }
}

/// Lists all files.
#[tool(read_only)]
fn list(files: &Files) -> Vec<String> {
    files.list()
}

/// Asks the person at the terminal for approval.
struct Terminal;

impl Approver for Terminal {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let question = format!(
            "{} {} [y/N] ",
            Escape::LINES.text(&request.hint),
            Escape::LINE.text(request.call.arguments.as_str())
        );
        // Reading the terminal blocks, so it runs outside of the async runtime's threads.
        let answer = tokio::task::spawn_blocking(move || -> io::Result<String> {
            print!("{question}");
            io::stdout().flush()?;
            let mut line = String::new();
            io::stdin().read_line(&mut line)?;
            Ok(line)
        });
        let answer = answer.await.map_err(ToolError::from_source)?.map_err(ToolError::from)?;
        println!();
        Ok(match answer.trim() {
            "y" | "yes" => Approval::Approved,
            _ => Approval::Rejected("rejected by the user".to_owned()),
        })
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let files = ["draft.txt", "notes.txt", "secrets.txt"].map(str::to_owned);
    let tools = Registry::builder().discover().provide(Files(Mutex::new(files.into()))).build()?;
    // Rules apply first: a denied call is not presented for approval.
    let rules = Rules::new([Rule::deny("remove")
        .at("/path", PathPattern::new("secrets*")?)
        .reason("secrets must not be removed")]);
    let executor = Executor::builder(tools).rules(rules).approver(Terminal).build()?;

    let remove = |path: &str| ToolCall::new("remove", json!({ "path": path }));
    let calls = vec![
        remove("draft.txt"),
        remove("notes.txt"),
        remove("secrets.txt"),
        ToolCall::new("list", json!({})),
    ];
    for outcome in executor.run(calls).await {
        if let Some(result) = outcome.result() {
            println!("{}: {}", result.name, result.text());
        }
    }
    // The first `list` ran in parallel with the removals, so list the files again.
    let remaining = executor.run(vec![ToolCall::new("list", json!({}))]).await;
    if let Some(result) = remaining[0].result() {
        println!("remaining: {}", result.text());
    }
    Ok(())
}
