//! Prompts, resources and completions of a server, in the types of the SDK.

use std::sync::Arc;

use rmcp::model::{
    ClientRequest, CompleteRequest, CompleteRequestParams, CompleteResult, GetPromptRequest,
    GetPromptRequestParams, GetPromptResult, LoggingLevel, Prompt, ReadResourceRequest,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceTemplate, Role, ServerResult,
    SetLevelRequest, SetLevelRequestParams, SubscribeRequest, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequest, UnsubscribeRequestParams,
};
use serde_json::{Map, Value};
use tool_runtime::Content;

use super::{connection::Connection, error::ClientError, requests::RoundAnswers, set::McpToolSet};
use crate::content::{from_block, from_contents};

/// The problem of a result that is none of its request.
const OTHER_KIND: &str = "it is of another kind";

/// Implements a listing of all pages.
macro_rules! listing {
    ($(#[$doc:meta])* $name:ident: $item:ty) => {
        $(#[$doc])*
        ///
        /// An item that cannot be read, and pages beyond the [limits](super::ServerLimits) of a listing, are left out, with a
        /// [diagnostic](Self::diagnostics).
        ///
        /// # Errors
        ///
        /// If the server cannot be asked, or has no such list.
        pub async fn $name(&self) -> Result<Vec<$item>, ClientError> {
            let requests = self.request_sender();
            let listing = requests.list_all_pages::<$item>().await?;
            for diagnostic in listing.diagnostics {
                requests.connection.connector.notices.add_if_new(diagnostic);
            }
            Ok(listing.items)
        }
    };
}

impl McpToolSet {
    listing! {
        /// Lists the prompts of the server.
        list_prompts: Prompt
    }

    listing! {
        /// Lists the resources of the server.
        list_resources: Resource
    }

    listing! {
        /// Lists the templates of resources of the server.
        list_resource_templates: ResourceTemplate
    }

    /// Returns a prompt with these arguments. Questions of the server are answered as those of a call.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked, or has no such prompt.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<GetPromptResult, ClientError> {
        let requests = self.request_sender();
        let request = |(responses, state): RoundAnswers| {
            let mut params = GetPromptRequestParams::new(name);
            params.arguments = (!arguments.is_empty()).then(|| arguments.clone());
            params.input_responses = responses;
            params.request_state = state;
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        };
        match requests
            .connection
            .run_with_reconnects(|connection| requests.send_in_rounds(connection, &request))
            .await?
        {
            ServerResult::GetPromptResult(prompt) => Ok(prompt),
            _ => Err(requests.unusable_answer(OTHER_KIND)),
        }
    }

    /// Reads a resource. Questions of the server are answered as those of a call.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked, or has no such resource.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, ClientError> {
        let requests = self.request_sender();
        let request = |(responses, state): RoundAnswers| {
            let mut params = ReadResourceRequestParams::new(uri);
            params.input_responses = responses;
            params.request_state = state;
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        };
        match requests
            .connection
            .run_with_reconnects(|connection| requests.send_in_rounds(connection, &request))
            .await?
        {
            ServerResult::ReadResourceResult(resource) => Ok(resource),
            _ => Err(requests.unusable_answer(OTHER_KIND)),
        }
    }

    /// Returns the messages of a prompt as [`get_prompt`](Self::get_prompt), with the content that tools have, too.
    ///
    /// # Errors
    ///
    /// As [`get_prompt`](Self::get_prompt).
    pub async fn prompt_contents(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<(Role, Content)>, ClientError> {
        let messages = self.get_prompt(name, arguments).await?.messages.into_iter();
        Ok(messages.map(|message| (message.role, from_block(&message.content))).collect())
    }

    /// Reads a resource as [`read_resource`](Self::read_resource), with the content that tools have, too: a document that cannot be read is a
    /// text that says so.
    ///
    /// # Errors
    ///
    /// As [`read_resource`](Self::read_resource).
    pub async fn resource_contents(&self, uri: &str) -> Result<Vec<Content>, ClientError> {
        Ok(self.read_resource(uri).await?.contents.iter().map(from_contents).collect())
    }

    /// Returns completions of an argument of a prompt or of a template.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked, or has no completions.
    pub async fn complete(&self, params: CompleteRequestParams) -> Result<CompleteResult, ClientError> {
        let request = || ClientRequest::CompleteRequest(CompleteRequest::new(params.clone()));
        match self.send_with_reconnects(request).await? {
            ServerResult::CompleteResult(completions) => Ok(completions),
            _ => Err(self.request_sender().unusable_answer(OTHER_KIND)),
        }
    }

    /// Subscribes to changes of a resource, which [`on_change`](super::McpToolSetBuilder::on_change) receives. The
    /// subscription ends with the connection.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked, or has no subscriptions.
    pub async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        let requests = self.request_sender();
        let connection = requests.connection.get_or_connect().await?;
        if connection.protocol_has_initialize() {
            let request =
                ClientRequest::SubscribeRequest(SubscribeRequest::new(SubscribeRequestParams::new(uri)));
            return requests.send(&connection, request).await.map(drop);
        }
        let filter = SubscriptionFilter::builder().resource_subscription(uri).build();
        connection.subscribe_to_resource(uri, filter).await
    }

    /// Ends a subscription.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), ClientError> {
        let requests = self.request_sender();
        let connection = requests.connection.get_or_connect().await?;
        if !connection.protocol_has_initialize() {
            connection.end_subscription(uri);
            return Ok(());
        }
        let params = UnsubscribeRequestParams::new(uri);
        requests
            .send(&connection, ClientRequest::UnsubscribeRequest(UnsubscribeRequest::new(params)))
            .await
            .map(drop)
    }

    /// Asks the server for log messages of this severity and above, up to revision 2025-11-25. From 2026-07-28 on, see
    /// [`log_level`](super::McpToolSetBuilder::log_level).
    ///
    /// # Errors
    ///
    /// If the server cannot be asked, or has no log.
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), ClientError> {
        let request =
            || ClientRequest::SetLevelRequest(SetLevelRequest::new(SetLevelRequestParams::new(level)));
        self.send_with_reconnects(request).await.map(drop)
    }

    async fn send_with_reconnects(
        &self,
        request: impl Fn() -> ClientRequest,
    ) -> Result<ServerResult, ClientError> {
        let requests = self.request_sender();
        let send = |connection: Arc<Connection>| {
            let request = request();
            async move { requests.send(&connection, request).await }
        };
        requests.connection.run_with_reconnects(send).await
    }
}
