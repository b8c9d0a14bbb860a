//! A client that calls each tool of a server: the client under test of the official conformance suite.
//!
//! ```sh
//! cargo run --bin mcp-client -- http://127.0.0.1:3001/mcp
//! ```
//!
//! The suite names the scenario in `MCP_CONFORMANCE_SCENARIO`, its data in `MCP_CONFORMANCE_CONTEXT`, and the revision of the
//! protocol in `MCP_CONFORMANCE_PROTOCOL_VERSION`.

#![allow(deprecated, reason = "roots are deprecated (SEP-2577), and part of every revision in force")]

use std::{env, time::Duration};

use anyhow::Context as _;
use tool_mcp::{
    client::{Endpoint, McpToolSet, OAuth, ServerConfig, ServerLimits},
    rmcp::model::{
        ElicitRequestParams, ElicitResult, ElicitationAction, ProtocolVersion, Root, Tool as RawTool,
    },
};
use tool_runtime::{
    prelude::*,
    serde_json::{self, Map},
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = env::args().nth(1).context("usage: mcp-client URL")?;
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context: Value = serde_json::from_str(&context)?;

    let issuer = match context["client_id"].is_string() {
        true => Some(issuer(&url).await?),
        false => None,
    };
    // The suite asks for pauses of half a second, and measures them.
    let mut limits = ServerLimits::default();
    limits.min_reconnect_pause = Duration::from_millis(100);
    let config = ServerConfig::new("server", Endpoint::new(url))
        .client_info("mcp-client", env!("CARGO_PKG_VERSION"))
        .limits(limits);
    let mut server = McpToolSet::builder(config)
        .on_elicitation(|question| async move { Ok(filled_in(&question.params)) })
        .on_roots(|_| async { Ok(vec![Root::new("file:///tmp")]) })
        .oauth(authorization(&context, issuer));
    if let Ok(version) = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") {
        server = server.protocol(serde_json::from_value::<ProtocolVersion>(version.into())?);
    }
    let server = server.connect().await?;

    let tools = server.list().await?;
    for (tool, arguments) in calls(&tools, &context) {
        let result = server.call_raw(&tool, arguments).await?;
        println!("{tool}: {}", serde_json::to_string(&result)?);
    }
    server.close().await;
    Ok(())
}

/// Authorizes the program without a person: the authorization server of the suite redirects at once.
fn authorization(context: &Value, issuer: Option<String>) -> OAuth {
    let oauth = OAuth::new("http://localhost:3000/callback", |url| async move {
        let no_redirects = reqwest::redirect::Policy::none();
        let browser =
            reqwest::Client::builder().redirect(no_redirects).build().map_err(ToolError::from_source)?;
        let page = browser.get(url).send().await.map_err(ToolError::from_source)?;
        let redirected = page.headers().get("location").and_then(|url| url.to_str().ok());
        redirected.map(str::to_owned).ok_or_else(|| ToolError::failed("the page does not redirect"))
    });
    let oauth = oauth
        .client_name("mcp-client")
        .client_metadata_url("https://conformance-test.local/client-metadata.json");
    match (context["client_id"].as_str(), issuer) {
        (Some(id), Some(issuer)) => {
            oauth.issuer(issuer).client(id, context["client_secret"].as_str().map(str::to_owned))
        }
        _ => oauth,
    }
}

/// Returns the authorization server at which the suite has registered the program. A program for people knows it, and never
/// reads it from the server as this one does.
async fn issuer(url: &str) -> anyhow::Result<String> {
    let mut metadata = reqwest::Url::parse(url)?;
    metadata.set_path(&format!("/.well-known/oauth-protected-resource{}", metadata.path()));
    let metadata: Value = serde_json::from_slice(&reqwest::get(metadata).await?.bytes().await?)?;
    let issuer = metadata["authorization_servers"][0].as_str().context("the server names no issuer")?;
    Ok(issuer.to_owned())
}

/// Fills in a form with its defaults; a text without one is `Ada`, and a yes-or-no question is answered by yes.
fn filled_in(form: &ElicitRequestParams) -> ElicitResult {
    let form = json!(form);
    let properties = form["requestedSchema"]["properties"].as_object().cloned().unwrap_or_default();
    let content = properties.into_iter().map(|(name, property)| {
        let value = match (property.get("default"), property["type"].as_str()) {
            (Some(default), _) => default.clone(),
            (None, Some("boolean")) => true.into(),
            (None, Some("integer" | "number")) => 1.into(),
            (None, _) => "Ada".into(),
        };
        (name, value)
    });
    ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content.collect()))
}

/// The calls that the scenario asks for; by default, one of each tool.
fn calls(tools: &[RawTool], context: &Value) -> Vec<(String, Map<String, Value>)> {
    if let Some(calls) = context["toolCalls"].as_array() {
        let call = |call: &Value| {
            let arguments = call["arguments"].as_object().cloned().unwrap_or_default();
            Some((call["name"].as_str()?.to_owned(), arguments))
        };
        return calls.iter().filter_map(call).collect();
    }
    tools.iter().map(|tool| (tool.name.to_string(), arguments(tool, tools))).collect()
}

/// Arguments for a tool: numbers count down from 5 by 2, texts name their property, and an object is the first tool's schema.
fn arguments(tool: &RawTool, tools: &[RawTool]) -> Map<String, Value> {
    let schema = Value::Object((*tool.input_schema).clone());
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let mut number = 7;
    let arguments = properties.into_iter().map(|(name, property)| {
        let value = match property["type"].as_str() {
            Some("integer" | "number") => {
                number -= 2;
                number.into()
            }
            Some("boolean") => true.into(),
            Some("object") => tools.first().map_or(Value::Null, |tool| json!(tool.input_schema)),
            _ => Value::from(name.as_str()),
        };
        (name, value)
    });
    arguments.collect()
}
