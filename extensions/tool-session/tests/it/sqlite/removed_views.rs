//! Entries of a view that is removed, in the file.

use tool_session::{LeaseRequest, SessionWrite, SharedSessionStore, SqliteStore};

use super::{Folder, bytes_on_disk};
use crate::contract::world::{key, message};

#[tokio::test]
async fn nothing_of_a_removed_view_is_left_in_the_file_or_its_log() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.unwrap();
    let sessions = SharedSessionStore::new(store.clone());
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("run", "holder")).await.unwrap().lease;
    let texts = |text: &str| (0..40).map(|number| format!("{text} {number}").repeat(200)).collect::<Vec<_>>();
    let removed = texts("quokka").into_iter().map(|text| message("run", &text).with_view("fresh"));
    let kept = texts("wallaby").into_iter().map(|text| message("run", &text));
    sessions.write(&lease, &SessionWrite::new(0).entries(removed.chain(kept))).await.unwrap();
    let has = |text: &str| bytes_on_disk(&folder).windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("quokka") && has("wallaby"));
    let write = SessionWrite::new(1).remove_views(["fresh"]).entry(message("run", "answer"));
    sessions.write(&lease, &write).await.unwrap();
    assert!(!has("quokka") && has("wallaby"));
    store.close().await;
    assert!(!has("quokka") && has("wallaby"));
}
