//! ADK-Go: function tools with typed input and output, static and computed confirmation, and callbacks.

use tool_runtime::{Executor, ToolCall, hook::Before, policy::Approval, prelude::*};

#[tool_args]
struct Transfer {
    /// Amount in euros.
    amount: u32,
    to: String,
}

#[tool_args(serialize)]
struct Receipt {
    left: u32,
}

#[tool_args]
struct Account {
    name: String,
}

pub(crate) async fn main() -> anyhow::Result<()> {
    let transfer = ToolBuilder::new("transfer")
        .description("Sends money.")
        .confirm_when(|transfer: &Transfer, _| transfer.amount > 100)
        .body(tool_body!(|transfer: Transfer| match 500_u32.checked_sub(transfer.amount) {
            Some(left) => Ok(Receipt { left }),
            None => Err(format!("there is not enough for {}", transfer.to)),
        }))?;
    let close = ToolBuilder::new("close")
        .description("Closes an account.")
        .confirm()
        .body(tool_body!(|account: Account| format!("{} is closed", account.name)))?;
    let executor = Executor::builder(Registry::builder().add(transfer).add(close).build()?)
        .approver_fn(|request| async move {
            println!("  asked: {}", request.call.arguments.as_str());
            Ok(if &*request.call.name == "close" {
                Approval::Rejected("not today".into())
            } else {
                Approval::Approved
            })
        })
        .before(|call| async move {
            println!("before {}", call.id());
            Ok(Before::Continue)
        })
        .recover(|call, error| async move {
            println!("  error of {}: {}", call.id(), error.feedback());
            Ok(None)
        })
        .after(|call, result| async move {
            println!("after {}", call.id());
            Ok(result)
        })
        .build()?;
    for definition in executor.tools().definitions() {
        let output = definition.output_schema().map(|schema| schema.as_value().to_string());
        println!("{} gives {}", definition.name(), output.unwrap_or_default());
    }
    for (id, tool, arguments) in [
        ("small", "transfer", json!({ "amount": 20, "to": "Ada" })),
        ("large", "transfer", json!({ "amount": 200, "to": "Ada" })),
        ("too large", "transfer", json!({ "amount": 900, "to": "Bob" })),
        ("close", "close", json!({ "name": "savings" })),
    ] {
        for outcome in executor.run(vec![ToolCall::new(tool, arguments).with_id(id)]).await {
            println!("{id}: {}", outcome.result().map(|it| it.text().into_owned()).unwrap_or_default());
        }
    }
    Ok(())
}
