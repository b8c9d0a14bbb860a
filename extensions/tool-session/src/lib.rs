//! Sessions for [`tool-runtime`](tool_runtime): conversations, state, notes and artifacts that outlive a run, and with a database the process.
//!
//! A session belongs to an app and a user. It has entries in order, whose bodies are JSON text that no store interprets, and a
//! state. One run at a time writes it, under a lease.
//!
//! ```
//! use tool_runtime::serde_json::json;
//! use tool_session::{EntryContent, EntryQuery, InMemoryStore, JsonText, LeaseRequest, SessionKey, SessionWrite, SharedSessionStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! let sessions = SharedSessionStore::new(InMemoryStore::new());
//! let key = SessionKey::new("shop", "u-7", "s-1")?;
//!
//! // A run takes the lease of its session, and writes one step.
//! let grant = sessions.acquire(&key, &LeaseRequest::new("run-1", "process-1")).await?;
//! let message = JsonText::of(&json!({ "role": "user", "text": "Hello" }))?;
//! let step = SessionWrite::new(grant.session.revision)
//!     .entry(EntryContent::new("run-1", EntryContent::MESSAGE, message))
//!     .changes(json!({ "plan": "pro", "user:language": "fr", "temp:page": 2 }).as_object().cloned().unwrap_or_default())
//!     .end_of_run();
//! sessions.write(&grant.lease, &step).await?;
//!
//! // A later run, perhaps in another process, reads the last entries and the state.
//! let page = sessions.entries(&key, &EntryQuery::backward().limit(10)).await?;
//! assert_eq!(page.entries[0].content.body.as_str(), r#"{"role":"user","text":"Hello"}"#);
//! let snapshot = sessions.load(&key).await?.expect("the session exists");
//! assert_eq!(json!(snapshot.state.merged()), json!({ "plan": "pro", "user:language": "fr" }));
//! # Ok(())
//! # }
//! ```
//!
//! | type | purpose |
//! | --- | --- |
//! | [`SessionKey`], [`Session`], [`ScopedState`] | a session: its names, its row, its state |
//! | [`EntryContent`], [`Entry`], [`JsonText`], [`EntryQuery`], [`EntryPage`] | the entries of a session, and pages of them |
//! | [`LeaseRequest`], [`Lease`], [`LeaseGrant`] | the right of one run to write a session |
//! | [`SessionWrite`], [`SessionVersion`] | one transaction, and the revision that it made |
//! | [`SessionStore`], [`SharedSessionStore`] | the trait of a store, and a handle to a store of any type |
//! | [`Memory`], [`SharedMemory`], [`SessionMemory`] | the notes of users: the trait, a handle, and the notes of the user of a run |
//! | [`NoteContent`], [`Note`], [`NoteMatch`], [`UserKey`] | notes, and notes that were found; the user who has them |
//! | `Artifacts`, `SharedArtifacts`, `SessionArtifacts`, `Artifact` | versioned objects of sessions and users (feature `artifacts`) |
//! | `TransientObjects` | large values between processes of a program (feature `artifacts`) |
//! | [`InMemoryStore`] | the store in memory |
//! | `SqliteStore` | the store in a file (feature `sqlite`) |
//! | `PostgresStore` | the store in a database of a server (feature `postgres`) |
//! | [`SessionExport`], [`jsonl`] | sessions as lines of JSON |
//! | [`Clock`] | the clock of a store, for tests |
//!
//! # Memory
//!
//! Notes belong to a user, outlive a conversation, and are found by their words: see [`SharedMemory`]. They come from the entries of
//! sessions ([`SharedMemory::add_session`]), from tools, and from the program. A tool receives them as [`&SessionMemory`](SessionMemory). A
//! query is text without a syntax, and all stores find the same notes in the same order. A note that comes from a session is
//! deleted with it, also by [retention](Retention); a note without a session is kept until it or its user is deleted.
//!
//! # Artifacts
//!
//! With the feature `artifacts`, sessions and users have objects by name and version: see `SharedArtifacts`. A name that begins with `user:`
//! belongs to the user, any other name to the session, and is deleted with it. Names, versions and hashes are rows of the store; bodies are
//! objects of `object_store`: in memory, in files, or, by the features of that crate, in the storage of a cloud provider. A deleted session
//! leaves its bodies to `SharedArtifacts::sweep`. Forks, exports and imports have entries only: notes and artifacts stay where they are.
//!
//! # Leases
//!
//! A lease has a holder, a number (its epoch) and an expiry. Each write carries the epoch, and a write with an older epoch fails,
//! whatever the clock of its process says: a process that was stopped beyond its lease writes nothing once another run has
//! taken over. Epochs are unique in a store, also after a session was deleted and made again.
//!
//! # Names and limits
//!
//! Names (app, user, session, run, agent, branch, view key, kind, holder) have at most
//! [768 bytes](SessionKey::MAX_NAME_BYTES) and no NUL; everything else is stored exactly, in any script. An empty app or user is
//! the one of runs without an app or user. The id of an outer call, which a model chose, is stored exactly, whatever it is. The body of
//! an entry has at most [16 MiB](JsonText::MAX_BYTES), and a write at most [64 MiB](SessionWrite::MAX_BYTES). Values of the
//! state are nested at most [100 levels](ScopedState::MAX_DEPTH) deep. A note has at most [64 KiB](NoteContent::MAX_TEXT_BYTES).
//!
//! # Open calls
//!
//! `SqliteStore` and `PostgresStore` are stores of open calls, too (`tool_runtime::open_calls::OpenCallStore`):
//! one database has the sessions and the calls that wait for an answer. `Executor::builder(tools).open_calls(store.clone())` sets the store of an executor.
//!
//! # Trust
//!
//! Any process that can write to a database controls what a model reads of its sessions, and can remove them. Open calls, and with them
//! approvals, are authenticated by the key of the program: a record that was altered, or copied to another call, is refused. A
//! database that was restored from a backup is older as a whole, and not refused: calls that were answered since are open again. Names
//! are never part of a path or of SQL text.
//!
//! # Features
//!
//! | feature | adds |
//! | --- | --- |
//! | `artifacts` | `SharedArtifacts`, and with `tools` the tools on them |
//! | `cli` | the module `cli`: the command `sessions` for `tool-cli`, on files, and with `postgres` on servers |
//! | `sqlite` | `SqliteStore`; needs Rust 1.94, and a C compiler for the bundled SQLite |
//! | `postgres` | `PostgresStore`, for Postgres 14 or later; needs Rust 1.94 |
//! | `postgres-tls` | connections of `PostgresStore` with TLS; needs Rust 1.94, and a C compiler |
//! | `tools` | the module `tools`: tools and request hooks on notes and artifacts |
//!
//! Default: none, and no I/O.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

