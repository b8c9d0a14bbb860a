//! `sessions show`.

use serde::Serialize;
use serde_json::{Map, Value};
use tool_cli::{Exit, Failure};

use super::{
    entry_text::{entry_text, entry_title},
    list::json_failure,
    request::{SessionRequest, escaped_line, operation_failure},
    time::time_text,
};
use crate::{Entry, EntryQuery, Session, SessionKey, SharedSessionStore};

/// The default maximum number of entries of a page.
pub(super) const DEFAULT_MAX_ENTRIES: u64 = 20;

/// A session and a page of its entries, in order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionPage {
    session: Session,
    state: Map<String, Value>,
    entries: Vec<Entry>,
    has_earlier: bool,
}

/// Shows a session and its last entries.
pub(super) fn show_session(request: &SessionRequest<'_>) -> Result<Exit, Failure> {
    let keys = request.session_keys()?;
    let key = keys.first().ok_or_else(|| Failure::usage("the name of the session is missing"))?;
    let store = request.open_existing_store()?;
    let page = request.run_and_close(store, async |store| read_page(request, store, key).await)?;
    if request.has_json_output() {
        let json = serde_json::to_string_pretty(&page).map_err(|error| json_failure(&error))?;
        request.program.print_json(&(json + "\n"))?;
    } else {
        request.program.print(&page.page_text())?;
    }
    Ok(Exit::Done)
}

async fn read_page(
    request: &SessionRequest<'_>,
    store: &SharedSessionStore,
    key: &SessionKey,
) -> Result<SessionPage, Failure> {
    let failure = |error| operation_failure(&error);
    let snapshot =
        store.load(key).await.map_err(failure)?.ok_or_else(|| request.unknown_session_failure(key))?;
    let number = |option: &str| request.matches.get_one::<u64>(option).copied();
    let limit = number("limit").unwrap_or(DEFAULT_MAX_ENTRIES);
    let mut query = EntryQuery::backward().limit(usize::try_from(limit).unwrap_or(usize::MAX));
    if let Some(before) = number("before") {
        query = query.before(before);
    }
    let mut page = store.entries(key, &query).await.map_err(failure)?;
    page.entries.reverse();
    let (session, state) = (snapshot.session, snapshot.state.session);
    Ok(SessionPage { session, state, entries: page.entries, has_earlier: page.has_more })
}

impl SessionPage {
    fn page_text(&self) -> String {
        let Session { key, title, entries, created_at, updated_at, origin, .. } = &self.session;
        let mut page = String::new();
        let mut add = |name: &str, value: &str| page.push_str(&format!("{name:<9}{}\n", escaped_line(value)));
        add("session", key.id());
        if !key.user().is_empty() {
            add("user", key.user());
        }
        if let Some(title) = title {
            add("title", title);
        }
        add("made", &format!("{} UTC", time_text(*created_at)));
        add("changed", &format!("{} UTC", time_text(*updated_at)));
        if let Some(origin) = origin {
            add("fork of", &format!("{}, at entry {}", origin.id, origin.entry));
        }
        if !self.state.is_empty() {
            add("state", &Value::Object(self.state.clone()).to_string());
        }
        add("entries", &self.entry_range_text(*entries));
        for Entry { number, content } in &self.entries {
            let body = content.body.read().unwrap_or_default();
            let (title, time) = (entry_title(content, &body), time_text(content.time));
            page.push_str(&format!("\n#{number} {title}, {time}\n{}", entry_text(content, &body)));
        }
        page
    }

    fn entry_range_text(&self, total: u64) -> String {
        match (self.entries.first(), self.entries.last()) {
            (Some(first), Some(last)) if self.has_earlier || last.number < total => {
                let earlier = match self.has_earlier {
                    true => format!("; `--before {}` shows earlier ones", first.number),
                    false => String::new(),
                };
                format!("{} to {} of {total}{earlier}", first.number, last.number)
            }
            _ => total.to_string(),
        }
    }
}
