//! The requests of clients.

use std::{future::Future, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tool_agent::{End, EndReason, Runner};
use tool_runtime::{Executor, RunContext};
use tool_session::{SessionKey, SqliteStore};

use crate::{
    APP,
    answer::{UserAnswer, end_of_answer},
    call_ids::CallIds,
    refusal::Refusal,
    users::Users,
    waiting::answered_before,
};

/// The maximum size of a request's body, in bytes.
const MAX_BODY_BYTES: usize = 16 << 10;

/// The service.
pub(crate) struct Service {
    pub(crate) runner: Runner,
    pub(crate) executor: Executor,
    pub(crate) store: SqliteStore,
    pub(crate) users: Users,
    pub(crate) ids: CallIds,
}

pub(crate) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/calls", get(list_all))
        .route("/sessions/{session}/calls", get(list_session))
        .route("/sessions/{session}/calls/{id}", post(answer))
        .route("/sessions/{session}/messages", post(send_message))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(service)
}

/// A message of a user.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMessage {
    text: String,
}

type Reply = Result<Response, Refusal>;

async fn send_message(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    Path(session): Path<String>,
    body: Bytes,
) -> Reply {
    let user = service.users.user_of(&headers)?;
    let run = run_of(user, &session)?;
    let message: NewMessage = serde_json::from_slice(&body).map_err(|error| {
        Refusal::new(StatusCode::BAD_REQUEST, format!("the body is not `{{\"text\":\"..\"}}`: {error}"))
    })?;
    let events = service.runner.run_with(run, message.text);
    let end = until_end(async move { Ok(events.end().await) }).await?;
    service.reply_to_end(user, &session, &end).await
}

async fn list_all(State(service): State<Arc<Service>>, headers: HeaderMap) -> Reply {
    let user = service.users.user_of(&headers)?;
    Ok(json_response(StatusCode::OK, &service.list_calls(user, None).await?))
}

async fn list_session(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    Path(session): Path<String>,
) -> Reply {
    let user = service.users.user_of(&headers)?;
    Ok(json_response(StatusCode::OK, &service.list_calls(user, Some(&session)).await?))
}

async fn answer(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    Path((session, id)): Path<(String, String)>,
    body: Bytes,
) -> Reply {
    let user = service.users.user_of(&headers)?;
    let run = run_of(user, &session)?;
    let call = service.waiting_call(user, &session, &id).await?;
    let answers = UserAnswer::from_json(&body)?.into_answers(&call)?;
    let events = service.runner.resume(run, answers);
    let end = until_end(end_of_answer(events)).await?;
    let failed = matches!(end.reason, EndReason::Failed { .. });
    if failed && service.waiting_call(user, &session, &call.id).await.is_err() {
        // Another answer came first, and was the last one that its run waited for.
        return Err(answered_before());
    }
    service.reply_to_end(user, &session, &end).await
}

/// Returns the context of a run of `user`. No part of a request names another user.
fn run_of(user: &str, session: &str) -> Result<RunContext, Refusal> {
    SessionKey::new(APP, user, session)
        .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    Ok(RunContext::new().with_app(APP).with_user(user).with_session(session))
}

/// Waits for the end of a run, which continues if its client goes away: a call that has begun is not cut off.
async fn until_end(run: impl Future<Output = Result<End, Refusal>> + Send + 'static) -> Result<End, Refusal> {
    tokio::spawn(run).await.unwrap_or_else(|error| Err(Refusal::internal(&error)))
}

impl Service {
    async fn reply_to_end(&self, user: &str, session: &str, end: &End) -> Reply {
        let mut reply = json!({ "text": end.text });
        match &end.reason {
            EndReason::OpenCalls => {
                let mut waiting = self.list_calls(user, Some(session)).await?;
                reply["calls"] = waiting["calls"].take();
            }
            reason if reason.is_success() => {}
            EndReason::Busy { .. } => {
                return Err(Refusal::new(
                    StatusCode::CONFLICT,
                    "another run of the session takes place; wait for its end",
                ));
            }
            reason => return Err(Refusal::internal(reason)),
        }
        Ok(json_response(StatusCode::OK, &reply))
    }
}

pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}
