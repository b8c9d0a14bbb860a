//! Operations that share a transaction of a file.

use tool_session::{LeaseRequest, SessionError, SessionWrite, SharedSessionStore, SqliteOptions};

use crate::{
    contract::world::{entries_of, key, message, write_run},
    sqlite::Folder,
};

#[tokio::test]
async fn of_two_operations_at_once_the_one_that_fails_costs_itself_alone() {
    let folder = Folder::new();
    let options = SqliteOptions::new(folder.file()).max_bytes(400_000);
    let sessions = SharedSessionStore::new(options.open().await.unwrap());
    write_run(&sessions, "first", &"x".repeat(200_000)).await.unwrap();
    let lease = sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap().lease;
    let large = SessionWrite::new(0).entry(message("one", &"x".repeat(200_000)));
    let (other, request) = (key("t"), LeaseRequest::new("two", "two"));
    let (failed, acquired) = tokio::join!(sessions.write(&lease, &large), sessions.acquire(&other, &request));
    let error = failed.unwrap_err();
    assert!(matches!(error, SessionError::Failed(_)) && error.to_string().contains("full"), "{error}");
    let lease = acquired.unwrap().lease;
    sessions.write(&lease, &SessionWrite::new(0).entry(message("two", "small"))).await.unwrap();
    assert_eq!([entries_of(&sessions, "s").await, entries_of(&sessions, "t").await], [0, 1]);
}
