//! An operation as a tool.

use std::sync::Arc;

use reqwest::header::COOKIE;
use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, definition::Prepared, schema::Arguments,
};

use crate::{
    client::{Access, HttpClient},
    request::{Files, Plan},
    response::{self, Shapes},
    settings::Settings,
};

/// The client, the schemas and the settings that the tools of a document share.
pub(crate) struct Api {
    pub(crate) client: HttpClient,
    #[expect(dead_code, reason = "the validation of responses")]
    pub(crate) shapes: Arc<Shapes>,
    pub(crate) settings: Settings,
}

/// An operation of an OpenAPI document as a tool.
pub struct OperationTool {
    definition: ToolDefinition,
    plan: Plan,
    access: Access,
    api: Arc<Api>,
}

impl OperationTool {
    pub(crate) fn new(definition: ToolDefinition, plan: Plan, access: Access, api: Arc<Api>) -> Self {
        Self { definition, plan, access, api }
    }

    async fn run(&self, arguments: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let files = Files { resolver: self.api.settings.calls.resolver.as_ref(), cx };
        let mut request = self.plan.request(arguments, files).await?;
        // A configured header overrides a parameter of its name.
        let headers = request.headers_mut();
        for name in self.api.settings.headers.keys().filter(|name| **name != COOKIE) {
            headers.remove(name);
        }
        for (name, value) in &self.api.settings.headers {
            headers.append(name, value.clone());
        }
        let exchange = async {
            let answer = self.api.client.send(request, &self.access, cx).await?;
            response::output(&self.api.settings, self.plan.method.as_str(), answer).await
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
