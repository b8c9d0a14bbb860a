//! An agent loop over HTTP: requests to a model, and the calls of its responses.
//!
//! ```sh
//! OPENAI_API_KEY=.. cargo run --features tls --bin agent -- "How many days is it from 2026-03-03 to Christmas?"
//! ANTHROPIC_API_KEY=.. cargo run --features tls --bin agent -- --anthropic --whole "And to Easter?"
//! ```
//!
//! `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` override the server, `MODEL` the model. Text is printed as it
//! arrives; `--whole` requests a response that is not streamed.

use std::{
    env,
    io::{self, Write},
    sync::Arc,
};

use anyhow::{Context as _, bail};
use futures_util::TryStreamExt as _;
use sse_stream::SseByteStream;
use tool_runtime::{
    CallOutcome, Executor, RunContext,
    context::Budget,
    dialect::{AssembledResponse, BoundTools, Delta, Dialect},
    prelude::*,
};

/// At most ten requests for one question.
const BUDGET: Budget = Budget { calls: None, rounds: Some(10), tokens: None };

/// Returns the number of days between two dates.
#[tool]
fn days_between(
    /// The first date, such as 2026-03-03.
    from: String,
    /// The second date.
    to: String,
) -> anyhow::Result<i64> {
    let days = |date: &str| -> anyhow::Result<i64> {
        let parts: Vec<i64> = date.split('-').map(str::parse).collect::<Result<_, _>>()?;
        let [year, month @ 1..=12, day @ 1..=31] = parts[..] else { bail!("`{date}` is not year-month-day") };
        // Years begin in March, so that a leap day is the last day of its year.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        Ok(365 * year + year.div_euclid(4) - year.div_euclid(100)
            + year.div_euclid(400)
            + (153 * month + 2) / 5
            + day)
    };
    Ok(days(&to)? - days(&from)?)
}

type Headers = [(&'static str, String); 2];

/// The settings of a provider: its dialect, URL, headers, and the request body without messages.
fn provider(name: &str) -> anyhow::Result<(Dialect, String, Headers, Value)> {
    let key = env::var(format!("{name}_API_KEY")).with_context(|| format!("{name}_API_KEY is not set"))?;
    let base = |default: &str| env::var(format!("{name}_BASE_URL")).unwrap_or(default.to_owned());
    let model = |default: &str| env::var("MODEL").unwrap_or(default.to_owned());
    Ok(if name == "ANTHROPIC" {
        let headers = [("x-api-key", key), ("anthropic-version", "2023-06-01".to_owned())];
        let body = json!({ "model": model("claude-sonnet-4-5"), "max_tokens": 4096 });
        (Dialect::anthropic(), base("https://api.anthropic.com") + "/v1/messages", headers, body)
    } else {
        let headers = [("authorization", format!("Bearer {key}")), ("accept", "*/*".to_owned())];
        let body = json!({ "model": model("gpt-5-mini") });
        (Dialect::openai_chat(), base("https://api.openai.com/v1") + "/chat/completions", headers, body)
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (flags, words): (Vec<_>, Vec<_>) = env::args().skip(1).partition(|word| word.starts_with("--"));
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    let name = if has("--anthropic") { "ANTHROPIC" } else { "OPENAI" };
    let (dialect, url, headers, mut request) = provider(name)?;

    let executor = Executor::new(Registry::discover()?);
    let bound = dialect.bind_tools(executor.tools());
    request["stream"] = (!has("--whole")).into();
    request["messages"] = json!([{ "role": "user", "content": words.join(" ") }]);
    let mut body = bound.body(request)?;
    let run = Arc::new(RunContext::new().with_user_content(words.join(" ")).with_budget(BUDGET));
    let client = reqwest::Client::new();
    loop {
        run.count_round()?; // an error if the budget is used up or a tool has stopped the run
        let request = client.post(&url).json(&bound.build_request(body.clone(), Arc::clone(&run)).await?);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let response = request.send().await?;
        if response.status().is_client_error() || response.status().is_server_error() {
            bail!("{}: {}", response.status(), response.text().await?);
        }
        let whole = has("--whole");
        let read =
            if whole { bound.read(&response.text().await?)? } else { stream(&bound, response).await? };
        println!("{}", if whole { &read.text } else { "" });
        if read.calls.is_empty() {
            return Ok(());
        }
        let outcomes = executor.batch(read.calls.clone()).with_run(Arc::clone(&run)).run().await;
        for result in outcomes.iter().filter_map(CallOutcome::result) {
            println!("[{}: {}]", result.name, result.text());
        }
        bound.append(&mut body, &read, &outcomes);
    }
}

/// Assembles a streamed response, and prints its text as it arrives.
async fn stream(bound: &BoundTools, response: reqwest::Response) -> anyhow::Result<AssembledResponse> {
    let mut events = SseByteStream::new(response.bytes_stream());
    let mut assembler = bound.assembler();
    while let Some(event) = events.try_next().await? {
        for delta in event.data.map_or(Ok(Vec::new()), |data| assembler.push(&data))? {
            if let Delta::Text(text) = delta {
                print!("{text}");
                io::stdout().flush()?;
            }
        }
    }
    Ok(assembler.finish())
}
