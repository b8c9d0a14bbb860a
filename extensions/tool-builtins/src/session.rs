//! The user and the session of a call, by which state of tools is kept apart.

use tool_runtime::ToolContext;

/// The user and the session of a run; empty without one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    user: String,
    session: String,
}

impl SessionKey {
    pub(crate) fn of_call(cx: &ToolContext) -> Self {
        let run = cx.run();
        let user = run.and_then(|run| run.user()).unwrap_or_default().to_owned();
        let session = run.and_then(|run| run.session()).unwrap_or_default().to_owned();
        Self { user, session }
    }
}
