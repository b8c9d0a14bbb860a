//! The versions and the settings of a file.

use std::time::Duration;

use sqlx::Connection as _;
use tool_session::{SessionError, SharedSessionStore, SqliteOptions, SqliteStore, Synchronous};

use crate::sqlite::{Folder, execute};

#[test]
fn settings_have_their_documented_defaults_and_are_kept() {
    let options = SqliteOptions::new("s.sqlite");
    let shown = format!("{options:?}");
    for part in
        ["is_read_only: false", "busy_timeout: 5s", "max_bytes: None", "max_readers: 4", "synchronous: Full"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let options = options.busy_timeout(Duration::from_secs(7)).max_bytes(9).max_readers(0).read_only();
    let shown = format!("{:?}", options.synchronous(Synchronous::Normal));
    for part in [
        "is_read_only: true",
        "busy_timeout: 7s",
        "max_bytes: Some(9)",
        "max_readers: 1",
        "synchronous: Normal",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[tokio::test]
async fn a_file_has_the_version_and_the_number_of_this_crate() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    assert_eq!(format!("{store:?}"), "SqliteStore { read_only: false, .. }");
    assert!(SharedSessionStore::new(store.clone()).outlives_process());
    store.close().await;
    let reader = SqliteOptions::new(folder.file()).read_only().open().await.unwrap();
    assert_eq!(format!("{reader:?}"), "SqliteStore { read_only: true, .. }");
    let mut connection = folder.connection().await;
    let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut connection).await.unwrap();
    let program: i64 = sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut connection).await.unwrap();
    assert_eq!((version, program), (3, 0x7473_6573));
}

#[tokio::test]
async fn an_empty_file_is_no_store_for_reading_and_becomes_one_for_writing() {
    let folder = Folder::new();
    std::fs::write(folder.file(), "").unwrap();
    let error = SqliteOptions::new(folder.file()).read_only().open().await.unwrap_err();
    let expected = "the database has version 0, and 3 is read; open it once without `read_only`";
    assert_eq!(error, SessionError::Failed(expected.to_owned()));
    SqliteStore::open(folder.file()).await.unwrap().close().await;
    SqliteOptions::new(folder.file()).read_only().open().await.unwrap();
}

#[tokio::test]
async fn a_file_with_the_header_of_another_program_is_refused() {
    for header in ["PRAGMA application_id = 7", "PRAGMA user_version = 1", "CREATE TABLE other (a)"] {
        let folder = Folder::new();
        let mut connection = folder.connection().await;
        execute(&mut connection, header).await;
        connection.close().await.unwrap();
        for options in [SqliteOptions::new(folder.file()), SqliteOptions::new(folder.file()).read_only()] {
            let error = options.open().await.unwrap_err();
            let expected = "the file is the database of another program; use another file";
            assert_eq!(error, SessionError::Failed(expected.to_owned()), "{header}");
        }
    }
}

#[tokio::test]
async fn a_file_that_another_program_locks_is_unavailable_when_the_time_is_over() {
    let folder = Folder::new();
    let mut other = folder.connection().await;
    execute(&mut other, "BEGIN EXCLUSIVE").await;
    let open = || SqliteOptions::new(folder.file()).busy_timeout(Duration::ZERO).open();
    let error = open().await.unwrap_err();
    assert!(matches!(error, SessionError::Unavailable(_)), "{error}");
    execute(&mut other, "ROLLBACK").await;
    other.close().await.unwrap();
    open().await.unwrap();
}

#[tokio::test]
async fn a_file_that_cannot_be_made_is_an_error_with_its_reason() {
    let folder = Folder::new();
    let file = folder.0.join("file");
    std::fs::write(&file, "").unwrap();
    let path = file.join("s.sqlite");
    let error = SqliteStore::open(&path).await.unwrap_err();
    let expected = format!("the database {} cannot be made: ", path.display());
    assert!(matches!(&error, SessionError::Failed(text) if text.starts_with(&expected)), "{error}");
}
