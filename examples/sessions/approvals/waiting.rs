//! The calls that wait for a user.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tool_runtime::{
    open_calls::{OpenCall, OpenCallError, OpenCallStore, OpenFilter, OpenRecord},
    policy::Escape,
};

use crate::{APP, refusal::Refusal, service::Service};

/// The maximum number of calls in a list; the oldest come first.
const MAX_LISTED_CALLS: usize = 100;

/// A call that waits for its answer.
pub(crate) struct WaitingCall {
    pub(crate) id: String,
    pub(crate) record: OpenRecord,
    pub(crate) open: OpenCall,
}

impl Service {
    /// Returns the records of a user's calls, in one session or in all.
    async fn records(&self, user: &str, session: Option<&str>) -> Result<Vec<OpenRecord>, Refusal> {
        let mut filter = OpenFilter::default();
        filter.app = Some(APP.to_owned());
        filter.user = Some(user.to_owned());
        filter.session = session.map(str::to_owned);
        let mut records = self.store.list(&filter).await.map_err(|error| Refusal::internal(&error))?;
        records.sort_by_key(|record| record.address.serial);
        Ok(records)
    }

    /// Lists the calls that wait for a user, as a person reads them.
    pub(crate) async fn list_calls(&self, user: &str, session: Option<&str>) -> Result<Value, Refusal> {
        let mut calls = Vec::new();
        let mut omitted = 0;
        for record in self.records(user, session).await? {
            // A record that has expired, or was not written by this program, waits for no answer.
            let Ok(open) = self.executor.open_call(&record) else { continue };
            let Some(session) = record.session.as_deref() else { continue };
            if calls.len() == MAX_LISTED_CALLS {
                omitted += 1;
                continue;
            }
            calls.push(shown(&self.ids.id(user, session, &record), session, &open));
        }
        Ok(json!({ "calls": calls, "omitted": omitted }))
    }

    /// Returns the call with an id.
    pub(crate) async fn waiting_call(
        &self,
        user: &str,
        session: &str,
        id: &str,
    ) -> Result<WaitingCall, Refusal> {
        if !self.ids.is_id(user, session, id) {
            return Err(Refusal::new(
                StatusCode::NOT_FOUND,
                "the session has no such call; list the calls that wait",
            ));
        }
        let mut records = self.records(user, Some(session)).await?.into_iter();
        let record =
            records.find(|record| self.ids.id(user, session, record) == id).ok_or_else(answered_before)?;
        match self.executor.open_call(&record) {
            Ok(open) => Ok(WaitingCall { id: id.to_owned(), record, open }),
            Err(OpenCallError::Expired { .. }) => {
                Err(Refusal::new(StatusCode::GONE, "the time for the answer is over; send a message"))
            }
            Err(error) => Err(Refusal::internal(&error)),
        }
    }
}

/// The refusal of a second answer.
pub(crate) fn answered_before() -> Refusal {
    Refusal::new(StatusCode::CONFLICT, "the call was answered before; list the calls that wait")
}

/// Returns a call as a person reads it. A model chose its arguments: characters that would show something else are escaped.
fn shown(id: &str, session: &str, open: &OpenCall) -> Value {
    let call = open.call();
    let mut shown = json!({
        "id": id, "session": session,
        "tool": Escape::LINE.text(&call.name),
        "arguments": Escape::LINE.text(call.arguments.as_str()),
    });
    if let OpenCall::Confirmation(_, request) = open {
        shown["question"] = json!(Escape::LINES.text(&request.hint));
    }
    shown
}
