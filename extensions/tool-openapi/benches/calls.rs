//! The cost of a call against the same request by hand: `cargo bench -p tool-openapi --bench calls`.
//!
//! A GET with two parameters and 1 kB of JSON, one at a time, on loopback; the median of five runs of each, measured
//! alternately; both with a timeout. Fails above a ratio of 1.1.

use std::{
    error::Error,
    sync::mpsc,
    time::{Duration, Instant},
};

use axum::{Router, routing::get};
use serde_json::{Value, json};
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::Registry;

const CALLS: u32 = 3_000;
const RUNS: usize = 5;
const MOST: f64 = 1.1;
/// The default of a tool.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Starts the server on a thread of its own, and returns its URL.
fn serve() -> Result<String, Box<dyn Error>> {
    let (sender, receiver) = mpsc::channel();
    #[expect(clippy::disallowed_methods, reason = "it serves until the program ends")]
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async move {
            let Ok(listener) = tokio::net::TcpListener::bind("127.0.0.1:0").await else { return };
            let Ok(address) = listener.local_addr() else { return };
            let _ = sender.send(format!("http://{address}"));
            let pet = json!({ "id": 7, "name": "Rex", "notes": "n".repeat(960) }).to_string();
            let json = [("content-type", "application/json")];
            let router = Router::new().route("/pets/{id}", get(move || async move { (json, pet) }));
            let _ = axum::serve(listener, router).await;
        });
    });
    Ok(receiver.recv()?)
}

fn tools(url: &str) -> Result<Registry, Box<dyn Error>> {
    let parameter = |name: &str, location: &str, kind: &str| json!({ "name": name, "in": location, "required": true, "schema": { "type": kind } });
    let document = Document::from_value(json!({
        "openapi": "3.1.0",
        "info": { "title": "Pets", "version": "1" },
        "paths": { "/pets/{id}": { "get": {
            "operationId": "getPet",
            "parameters": [parameter("id", "path", "integer"), parameter("view", "query", "string")],
            "responses": { "200": { "content": { "application/json": { "schema": { "type": "object" } } } } },
        }}},
    }))?;
    let set = OpenApiToolSet::builder(document).base_url(url).build()?;
    Ok(set.tools().iter().fold(Registry::builder(), |all, tool| all.add(tool.clone())).build()?)
}

async fn by_hand(client: &reqwest::Client, url: &str) -> Result<(), Box<dyn Error>> {
    let url = reqwest::Url::parse_with_params(&format!("{url}/pets/7"), [("view", "a b")])?;
    let response = client.get(url).timeout(TIMEOUT).send().await?;
    let bytes = response.error_for_status()?.bytes().await?;
    let value: Value = serde_json::from_slice(&bytes)?;
    if value["id"] == 7 { Ok(()) } else { Err("another answer".into()) }
}

async fn by_tool(tools: &Registry) -> Result<(), Box<dyn Error>> {
    let output = tools.call("getPet", r#"{"id":7,"view":"a b"}"#).await?;
    match output.into_structured() {
        Some(value) if value["id"] == 7 => Ok(()),
        _ => Err("another answer".into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let url = serve()?;
    let (tools, client) = (tools(&url)?, reqwest::Client::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut times: [Vec<Duration>; 2] = Default::default();
    // The first run connects, and does not count.
    for run in 0..=RUNS {
        for (side, times) in times.iter_mut().enumerate() {
            let began = Instant::now();
            runtime.block_on(async {
                for _ in 0..CALLS {
                    match side {
                        0 => by_hand(&client, &url).await?,
                        _ => by_tool(&tools).await?,
                    }
                }
                Ok::<_, Box<dyn Error>>(())
            })?;
            if run > 0 {
                times.push(began.elapsed() / CALLS);
            }
        }
    }
    let [hand, tool] = times.map(|mut all| {
        all.sort_unstable();
        all[RUNS / 2]
    });
    let ratio = tool.as_secs_f64() / hand.as_secs_f64();
    println!("\na call {tool:.1?}, by hand {hand:.1?}: {ratio:.3} (at most {MOST})");
    if ratio > MOST { Err("a call costs too much".into()) } else { Ok(()) }
}
