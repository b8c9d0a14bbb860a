//! Data from a text: the run ends with a value of a Rust type, and an invalid one is corrected by the model.
//!
//! ```sh
//! cargo run --bin extract
//! MODEL=gemini:gemini-2.5-flash GEMINI_API_KEY=.. cargo run --bin extract
//! ```

use agent_examples::{model, show};
use tool_agent::{Agent, Runner, model::Reply};
use tool_runtime::{prelude::*, serde_json};

/// An invoice.
#[tool_args]
#[derive(Debug)]
struct Invoice {
    /// The name of the company.
    company: String,
    /// The items, in the order of the text.
    #[schemars(length(min = 1))]
    items: Vec<Item>,
    /// The currency.
    currency: Currency,
}

/// An item of an invoice.
#[tool_args]
#[derive(Debug)]
struct Item {
    /// The article.
    article: String,
    /// The number of pieces.
    #[schemars(range(min = 1))]
    pieces: u32,
    /// The price of one piece, in cents.
    cents: u32,
}

#[tool_args]
#[derive(Debug)]
enum Currency {
    #[serde(rename = "EUR")]
    Euro,
    #[serde(rename = "USD")]
    Dollar,
}

const TEXT: &str = "Tea House Ltd. We deliver: two tins of green tea, 7.50 each, and a pot, 20 euros.";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let tea = json!({ "article": "green tea", "pieces": 2, "cents": 750 });
    let submit = |currency: &str| {
        let pot = json!({ "article": "pot", "pieces": 1, "cents": 2000 });
        json!({ "company": "Tea House Ltd.", "items": [tea, pot], "currency": currency })
    };
    let script = [Reply::call("submit_output", submit("euro")), Reply::call("submit_output", submit("EUR"))];
    let agent = Agent::builder("extractor", model(script)?).output::<Invoice>().build()?;

    let end = show(Runner::new(agent).run(format!("Extract the invoice:\n\n{TEXT}"))).await?;
    // `Runner::run_structured` returns the value alone; here, the events are shown, too.
    let invoice: Invoice = serde_json::from_value(end.output.unwrap_or_default())?;
    let total: u32 = invoice.items.iter().map(|item| item.pieces * item.cents).sum();
    for Item { article, pieces, cents } in &invoice.items {
        println!("{pieces} x {article} at {cents} cents");
    }
    println!("{}: {total} cents, {:?}", invoice.company, invoice.currency);
    Ok(())
}
