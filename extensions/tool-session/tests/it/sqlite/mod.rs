//! The store in a file.

mod removed_views;

use std::{
    any::Any,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tool_runtime::serde_json::json;
use tool_session::{
    Clock, LeaseRequest, NoteContent, SessionError, SessionFilter, SessionWrite, SharedMemory,
    SharedSessionStore, SqliteOptions, SqliteStore, Synchronous, UserKey,
};

use crate::{
    contract::{
        contract_of,
        world::{StoreFactory, entries_of, key, map, message, write_run},
    },
    memory::{memory_contract_of, world::MemoryFactory},
};

/// A folder of one test, which is removed with it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    #[cfg(feature = "artifacts")]
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("sessions-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    /// The path of a file, whose name needs an escape in an URI.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("a %41?b#.sqlite")
    }

    /// A connection that the store does not know.
    pub(crate) async fn connection(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.file()).create_if_missing(true).connect().await.unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

pub(crate) async fn execute(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

pub(crate) struct Sqlite;

impl StoreFactory for Sqlite {
    async fn open(clock: Clock) -> (SharedSessionStore, Box<dyn Any>) {
        let folder = Folder::new();
        let store = SqliteOptions::new(folder.file()).clock(clock).open().await.unwrap();
        (store.into(), Box::new(folder))
    }
}

contract_of!(Sqlite);

impl MemoryFactory for Sqlite {
    async fn open_memory(clock: Clock) -> (SharedSessionStore, SharedMemory, Box<dyn Any>) {
        let folder = Folder::new();
        let options = SqliteOptions::new(folder.file()).clock(clock).synchronous(Synchronous::Normal);
        let store = options.open().await.unwrap();
        (store.clone().into(), store.into(), Box::new(folder))
    }
}

memory_contract_of!(Sqlite);

#[cfg(feature = "artifacts")]
impl crate::artifacts::world::ArtifactFactory for Sqlite {
    type Rows = SqliteStore;

    async fn open_artifacts(
        clock: Clock,
    ) -> (SharedSessionStore, SqliteStore, std::sync::Arc<dyn object_store::ObjectStore>, Box<dyn Any>) {
        let folder = Folder::new();
        let options = SqliteOptions::new(folder.file()).clock(clock).synchronous(Synchronous::Normal);
        let store = options.open().await.unwrap();
        let path = folder.0.join("bodies");
        std::fs::create_dir(&path).unwrap();
        let bodies = object_store::local::LocalFileSystem::new_with_prefix(path).unwrap();
        (store.clone().into(), store, std::sync::Arc::new(bodies), Box::new(folder))
    }
}

#[cfg(feature = "artifacts")]
crate::artifacts::artifact_contract_of!(Sqlite);

#[tokio::test]
async fn a_store_opened_again_goes_on() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let sessions = SharedSessionStore::new(store.clone());
    let grant = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap();
    let changes = map(json!({ "user:a": 1, "temp:b": 2 }));
    let step = SessionWrite::new(0).entry(message("one", "a")).changes(changes).title("Sums");
    sessions.write(&grant.lease, &step).await.unwrap();
    let snapshot = sessions.load(&key("s")).await.unwrap().unwrap();
    store.close().await;

    // The second one is only dropped, in the middle of a run.
    for _ in 0..2 {
        let sessions = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
        assert_eq!(sessions.load(&key("s")).await.unwrap().unwrap(), snapshot);
        let busy = sessions.acquire(&key("s"), &LeaseRequest::new("two", "two")).await.unwrap_err();
        assert!(matches!(busy, SessionError::Busy { .. }));
    }
    let sessions = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
    let again = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap();
    assert!(again.lease.epoch > grant.lease.epoch);
    sessions.write(&again.lease, &SessionWrite::new(1).entry(message("one", "b"))).await.unwrap();
}

#[tokio::test]
async fn a_closed_store_is_an_error() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let sessions = SharedSessionStore::new(store.clone());
    store.close().await;
    store.close().await;
    assert_eq!(sessions.load(&key("s")).await.unwrap_err(), SessionError::Closed);
    assert_eq!(sessions.delete(&key("s")).await.unwrap_err(), SessionError::Closed);
    // Its file is whole: without the files of the WAL mode.
    let names = std::fs::read_dir(&folder.0).unwrap().map(|it| it.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), [folder.file().file_name().unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_open_a_new_file_at_once_migrate_it_once() {
    let folder = Folder::new();
    let tasks = (0..8).map(|number| {
        let path = folder.file();
        tokio::spawn(async move {
            let sessions = SharedSessionStore::new(SqliteStore::open(path).await?);
            write_run(&sessions, &format!("s-{number}"), "x").await
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap().unwrap();
    }
    let sessions = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
    assert_eq!(sessions.list(&SessionFilter::new("shop")).await.unwrap().len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_of_one_file_lose_no_update() {
    let folder = Folder::new();
    let one = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
    let other = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
    let tasks = [one.clone(), other].into_iter().enumerate().flat_map(|(store, sessions)| {
        (0..10).map(move |number| {
            let sessions = sessions.clone();
            tokio::spawn(async move {
                let key = key(&format!("{store} {number}"));
                let lease = sessions.acquire(&key, &LeaseRequest::new("run", "holder")).await.unwrap().lease;
                for step in 0..5 {
                    let changes = map(json!({ "app:all": { format!("{store} {number} {step}"): 1 } }));
                    let write = SessionWrite::new(step).entry(message("run", "x")).changes(changes);
                    sessions.write(&lease, &write).await.unwrap();
                }
            })
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let state = one.load(&key("1 0")).await.unwrap().unwrap().state;
    assert_eq!(state.app["app:all"].as_object().unwrap().len(), 100);
}

#[tokio::test]
async fn a_locked_database_is_unavailable_and_read_all_the_same() {
    let folder = Folder::new();
    let options = SqliteOptions::new(folder.file()).busy_timeout(Duration::ZERO);
    let sessions = SharedSessionStore::new(options.open().await.unwrap());
    write_run(&sessions, "s", "a").await.unwrap();
    let mut other = folder.connection().await;
    execute(&mut other, "BEGIN IMMEDIATE").await;
    let error = write_run(&sessions, "s", "b").await.unwrap_err();
    assert!(error.is_transient() && matches!(error, SessionError::Unavailable(_)), "{error}");
    assert!(error.to_string().contains("locked"), "{error}");
    assert_eq!(entries_of(&sessions, "s").await, 1);
    execute(&mut other, "ROLLBACK").await;
    write_run(&sessions, "s", "b").await.unwrap();
    assert_eq!(entries_of(&sessions, "s").await, 2);
}

#[tokio::test]
async fn a_full_database_refuses_a_write_whole_and_goes_on_after_a_deletion() {
    let folder = Folder::new();
    let sessions =
        SharedSessionStore::new(SqliteOptions::new(folder.file()).max_bytes(400_000).open().await.unwrap());
    write_run(&sessions, "first", &"x".repeat(200_000)).await.unwrap();
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap().lease;
    let large = SessionWrite::new(0)
        .entries([message("one", "small"), message("one", &"x".repeat(200_000))])
        .changes(map(json!({ "user:a": 1 })))
        .title("No");
    // In one transaction with the writes of other sessions, which succeed.
    let results = tokio::join!(
        write_run(&sessions, "second", "x"),
        sessions.write(&lease, &large),
        write_run(&sessions, "third", "x")
    );
    let error = results.1.unwrap_err();
    assert!(matches!(error, SessionError::Failed(_)) && error.to_string().contains("full"), "{error}");
    results.0.unwrap();
    results.2.unwrap();
    let snapshot = sessions.load(&key("s")).await.unwrap().unwrap();
    assert_eq!((snapshot.session.revision, snapshot.session.entries, snapshot.session.title), (0, 0, None));
    assert!(snapshot.state.is_empty());
    sessions.delete(&key("first")).await.unwrap();
    sessions.write(&lease, &large).await.unwrap();
    assert_eq!(entries_of(&sessions, "s").await, 2);
}

#[cfg(unix)]
#[tokio::test]
async fn no_write_is_lost_in_a_file_that_was_removed_or_replaced() {
    let folder = Folder::new();
    let sessions = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap().lease;
    let elsewhere = folder.0.join("elsewhere");
    std::fs::rename(folder.file(), &elsewhere).unwrap();
    let step = SessionWrite::new(0).entry(message("one", "a"));
    let error = sessions.write(&lease, &step).await.unwrap_err();
    assert!(error.is_transient() && error.to_string().contains("not reachable"), "{error}");
    // It is back: the write is tried again, and stored once.
    std::fs::rename(&elsewhere, folder.file()).unwrap();
    sessions.write(&lease, &step).await.unwrap();
    assert_eq!(entries_of(&sessions, "s").await, 1);

    std::fs::rename(folder.file(), &elsewhere).unwrap();
    std::fs::write(folder.file(), "").unwrap();
    let error = sessions.release(&lease).await.unwrap_err();
    assert!(!error.is_transient() && error.to_string().contains("replaced"), "{error}");
}

#[tokio::test]
async fn a_store_for_reading_writes_nothing() {
    let folder = Folder::new();
    let read_only = || SqliteOptions::new(folder.file()).read_only().open();
    let missing = read_only().await.unwrap_err();
    assert!(missing.to_string().contains("unable to open"), "{missing}");
    assert!(!folder.file().exists());
    let writable = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
    write_run(&writable, "s", "a").await.unwrap();
    let sessions = SharedSessionStore::new(read_only().await.unwrap());
    assert_eq!(write_run(&sessions, "s", "b").await.unwrap_err(), SessionError::ReadOnly);
    assert_eq!(sessions.delete_user("shop", "u-7").await.unwrap_err(), SessionError::ReadOnly);
    write_run(&writable, "s", "b").await.unwrap();
    assert_eq!(entries_of(&sessions, "s").await, 2);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_with_both_versions() {
    let folder = Folder::new();
    SqliteStore::open(folder.file()).await.unwrap().close().await;
    let mut connection = folder.connection().await;
    execute(&mut connection, "PRAGMA user_version = 7").await;
    connection.close().await.unwrap();
    for options in [SqliteOptions::new(folder.file()), SqliteOptions::new(folder.file()).read_only()] {
        let error = options.open().await.unwrap_err();
        assert_eq!(error, SessionError::NewerVersion { found: 7, supported: 3 });
        assert!(error.to_string().contains("version 7") && error.to_string().contains("up to 3"), "{error}");
    }
}

#[tokio::test]
async fn the_file_of_another_program_is_not_changed() {
    let folder = Folder::new();
    let mut connection = folder.connection().await;
    execute(&mut connection, "CREATE TABLE other (a)").await;
    connection.close().await.unwrap();
    let before = std::fs::read(folder.file()).unwrap();
    let error = SqliteStore::open(folder.file()).await.unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
    assert_eq!(std::fs::read(folder.file()).unwrap(), before);

    std::fs::write(folder.file(), "no database ".repeat(1000)).unwrap();
    let error = SqliteStore::open(folder.file()).await.unwrap_err();
    assert!(error.to_string().contains("not a database"), "{error}");
    assert_eq!(std::fs::read_to_string(folder.file()).unwrap(), "no database ".repeat(1000));
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let path = folder.0.join("data").join("sessions").join("s.sqlite");
    let sessions = SharedSessionStore::new(SqliteStore::open(&path).await.unwrap());
    write_run(&sessions, "s", "a").await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path.parent().unwrap()), mode(&folder.0.join("data"))), (0o700, 0o700));
    let files: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(files.len(), 3);
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
}

/// The plans of the reads of a run: none reads all entries of a session, or sorts them.
#[tokio::test]
async fn reads_of_a_long_session_use_an_index() {
    let folder = Folder::new();
    SqliteStore::open(folder.file()).await.unwrap().close().await;
    let mut connection = folder.connection().await;
    for (query, index) in [
        (
            "SELECT * FROM entries WHERE session = 1 AND number > 5 ORDER BY number DESC LIMIT 9",
            "autoindex_entries",
        ),
        (
            "SELECT * FROM entries WHERE session = 1 AND number > 0 AND kind = 'k' ORDER BY number DESC LIMIT 2",
            "entries_of_kinds",
        ),
        ("SELECT * FROM sessions WHERE app = 'a' AND user_id = 'u' AND id = 'i'", "autoindex_sessions"),
        (
            "SELECT * FROM sessions WHERE app = 'a' ORDER BY updated_at DESC, user_id DESC, id DESC LIMIT 9",
            "sessions_of_apps",
        ),
        (
            "SELECT * FROM sessions WHERE app = 'a' AND user_id = 'u' ORDER BY updated_at DESC, user_id DESC, id DESC LIMIT 9",
            "sessions_of_users",
        ),
        (
            "SELECT * FROM sessions WHERE app = 'a' AND lease_released = 0 AND lease_expires_at <= 9 ORDER BY lease_expires_at",
            "unreleased_leases",
        ),
    ] {
        let plan = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {query}"));
        let steps: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(plan).fetch_all(&mut connection).await.unwrap();
        assert_eq!(steps.len(), 1, "{query}: {steps:?}");
        assert!(steps[0].3.contains(index), "{query}: {steps:?}");
    }
}

#[tokio::test]
async fn a_database_of_the_first_version_is_migrated() {
    let folder = Folder::new();
    let mut connection = folder.connection().await;
    execute(&mut connection, include_str!("../../../src/sqlite/migrations/1_sessions.sql")).await;
    execute(&mut connection, "PRAGMA user_version = 1; PRAGMA application_id = 0x74736573").await;
    connection.close().await.unwrap();

    let store = SqliteStore::open(folder.file()).await.unwrap();
    let (sessions, memory) = (SharedSessionStore::new(store.clone()), SharedMemory::new(store));
    write_run(&sessions, "s", "a").await.unwrap();
    memory.for_session(&key("s")).add("the dog").await.unwrap();
    assert_eq!(memory.search(&key("s").user_key(), "dog", 5).await.unwrap().len(), 1);
}

/// Returns the bytes of the file and of its log.
fn bytes_on_disk(folder: &Folder) -> Vec<u8> {
    let mut log = folder.file().into_os_string();
    log.push("-wal");
    let mut bytes = std::fs::read(folder.file()).unwrap();
    bytes.extend(std::fs::read(log).unwrap_or_default());
    bytes
}

#[tokio::test]
async fn nothing_of_a_deleted_user_is_left_in_the_file_or_its_log() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let (sessions, memory) = (SharedSessionStore::new(store.clone()), SharedMemory::new(store.clone()));
    let user = UserKey::new("shop", "u-7").unwrap();
    let other = UserKey::new("shop", "u-8").unwrap();
    for number in 0..40 {
        write_run(&sessions, &format!("s-{number}"), &format!("quokkamessage {number}").repeat(200))
            .await
            .unwrap();
        memory.add(&user, &NoteContent::new(&*format!("The quokkanote {number}"))).await.unwrap();
        memory.add(&other, &NoteContent::new(&*format!("The kept wallaby {number}"))).await.unwrap();
    }
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    let before = bytes_on_disk(&folder);
    assert!(has(&before, "quokkamessage") && has(&before, "quokkanote"));

    assert_eq!(sessions.delete_user("shop", "u-7").await.unwrap(), 40);
    let after = bytes_on_disk(&folder);
    assert!(!has(&after, "quokka"), "a message or a note is left");
    assert!(has(&after, "wallaby"));
    assert_eq!(memory.search(&other, "wallaby", 50).await.unwrap().len(), 40);
    store.close().await;
    assert!(!has(&bytes_on_disk(&folder), "quokka"));
}

#[tokio::test]
async fn a_log_that_a_reader_holds_is_emptied_by_the_next_deletion() {
    let folder = Folder::new();
    let store =
        SqliteOptions::new(folder.file()).busy_timeout(Duration::from_millis(1)).open().await.unwrap();
    let sessions = SharedSessionStore::new(store.clone());
    for id in ["s-1", "s-2"] {
        write_run(&sessions, id, "quokkamessage").await.unwrap();
    }
    let has_text = || bytes_on_disk(&folder).windows(13).any(|part| part == b"quokkamessage");
    let mut reader = folder.connection().await;
    execute(&mut reader, "BEGIN; SELECT count(*) FROM entries").await;
    assert!(sessions.delete(&key("s-1")).await.unwrap());
    assert!(has_text(), "the reader still sees it");
    execute(&mut reader, "COMMIT").await;
    assert!(sessions.delete(&key("s-2")).await.unwrap());
    assert!(!has_text());
}
