//! An operation as a tool.

use std::sync::Arc;

use reqwest::{
    Request,
    header::{COOKIE, HeaderMap, HeaderValue},
};
use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, definition::Prepared, schema::Arguments,
};

use crate::{
    client::{OperationAccess, OperationClient},
    import::ImportedOperation,
    request::{FileSource, RequestPlan},
    response::{self, AnsweredCall, ResponseSchema, ResponseWithoutBody},
    settings::Settings,
    view::View,
};

/// The client, the schemas and the settings that the tools of a document share.
pub(crate) struct SharedApi {
    pub(crate) client: OperationClient,
    pub(crate) settings: Settings,
}

/// An operation of an OpenAPI document as a tool.
///
/// # Examples
///
/// ```
/// use tool_openapi::{Document, OpenApiToolSet};
///
/// # let text = r#"{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"servers":[{"url":"https://pets.example"}],
/// #   "paths":{"/pets/{id}":{"delete":{"operationId":"remove"}}}}"#;
/// let pets = OpenApiToolSet::import(Document::from_text(text)?)?;
/// assert_eq!((pets.tools()[0].method(), pets.tools()[0].path()), ("DELETE", "/pets/{id}"));
/// # Ok::<(), tool_openapi::OpenApiError>(())
/// ```
pub struct OperationTool {
    definition: ToolDefinition,
    path: Box<str>,
    plan: RequestPlan,
    access: OperationAccess,
    response_schema: Option<ResponseSchema>,
    view: Option<View>,
    api: Arc<SharedApi>,
}

impl OperationTool {
    pub(crate) fn new(read: ImportedOperation, api: Arc<SharedApi>) -> Self {
        let ImportedOperation { definition, path, plan, access, response_schema, view } = read;
        Self {
            definition,
            path,
            plan,
            access,
            response_schema: response_schema.map(ResponseSchema::new),
            view,
            api,
        }
    }

    /// Returns the method of the requests, in capital letters.
    #[must_use]
    pub fn method(&self) -> &str {
        self.plan.method.as_str()
    }

    /// Returns the path template of the document, such as `/pets/{petId}`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Sends the request and makes a result of the response. A call is cancelled by dropping this future, which closes the
    /// connection.
    async fn call_operation(&self, arguments: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let settings = &self.api.settings;
        let files = FileSource { resolver: settings.calls.resolver.as_ref(), cx };
        let request = self.plan.build_request(arguments, files).await?;
        let answer = self
            .api
            .client
            .send_authorized_request(with_configured_headers(request, &settings.headers), &self.access, cx)
            .await?;
        let (answered, response) = ResponseWithoutBody::of(answer);
        let read = response::read_response(response, settings.calls.read_limit).await?;
        let call = AnsweredCall {
            settings,
            definition: &self.definition,
            plan: &self.plan,
            response_schema: self.response_schema.as_ref(),
            view: self.view.as_ref(),
            arguments,
            cx,
        };
        response::make_output(&call, answered, read)
    }
}

/// Adds the headers of the program, which override parameters of their names; of cookies, each by its name.
fn with_configured_headers(mut request: Request, configured: &HeaderMap) -> Request {
    let headers = request.headers_mut();
    let cookies = |headers: &HeaderMap| -> Vec<String> {
        let all =
            headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok()).flat_map(|it| it.split(';'));
        all.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
    };
    let name_of = |cookie: &str| cookie.split('=').next().unwrap_or_default().trim().to_owned();
    let mut merged = cookies(configured);
    let names: Vec<_> = merged.iter().map(|it| name_of(it)).collect();
    merged.extend(cookies(headers).into_iter().filter(|it| !names.contains(&name_of(it))));
    for name in configured.keys() {
        headers.remove(name);
    }
    for (name, value) in configured {
        headers.append(name, value.clone());
    }
    if let (false, Ok(merged)) = (names.is_empty(), HeaderValue::try_from(merged.join("; "))) {
        headers.insert(COOKIE, merged);
    }
    request
}

impl Tool for OperationTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |arguments, cx| {
            Box::pin(async move { self.call_operation(arguments.as_str(), cx).await })
        }))
    }

    fn adds_to_requests(&self) -> bool {
        false
    }
}

impl std::fmt::Debug for OperationTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperationTool").field("name", self.definition.name()).finish_non_exhaustive()
    }
}
