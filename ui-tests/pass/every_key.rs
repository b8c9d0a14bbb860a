//! Every attribute key at once (B13), and every way to describe a parameter (B15, B17).

#![deny(warnings)]
#![allow(clippy::too_many_arguments)]

use tool_runtime::serde_json::{Map, Value, json};
use tool_runtime::{ToolContext, ToolError, definition::Permission, request::ModelRequest, tool};

const MAX: usize = 9;
const DOC: &str = "from a constant";
const SCHEMA: &str = r#"{ "type": "object" }"#;

struct Outbox;

fn must_confirm(_: &ToolContext, to: &String, _: &Option<Vec<String>>, _: &f64, _: &String) -> bool {
    to.is_empty()
}

fn may_send(_: &ToolContext, _: &String, _: &Option<Vec<String>>, _: &f64, _: &String) -> Permission {
    Permission::Allow
}

async fn instruct(request: ModelRequest) {
    request.instruct("Ask before you send.");
}

fn prepare(_: &mut Map<String, Value>) -> Result<(), ToolError> {
    Ok(())
}

fn half() -> f64 {
    0.5
}

#[tool(
    name = "send-mail", title = "Send mail", description = concat!("Sends", " mail."),
    examples(json!({ "mailTo": "a@b.c" })), tags("mail", "office"),
    meta(owner = "ops", "x-cost" = 3, limits = [1, 2]),
    toolset = "mail", group = "office", trust = "internal",
    read_only = false, destructive, idempotent = false, open_world, concurrency_safe = false,
    search_or_read = false, long_running,
    sequential, timeout = "5m", idle_timeout = "250ms", grace_period = "10s",
    retry(attempts = 3, initial = "200ms", max = "1h", multiplier = 1.5, jitter = false),
    confirm = must_confirm, permission = may_send, needs(Outbox, dyn Send), on_request = instruct,
    rename_all = "camelCase", strict, unknown_fields = "ignore", prepare = prepare,
    input_schema = SCHEMA, output_schema = json!({ "type": "string" }),
    max_result_size = 64 * 1024, skip_summarization, merge = false, blocking = false,
    register = false, handle = SendMail, crate = tool_runtime,
)]
async fn send(
    cx: &ToolContext,
    #[schemars(
        title = "To", description = DOC, example = "a@b.c", deprecated, email,
        length(min = 3, max = "MAX"), regex(pattern = String::from("@")), extend("x-a" = [1, 2])
    )]
    mail_to: String,
    #[schemars(required, inner(length(equal = 2), contains("@"), url))] r#type: Option<Vec<String>>,
    /// A weight, in "kg" = 1000 g; naïve.
    #[schemars(range(min = 0.5, max = f64::MAX), extend("x-b" = null, "x-c" = { "a": [1] }))]
    #[serde(default = "half")]
    #[deprecated]
    weight: f64,
    /**
     * A block,
     * of two lines.
     */
    #[arg(default = "none", example = "some", secret)]
    note: String,
) -> String {
    let _ = (cx, mail_to, r#type, weight, Outbox);
    note
}

/// Removed by `#[cfg]` with all that belongs to it (B11).
#[tool]
#[cfg(any())]
fn left_out(this: DoesNotExist) {}

/// Words without values.
#[tool(label = "Words", confirm, retry = 4, read_only, idempotent = true, output_schema = false, handle = none)]
fn words(
    #[schemars(pattern("^a"), length(equal = 3))] a: &str,
    #[schemars(contains(pattern = "a"))] b: &str,
    #[schemars(ip)] c: &str,
    #[schemars(range(equal = 3))] d: u8,
    #[serde(rename(deserialize = "x", serialize = "y"), alias = "z", alias = "w")] e: u8,
    #[arg(default)] f: Vec<u8>,
) -> Result<(), ToolError> {
    let _ = (a, b, c, d, e, f);
    Err(ToolError::failed("always"))
}

fn main() {
    let _ = tool_runtime::Registry::builder().tool::<SendMail>();
    let _ = (send, words);
}
