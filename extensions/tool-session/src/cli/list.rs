//! `sessions list`.

use tool_cli::{Exit, Failure};

use super::{
    request::{SessionRequest, operation_failure},
    time::time_text,
};
use crate::{Session, SessionFilter, SharedSessionStore};

/// Lists the sessions of an app or of a user.
pub(super) fn list_sessions(request: &SessionRequest<'_>) -> Result<Exit, Failure> {
    let limit = request.matches.get_one::<u64>("limit").copied().unwrap_or(DEFAULT_MAX_SESSIONS);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut sessions = match request.location.may_exist() || !request.location.is_default() {
        false => Vec::new(),
        true => {
            let store = request.open_existing_store()?;
            let wanted = limit.saturating_add(1);
            request.run_and_close(store, async |store| read_sessions(request, store, wanted).await)?
        }
    };
    let has_more = sessions.len() > limit;
    sessions.truncate(limit);
    if request.has_json_output() {
        let json = serde_json::to_string_pretty(&sessions).map_err(|error| json_failure(&error))?;
        request.program.print_json(&(json + "\n"))?;
    } else if sessions.is_empty() {
        request.program.print("There are no sessions.\n")?;
    } else {
        print_sessions(request, &sessions)?;
    }
    if has_more {
        request.program.note("there are more sessions; `--limit` shows more");
    }
    Ok(Exit::Done)
}

/// The default maximum number of sessions in a list.
pub(super) const DEFAULT_MAX_SESSIONS: u64 = 100;

/// Reads at most `max_sessions` sessions of the user that the command line names, or of all users; the last changed first.
pub(super) async fn read_sessions(
    request: &SessionRequest<'_>,
    store: &SharedSessionStore,
    max_sessions: usize,
) -> Result<Vec<Session>, Failure> {
    let mut filter = SessionFilter::new(request.app.clone());
    if let Some(user) = request.option_text("user") {
        filter = filter.of_user(user);
    }
    let mut sessions: Vec<Session> = Vec::new();
    while sessions.len() < max_sessions {
        let page = (max_sessions - sessions.len()).min(SessionFilter::MAX_SESSIONS);
        let found =
            store.list(&filter.clone().limit(page)).await.map_err(|error| operation_failure(&error))?;
        let is_last = found.len() < page;
        sessions.extend(found);
        match sessions.last() {
            Some(last) if !is_last => filter = filter.after(last),
            _ => break,
        }
    }
    Ok(sessions)
}

fn print_sessions(request: &SessionRequest<'_>, sessions: &[Session]) -> Result<(), Failure> {
    let title = |session: &Session| session.title.as_deref().unwrap_or_default().to_owned();
    let id = |session: &Session| session.key.id().to_owned();
    let entries = |session: &Session| session.entries.to_string();
    if sessions.iter().all(|session| session.key.user().is_empty()) {
        let row = |it: &Session| [id(it), time_text(it.updated_at), entries(it), title(it)];
        return request
            .program
            .print_table(["Session", "Changed (UTC)", "Entries", "Title"], sessions.iter().map(row));
    }
    let user = |session: &Session| session.key.user().to_owned();
    let row = |it: &Session| [id(it), user(it), time_text(it.updated_at), entries(it), title(it)];
    request
        .program
        .print_table(["Session", "User", "Changed (UTC)", "Entries", "Title"], sessions.iter().map(row))
}

pub(super) fn json_failure(error: &serde_json::Error) -> Failure {
    Failure::new(Exit::Failed, format!("the output cannot be written as JSON: {error}"))
}
