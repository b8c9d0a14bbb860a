//! The store in memory.

use std::any::Any;

use tool_session::{Clock, InMemoryStore, LeaseRequest, SessionError, SharedSessions};

use crate::contract::{
    contract_of,
    world::{StoreFactory, key},
};

struct InMemory;

impl StoreFactory for InMemory {
    async fn open(clock: Clock) -> (SharedSessions, Box<dyn Any>) {
        (InMemoryStore::new().with_clock(clock).into(), Box::new(()))
    }
}

contract_of!(InMemory);

#[tokio::test]
async fn a_session_beyond_the_limit_displaces_the_oldest_idle_one() {
    let sessions = SharedSessions::new(InMemoryStore::new().with_max_sessions(3));
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
    let (one, other) = (SharedSessions::new(store.clone()), SharedSessions::new(store));
    one.acquire(&key("s"), &LeaseRequest::new("run", "holder")).await.unwrap();
    assert!(other.load(&key("s")).await.unwrap().is_some());
}
