//! Stores that fail.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use tool_agent::{Agent, AgentStream, EndReason, Limit, Message, Role, Runner, ScriptedModel, model::Reply};
use tool_runtime::prelude::*;
use tool_session::{
    EntryContent, EntryPage, EntryQuery, InMemoryStore, JsonText, Lease, LeaseGrant, LeaseRequest, Retention,
    Session, SessionError, SessionExport, SessionFilter, SessionKey, SessionSnapshot, SessionStore,
    SessionVersion, SessionWrite, UnfinishedRun,
};

use super::world::{Gate, agent, run, start};
use crate::runner::open::assert_valid;

/// A store whose writes fail as often as a test says.
#[derive(Clone, Default)]
pub(super) struct Flaky {
    store: InMemoryStore,
    failures: Arc<AtomicU32>,
    renewals: Arc<AtomicU32>,
    pages: Arc<AtomicU32>,
    has_stuck_renewals: bool,
    /// `true` if each operation waits before and after its effect.
    is_slow: bool,
    /// `true` if a write that fails takes effect all the same.
    has_effect: bool,
    /// The kind of entries that are not written.
    refused_kind: Option<&'static str>,
    is_unreadable: Arc<AtomicBool>,
    /// The number of leases that were given up before their expiry.
    pub(super) given_up: Arc<AtomicU32>,
    /// The error of an operation that gives up a lease, or deletes a session.
    removal_error: Option<fn() -> SessionError>,
}

impl Flaky {
    async fn wait(&self) {
        if self.is_slow {
            tokio::task::yield_now().await;
        }
    }

    fn fails(&self) -> bool {
        let less = |failures: u32| failures.checked_sub(1);
        self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
    }

    /// A store that refuses entries of a kind, and removals with an error.
    pub(super) fn refusing(
        refused_kind: Option<&'static str>,
        removal_error: Option<fn() -> SessionError>,
    ) -> Self {
        Self { refused_kind, removal_error, ..Self::default() }
    }

    fn check_removal(&self) -> Result<(), SessionError> {
        self.removal_error.map_or(Ok(()), |error| Err(error()))
    }
}

impl SessionStore for Flaky {
    async fn load(&self, key: &SessionKey) -> Result<Option<SessionSnapshot>, SessionError> {
        self.store.load(key).await
    }

    async fn list(&self, filter: &SessionFilter) -> Result<Vec<Session>, SessionError> {
        self.store.list(filter).await
    }

    async fn entries(&self, key: &SessionKey, query: &EntryQuery) -> Result<EntryPage, SessionError> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        if self.is_unreadable.load(Ordering::SeqCst) {
            return Err(SessionError::Failed("the disk is broken".to_owned()));
        }
        self.store.entries(key, query).await
    }

    async fn acquire(&self, key: &SessionKey, request: &LeaseRequest) -> Result<LeaseGrant, SessionError> {
        self.wait().await;
        let granted = self.store.acquire(key, request).await;
        self.wait().await;
        granted
    }

    async fn renew(&self, lease: &Lease) -> Result<Lease, SessionError> {
        self.renewals.fetch_add(1, Ordering::SeqCst);
        if self.has_stuck_renewals {
            std::future::pending::<()>().await;
        }
        self.store.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), SessionError> {
        self.given_up.fetch_add(1, Ordering::SeqCst);
        self.check_removal()?;
        self.store.release(lease).await
    }

    async fn abandon(&self, lease: &Lease) -> Result<(), SessionError> {
        self.given_up.fetch_add(1, Ordering::SeqCst);
        self.check_removal()?;
        self.store.abandon(lease).await
    }

    async fn write(&self, lease: &Lease, write: &SessionWrite) -> Result<SessionVersion, SessionError> {
        if write.entries.iter().any(|entry| Some(&*entry.kind) == self.refused_kind) {
            return Err(SessionError::Failed("the disk is full".to_owned()));
        }
        if self.fails() {
            if self.has_effect {
                self.store.write(lease, write).await?;
            }
            return Err(SessionError::Unavailable("the database is locked".to_owned()));
        }
        self.wait().await;
        let written = self.store.write(lease, write).await;
        self.wait().await;
        written
    }

    async fn fork(&self, key: &SessionKey, last: u64, fork: &SessionKey) -> Result<Session, SessionError> {
        self.store.fork(key, last, fork).await
    }

    async fn delete(&self, key: &SessionKey) -> Result<bool, SessionError> {
        self.check_removal()?;
        self.store.delete(key).await
    }

    async fn delete_user(&self, app: &str, user: &str) -> Result<u64, SessionError> {
        self.store.delete_user(app, user).await
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, SessionError> {
        self.store.prune(retention).await
    }

    async fn unfinished(&self, app: &str) -> Result<Vec<UnfinishedRun>, SessionError> {
        self.store.unfinished(app).await
    }

    async fn import(&self, exports: &[SessionExport]) -> Result<(), SessionError> {
        self.store.import(exports).await
    }
}

