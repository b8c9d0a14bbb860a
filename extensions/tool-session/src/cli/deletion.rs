//! `sessions delete` and `sessions prune`.

use std::time::Duration;

use tool_cli::{Exit, Failure};

use super::request::{SessionRequest, counted_noun, escaped_line, operation_failure};
use crate::{Retention, SessionKey, SharedSessionStore};

/// The maximum number of names in a question.
const MAX_NAMES: usize = 10;

/// Deletes sessions, or all data of a user.
pub(super) fn delete_sessions(request: &SessionRequest<'_>) -> Result<Exit, Failure> {
    let keys = request.session_keys()?;
    if keys.is_empty() && !request.has_flag("all") {
        return Err(Failure::usage("the names of the sessions are missing; give names, or `--all`"));
    }
    if keys.is_empty() {
        return delete_user(request);
    }
    let store = request.open_existing_store()?;
    request.run_and_close(store, async |store| request.check_sessions_exist(store, &keys).await)?;
    require_confirmation(request, &format!("delete {}?", sessions_text(&keys)))?;
    let delete = async |store: &SharedSessionStore| {
        let mut deleted = 0;
        for key in &keys {
            deleted += u64::from(store.delete(key).await.map_err(|error| operation_failure(&error))?);
        }
        Ok(deleted)
    };
    let deleted = request.run_and_close(request.open_existing_store()?, delete)?;
    print_deleted_count(request, deleted)
}

/// Deletes all data of a user.
fn delete_user(request: &SessionRequest<'_>) -> Result<Exit, Failure> {
    let user = request.option_text("user").unwrap_or_default();
    let of_user = match user {
        "" => "sessions without a user".to_owned(),
        user => format!("the user `{}`", escaped_line(user)),
    };
    let app = escaped_line(&request.app);
    if !request.location.may_exist() {
        request.open_existing_store()?;
    }
    require_confirmation(
        request,
        &format!("delete all data of {of_user} in the app `{app}`: sessions, state, notes?"),
    )?;
    let delete = async |store: &SharedSessionStore| {
        store.delete_user(&request.app, user).await.map_err(|error| operation_failure(&error))
    };
    let deleted = request.run_and_close(request.open_existing_store()?, delete)?;
    print_deleted_count(request, deleted)
}

/// Deletes sessions by age and number.
pub(super) fn prune_sessions(request: &SessionRequest<'_>) -> Result<Exit, Failure> {
    let age = request.matches.get_one::<Duration>("older-than").copied();
    let keep = request.matches.get_one::<u32>("keep").copied();
    let mut retention = Retention::new(request.app.clone());
    let mut rules = Vec::new();
    if let Some(age) = age {
        retention = retention.max_age(age);
        // The text of the command line.
        let age = request.matches.get_raw("older-than").into_iter().flatten().next().unwrap_or_default();
        rules.push(format!("that were not changed for {}", escaped_line(&age.to_string_lossy())));
    }
    if let Some(keep) = keep {
        retention = retention.max_sessions(keep);
        rules.push(format!("but the last {keep} of each user"));
    }
    if rules.is_empty() {
        return Err(Failure::usage("give `--older-than AGE`, such as `90d`, or `--keep NUMBER`, or both"));
    }
    if !request.location.may_exist() {
        request.open_existing_store()?;
    }
    let app = escaped_line(&request.app);
    let question = format!("delete all sessions of the app `{app}` {}?", rules.join(", and all "));
    require_confirmation(request, &question)?;
    let prune = async |store: &SharedSessionStore| {
        store.prune(&retention).await.map_err(|error| operation_failure(&error))
    };
    let deleted = request.run_and_close(request.open_existing_store()?, prune)?;
    print_deleted_count(request, deleted)
}

fn print_deleted_count(request: &SessionRequest<'_>, deleted: u64) -> Result<Exit, Failure> {
    request.program.print(&format!("{} deleted\n", counted_noun(deleted, "session", "sessions")))?;
    Ok(Exit::Done)
}

fn sessions_text(keys: &[SessionKey]) -> String {
    let mut names: Vec<_> =
        keys.iter().take(MAX_NAMES).map(|key| format!("`{}`", escaped_line(key.id()))).collect();
    if keys.len() > MAX_NAMES {
        names.push(format!("and {} more", keys.len() - MAX_NAMES));
    }
    let noun = if keys.len() == 1 { "the session" } else { "the sessions" };
    format!("{noun} {}", names.join(", "))
}

/// Asks for a deletion.
///
/// # Errors
///
/// If it is not confirmed.
fn require_confirmation(request: &SessionRequest<'_>, question: &str) -> Result<(), Failure> {
    if request.has_flag("yes") {
        return Ok(());
    }
    match request.program.confirm(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::new(Exit::Refused, "nothing was deleted")),
        None => Err(Failure::new(
            Exit::Refused,
            "nothing was deleted: stdin is not a terminal, so that the question cannot be asked; `--yes` confirms the deletion",
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_ten_sessions_and_the_number_of_the_others() {
        let text = |count: usize| {
            let keys: Vec<_> =
                (1..=count).map(|id| SessionKey::new("shop", "u", id.to_string()).unwrap()).collect();
            sessions_text(&keys)
        };
        let ten = "`1`, `2`, `3`, `4`, `5`, `6`, `7`, `8`, `9`, `10`";
        assert_eq!(text(1), "the session `1`");
        assert_eq!(text(2), "the sessions `1`, `2`");
        assert_eq!(text(10), format!("the sessions {ten}"));
        assert_eq!(text(11), format!("the sessions {ten}, and 1 more"));
        assert_eq!(text(13), format!("the sessions {ten}, and 3 more"));
    }
}
