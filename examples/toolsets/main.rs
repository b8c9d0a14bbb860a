//! Tools that are found out for each run, and who closes what.
//!
//! A set may live as long as the program, or for one request. The toolbox closes neither: whoever opened
//! a set closes it.
//!
//! ```sh
//! cargo run --bin toolsets
//! ```

mod basket;
mod catalogue;

use std::sync::Arc;

use tool_runtime::{
    Executor, RunContext, ToolCall, ToolSet as _, Toolbox,
    prelude::*,
    toolbox::{RunTools, Snapshot},
    toolset::ToolSetExt as _,
};

use self::{basket::Basket, catalogue::Catalogue};

/// Says when the shop is open.
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

    // From now on, and for nobody who has taken a snapshot before.
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

/// Answers one request; its basket is gone afterwards, however that went.
async fn answer(toolbox: &Toolbox, run: RunContext, calls: Vec<ToolCall>) -> anyhow::Result<()> {
    let user = run.user().unwrap_or("nobody").to_owned();
    println!("{user} asks");
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
    // In order, so that the basket is full when it is looked at.
    let strategy = tool_runtime::executor::ExecutionStrategy::Sequential;
    let executor = Executor::builder(snapshot.into_tools()).strategy(strategy).build()?;
    for outcome in executor.batch(calls).with_run(run).run().await {
        let text = outcome.result().map(|result| result.text().into_owned()).unwrap_or_default();
        println!("  {}: {text}", outcome.name());
    }
    Ok(())
}

fn show(snapshot: &Snapshot) {
    for definition in snapshot.tools().definitions() {
        let origin = snapshot.origin(definition.name()).map(ToString::to_string).unwrap_or_default();
        println!("  has {}, {origin}", definition.name());
    }
    for notice in snapshot.notices() {
        println!("  note: {notice}");
    }
}
