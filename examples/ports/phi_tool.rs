//! phi-core: an implementation of `Tool` with updates and progress, batches of two with steering between them, and
//! hooks around calls and updates.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use tool_runtime::{
    Executor, Tool, ToolCall, ToolDefinition, ToolName,
    context::Progress,
    definition::Prepared,
    executor::{ExecutionStrategy, Steering},
    hook::Before,
    prelude::*,
    schema::{Arguments, InputSchema},
};

/// Indexes a file, part by part.
struct Index(ToolDefinition);

#[tool_args]
struct File {
    path: String,
}

impl Index {
    fn new() -> anyhow::Result<Self> {
        let (name, schema) = (ToolName::new("index")?, InputSchema::of::<File>()?);
        Ok(Self(ToolDefinition::new(name, "Indexes a file.", schema).with_title("Index a file")))
    }
}

impl Tool for Index {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, mut arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let File { path } = self.0.decode(&mut arguments)?;
        Ok(Prepared::new(arguments, |_, cx| {
            Box::pin(async move {
                for part in 1..=2 {
                    if cx.is_cancelled() {
                        return Err(ToolError::cancelled());
                    }
                    cx.update(format!("{path}, part {part}")).await;
                    cx.progress(Progress::new(part.into()).of(2.0))?;
                }
                Ok(ToolOutput::from(format!("{path} is indexed"))
                    .with_details(json!({ "call": cx.call_id() })))
            })
        }))
    }
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let done = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&done);
    let executor = Executor::builder(Registry::builder().add(Index::new()?).build()?)
        .strategy(ExecutionStrategy::Batched { size: 2 })
        .before(|call| async move {
            println!("before {}", call.id());
            Ok(Before::Continue)
        })
        .before_update(|_, text| async move { !text.contains("secret") })
        .after_update(|call, text| async move { println!("  {}: {text}", call.id()) })
        .after(move |call, result| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move {
                println!("after {}", call.id());
                Ok(result)
            }
        })
        .build()?;
    let calls = [("1", "a.md"), ("2", "secret.md"), ("3", "c.md")];
    let calls = calls.map(|(id, path)| ToolCall::new("index", json!({ "path": path })).with_id(id));
    // A message of the user arrives after two files, and skips the remaining calls.
    let steering = Steering::new(move || {
        let has_come = done.load(Ordering::Relaxed) == 2;
        async move { has_come.then_some("Not the rest, please.") }
    });
    let batch = executor.batch(calls.into()).steering(&steering);
    for outcome in batch.run().await {
        if let Some(result) = outcome.result() {
            println!("{}: {} {}", result.id, result.text(), result.details().cloned().unwrap_or_default());
        }
    }
    println!("the user: {}", steering.take().join(" "));
    Ok(())
}
