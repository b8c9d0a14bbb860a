//! What a person reads of all this.

use tool_runtime::{
    BoxFuture, Registry, ToolCall, ToolError, ToolOutput,
    context::CallSink,
    serde_json::{self, Value},
};

/// How much of a result fits on a line.
const WIDTH: usize = 100;

pub(crate) fn heading(text: &str) {
    println!("\n{text}\n{}\n", "─".repeat(text.chars().count()));
}

/// Each tool in a line, and one of them as the API sees it.
pub(crate) fn definitions(tools: &Registry, sent: &Value) -> serde_json::Result<()> {
    heading(&format!("What the model is told: {} tools", tools.len()));
    for tool in tools.definitions() {
        // The first paragraph is enough for a list.
        let summary = tool.description().split("\n\n").next().unwrap_or_default();
        println!("{:<20} {}", tool.name().as_str(), one_line(summary));
    }
    let mut sent = sent.as_array().into_iter().flatten();
    let Some(example) = sent.find(|tool| tool["function"]["name"] == "convert_temperature") else {
        return Ok(());
    };
    println!("\nOne of them in full (`--definitions` prints all):\n");
    println!("{}", serde_json::to_string_pretty(example)?);
    Ok(())
}

/// The call as a programmer would write it.
pub(crate) fn call(number: usize, call: &ToolCall) {
    let arguments = match serde_json::from_str(call.arguments.as_str()) {
        Ok(Value::Object(map)) => {
            map.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
        }
        _ => call.arguments.as_str().to_owned(),
    };
    println!("{number}. {}({})", call.name, one_line(&arguments));
}

pub(crate) fn result(result: &Result<ToolOutput, ToolError>) {
    match result {
        Ok(output) => println!("   ✓ {}\n", summary(output)),
        Err(error) => println!("   ✗ {}\n", error.feedback().replace('\n', "\n     ")),
    }
}

fn summary(output: &ToolOutput) -> String {
    match output.structured() {
        Some(Value::Array(items)) => match items.first() {
            Some(first) => format!("{} items, the first: {}", items.len(), one_line(&first.to_string())),
            None => "no items".to_owned(),
        },
        _ => one_line(&output.text()),
    }
}

/// Shows the items of a stream as they come, before the call has its result.
pub(crate) struct Watcher;

impl CallSink for Watcher {
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        println!("   … {}", one_line(&update.text()));
        Box::pin(async {})
    }
}

/// `text` on one line, cut where the line is full.
fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
