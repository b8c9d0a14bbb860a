//! The store in memory.

use std::any::Any;

use tool_runtime::{RunContext, serde_json::json};
use tool_session::{
    Clock, EntryContent, InMemoryStore, JsonText, LeaseRequest, NoteContent, SessionError, SessionKey,
    SessionWrite, SharedMemory, SharedSessionStore, UserKey,
};

use crate::{
    contract::{
        contract_of,
        world::{StoreFactory, key},
    },
    memory::{memory_contract_of, world::MemoryFactory},
};

pub(crate) struct InMemory;

impl StoreFactory for InMemory {
    async fn open(clock: Clock) -> (SharedSessionStore, Box<dyn Any>) {
        (InMemoryStore::new().with_clock(clock).into(), Box::new(()))
    }
}

contract_of!(InMemory);

impl MemoryFactory for InMemory {
    async fn open_memory(clock: Clock) -> (SharedSessionStore, SharedMemory, Box<dyn Any>) {
        let store = InMemoryStore::new().with_clock(clock);
        (store.clone().into(), store.into(), Box::new(()))
    }
}

memory_contract_of!(InMemory);

#[cfg(feature = "artifacts")]
impl crate::artifacts::world::ArtifactFactory for InMemory {
    type Rows = InMemoryStore;

    async fn open_artifacts(
        clock: Clock,
    ) -> (SharedSessionStore, InMemoryStore, std::sync::Arc<dyn object_store::ObjectStore>, Box<dyn Any>)
    {
        let store = InMemoryStore::new().with_clock(clock);
        let bodies = std::sync::Arc::new(object_store::memory::InMemory::new());
        (store.clone().into(), store, bodies, Box::new(()))
    }
}

#[cfg(feature = "artifacts")]
crate::artifacts::artifact_contract_of!(InMemory);

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
async fn the_state_of_users_without_a_session_makes_room_for_others() {
    let sessions = SharedSessionStore::new(InMemoryStore::new().with_max_sessions(3));
    let state_of = async |user: &str| {
        let key = SessionKey::new("shop", user, "look").unwrap();
        let grant = sessions.acquire(&key, &LeaseRequest::new("run", "holder")).await.unwrap();
        sessions.delete(&key).await.unwrap();
        grant.state.user.get("user:seen").cloned()
    };
    for user in ["with a session", "a", "b", "c"] {
        let key = SessionKey::new("shop", user, "s").unwrap();
        let lease = sessions.acquire(&key, &LeaseRequest::new("run", "holder")).await.unwrap().lease;
        let changes = json!({ "user:seen": user }).as_object().cloned().unwrap();
        sessions.write(&lease, &SessionWrite::new(0).changes(changes).end_of_run()).await.unwrap();
        if user != "with a session" {
            sessions.delete(&key).await.unwrap();
        }
        // While there is room, the state of a user outlives the sessions.
        let expected = json!(user);
        assert_eq!(state_of(user).await, Some(expected));
    }
    assert_eq!(state_of("with a session").await, Some(json!("with a session"))); // V05
    assert_eq!((state_of("a").await, state_of("c").await), (None, Some(json!("c"))));
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

#[tokio::test]
async fn a_note_beyond_the_limit_displaces_the_oldest_one() {
    let memory = SharedMemory::new(InMemoryStore::new().with_max_notes(2));
    let user = UserKey::new("shop", "u-7").unwrap();
    for text in ["the red dog", "the blue dog", "the green dog"] {
        memory.add(&user, &NoteContent::new(text)).await.unwrap();
    }
    let found = memory.search(&user, "dog red", 5).await.unwrap();
    let texts: Vec<_> = found.iter().map(|it| it.note.content.text.as_ref()).collect();
    assert_eq!(texts, ["the green dog", "the blue dog"]);
}

#[tokio::test]
async fn a_displaced_session_takes_its_notes_along() {
    let store = InMemoryStore::new().with_max_sessions(1);
    let (sessions, memory) = (SharedSessionStore::new(store.clone()), SharedMemory::new(store));
    for id in ["one", "two"] {
        let lease = sessions.acquire(&key(id), &LeaseRequest::new("run", "holder")).await.unwrap().lease;
        memory.for_session(&key(id)).add(format!("the dog of {id}")).await.unwrap();
        sessions.release(&lease).await.unwrap();
    }
    let found = memory.search(&key("one").user_key(), "dog", 5).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].note.content.session.as_deref(), Some("two"));
}