pub(super) fn runner(store: &Flaky, replies: impl IntoIterator<Item = Reply>) -> Runner {
    let store = tool_session::SharedSessionStore::new(store.clone());
    Runner::new(agent(replies).0.build().unwrap()).with_store(store)
}

fn product() -> Reply {
    Reply::call("multiply", json!({ "a": 25, "b": 4 }))
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_for_a_while_is_stored_once() {
    for has_effect in [false, true] {
        let store = Flaky { has_effect, ..Flaky::default() };
        let runner = runner(&store, [product(), Reply::text("100")]);
        store.failures.store(3, Ordering::SeqCst);
        runner.run_with(run("s"), "25 times 4?").answer().await.unwrap();
        assert_eq!(store.failures.load(Ordering::SeqCst), 0);
        assert_eq!(runner.history(&run("s")).await.len(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_too_long_ends_the_run_before_its_calls() {
    let store = Flaky::default();
    let gate = Gate::closed();
    let runner = runner(&store, [product(), Reply::text("100")]).with_hook(gate.hook());
    let mut events = runner.run_with(run("s"), "25 times 4?");
    start(&mut events).await;
    gate.open();
    let begin = tokio::time::Instant::now();
    store.failures.store(u32::MAX, Ordering::SeqCst);
    let mut calls = 0;
    let end = loop {
        match events.next().await.unwrap().kind {
            tool_agent::AgentEventKind::Ended { end } => break end,
            tool_agent::AgentEventKind::Tool { .. } => calls += 1,
            _ => {}
        }
    };
    assert_eq!(
        (calls, &end.reason),
        (0, &EndReason::StoreFailed { message: "the database is locked".to_owned() })
    );
    // By the paused clock.
    assert!((10..11).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
    // The session is as it was, and a later run goes on. Another process waits no longer than for the next run of this one.
    store.failures.store(0, Ordering::SeqCst);
    assert_eq!(runner.run_with(run("s"), "Again.").answer().await.unwrap(), "100");
    assert_eq!(runner.history(&run("s")).await.len(), 3);
}

#[tokio::test]
async fn a_body_whose_intent_is_not_stored_does_not_run_and_its_session_is_free() {
    for (kind, has_run) in [(EntryContent::CALL_INTENT, false), (EntryContent::CALL_OUTCOME, true)] {
        let store = Flaky { refused_kind: Some(kind), ..Flaky::default() };
        let bodies = Arc::new(AtomicU32::new(0));
        let tools = Registry::builder().tool::<charge>().provide_shared(Arc::clone(&bodies)).build().unwrap();
        let model = ScriptedModel::new([Reply::call("charge", "{}")]);
        let agent = Agent::builder("cashier", model).tools(tools).build().unwrap();
        let shared = tool_session::SharedSessionStore::new(store.clone());
        let runner = Runner::new(agent).with_store(shared).when_busy(Duration::ZERO);
        let end = runner.run_with(run("s").with_id("run-1"), "Charge.").end().await;
        let full = EndReason::StoreFailed { message: "the disk is full".to_owned() };
        assert_eq!((end.reason, bodies.load(Ordering::SeqCst)), (full, u32::from(has_run)), "{kind}");
        // The lease is given up at once, and the run is unfinished.
        assert_eq!(store.unfinished("").await.unwrap()[0].run, "run-1".into());
        let repaired = Flaky { refused_kind: None, ..store };
        let others = self::runner(&repaired, [Reply::text("Done.")]).when_busy(Duration::ZERO);
        assert_eq!(others.run_with(run("s"), "And now?").answer().await.unwrap(), "Done.");
        let result = others.history(&run("s")).await[2].tool_results().next().unwrap().text().into_owned();
        assert!(result.contains("may have taken effect"), "{result}");
    }
}

/// Has an effect.
#[tool(register = false)]
fn charge(bodies: &AtomicU32) {
    bodies.fetch_add(1, Ordering::SeqCst);
}

#[tokio::test]
async fn a_run_that_cannot_read_its_session_gives_up_the_lease() {
    let store = Flaky::default();
    store.is_unreadable.store(true, Ordering::SeqCst);
    let end = runner(&store, []).run_with(run("s"), "Go.").end().await;
    assert_eq!(end.reason, EndReason::StoreFailed { message: "the disk is broken".to_owned() });
    assert!(store.unfinished("").await.unwrap().is_empty(), "nothing of the run is stored");
    store.is_unreadable.store(false, Ordering::SeqCst);
    let others = runner(&store, [Reply::text("Done.")]).when_busy(Duration::ZERO);
    assert_eq!(others.run_with(run("s"), "Go.").answer().await.unwrap(), "Done.");
    assert_eq!(others.history(&run("s")).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_its_intent_is_stored_leaves_a_session_that_goes_on() {
    let mut is_over = false;
    let mut polls = 0;
    while !is_over {
        let store = Flaky { is_slow: true, ..Flaky::default() };
        let bodies = Arc::new(AtomicU32::new(0));
        let tools = Registry::builder().tool::<charge>().provide_shared(Arc::clone(&bodies)).build().unwrap();
        let model = ScriptedModel::new([Reply::call("charge", "{}"), Reply::text("Done.")]);
        let agent = Agent::builder("cashier", model).tools(tools).build().unwrap();
        let shared = tool_session::SharedSessionStore::new(store.clone());
        let runner = Runner::new(agent).with_store(shared);
        let mut events = runner.run_with(run("s"), "Charge.");
        let handle = events.handle();
        is_over = polled(&mut events, polls).await;
        handle.cancel();
        // The last polls may have had the end.
        let problem = match events.end().await.reason {
            EndReason::StoreFailed { message } => Some(message),
            _ => None,
        };
        assert_eq!(problem, None, "after {polls} polls");
        assert_valid(&runner.history(&run("s")).await);
        polls += 1;
    }
    assert!(polls > 10, "{polls}");
}

#[tokio::test(start_paused = true)]
async fn a_store_is_not_tried_beyond_the_deadline_of_the_run() {
    let store = Flaky::default();
    store.failures.store(u32::MAX, Ordering::SeqCst);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(2);
    let begin = tokio::time::Instant::now();
    let run = run("s").with_deadline(deadline.into_std());
    let end = runner(&store, []).run_with(run, "Go.").end().await;
    assert!(matches!(end.reason, EndReason::StoreFailed { .. }), "{}", end.reason);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_run_reads_the_last_pages_of_a_long_session_only() {
    let store = Flaky::default();
    let key = SessionKey::new("", "u-7", "s").unwrap();
    let grant = store.store.acquire(&key, &LeaseRequest::new("run-1", "maker")).await.unwrap();
    let body = |at: u32| json!({ "message": Message::user(format!("{at} {}", "word ".repeat(20))) });
    let entries = (0..5_000)
        .map(|at| EntryContent::new("run-1", EntryContent::MESSAGE, JsonText::of(&body(at)).unwrap()));
    let write = SessionWrite::new(0).entries(entries).end_of_run();
    store.store.write(&grant.lease, &write).await.unwrap();
    let (builder, model) = agent([Reply::text("Done.")]);
    let shared = tool_session::SharedSessionStore::new(store.clone());
    let runner = Runner::new(builder.context_window(4_000).build().unwrap()).with_store(shared);
    runner.run_with(run("s"), "Then?").answer().await.unwrap();
    assert_eq!(store.pages.load(Ordering::SeqCst), 2);
    let messages = &model.requests()[0].messages;
    // The conversation fills its share of the window, so that it is compacted, too.
    assert!((10..130).contains(&messages.len()), "{}", messages.len());
    assert!(messages[messages.len() - 2].text().starts_with("4999 "));
}

/// Polls `events` at most `polls` times; returns `true` if the run ended.
async fn polled(events: &mut AgentStream, polls: usize) -> bool {
    for _ in 0..polls {
        match futures_util::future::poll_immediate(futures_util::StreamExt::next(events)).await {
            Some(None) => return true,
            _ => tokio::task::yield_now().await,
        }
    }
    false
}

#[tokio::test]
async fn a_run_that_is_dropped_at_any_await_leaves_a_valid_session_that_others_continue() {
    let mut is_over = false;
    let mut polls = 0;
    while !is_over {
        let store = Flaky { is_slow: true, ..Flaky::default() };
        let first = runner(&store, [product(), Reply::text("100"), Reply::text("Here.")]);
        let mut events = first.run_with(run("s"), "25 times 4?");
        is_over = polled(&mut events, polls).await;
        drop(events);
        let busy = first.when_busy(Duration::ZERO);
        busy.run_with(run("s"), "Again.").end().await;
        let others = runner(&store, [Reply::text("Done.")]).when_busy(Duration::ZERO);
        assert_eq!(
            others.run_with(run("s"), "And now?").answer().await.unwrap(),
            "Done.",
            "after {polls} polls"
        );
        let history = others.history(&run("s")).await;
        assert_valid(&history);
        let questions = history.iter().filter(|message| message.role() == Role::User);
        let questions: Vec<_> = questions.map(Message::text).collect();
        assert!(questions.ends_with(&["Again.".to_owned(), "And now?".to_owned()]), "{questions:?}");
        assert!(questions.len() <= 3, "{questions:?}");
        polls += 1;
    }
    assert!(polls > 10, "{polls}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_the_run_waits() {
    let store = Flaky::default();
    let gate = Gate::closed();
    let runner = runner(&store, [Reply::text("a")]).with_hook(gate.hook());
    let mut events = runner.with_lease_duration(Duration::from_secs(3)).run_with(run("s"), "Go.");
    start(&mut events).await;
    tokio::select! {
        _ = events.next() => panic!("the run waits"),
        () = tokio::time::sleep(Duration::from_millis(10_500)) => {}
    }
    assert_eq!(store.renewals.load(Ordering::SeqCst), 10);
    gate.open();
    events.answer().await.unwrap();
}

#[tokio::test]
async fn durations_without_a_limit_and_of_zero_are_accepted() {
    for duration in [Duration::ZERO, Duration::MAX] {
        let runner = runner(&Flaky::default(), [product(), Reply::text("100")]).with_lease_duration(duration);
        let runner = runner.when_busy(duration).with_store_timeout(duration);
        assert_eq!(runner.run_with(run("s"), "25 times 4?").answer().await.unwrap(), "100");
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_without_an_answer_delays_the_next_write_and_no_more() {
    let store = Flaky { has_stuck_renewals: true, ..Flaky::default() };
    let gate = Gate::closed();
    let runner = runner(&store, [Reply::text("a")]).with_hook(gate.hook());
    let mut events = runner.with_lease_duration(Duration::from_secs(3)).run_with(run("s"), "Go.");
    start(&mut events).await;
    tokio::select! {
        _ = events.next() => panic!("the run waits"),
        () = tokio::time::sleep(Duration::from_millis(1_500)) => {}
    }
    gate.open();
    assert_eq!(events.answer().await.unwrap(), "a");
    assert_eq!(store.renewals.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_its_session_ends_at_its_time_or_as_busy() {
    let store = Flaky::default();
    let gate = Gate::closed();
    let runner = runner(&store, [Reply::text("a")]).with_hook(gate.hook());
    let mut events = runner.run_with(run("s").with_id("run-1"), "Go.");
    start(&mut events).await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(2);
    let waiting = async {
        let late = runner.run_with(run("s").with_deadline(deadline.into_std()), "Go.").end().await.reason;
        let begin = tokio::time::Instant::now();
        let busy = runner.run_with(run("s"), "Go.").end().await.reason;
        (late, busy, begin.elapsed().as_secs())
    };
    let (late, busy, seconds) = tokio::select! {
        ends = waiting => ends,
        _ = events.next() => panic!("the run waits"),
    };
    assert!(matches!(late, EndReason::Limit { limit: Limit::Time, .. }), "{late}");
    assert_eq!((busy, seconds), (EndReason::Busy { run: "run-1".into() }, 30));
}
