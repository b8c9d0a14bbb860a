//! Tests of sessions in memory.

use std::pin::pin;

use super::*;

impl Sessions {
    async fn ready_turn(&self, run: &RunContext) -> SessionTurn {
        self.acquire_turn(run, Duration::MAX, None).await.unwrap()
    }

    async fn messages(&self, key: &SessionKey) -> Vec<Message> {
        let Some(lease) = self.lease(key) else { return Vec::new() };
        lease.acquire_turn().await.messages.clone()
    }

    /// Removes a session, as it is in memory.
    async fn remove(&self, key: &SessionKey) -> bool {
        let is_present = self.lock().sessions.contains_key(key);
        self.remove_and_delete(key, || std::future::ready(is_present)).await
    }
}

fn run(session: &str) -> RunContext {
    RunContext::new().with_session(session)
}

fn key(session: &str) -> SessionKey {
    SessionKey::of(None, &run(session)).unwrap()
}

#[test]
fn a_session_is_of_a_program_and_a_user() {
    assert_eq!(SessionKey::of(None, &RunContext::new()), None);
    let app = |app: &str| SessionKey::of(Some(app.to_owned()), &run("s")).unwrap();
    let user = SessionKey::of(None, &run("s").with_user("ada")).unwrap();
    assert!(key("s") == key("s") && key("s") != key("t") && app("a") != app("b"));
    assert!(key("s") != app("a") && key("s") != user);
}

#[tokio::test]
async fn a_session_is_removed_once_and_not_while_a_run_waits_for_it() {
    let sessions = Sessions::default();
    assert!(!sessions.remove(&key("a")).await);
    let mut turn = sessions.ready_turn(&run("a")).await;
    turn.messages.push(Message::user("Hi."));
    drop(turn);
    drop(sessions.ready_turn(&run("b")).await);
    assert_eq!((sessions.len(), sessions.messages(&key("a")).await.len()), (2, 1));
    assert!(sessions.remove(&key("a")).await);
    assert_eq!((sessions.len(), sessions.messages(&key("a")).await.len()), (1, 0));
    assert!(!sessions.remove(&key("a")).await);

    let mut turn = sessions.ready_turn(&run("b")).await;
    turn.messages.push(Message::user("Hi."));
    let (b, run) = (key("b"), run("b"));
    let mut removing = pin!(sessions.remove(&b));
    assert!(futures_util::poll!(&mut removing).is_pending(), "a run has its turn");
    let mut waiting = pin!(sessions.ready_turn(&run));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    drop(turn);
    assert!(removing.await);
    let turn = waiting.await;
    assert_eq!((sessions.len(), turn.messages.len()), (1, 0), "the next run begins with an empty session");
}

#[tokio::test]
async fn a_run_waits_until_its_session_is_deleted_elsewhere() {
    let sessions = Sessions::default();
    drop(sessions.ready_turn(&run("a")).await);
    let (deleted, is_deleted) = tokio::sync::oneshot::channel::<bool>();
    let (a, run) = (key("a"), run("a"));
    let mut removing = pin!(sessions.remove_and_delete(&a, || async { is_deleted.await.unwrap() }));
    assert!(futures_util::poll!(&mut removing).is_pending(), "the deletion takes time");
    let mut waiting = pin!(sessions.ready_turn(&run));
    assert!(futures_util::poll!(&mut waiting).is_pending(), "the deletion has the turn");
    deleted.send(true).unwrap();
    assert!(removing.await);
    assert!(waiting.await.messages.is_empty());
    assert!(!sessions.remove_and_delete(&key("b"), || std::future::ready(false)).await);
}

#[tokio::test]
async fn the_session_that_was_not_used_for_the_longest_time_makes_room() {
    let sessions = Sessions::default();
    sessions.set_max(2);
    for name in ["a", "b", "a", "c"] {
        drop(sessions.ready_turn(&run(name)).await);
    }
    let has = |name: &str| sessions.lock().sessions.contains_key(&key(name));
    assert_eq!(["a", "b", "c"].map(has), [true, false, true]);
    // To look at a session is no use of it, and one that is in use stays.
    sessions.messages(&key("a")).await;
    let turn = sessions.ready_turn(&run("c")).await;
    drop(sessions.ready_turn(&run("d")).await);
    assert_eq!(["a", "b", "c", "d"].map(has), [false, false, true, true]);
    let other = sessions.ready_turn(&run("d")).await;
    drop(sessions.ready_turn(&run("e")).await);
    assert_eq!((["c", "d", "e"].map(has), sessions.len()), ([true; 3], 3));
    drop((turn, other));
    drop(sessions.ready_turn(&run("f")).await);
    assert_eq!((has("f"), sessions.len()), (true, 2));
    assert_eq!(sessions.lock().idle.len(), 2);
}

#[tokio::test]
async fn a_session_that_is_being_removed_makes_room_for_one_other() {
    let sessions = Sessions::default();
    sessions.set_max(3);
    for name in ["a", "b", "c"] {
        drop(sessions.ready_turn(&run(name)).await);
    }
    let displaced = |name: &str| sessions.lock().lease_for_run(&key(name)).1;
    // None of them is removed yet.
    assert_eq!((displaced("d"), displaced("e")), (vec![key("a")], vec![key("b")]));
    // A removal that was dropped leaves its session where it was.
    let displacement = Displacement { sessions: &sessions, keys: vec![key("a"), key("b")] };
    drop(displacement);
    let oldest: Vec<_> = sessions.lock().idle.values().cloned().collect();
    assert_eq!(oldest, ["a", "b", "c"].map(key));
    assert_eq!(displaced("f").len(), 3);
}

#[test]
fn an_unchecked_message_is_forgotten_once() {
    let messages = vec![Message::user("a"), Message::user("b")];
    let mut session = Session { messages, ..Session::default() };
    session.remove_unchecked_message();
    assert_eq!(session.messages.len(), 2);
    session.is_unchecked = true;
    session.remove_unchecked_message();
    session.remove_unchecked_message();
    assert_eq!((session.messages.len(), session.is_unchecked), (1, false));
}
