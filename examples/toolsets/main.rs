//! Tool sets whose tools depend on the run, and their lifetimes.
//!
//! One set has the lifetime of the program, the other of one request. The toolbox closes neither: the
//! code that opens a set closes it.
//!
//! ```sh
//! cargo run --bin toolsets
//! ```

mod basket;
mod catalogue;

use std::sync::Arc;

use tool_runtime::{
    Executor, RunContext, ToolCall, ToolSet as _, Toolbox,
    executor::ExecutionStrategy,
    prelude::*,
    toolbox::{RunTools, Snapshot},
    toolset::ToolSetExt as _,
};

use self::{basket::Basket, catalogue::Catalogue};

/// Returns the opening hours of the shop.
#[tool]
fn opening_hours() -> &'static str {
    "Monday to Friday, 9 to 18"
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let catalogue = Arc::new(Catalogue::open()?);
    let toolbox = Toolbox::from_registry(&Registry::discover()?);
    toolbox.add_toolset(Arc::clone(&catalogue).prefixed())?;

    let customer = RunContext::new().with_user("Ada");
    let calls = [
        ToolCall::new("catalogue__find", r#"{ "title": "Emma" }"#),
        ToolCall::new("basket__add", r#"{ "title": "Emma" }"#),
        ToolCall::new("basket__list", "{}"),
        ToolCall::new("catalogue__order", r#"{ "title": "Persuasion" }"#),
    ];
    answer(&toolbox, customer, calls.into()).await?;

    // Later snapshots lack the tool; existing snapshots keep it.
    toolbox.remove("opening_hours");
    let state = [("staff".to_owned(), json!(true))].into_iter().collect();
    let librarian = RunContext::new().with_user("Bob").with_state(state);
    let calls = [
        ToolCall::new("catalogue__order", r#"{ "title": "Persuasion" }"#),
        ToolCall::new("basket__list", "{}"),
    ];
    answer(&toolbox, librarian, calls.into()).await?;

    drop(toolbox);
    catalogue.close().await?;
    Ok(())
}

/// Answers one request with a basket of its own, which is closed even after an error.
async fn answer(toolbox: &Toolbox, run: RunContext, calls: Vec<ToolCall>) -> anyhow::Result<()> {
    let user = run.user().unwrap_or("guest").to_owned();
    println!("request of {user}");
    let basket = Arc::new(Basket::open(&user)?);
    let answered = answer_with(toolbox, &basket, run, calls).await;
    basket.close().await?;
    answered
}

async fn answer_with(
    toolbox: &Toolbox,
    basket: &Arc<Basket>,
    run: RunContext,
    calls: Vec<ToolCall>,
) -> anyhow::Result<()> {
    let tools = Arc::clone(basket).prefixed().tools(run.read_only()).await?;
    let snapshot = toolbox.snapshot_with(&run, &RunTools::new().additional(tools)).await?;
    show(&snapshot);
    // Sequential, so that `basket__list` runs after `basket__add`.
    let executor =
        Executor::builder(snapshot.into_tools()).strategy(ExecutionStrategy::Sequential).build()?;
    for outcome in executor.batch(calls).with_run(run).run().await {
        let text = outcome.result().map(|result| result.text().into_owned()).unwrap_or_default();
        println!("  {}: {text}", outcome.name());
    }
    Ok(())
}

fn show(snapshot: &Snapshot) {
    for definition in snapshot.tools().definitions() {
        let origin = snapshot.origin(definition.name()).map(ToString::to_string).unwrap_or_default();
        println!("  tool {}: {origin}", definition.name());
    }
    for diagnostic in snapshot.diagnostics() {
        println!("  diagnostic: {diagnostic}");
    }
}
