//! Tools that depend on the user: a filter hides some, and a permission refuses a call of the others.
//!
//! A filter is not access control. It keeps a tool out of the request; the tool itself decides who may call it.
//!
//! ```sh
//! cargo run --bin filter-agent
//! ```

use agent_examples::{model, show};
use tool_agent::{
    Agent, AgentHook, Runner, Step,
    model::{Reply, Response},
};
use tool_runtime::{Toolbox, definition::Permission, prelude::*, toolbox::Visibility};

/// Returns the price of an article.
#[tool(read_only)]
fn price(
    /// The article.
    article: String,
) -> String {
    format!("{article}: 3 EUR")
}

/// Sets the price of an article.
#[tool(permission = only_staff)]
fn set_price(
    cx: &ToolContext,
    /// The article.
    article: String,
    /// The price in EUR.
    price: u32,
) -> String {
    let user = cx.run().and_then(|run| run.user()).unwrap_or("a guest");
    format!("{user} sells {article} for {price} EUR")
}

fn only_staff(cx: &ToolContext, _article: &str, _price: &u32) -> Permission {
    match cx.run().and_then(|run| run.user()) {
        Some("ada") => Permission::Allow,
        _ => Permission::deny("only Ada may change prices"),
    }
}

/// Prints the tools in the first request of a run.
struct PrintTools;

impl AgentHook for PrintTools {
    async fn before_model(&self, step: &mut Step) -> Result<Option<Response>, ToolError> {
        let names: Vec<_> = step.request.tools.definitions().iter().map(|it| it.name().to_string()).collect();
        if step.number == 1 {
            println!("The model sees the tools {}.", names.join(", "));
        }
        Ok(None)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let toolbox = Toolbox::from_registry(&Registry::discover()?);
    toolbox.show(
        Visibility::all().when(|cx, tool| cx.user() != Some("guest") || tool.metadata().is_read_only()),
    );
    for user in ["guest", "bob", "ada"] {
        println!("{user}:");
        let change = json!({ "article": "tea", "price": 4 });
        let script = [Reply::call("set_price", change), Reply::text("That is all I can do.")];
        let agent = Agent::builder("shop", model(script)?).tools(toolbox.clone()).hook(PrintTools).build()?;
        let run = RunContext::new().with_user(user);
        show(Runner::new(agent).run_with(run, "Sell tea for 4 EUR.")).await?;
    }
    Ok(())
}
