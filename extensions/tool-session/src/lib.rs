//! Sessions for [`tool-runtime`](tool_runtime): conversations and state that outlive a run, and with a database the process.
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
//! | [`InMemoryStore`] | the store in memory |
//! | `SqliteStore` | the store in a file (feature `sqlite`) |
//! | `PostgresStore` | the store in a database of a server (feature `postgres`) |
//! | [`SessionExport`], [`jsonl`] | sessions as lines of JSON |
//! | [`Clock`] | the clock of a store, for tests |
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
//! state are nested at most [100 levels](ScopedState::MAX_DEPTH) deep.
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
//! | `sqlite` | `SqliteStore`; needs Rust 1.94, and a C compiler for the bundled SQLite |
//! | `postgres` | `PostgresStore`, for Postgres 14 or later; needs Rust 1.94 |
//! | `postgres-tls` | connections of `PostgresStore` with TLS; needs Rust 1.94, and a C compiler |
//!
//! Default: none, and no I/O.

#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr, reason = "a library does not print"))]

mod clock;
mod entry;
mod error;
mod in_memory;
mod json_text;
pub mod jsonl;
mod key;
mod lease;
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
mod write;

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
    query::{EntryOrder, EntryPage, EntryQuery, Retention, SessionFilter},
    session::{Session, SessionOrigin, SessionSnapshot},
    shared::SharedSessionStore,
    state::ScopedState,
    store::SessionStore,
    write::{SessionVersion, SessionWrite},
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
