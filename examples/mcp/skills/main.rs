//! A broker for servers that a model learns of from a skill: instructions that it loads when it needs them, and that name a URL. It lists the
//! tools of the server, inspects one, and calls it.
//!
//! ```sh
//! cargo run --bin mcp-skills
//! ```
//!
//! The model has no credentials: a hook of the broker adds the token of the user, for the servers that the program knows. Another hook replaces
//! the error of a server that refuses it. While a skill is active, the model can call only the tools that the skill allows. The calls below are
//! those of a script; the servers run in this program.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tokio::net::TcpListener;
use tool_agent::{
    Agent, AgentEventKind, Runner, ScriptedModel,
    model::Reply,
    skills::{AgentSkills, AllowedTools, InMemorySkills, Skill, SkillError},
};
use tool_mcp::{
    broker::{BrokerTarget, Interception, McpBroker},
    client::{ClientError, ClientErrorKind},
    server::{HttpConfig, Identity, McpServer, ResourceServer, TokenError},
};
use tool_runtime::{CancellationToken, Toolbox, event::EventKind, prelude::*};

/// Returns the skill `name`, which names the server at `url`, and what it needs to be called.
fn skill(name: &str, url: &str) -> Result<Skill, SkillError> {
    let description = format!("How to look up the state of {name}. Use it for each question about {name}.");
    let body = format!(
        "1. List the tools of the MCP server {url} with `mcp_list_tools`.\n\
         2. Read the parameters of the tool that you need with `mcp_inspect_tools`.\n\
         3. Call it with `mcp_call`.\n"
    );
    let tools = AllowedTools::parse("mcp_list_tools mcp_inspect_tools mcp_call")?;
    Ok(Skill::new(name, description, body)?.with_allowed_tools(tools))
}

/// Tells the state of an order.
#[tool(register = false, read_only)]
fn order_state(
    caller: &Identity,
    /// The number of the order.
    number: u32,
) -> String {
    format!("{}: order {number} is on its way", caller.subject)
}

/// Serves the orders to users with a token, and returns the URL.
async fn serve_orders() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let user = |token: &str| match token {
        "token-of-ada" => Ok(Identity::new("Ada")),
        _ => Err(TokenError::Invalid("the token is unknown".to_owned())),
    };
    let tools = Registry::builder().tool::<order_state>().provide_per_run::<Identity>().build()?;
    let config = HttpConfig::new().protect(ResourceServer::new(&url, user));
    let server = McpServer::new(tools).http_with(config)?;
    tokio::spawn(server.serve(listener, CancellationToken::new()));
    Ok(url)
}

/// Builds the broker, which sends the token to `trusted` only.
fn broker(trusted: String) -> anyhow::Result<McpBroker> {
    let token = move |target: &BrokerTarget<'_>| {
        let is_trusted = target.url() == Some(trusted.as_str());
        is_trusted.then(|| {
            let mut token = HeaderValue::from_static("Bearer token-of-ada");
            token.set_sensitive(true);
            HeaderMap::from_iter([(AUTHORIZATION, token)])
        })
    };
    let refused = |_: &BrokerTarget<'_>, error: &ClientError| match error.kind() {
        ClientErrorKind::Unauthorized => {
            Interception::Replaced(ToolError::failed("the user has no access to this server; ask for it"))
        }
        _ => Interception::Unhandled,
    };
    let broker = McpBroker::builder().allow_urls().on_error(refused);
    let broker = broker.headers(move |target| {
        let headers = token(target);
        Box::pin(async move { Ok(headers) })
    });
    Ok(broker.build()?)
}

/// Removes an order, which no skill allows.
#[tool(register = false, destructive)]
fn remove_order(number: u32) -> String {
    format!("order {number} is removed")
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (orders, archive) = (serve_orders().await?, serve_orders().await?);
    let skills = InMemorySkills::new([skill("orders", &orders)?, skill("archive", &archive)?])?;
    let toolbox = Toolbox::from_registry(&Registry::builder().tool::<remove_order>().build()?);
    toolbox.add_toolset(broker(orders.clone())?)?;

    // The model learns the URLs from the skills; a script writes them here.
    let tool = format!("{orders}.order_state");
    let model = ScriptedModel::new([
        Reply::call("skill_load", json!({ "name": "orders" })),
        Reply::call("mcp_list_tools", json!({ "selector": orders })),
        Reply::call("mcp_inspect_tools", json!({ "selector": orders, "tools": ["order_state"] })),
        Reply::call("mcp_call", json!({ "selector": tool, "arguments": { "number": 7 } })),
        Reply::call("remove_order", json!({ "number": 7 })),
        Reply::call("skill_load", json!({ "name": "archive" })),
        Reply::call("mcp_list_tools", json!({ "selector": archive })),
        Reply::text("Order 7 is on its way. You have no access to the archive."),
    ]);
    let clerk = Agent::builder("clerk", model).tools(toolbox).skills(AgentSkills::new(skills)).build()?;
    let mut events = Runner::new(clerk).run("Where is order 7? Was there one before?");
    while let Some(event) = events.next().await {
        let text = match event.kind {
            AgentEventKind::Tool { event } => match event.kind {
                EventKind::Finished { result } => format!("> {}\n{}", result.name, result.text()),
                _ => continue,
            },
            AgentEventKind::Ended { end } => end.text,
            _ => continue,
        };
        println!("{}\n", text.replace(&orders, "ORDERS").replace(&archive, "ARCHIVE"));
    }
    Ok(())
}
