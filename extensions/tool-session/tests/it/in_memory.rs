//! The store in memory.

use std::any::Any;

use tool_runtime::RunContext;
use tool_session::{
    Clock, EntryContent, InMemoryStore, JsonText, LeaseRequest, SessionError, SessionKey, SharedSessionStore,
};

use crate::contract::{
    contract_of,
    world::{StoreFactory, key},
};

pub(crate) struct InMemory;

impl StoreFactory for InMemory {
    async fn open(clock: Clock) -> (SharedSessionStore, Box<dyn Any>) {
        (InMemoryStore::new().with_clock(clock).into(), Box::new(()))
    }
}

contract_of!(InMemory);

#[tokio::test]
async fn a_session_beyond_the_limit_displaces_the_oldest_idle_one() {
    let sessions = SharedSessionStore::new(InMemoryStore::new().with_max_sessions(3));
    let request = LeaseRequest::new("run", "holder");
    for id in ["in use", "idle", "also in use", "new"] {
        let lease = sessions.acquire(&key(id), &request).await.unwrap().lease;
        if id == "idle" {
            sessions.release(&lease).await.unwrap();
        }
    }
    assert!(sessions.load(&key("in use")).await.unwrap().is_some());
    assert_eq!(sessions.load(&key("idle")).await.unwrap(), None);
    let error = sessions.acquire(&key("too many"), &request).await.unwrap_err();
    assert_eq!(error, SessionError::Full { max_sessions: 3 });
    assert!(error.to_string().contains("limit of 3 sessions"), "{error}");
}

#[tokio::test]
async fn clones_share_the_sessions() {
    let store = InMemoryStore::new();
    let (one, other) = (SharedSessionStore::new(store.clone()), SharedSessionStore::new(store));
    one.acquire(&key("s"), &LeaseRequest::new("run", "holder")).await.unwrap();
    assert!(other.load(&key("s")).await.unwrap().is_some());
}

#[test]
fn key_and_entry_have_the_identity_of_their_run() {
    let run = RunContext::new().with_app("shop").with_user("u-7").with_session("s").with_agent("a");
    let child = run.child("researcher");
    let content = EntryContent::of_run(&child, EntryContent::MESSAGE, JsonText::new("1").unwrap());
    assert_eq!((&content.run, content.parent_run.as_ref()), (child.id(), Some(run.id()))); // C08
    assert_eq!((content.agent.as_deref(), content.branch.as_deref()), (Some("researcher"), child.branch()));
    assert_eq!(SessionKey::of_run(&child), Some(Ok(key("s"))));
    let alone = SessionKey::of_run(&RunContext::new().with_session("s")).unwrap().unwrap();
    assert_eq!((alone.app(), alone.user(), alone.id()), ("", "", "s"));
    assert_eq!(SessionKey::of_run(&RunContext::new().with_user("u-7")), None);
}

#[tokio::test]
async fn a_clock_that_panics_costs_no_session() {
    let store = InMemoryStore::new().with_clock(Clock::new(|| panic!("broken")));
    let sessions = SharedSessionStore::new(store);
    sessions.acquire(&key("s"), &LeaseRequest::new("run", "holder")).await.unwrap();
    sessions.acquire(&key("s"), &LeaseRequest::new("other", "other")).await.unwrap_err();
}
