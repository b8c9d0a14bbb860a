//! A database that was restored from a backup: it is older as a whole, and not refused.

use std::sync::atomic::Ordering;

use tool_session::SqliteStore;

use super::open_calls::{Runs, YES, executor, pending_call};
use crate::sqlite::Folder;

// I17, I20
#[tokio::test]
async fn a_call_that_was_answered_since_the_backup_is_open_again_once_it_is_restored() {
    let folder = Folder::new();
    let (file, backup) = (folder.file(), folder.0.join("backup"));
    let runs = Runs::default();
    let store = SqliteStore::open(&file).await.unwrap();
    let address = pending_call(&executor(store.clone(), &runs), "0").await;
    store.close().await;
    std::fs::copy(&file, &backup).unwrap();
    for expected in [1, 2] {
        let store = SqliteStore::open(&file).await.unwrap();
        let executor = executor(store.clone(), &runs);
        let outcomes = executor.resume([(&address, YES)]).await.unwrap().run().await;
        assert_eq!(outcomes[0].result().unwrap().text(), "5");
        assert_eq!(runs.0.load(Ordering::SeqCst), expected);
        assert!(executor.resume([(&address, YES)]).await.is_err());
        store.close().await;
        std::fs::copy(&backup, &file).unwrap();
    }
}
