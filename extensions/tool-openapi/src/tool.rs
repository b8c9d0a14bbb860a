//! An operation as a tool.

use std::sync::Arc;

use reqwest::Client;
use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, definition::Prepared, schema::Arguments,
};

use crate::{
    request::{Files, Plan},
    response::{self, Shapes},
    settings::Settings,
};

/// The client, the schemas and the settings that the tools of a document share.
pub(crate) struct Api {
    pub(crate) client: Client,
    #[expect(dead_code, reason = "the validation of responses")]
    pub(crate) shapes: Arc<Shapes>,
    pub(crate) settings: Settings,
}

/// An operation of an OpenAPI document as a tool.
pub struct OperationTool {
    definition: ToolDefinition,
    plan: Plan,
    api: Arc<Api>,
}

impl OperationTool {
    pub(crate) fn new(definition: ToolDefinition, plan: Plan, api: Arc<Api>) -> Self {
        Self { definition, plan, api }
    }

    async fn run(&self, arguments: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let files = Files { resolver: self.api.settings.calls.resolver.as_ref(), cx };
        let mut request = self.plan.request(arguments, files).await?;
        for (name, value) in &self.api.settings.headers {
            request.headers_mut().append(name, value.clone());
        }
        let exchange = async {
            let response =
                self.api.client.execute(request).await.map_err(|error| response::unavailable(&error))?;
            response::output(&self.api.settings, self.plan.method.as_str(), response).await
        };
        tokio::select! {
            () = cx.cancellation().cancelled() => Err(ToolError::cancelled()),
            output = exchange => output,
        }
    }
}

impl Tool for OperationTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |arguments, cx| {
            Box::pin(async move { self.run(arguments.as_str(), cx).await })
        }))
    }
}

impl std::fmt::Debug for OperationTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperationTool").field("name", self.definition.name()).finish_non_exhaustive()
    }
}
