//! Questions of a call that end its round, from revision 2026-07-28 on.
//!
//! The body that asks stays where it is; the server sees that a question was asked, drops the call and answers it with the
//! questions. The next round runs the body from its start, with the answers of all rounds so far. Between rounds, nothing is
//! kept but a sealed text at the client: see [`seal`](super::seal).

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientCapabilities, ErrorCode, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    },
    service::RequestContext,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_runtime::{RunContext, ToolDefinition, ToolError, definition::ContentHash};

use super::{
    Caller,
    approval::APPROVAL_PREFIX,
    call::is_2026_07_or_later,
    caller::QuestionChannel,
    handler::RequestHandler,
    seal::{SealedState, StateBinding},
};

/// The code of the error for a server that is at one of its limits, or ends.
pub(super) const UNAVAILABLE: ErrorCode = ErrorCode(-32_000);

/// A request whose handling may ask questions: a call, a prompt, or a resource.
pub(super) struct RoundRequest<'a> {
    pub(super) subject: RoundSubject<'a>,
    /// As JSON.
    pub(super) arguments: &'a str,
    pub(super) state: Option<String>,
    pub(super) responses: Option<InputResponses>,
}

/// The tool, the prompt or the resource of a request.
pub(super) enum RoundSubject<'a> {
    Tool(&'a ToolDefinition),
    Prompt(&'a str),
    Resource(&'a str),
}

/// The answer to a request whose handling may ask questions.
pub(super) enum RoundOutcome<T> {
    Complete(T),
    Asks(InputRequiredResult),
}

/// The answers of a client to questions that were not asked yet.
fn unsolicited_answers_without_approvals(answers: Option<InputResponses>) -> BTreeMap<String, Value> {
    answers.unwrap_or_default().into_iter().filter(|(name, _)| !name.starts_with(APPROVAL_PREFIX)).collect()
}

impl RoundRequest<'_> {
    /// The request that a state belongs to: another caller, definition or other arguments are another.
    fn state_binding(&self, caller: String) -> StateBinding {
        let definition = match &self.subject {
            RoundSubject::Tool(definition) => format!("tool {}", definition.content_hash()),
            RoundSubject::Prompt(name) => format!("prompt {name}"),
            RoundSubject::Resource(uri) => format!("resource {uri}"),
        };
        let arguments = ContentHash::of_json(self.arguments).map(|hash| hash.to_string());
        StateBinding { caller, definition, arguments: arguments.unwrap_or_else(|| self.arguments.to_owned()) }
    }
}

impl RequestHandler {
    /// Runs `body` with a [`Caller`] in its run, until it completes or asks a question that ends the round. `has_failed` tells
    /// failures that are results from other results.
    pub(super) async fn run_in_round<T, F>(
        &self,
        context: &RequestContext<RoleServer>,
        mut request: RoundRequest<'_>,
        run: RunContext,
        body: impl FnOnce(RunContext) -> F,
        has_failed: fn(&T) -> bool,
    ) -> Result<RoundOutcome<T>, ErrorData>
    where
        F: Future<Output = Result<T, ErrorData>>,
    {
        let _running = self.admit_request(context)?;
        #[cfg(feature = "postgres")]
        let _counted = self.count_in_cluster(context).await?;
        let is_modern = is_2026_07_or_later(context);
        let seals = &self.shared.seals;
        let answers = match (is_modern, request.state.take()) {
            (true, Some(state)) => {
                let binding = request.state_binding(self.state_holder(context));
                seals.open_state_once(&state, &binding).await?.merged_answers(request.responses.take())
            }
            // A client may answer questions that it expects. No call is approved unasked.
            (true, None) => unsolicited_answers_without_approvals(request.responses.take()),
            (false, _) => BTreeMap::new(),
        };
        let round = Arc::new(QuestionRound::with_answers(answers));
        let channel = match is_modern {
            true => QuestionChannel::Round(Arc::clone(&round)),
            false => QuestionChannel::Request(context.peer.clone(), self.shared.question_timeout),
        };
        let run = run.provide(Caller::new(channel, self.client_description(context).capabilities));
        let mut body = pin!(body(run));
        tokio::select! {
            biased;
            result = &mut body => {
                if result.as_ref().map_or(true, has_failed)
                    && let Some(lacking) = round.missing_capabilities()
                {
                    return Err(ErrorData::missing_required_client_capability(lacking));
                }
                Ok(RoundOutcome::Complete(result?))
            }
            asked = round.wait_for_questions() => {
                let binding = request.state_binding(self.state_holder(context));
                let state = seals.seal_state(&SealedState::new(round.answers().clone(), &asked), &binding)?;
                Ok(RoundOutcome::Asks(InputRequiredResult::new(Some(asked), Some(state))))
            }
        }
    }
}

/// One round of a call.
#[derive(Debug, Default)]
pub(super) struct QuestionRound {
    answers: BTreeMap<String, Value>,
    /// All questions of the body, also those that are answered.
    questions: Mutex<InputRequests>,
    /// The questions without an answer.
    asked: Mutex<InputRequests>,
    has_asked: Notify,
    /// The capabilities that the tool requires and the client lacks.
    lacking: Mutex<BTreeSet<&'static str>>,
}

impl QuestionRound {
    /// A round with the answers of the rounds so far.
    pub(super) fn with_answers(answers: BTreeMap<String, Value>) -> Self {
        Self { answers, ..Self::default() }
    }

    pub(super) fn answers(&self) -> &BTreeMap<String, Value> {
        &self.answers
    }

    /// Returns the answer to the question `name`, or never, if it was not answered yet: the round then ends. An answer that is
    /// none to this question counts as no answer.
    pub(super) async fn ask_question<T: DeserializeOwned>(
        &self,
        name: &str,
        request: InputRequest,
    ) -> Result<T, ToolError> {
        let is_other = {
            let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
            *questions.entry(name.to_owned()).or_insert_with(|| request.clone()) != request
        };
        if is_other {
            return Err(ToolError::internal(format!("two questions of this call are named `{name}`")));
        }
        if let Some(answer) = self.answers.get(name).and_then(|answer| T::deserialize(answer).ok()) {
            return Ok(answer);
        }
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), request);
        self.has_asked.notify_one();
        std::future::pending().await
    }

    /// Notes a capability that the tool requires and the client lacks.
    pub(super) fn note_missing_capability(&self, capability: &'static str) {
        self.lacking.lock().unwrap_or_else(PoisonError::into_inner).insert(capability);
    }

    /// The capabilities that the tool requires and the client lacks, if any.
    fn missing_capabilities(&self) -> Option<ClientCapabilities> {
        let lacking = self.lacking.lock().unwrap_or_else(PoisonError::into_inner);
        let named = lacking.iter().map(|name| ((*name).to_owned(), json!({})));
        let named: serde_json::Map<_, _> = named.collect();
        if named.is_empty() {
            return None;
        }
        serde_json::from_value(named.into()).ok()
    }

    /// Completes when a question was asked; returns all questions that were.
    pub(super) async fn wait_for_questions(&self) -> InputRequests {
        self.has_asked.notified().await;
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use futures_util::FutureExt as _;
    use rmcp::model::{CreateMessageRequest, CreateMessageRequestParams, ListRootsRequest};

    use super::*;

    fn roots() -> InputRequest {
        InputRequest::ListRoots(ListRootsRequest::default())
    }

    fn sampling() -> InputRequest {
        InputRequest::CreateMessage(CreateMessageRequest::new(CreateMessageRequestParams::new(vec![], 1)))
    }

    #[test]
    fn a_question_without_an_answer_of_its_type_ends_the_round() {
        let answers = [("number", json!(5)), ("text", json!("a"))];
        let answers = answers.map(|(name, answer)| (name.to_owned(), answer));
        let round = QuestionRound::with_answers(BTreeMap::from(answers));
        let ask = |name, request| round.ask_question::<u32>(name, request).now_or_never();
        assert_eq!(ask("number", roots()).unwrap().unwrap(), 5);
        assert!(round.wait_for_questions().now_or_never().is_none());
        assert!(ask("text", roots()).is_none() && ask("unanswered", sampling()).is_none());
        // The same question again is the same question.
        assert_eq!(ask("number", roots()).unwrap().unwrap(), 5);
        let error = ask("number", sampling()).unwrap().unwrap_err();
        assert!(error.to_string().contains("two questions of this call are named `number`"), "{error}");
        let asked = round.wait_for_questions().now_or_never().unwrap();
        assert_eq!(asked.keys().collect::<Vec<_>>(), ["text", "unanswered"]);
        assert_eq!(round.answers().len(), 2);
    }

    #[test]
    fn missing_capabilities_are_named() {
        let round = QuestionRound::default();
        assert!(round.missing_capabilities().is_none());
        round.note_missing_capability("roots");
        let lacking = round.missing_capabilities().unwrap();
        assert!(lacking.roots.is_some() && lacking.sampling.is_none());
        round.note_missing_capability("sampling");
        assert!(round.missing_capabilities().unwrap().sampling.is_some());
    }

    #[test]
    fn no_call_is_approved_by_an_answer_without_a_question() {
        let name = format!("{APPROVAL_PREFIX}delete");
        let answers = [(name, json!({})), ("city".to_owned(), json!("Oslo"))];
        let accepted = unsolicited_answers_without_approvals(Some(answers.into_iter().collect()));
        assert_eq!(accepted.into_keys().collect::<Vec<_>>(), ["city"]);
        assert!(unsolicited_answers_without_approvals(None).is_empty());
    }

    #[test]
    fn a_state_is_bound_to_the_meaning_of_the_arguments() {
        let binding = |subject, arguments| {
            let request = RoundRequest { subject, arguments, state: None, responses: None };
            let StateBinding { caller, definition, arguments } = request.state_binding("ada".to_owned());
            [caller, definition, arguments]
        };
        let [caller, definition, one] = binding(RoundSubject::Prompt("p"), r#"{"a":1,"b":2}"#);
        assert_eq!([caller.as_str(), &definition], ["ada", "prompt p"]);
        let [_, definition, other] = binding(RoundSubject::Resource("u"), r#"{ "b": 2, "a": 1 }"#);
        assert_eq!((definition.as_str(), &other), ("resource u", &one));
        let [_, _, other] = binding(RoundSubject::Prompt("p"), r#"{"a":2,"b":2}"#);
        assert_ne!(other, one);
        let [_, _, unread] = binding(RoundSubject::Prompt("p"), "{");
        assert_eq!(unread, "{");
    }
}
