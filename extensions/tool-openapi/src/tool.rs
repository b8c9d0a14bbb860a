//! An operation as a tool.

use std::sync::Arc;

use reqwest::header::COOKIE;
use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, definition::Prepared, schema::Arguments,
};

use crate::{
    client::{Access, HttpClient},
    import::Read,
    request::{Files, Plan},
    response::{self, Call, Shape, View},
    settings::Settings,
};

/// The client, the schemas and the settings that the tools of a document share.
pub(crate) struct Api {
    pub(crate) client: HttpClient,
    pub(crate) settings: Settings,
}

/// An operation of an OpenAPI document as a tool.
pub struct OperationTool {
    definition: ToolDefinition,
    plan: Plan,
    access: Access,
    shape: Option<Shape>,
    view: Option<View>,
    api: Arc<Api>,
}

impl OperationTool {
    pub(crate) fn new(read: Read, api: Arc<Api>) -> Self {
        let Read { definition, plan, access, shape, view } = read;
        Self { definition, plan, access, shape: shape.map(Shape::new), view, api }
    }

    async fn run(&self, arguments: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let exchange = self.exchange(arguments, cx);
        tokio::select! {
            () = cx.cancellation().cancelled() => Err(ToolError::cancelled()),
            output = exchange => output,
        }
    }

    async fn exchange(&self, arguments: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let settings = &self.api.settings;
        let files = Files { resolver: settings.calls.resolver.as_ref(), cx };
        let mut request = self.plan.request(arguments, files).await?;
        // A configured header overrides a parameter of its name.
        let headers = request.headers_mut();
        for name in settings.headers.keys().filter(|name| **name != COOKIE) {
            headers.remove(name);
        }
        for (name, value) in &settings.headers {
            headers.append(name, value.clone());
        }
        let url = request.url().clone();
        let answer = self.api.client.send(request, &self.access, cx).await?;
        let call = Call {
            settings,
            definition: &self.definition,
            plan: &self.plan,
            shape: self.shape.as_ref(),
            view: self.view.as_ref(),
            arguments,
            url: &url,
            cx,
        };
        response::output(&call, answer).await
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
