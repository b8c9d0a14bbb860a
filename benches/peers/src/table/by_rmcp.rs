//! `rmcp`: a `ToolRouter` of a server, called in the process, without a transport or JSON-RPC.

use std::io;

use benches::{
    table::{Answer, Contender},
    workload_arguments, workload_bodies, workload_types,
};
use rmcp::{
    RoleServer, ServerHandler,
    handler::server::{
        router::tool::ToolRouter,
        tool::ToolCallContext,
        wrapper::{Json, Parameters},
    },
    model::{CallToolRequestParams, CallToolResponse, NumberOrString},
    service::{RequestContext, RunningService, serve_directly},
    tool, tool_router,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};

workload_types! {
    input: { #[derive(Deserialize, JsonSchema)] #[allow(dead_code, reason = "decoded like those that are read")] }
    output: { #[derive(Serialize, JsonSchema)] }
    ranges
}
workload_arguments! { input: { #[derive(Deserialize, JsonSchema)] } }
workload_bodies! {}

#[derive(Clone)]
struct Server;

impl ServerHandler for Server {}

#[tool_router]
impl Server {
    /// Forecasts the weather.
    #[tool]
    async fn forecast(&self, Parameters(args): Parameters<ForecastArgs>) -> Json<Weather> {
        Json(forecast_body(args.city, args.days))
    }

    /// Creates an order.
    #[tool]
    async fn create_order(&self, Parameters(args): Parameters<OrderArgs>) -> Json<Receipt> {
        Json(create_order_body(
            args.order_id,
            args.customer,
            args.items,
            args.shipping,
            args.priority,
            args.discount_percent,
            args.coupon,
            args.gift,
        ))
    }

    /// Writes a file.
    #[tool]
    async fn write_file(&self, Parameters(args): Parameters<WriteArgs>) -> Json<Written> {
        Json(write_file_body(args.path, args.content))
    }
}

pub(crate) struct Rmcp {
    router: ToolRouter<Server>,
    server: Server,
    /// Serves nothing; a call needs its peer.
    running: RunningService<RoleServer, Server>,
    _runtime: Runtime,
}

impl Rmcp {
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().build()?;
        let entered = runtime.enter();
        let running = serve_directly(Server, tokio::io::duplex(64).0, None);
        drop(entered);
        Ok(Self { router: Server::tool_router(), server: Server, running, _runtime: runtime })
    }
}

impl Contender for Rmcp {
    const NAME: &'static str = "rmcp";

    async fn call(&self, tool: &str, arguments: &str) -> Answer {
        let arguments = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = RequestContext::new(NumberOrString::Number(1), self.running.peer().clone());
        match self.router.call(ToolCallContext::new(&self.server, params, request)).await {
            Ok(CallToolResponse::Complete(result)) => {
                let failed = result.is_error == Some(true);
                let text = result.content.into_iter().find_map(|block| match block {
                    rmcp::model::ContentBlock::Text(text) => Some(text.text),
                    _ => None,
                });
                let text = text.unwrap_or_default();
                if failed { Err(text) } else { Ok(text) }
            }
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }
}