#[cfg(feature = "artifacts")]
mod artifacts;
#[cfg(feature = "cli")]
pub mod cli;
mod clock;
mod entry;
mod error;
mod in_memory;
mod json_text;
pub mod jsonl;
mod key;
mod lease;
mod memory;
mod millis;
#[cfg(feature = "postgres")]
mod postgres;
mod query;
mod session;
mod shared;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod state;
mod store;
#[cfg(feature = "tools")]
pub mod tools;
mod user;
mod write;

#[cfg(feature = "artifacts")]
pub use object_store;

#[cfg(feature = "artifacts")]
pub use self::artifacts::{
    Artifact, ArtifactBody, ArtifactContent, ArtifactOwner, Artifacts, SessionArtifacts, SharedArtifacts,
    StoredArtifact, TransientObjects,
};
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteOptions, SqliteStore, Synchronous};
pub use self::{
    clock::Clock,
    entry::{Entry, EntryContent},
    error::SessionError,
    in_memory::InMemoryStore,
    json_text::JsonText,
    jsonl::SessionExport,
    key::SessionKey,
    lease::{Lease, LeaseGrant, LeaseRequest, UnfinishedRun},
    memory::{EntryNotes, Memory, Note, NoteContent, NoteMatch, SessionMemory, SharedMemory},
    query::{EntryOrder, EntryPage, EntryQuery, Retention, SessionFilter},
    session::{Session, SessionOrigin, SessionSnapshot},
    shared::SharedSessionStore,
    state::ScopedState,
    store::SessionStore,
    user::UserKey,
    write::{SessionVersion, SessionWrite},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
