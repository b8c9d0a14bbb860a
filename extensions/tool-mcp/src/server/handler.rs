//! The handler of the SDK, which answers with the tools of the program.

use std::{
    borrow::Cow,
    collections::VecDeque,
    future::ready,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
        GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsRequestMethod,
        ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        PromptsCapability, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
        ResourcesCapability, ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
        SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    announce::ServerSignals,
    call::{ToolCallRequest, is_2026_07_or_later, listed_tool_with_headers},
    clients::ClientDescription,
    listed_tools::ListedTools,
    offer::Paging,
    request_run::UnwatchedRequest,
    requests::params_problem,
    running_requests::CallerCount,
    server_state::ServerState,
    session_state::{SessionSetting, SessionState},
    task_requests::TaskRequest,
};

/// The subscriptions that are accepted and not served yet. More are of clients that left before.
const MAX_ACCEPTED: usize = 16;

/// One session, or one request without.
pub(super) struct RequestHandler {
    pub(super) shared: Arc<ServerState>,
    /// Of the session of a pair of streams.
    pub(super) id: OnceLock<String>,
    /// The requests of a client without an identity.
    pub(super) running: CallerCount,
    /// The session was opened by `initialize`.
    is_open: AtomicBool,
    /// The client of a session.
    pub(super) client: OnceLock<ClientDescription>,
    pub(super) state: Arc<SessionState>,
    /// The changes since subscriptions were accepted, until they are served.
    accepted: Mutex<VecDeque<ServerSignals>>,
    /// Sends changes to the client; ends with the session.
    announcer: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl RequestHandler {
    pub(super) fn new(shared: Arc<ServerState>, state: Arc<SessionState>) -> Self {
        Self {
            id: OnceLock::new(),
            running: CallerCount::default(),
            is_open: AtomicBool::new(false),
            client: OnceLock::new(),
            state,
            accepted: Mutex::default(),
            announcer: Mutex::default(),
            shared,
        }
    }

    /// The changes since the oldest subscription was accepted that is not served yet.
    pub(super) fn take_accepted_signals(&self) -> ServerSignals {
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        accepted.unwrap_or_else(|| ServerSignals::from_now(&self.shared))
    }

    /// Returns `true` if changes are noted until the client has a stream for them.
    fn announces_to_streams(&self) -> bool {
        #[cfg(feature = "http")]
        let announces = self.shared.announces_to_streams.load(Ordering::Relaxed);
        #[cfg(not(feature = "http"))]
        let announces = false;
        announces
    }

    /// The tools as last listed.
    pub(super) fn last_listed_tools(&self) -> Arc<ListedTools> {
        Arc::clone(&self.shared.listed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn list_current_tools(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Arc<ListedTools>, ErrorData> {
        if self.shared.tools.fixed_tools().is_some() {
            return Ok(self.last_listed_tools());
        }
        let executor = self.shared.tools.executor_for(&self.run_context(context)).await?;
        let listed = Arc::new(ListedTools::new(executor.tools()));
        *self.shared.listed.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&listed);
        Ok(listed)
    }
}

/// The future of a request is as large as the largest of these, and the SDK moves it several times: all of them are boxed as they
/// begin, so that they have the size of a pointer.
impl ServerHandler for RequestHandler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_logging().enable_tools().build();
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = self.shared.tools.toolbox().is_some().then_some(true);
        }
        if self.shared.tools.has_long_running_tools() {
            let tasks = ServerCapabilities::builder().enable_tasks().build();
            capabilities.extensions = tasks.extensions;
        }
        let (resources, prompts) = (self.shared.resources.as_ref(), self.shared.prompts.as_ref());
        capabilities.resources = resources.map(|resources| {
            let mut capability = ResourcesCapability::default();
            capability.subscribe = resources.changes().is_some().then_some(true);
            capability.list_changed = capability.subscribe;
            capability
        });
        capabilities.prompts = prompts.map(|prompts| {
            let mut capability = PromptsCapability::default();
            capability.list_changed = prompts.changes().is_some().then_some(true);
            capability
        });
        let completes =
            resources.is_some_and(|it| it.completes()) || prompts.is_some_and(|it| it.completes());
        capabilities.completions = completes.then(Default::default);
        let mut info = ServerConfig::new(capabilities).with_server_info(self.shared.implementation.clone());
        info.instructions.clone_from(&self.shared.instructions);
        info
    }

    fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<InitializeResult, ErrorData>> + Send {
        // The SDK would take on another client and revision, of which the session has the state of the first.
        ready(match self.is_open.swap(true, Ordering::Relaxed) {
            true => {
                let problem = "the session is open already; use it, or open another connection";
                Err(ErrorData::invalid_request(problem, None))
            }
            false => {
                context.peer.set_peer_info(request.clone());
                self.negotiate_initialize(&request)
            }
        })
    }

    fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send {
        Box::pin(async move {
            let listed = self.list_current_tools(&context).await?;
            let cursor = request.and_then(|request| request.cursor);
            let (page, next) =
                listed.tool_page(cursor.as_deref(), self.shared.page_size, !is_2026_07_or_later(&context));
            let mut result = ListToolsResult::with_all_items(page);
            result.next_cursor = next;
            Ok(result)
        })
    }

    fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send {
        let unwatched = UnwatchedRequest::of(&context);
        Box::pin(
            unwatched
                .run_passing_on_cancellation(ToolCallRequest::new(self, context).answer_request(request)),
        )
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        listed_tool_with_headers(self, name)
    }

    fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send {
        Box::pin(async move {
            self.state.set_level(request.level);
            self.share_setting(&context, SessionSetting::Level(request.level)).await
        })
    }

    fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<GetTaskResult, ErrorData>> + Send {
        Box::pin(async move { self.task_state(request, &context).await })
    }

    fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send {
        Box::pin(
            async move { self.answer_task_request(TaskRequest::Update(request), &context).await.map(drop) },
        )
    }

    fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send {
        Box::pin(
            async move { self.answer_task_request(TaskRequest::Cancel(request), &context).await.map(drop) },
        )
    }

    fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorData>> + Send {
        Box::pin(async move {
            let resources = self.require_resources::<ListResourcesRequestMethod>()?;
            let cursor = request.and_then(|request| request.cursor);
            let run = Arc::new(self.run_context(&context));
            let page = Paging::new(cursor.as_deref(), self.shared.page_size);
            let page =
                self.run_program_code(&context, None, async { resources.list(&run, page).await }).await?;
            self.report_diagnostics(|| resources.diagnostics());
            let mut result = ListResourcesResult::with_all_items(page.items);
            result.next_cursor = page.next;
            Ok(result)
        })
    }

    fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, ErrorData>> + Send {
        Box::pin(async move {
            let resources = self.require_resources::<ListResourceTemplatesRequestMethod>()?;
            let cursor = request.and_then(|request| request.cursor);
            let run = Arc::new(self.run_context(&context));
            let page = Paging::new(cursor.as_deref(), self.shared.page_size);
            let page = self
                .run_program_code(&context, None, async { resources.templates(&run, page).await })
                .await?;
            self.report_diagnostics(|| resources.diagnostics());
            let mut result = ListResourceTemplatesResult::with_all_items(page.items);
            result.next_cursor = page.next;
            Ok(result)
        })
    }

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ReadResourceResponse, ErrorData>> + Send {
        Box::pin(async move { self.answer_read_resource(request, &context).await })
    }

    fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListPromptsResult, ErrorData>> + Send {
        Box::pin(async move {
            let prompts = self.require_prompts::<ListPromptsRequestMethod>()?;
            let cursor = request.and_then(|request| request.cursor);
            let run = Arc::new(self.run_context(&context));
            let page = Paging::new(cursor.as_deref(), self.shared.page_size);
            let page =
                self.run_program_code(&context, None, async { prompts.list(&run, page).await }).await?;
            self.report_diagnostics(|| prompts.diagnostics());
            let mut result = ListPromptsResult::with_all_items(page.items);
            result.next_cursor = page.next;
            Ok(result)
        })
    }

    fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<GetPromptResponse, ErrorData>> + Send {
        Box::pin(async move { self.answer_get_prompt(request, &context).await })
    }

    fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CompleteResult, ErrorData>> + Send {
        Box::pin(async move { self.answer_complete(request, &context).await })
    }

    fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send {
        Box::pin(async move {
            self.subscribe_to(&request.uri, &context)?;
            self.share_setting(&context, SessionSetting::Subscribed(request.uri)).await
        })
    }

    fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send {
        Box::pin(async move {
            self.unsubscribe_from(&request.uri);
            self.share_setting(&context, SessionSetting::Unsubscribed(request.uri)).await
        })
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // The streams of a cluster have the changes of all processes.
        #[cfg(feature = "postgres")]
        if self.shared.cluster.get().is_some() {
            return;
        }
        self.state.begin_noting_changes(&self.shared);
        let announcing = Self::announce_changes(
            Arc::clone(&self.state),
            context.peer.clone(),
            self.announces_to_streams(),
        );
        #[expect(clippy::disallowed_methods, reason = "the handler aborts it")]
        let announcer = AbortOnDropHandle::new(tokio::spawn(announcing));
        // One of an earlier notification ends.
        *self.announcer.lock().unwrap_or_else(PoisonError::into_inner) = Some(announcer);
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        {
            let mut accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
            if accepted.len() == MAX_ACCEPTED {
                accepted.pop_front();
            }
            accepted.push_back(ServerSignals::from_now(&self.shared));
        }
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    fn listen(&self, context: SubscriptionContext) -> impl Future<Output = Result<(), ErrorData>> + Send {
        Box::pin(self.send_subscribed_changes(context))
    }

    fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CustomResult, ErrorData>> + Send {
        let CustomRequest { method, params, .. } = &request;
        ready(Err(match params_problem(method, params.as_ref(), is_2026_07_or_later(&context)) {
            Some(problem) => ErrorData::invalid_params(problem, None),
            None => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        }))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_that_are_not_served_have_a_limit() {
        let server = crate::server::McpServer::new(tool_runtime::Registry::default());
        let shared = server.into_server_state().unwrap();
        let handler = RequestHandler::new(Arc::clone(&shared), Arc::new(SessionState::new(&shared)));
        let waiting = || handler.accepted.lock().unwrap().len();
        for number in 1..=2 * MAX_ACCEPTED {
            assert!(handler.accepted_subscription_filter(&SubscriptionFilter::default()).is_some());
            assert_eq!(waiting(), number.min(MAX_ACCEPTED));
        }
        drop(handler.take_accepted_signals());
        assert_eq!(waiting(), MAX_ACCEPTED - 1);
    }
}
