//! Questions and announcements of a server.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ElicitationAction, Implementation, InputRequest, InputRequests,
        ListRootsResult, ProtocolVersion, ResourceUpdatedNotificationParam, Root,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::Value;
use tokio::sync::SemaphorePermit;
use tool_runtime::{BoxFuture, ToolContext, ToolError};

use super::{
    questions::{QuestionAllowance, QuestionLimiter},
    transport::WaitingCalls,
};

/// The maximum number of questions of one round, those about folders included: each costs an answer.
const MAX_QUESTIONS_PER_ROUND: usize = 100;

/// A question of a server: to the user, to the model, or about the folders of the program.
#[derive(Debug)]
#[non_exhaustive]
pub struct Question<P> {
    /// The name of the server.
    pub server: String,
    /// The question.
    pub params: P,
    /// The call that it belongs to, if it is known: up to revision 2025-11-25, a question does not name its call, and
    /// belongs to the only one that is waiting.
    pub call: Option<ToolContext>,
}

type Answering<P, R> = dyn Fn(Question<P>) -> BoxFuture<'static, Result<R, ToolError>> + Send + Sync;

/// Makes an answer of a function of the program.
pub(super) fn question_handler<P: Send + 'static, R: Send + 'static, F>(
    answer: impl Fn(Question<P>) -> F + Send + Sync + 'static,
) -> Arc<Answering<P, R>>
where
    F: Future<Output = Result<R, ToolError>> + Send + 'static,
{
    let answer = Arc::new(answer);
    Arc::new(move |question| {
        let answer = Arc::clone(&answer);
        Box::pin(async move { super::run_callback(|| answer(question)).await })
    })
}

/// The answers of the program to questions of servers.
#[derive(Clone, Default)]
pub(super) struct QuestionHandlers {
    pub(super) elicitation: Option<Arc<Answering<ElicitRequestParams, ElicitResult>>>,
    pub(super) sampling: Option<Arc<Answering<CreateMessageRequestParams, CreateMessageResult>>>,
    pub(super) roots: Option<Arc<Answering<(), Vec<Root>>>>,
}

impl QuestionHandlers {
    /// The capabilities that the program has by its answers.
    pub(super) fn client_capabilities(&self) -> ClientCapabilities {
        let mut capabilities = ClientCapabilities::default();
        if self.elicitation.is_some() {
            capabilities.elicitation = Some(Default::default());
        }
        if self.sampling.is_some() {
            capabilities.sampling = Some(Default::default());
        }
        if self.roots.is_some() {
            capabilities.roots = Some(Default::default());
        }
        capabilities
    }
}

/// A change that a server announces.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerChange {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or of their templates.
    Resources,
    /// A resource that the program subscribed to.
    Resource {
        /// Its URI.
        uri: String,
    },
}

/// One connection, as its server sees it.
pub(super) struct ConnectionHandler {
    pub(super) server: Arc<str>,
    pub(super) client_info: Implementation,
    /// The revision to ask for by `initialize`; `None` for the newest.
    pub(super) protocol: Option<ProtocolVersion>,
    pub(super) answers: QuestionHandlers,
    pub(super) calls: Arc<WaitingCalls>,
    pub(super) questions: Arc<QuestionLimiter>,
    pub(super) changed: Arc<dyn Fn(ServerChange) + Send + Sync>,
}

impl ConnectionHandler {
    fn question_for<P>(&self, params: P, call: Option<&ToolContext>) -> Question<P> {
        Question { server: self.server.to_string(), params, call: call.cloned() }
    }

