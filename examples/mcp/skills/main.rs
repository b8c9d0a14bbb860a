//! A broker for servers that a model learns of from a skill: a text that it reads when it needs it, and that names a URL.
//!
//! ```sh
//! cargo run --bin mcp-skills
//! ```
//!
//! The model has no credentials: a hook of the broker adds the token of the user, for the servers that the program knows. Another hook replaces
//! the error of a server that refuses it. The calls below are those of a model; the server runs in this program.

use anyhow::Context as _;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tokio::net::TcpListener;
use tool_mcp::{
    broker::{BrokerTarget, Interception, McpBroker},
    client::{ClientError, ClientErrorKind},
    server::{HttpConfig, Identity, McpServer, ResourceServer, TokenError},
};
use tool_runtime::{CancellationToken, Toolbox, prelude::*};

/// The URLs of the servers: the one that this program has a token for, and another one.
struct Skills {
    orders: String,
    archive: String,
}

/// Reads a skill: how to do something that needs tools of a server.
#[tool(read_only)]
fn read_skill(
    skills: &Skills,
    /// `orders` or `archive`.
    name: String,
) -> Result<String, ToolError> {
    let url = match name.as_str() {
        "orders" => &skills.orders,
        "archive" => &skills.archive,
        _ => {
            return Err(ToolError::failed(format!("there is no skill `{name}`; read `orders` or `archive`")));
        }
    };
    Ok(format!(
        "List the tools of the MCP server {url} with `mcp_list_tools`, and call them with `mcp_call`."
    ))
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

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let skills = Skills { orders: serve_orders().await?, archive: serve_orders().await? };
    let (orders, archive) = (skills.orders.clone(), skills.archive.clone());
    let toolbox = Toolbox::from_registry(&Registry::builder().discover().provide(skills).build()?);
    toolbox.add_toolset(broker(orders.clone())?)?;
    let executor = Executor::new(toolbox.snapshot(&RunContext::new()).await?.into_tools());

    let calls = [
        ("read_skill", json!({ "name": "orders" })),
        ("mcp_list_tools", json!({ "selector": orders })),
        ("mcp_call", json!({ "selector": format!("{orders}.order_state"), "arguments": { "number": 7 } })),
        ("read_skill", json!({ "name": "archive" })),
        ("mcp_list_tools", json!({ "selector": archive })),
    ];
    for (tool, arguments) in calls {
        let outcomes = executor.run(vec![ToolCall::new(tool, arguments)]).await;
        let result = outcomes[0].result().context("the call has no result")?;
        let text = result.text().replace(&orders, "ORDERS").replace(&archive, "ARCHIVE");
        println!("> {tool}\n{text}\n");
    }
    Ok(())
}
