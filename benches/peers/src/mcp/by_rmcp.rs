//! The server by hand.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
        PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::Outcome;

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Clone)]
struct ByHand {
    tools: Vec<Tool>,
}

fn arguments<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default()))
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}

fn schema(properties: Value) -> Arc<JsonObject> {
    let required: Vec<_> = properties.as_object().into_iter().flat_map(|it| it.keys()).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

impl ByHand {
    fn new() -> Self {
        let numbers = json!({ "a": { "type": "integer" }, "b": { "type": "integer" } });
        let add = Tool::new("add", "Adds two numbers.", schema(numbers));
        let echo = Tool::new("echo", "Says it again.", schema(json!({ "text": { "type": "string" } })));
        Self { tools: vec![add, echo] }
    }
}

impl ServerHandler for ByHand {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let is_modern = context.protocol_version().is_some_and(|it| it == ProtocolVersion::V_2026_07_28);
        let (text, value) = match &*request.name {
            "add" => {
                let Add { a, b } = arguments(request.arguments)?;
                let value = if is_modern { json!(a + b) } else { json!({ "result": a + b }) };
                ((a + b).to_string(), Some(value))
            }
            "echo" => (arguments::<Echo>(request.arguments)?.text, None),
            _ => return Err(ErrorData::invalid_params("unknown tool", None)),
        };
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = value;
        Ok(result.into())
    }
}

pub async fn serve(transport: &str) -> Outcome<()> {
    if transport == "stdio" {
        ByHand::new().serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let server = ByHand::new();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let app = axum::Router::new().nest_service("/mcp", service);
    axum::serve(listener, app).with_graceful_shutdown(async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}