    /// Admits a question; `allowance` belongs to its call, if it ended a round.
    async fn admit_question(
        &self,
        allowance: Option<&QuestionAllowance>,
    ) -> Result<SemaphorePermit<'_>, ErrorData> {
        match allowance {
            Some(allowance) => self.questions.admit_round_question(allowance).await,
            None => self.questions.admit_server_question(self.calls.take_question_of_any_call()).await,
        }
    }

    async fn answer_elicitation(
        &self,
        params: ElicitRequestParams,
        call: Option<&ToolContext>,
        allowance: Option<&QuestionAllowance>,
    ) -> Result<ElicitResult, ErrorData> {
        match &self.answers.elicitation {
            // The client does not declare that it opens pages.
            Some(_) if !matches!(params, ElicitRequestParams::FormElicitationParams { .. }) => {
                Err(ErrorData::invalid_params("the client supports questions by form only", None))
            }
            Some(answer) => {
                let _permit = self.admit_question(allowance).await?;
                answer(self.question_for(params, call)).await.map_err(unanswered_error)
            }
            None => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
    }

    async fn answer_sampling(
        &self,
        params: CreateMessageRequestParams,
        call: Option<&ToolContext>,
        allowance: Option<&QuestionAllowance>,
    ) -> Result<CreateMessageResult, ErrorData> {
        match &self.answers.sampling {
            Some(answer) => {
                let _permit = self.admit_question(allowance).await?;
                answer(self.question_for(params, call)).await.map_err(unanswered_error)
            }
            None => Err(ErrorData::method_not_found::<rmcp::model::CreateMessageRequestMethod>()),
        }
    }

    async fn answer_roots(&self, call: Option<&ToolContext>) -> Result<ListRootsResult, ErrorData> {
        match &self.answers.roots {
            Some(answer) => {
                let _permit = self.questions.admit_roots_question()?;
                Ok(ListRootsResult::new(answer(self.question_for((), call)).await.map_err(unanswered_error)?))
            }
            None => Ok(ListRootsResult::default()),
        }
    }

    /// Answers a request of the server, which belongs to one of the calls that wait. It ends with the request, and with the
    /// last of these calls.
    async fn answer_during_calls<T>(
        &self,
        request: &RequestContext<RoleClient>,
        answer: impl AsyncFnOnce(Option<&ToolContext>) -> Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        let (call, ends) = self.calls.only_waiting_call_and_ends();
        let all_ended = async {
            for end in &ends {
                end.cancelled().await;
            }
        };
        let ended = || Err(ErrorData::internal_error("the call that asks has ended", None));
        tokio::select! {
            answer = answer(call.as_ref()) => answer,
            () = request.ct.cancelled() => ended(),
            () = all_ended, if !ends.is_empty() => ended(),
        }
    }

    /// Answers the questions with which a server ended a round of a call.
    pub(super) async fn answer_round(
        &self,
        questions: InputRequests,
        call: Option<&ToolContext>,
        allowance: &QuestionAllowance,
    ) -> Result<BTreeMap<String, Value>, ErrorData> {
        if questions.len() > MAX_QUESTIONS_PER_ROUND {
            return Err(self.questions.too_many_in_round_error(MAX_QUESTIONS_PER_ROUND));
        }
        let mut answers = BTreeMap::new();
        for (name, question) in questions {
            let answer = match question {
                InputRequest::Elicitation(it) => {
                    serde_json::to_value(self.answer_elicitation(it.params, call, Some(allowance)).await?)
                }
                InputRequest::CreateMessage(it) => {
                    serde_json::to_value(self.answer_sampling(it.params, call, Some(allowance)).await?)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(self.answer_roots(call).await?),
                _ => return Err(ErrorData::invalid_request("the question is of an unknown kind", None)),
            };
            let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            answers.insert(name, answer);
        }
        Ok(answers)
    }
}

fn unanswered_error(error: ToolError) -> ErrorData {
    ErrorData::internal_error(error.feedback(), None)
}

impl ClientHandler for ConnectionHandler {
    fn get_info(&self) -> ClientConfig {
        let config = ClientConfig::new(self.answers.client_capabilities(), self.client_info.clone());
        match &self.protocol {
            Some(version) => config.with_protocol_version(version.clone()),
            None => config,
        }
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        request: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.answer_during_calls(&request, async |call| self.answer_elicitation(params, call, None).await)
            .await
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        request: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.answer_during_calls(&request, async |call| self.answer_sampling(params, call, None).await).await
    }

    async fn list_roots(&self, request: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.answer_during_calls(&request, async |call| self.answer_roots(call).await).await
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.changed)(ServerChange::Tools);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.changed)(ServerChange::Prompts);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.changed)(ServerChange::Resources);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        (self.changed)(ServerChange::Resource { uri: params.uri });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_capabilities_of_its_answers() {
        let answered = |answers: QuestionHandlers| {
            let capabilities = answers.client_capabilities();
            [
                capabilities.elicitation.is_some(),
                capabilities.sampling.is_some(),
                capabilities.roots.is_some(),
                capabilities.experimental.is_some(),
            ]
        };
        let no_answer = || ToolError::failed("no answer");
        let none = QuestionHandlers::default();
        assert_eq!(answered(none.clone()), [false; 4]);
        let elicitation = Some(question_handler(move |_| std::future::ready(Err(no_answer()))));
        let sampling = Some(question_handler(move |_| std::future::ready(Err(no_answer()))));
        let roots = Some(question_handler(move |_| std::future::ready(Ok(Vec::new()))));
        let of_elicitation = QuestionHandlers { elicitation: elicitation.clone(), ..none.clone() };
        assert_eq!(answered(of_elicitation), [true, false, false, false]);
        let of_sampling = QuestionHandlers { sampling: sampling.clone(), ..none.clone() };
        assert_eq!(answered(of_sampling), [false, true, false, false]);
        assert_eq!(answered(QuestionHandlers { roots: roots.clone(), ..none }), [false, false, true, false]);
        let all = QuestionHandlers { elicitation, sampling, roots };
        assert_eq!(answered(all), [true, true, true, false]);
    }
}
