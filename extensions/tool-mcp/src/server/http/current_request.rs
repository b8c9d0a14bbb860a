//! The request that the SDK handles, for what the SDK does not pass on.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rmcp::model::RequestId;

use super::{Identity, activity::OpenStream, refusal::RequestRefusal};
use crate::server::{server_state::ServerState, session_state::SessionState};

tokio::task_local! {
    /// The request that the SDK handles.
    pub(super) static REQUEST: Arc<CurrentRequest>;
}

/// A request that the SDK handles, for what the SDK does not pass on.
#[derive(Default)]
pub(super) struct CurrentRequest {
    refusal: OnceLock<RequestRefusal>,
    /// The id of the request, if the SDK reads its body.
    id: OnceLock<RequestId>,
    identity: Option<Arc<Identity>>,
    /// The state of the session, for the handler that the SDK makes.
    state: Mutex<Option<Arc<SessionState>>>,
    /// The session that does not rest until the request is answered.
    session: Mutex<Option<OpenStream>>,
}

impl CurrentRequest {
    pub(super) fn new(identity: Option<Arc<Identity>>) -> Self {
        Self { identity, ..Self::default() }
    }

    /// Returns the state of the session, or else the one of a new session.
    pub(super) fn session_state_or_new(&self, shared: &ServerState) -> Arc<SessionState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(state.get_or_insert_with(|| Arc::new(SessionState::new(shared))))
    }

    /// Keeps a session from resting until the request is answered.
    pub(super) fn hold_session(&self, session: OpenStream) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    pub(super) fn identity(&self) -> Option<&Arc<Identity>> {
        self.identity.as_ref()
    }

    pub(super) fn refuse(&self, refusal: RequestRefusal) {
        self.refusal.set(refusal).ok();
    }

    /// Returns the reason why the request is refused, if it is.
    pub(super) fn refusal(&self) -> Option<&RequestRefusal> {
        self.refusal.get()
    }

    pub(super) fn set_id(&self, id: RequestId) {
        self.id.set(id).ok();
    }

    pub(super) fn id(&self) -> Option<&RequestId> {
        self.id.get()
    }
}
