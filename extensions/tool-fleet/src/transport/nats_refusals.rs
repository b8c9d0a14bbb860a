//! Subjects that the permissions of a server of NATS refuse, which it reports beside the messages.

use std::collections::HashSet;

use async_nats::{Event, ServerError};
use tokio::sync::watch;

/// The subjects that a server has refused to a connection.
#[derive(Debug, Default)]
pub(super) struct Refusals(watch::Sender<RefusedSubjects>);

#[derive(Debug, Default)]
struct RefusedSubjects {
    /// Patterns of subscriptions, and awaited inboxes.
    refused: HashSet<String>,
    /// Inboxes, to which messages may be refused, too.
    awaited: HashSet<String>,
}

/// An inbox whose refusal is awaited, until it is dropped.
pub(super) struct AwaitedAnswer<'a> {
    refusals: &'a Refusals,
    inbox: String,
}

impl Drop for AwaitedAnswer<'_> {
    fn drop(&mut self) {
        self.refusals.0.send_modify(|subjects| {
            subjects.awaited.remove(&self.inbox);
            subjects.refused.remove(&self.inbox);
        });
    }
}

impl AwaitedAnswer<'_> {
    pub(super) async fn refused(&self) {
        self.refusals.refused(&self.inbox).await;
    }
}

impl Refusals {
    /// Notes a refused subscription, or a refused message to an inbox that is awaited.
    pub(super) fn note_event(&self, event: &Event) {
        let Event::ServerError(ServerError::Other(problem)) = event else { return };
        let Some((is_subscription, subject)) = refused_subject(problem) else { return };
        self.0.send_if_modified(|subjects| {
            (is_subscription || subjects.awaited.contains(subject))
                && subjects.refused.insert(subject.to_owned())
        });
    }

    pub(super) fn await_answer(&self, inbox: &str) -> AwaitedAnswer<'_> {
        let inbox = inbox.to_owned();
        self.0.send_if_modified(|subjects| subjects.awaited.insert(inbox.clone()));
        AwaitedAnswer { refusals: self, inbox }
    }

    /// Forgets an earlier refusal, before a new subscription.
    pub(super) fn forget(&self, pattern: &str) {
        self.0.send_if_modified(|subjects| subjects.refused.remove(pattern));
    }

    /// Waits until a subject is refused.
    pub(super) async fn refused(&self, subject: &str) {
        // The sender is in `self`.
        let _ = self.0.subscribe().wait_for(|subjects| subjects.refused.contains(subject)).await;
    }
}

/// Returns the subject of an error such as `Permissions Violation for Subscription to "a.>" using queue "workers"`, and whether it is one of a
/// subscription.
fn refused_subject(problem: &str) -> Option<(bool, &str)> {
    let problem = problem.trim_matches('\'').strip_prefix("Permissions Violation for ")?;
    let (operation, rest) = problem.split_once(" to \"")?;
    let (subject, _) = rest.split_once('"')?;
    match operation {
        "Subscription" => Some((true, subject)),
        "Publish" => Some((false, subject)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn the_subject_of_a_refusal_is_read_from_its_text() {
        let subscription = r#"Permissions Violation for Subscription to "tools.a.>" using queue "workers""#;
        assert_eq!(refused_subject(subscription), Some((true, "tools.a.>")));
        let message = r#"'Permissions Violation for Publish to "tools.a.b"'"#;
        assert_eq!(refused_subject(message), Some((false, "tools.a.b")));
        for other in [
            "Authorization Violation",
            "Permissions Violation for Subscription to tools.a",
            r#"Permissions Violation for Subscription to "tools.a"#,
            r#"Permissions Violation for Import to "tools.a""#,
        ] {
            assert_eq!(refused_subject(other), None, "{other}");
        }
    }

    fn refusal(operation: &str, subject: &str) -> Event {
        let problem = format!("Permissions Violation for {operation} to \"{subject}\"");
        Event::ServerError(ServerError::Other(problem))
    }

    #[test]
    fn subscriptions_are_refused_until_they_are_forgotten_and_messages_while_their_answer_is_awaited() {
        let refusals = Refusals::default();
        let is_refused = |subject: &str| refusals.refused(subject).now_or_never().is_some();
        refusals.note_event(&Event::Connected);
        refusals.note_event(&refusal("Subscription", "a.>"));
        assert!(is_refused("a.>") && !is_refused("b.>"));
        refusals.forget("b.>");
        assert!(is_refused("a.>"));
        refusals.forget("a.>");
        assert!(!is_refused("a.>"));
        refusals.note_event(&refusal("Publish", "inbox.1"));
        assert!(!is_refused("inbox.1"));
        let answer = refusals.await_answer("inbox.1");
        refusals.note_event(&refusal("Publish", "inbox.2"));
        assert!(answer.refused().now_or_never().is_none() && !is_refused("inbox.2"));
        refusals.note_event(&refusal("Publish", "inbox.1"));
        assert!(answer.refused().now_or_never().is_some());
        drop(answer);
        assert!(!is_refused("inbox.1"));
        refusals.note_event(&refusal("Publish", "inbox.1"));
        assert!(!is_refused("inbox.1"));
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_hear_of_a_refusal() {
        let refusals = Refusals::default();
        let refuse = async {
            tokio::task::yield_now().await;
            refusals.note_event(&refusal("Subscription", "a.>"));
        };
        let both = futures_util::future::join(refusals.refused("a.>"), refuse);
        assert!(tokio::time::timeout(std::time::Duration::from_secs(1), both).await.is_ok());
    }
}
