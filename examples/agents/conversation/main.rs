//! Two runs in one session: the second has the conversation and the state of the first.
//!
//! ```sh
//! cargo run --bin conversation
//! ```

use agent_examples::{model, show};
use tool_agent::{Agent, Runner, model::Reply};
use tool_runtime::prelude::*;

/// Puts an article into the basket.
#[tool]
fn add_to_basket(
    /// The article.
    article: String,
) -> String {
    format!("{article} is in the basket")
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let script = [
        Reply::call("add_to_basket", json!({ "article": "green tea" })),
        Reply::text("The tea is in your basket."),
        Reply::text("You asked for green tea."),
    ];
    let agent = Agent::builder("shop", model(script)?).tools(Registry::discover()?).build()?;
    let runner = Runner::new(agent).with_app("tea-shop");
    let session = || RunContext::new().with_user("ada").with_session("s-1");
    for question in ["I take the green tea.", "What did I ask for?"] {
        println!("> {question}");
        show(runner.run_with(session(), question)).await?;
    }
    println!("The conversation:");
    for message in runner.history(&session()).await {
        let calls = message.calls().map(|call| format!("a call of {}", call.name));
        let results = message.tool_results().map(|result| result.text().into_owned());
        let text = Some(message.text()).filter(|text| !text.is_empty());
        let parts: Vec<_> = calls.chain(results).chain(text).collect();
        println!("  {:?}: {}", message.role(), parts.join(", "));
    }
    Ok(())
}
