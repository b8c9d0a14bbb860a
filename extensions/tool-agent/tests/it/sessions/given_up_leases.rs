//! Leases that a run gives up, and sessions that are removed, in stores that fail.

use std::sync::atomic::Ordering;

use test_support::collectors::EventLog;
use tool_agent::{EndReason, model::Reply};
use tool_session::{EntryContent, SessionError};

use super::{
    failures::{Flaky, runner},
    world::run,
};

/// Returns the warnings of a future.
fn warnings(future: impl Future<Output = ()>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut events = EventLog::events_of(|| runtime.block_on(future));
    events.retain(|event| event.starts_with("WARN tool_agent"));
    events
}

fn message_of(warning: &str) -> &str {
    warning.split_once(": ").unwrap().1
}

#[tokio::test]
async fn the_lease_of_a_run_whose_end_is_stored_is_not_given_up() {
    let store = Flaky::default();
    runner(&store, [Reply::text("Hello.")]).run_with(run("s"), "Hi.").answer().await.unwrap();
    assert_eq!(store.given_up.load(Ordering::SeqCst), 0);
}

#[test]
fn a_lease_that_cannot_be_given_up_is_a_warning_unless_it_is_lost() {
    let superseded: fn() -> SessionError = || SessionError::Superseded { run: "run-2".into() };
    let failed: fn() -> SessionError = || SessionError::Failed("the disk is broken".to_owned());
    let expected = "the lease of a session was not given up; it expires by itself {}";
    for (error, expected) in [(superseded, None), (failed, Some(expected))] {
        let store = Flaky::refusing(Some(EntryContent::END), Some(error));
        let runner = runner(&store, [Reply::text("Hello.")]);
        let seen = warnings(async move {
            let end = runner.run_with(run("s"), "Hi.").end().await;
            assert_eq!(end.reason, EndReason::StoreFailed { message: "the disk is full".to_owned() });
        });
        let seen: Vec<_> = seen.iter().map(|warning| message_of(warning)).collect();
        assert_eq!(seen, Vec::from_iter(expected), "{:?}", error());
    }
}

#[test]
fn a_session_that_cannot_be_deleted_is_not_removed() {
    let failed: fn() -> SessionError = || SessionError::Failed("the disk is broken".to_owned());
    let store = Flaky::refusing(None, Some(failed));
    let first = runner(&store, [Reply::text("Hello.")]);
    let seen = warnings(async move {
        first.run_with(run("s"), "Hi.").answer().await.unwrap();
        assert!(!first.remove_session(&run("s")).await);
        assert_eq!(first.history(&run("s")).await.len(), 2);
    });
    let seen: Vec<_> = seen.iter().map(|warning| message_of(warning)).collect();
    assert_eq!(seen, ["a session was not deleted {error: the disk is broken}"]);
}

#[tokio::test]
async fn a_session_whose_name_no_store_accepts_is_empty() {
    let store = Flaky::default();
    let runner = runner(&store, []);
    let named = || run(&"s".repeat(769));
    let end = runner.run_with(named(), "Hi.").end().await;
    let EndReason::Failed { message } = end.reason else { panic!("{}", end.reason) };
    assert!(message.contains("has 769 bytes; at most 768 bytes are stored"), "{message}");
    assert!(runner.history(&named()).await.is_empty());
    assert!(!runner.remove_session(&named()).await);
    // A run without a session has none to remove.
    assert!(!runner.remove_session(&tool_runtime::RunContext::new()).await);
}
