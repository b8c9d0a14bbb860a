//! The output of the program for a person.

use tool_runtime::{
    BoxFuture, Registry, ToolCall, ToolError, ToolOutput,
    context::CallSink,
    serde_json::{self, Value},
};

/// The maximum length of a line, in characters.
const WIDTH: usize = 100;

pub(crate) fn heading(text: &str) {
    println!("\n{text}\n{}\n", "─".repeat(text.chars().count()));
}

/// Prints each tool on a line, and one definition in the API's format.
pub(crate) fn definitions(tools: &Registry, sent: &Value) -> serde_json::Result<()> {
    heading(&format!("Tool definitions: {}", tools.len()));
    for tool in tools.definitions() {
        // A list shows the first paragraph only.
        let summary = tool.description().split("\n\n").next().unwrap_or_default();
        println!("{:<20} {}", tool.name().as_str(), one_line(summary));
    }
    let mut sent = sent.as_array().into_iter().flatten();
    let Some(example) = sent.find(|tool| tool["function"]["name"] == "convert_temperature") else {
        return Ok(());
    };
    println!("\nOne definition in full (`--definitions` prints all):\n");
    println!("{}", serde_json::to_string_pretty(example)?);
    Ok(())
}

/// Prints a call in the syntax of a function call.
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

/// A sink that prints the items of a stream as they arrive, before the call has its result.
pub(crate) struct Watcher;

impl CallSink for Watcher {
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        println!("   … {}", one_line(&update.text()));
        Box::pin(async {})
    }
}

/// Returns `text` on one line, truncated to [`WIDTH`].
fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
