//! Operations that share a transaction of a file.

use futures_util::future::join_all;
use tool_runtime::serde_json::json;
use tool_session::{
    EntryQuery, Lease, LeaseRequest, SessionError, SessionVersion, SessionWrite, SharedSessionStore,
    SqliteOptions,
};

use crate::{
    contract::world::{entries_of, key, map, message, texts, write_run},
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

/// Takes the leases of sessions; writes that begin at once then share a transaction.
async fn leases<const N: usize>(sessions: &SharedSessionStore, ids: [&str; N]) -> [Lease; N] {
    let requests = ids.map(|id| async move {
        sessions.acquire(&key(id), &LeaseRequest::new("run", "holder")).await.unwrap().lease
    });
    join_all(requests).await.try_into().unwrap()
}

#[tokio::test]
async fn of_writes_at_once_the_ones_that_are_refused_cost_themselves_alone() {
    let folder = Folder::new();
    let sessions = SharedSessionStore::new(SqliteOptions::new(folder.file()).open().await.unwrap());
    let [one, two, late, lost, gone, repeated] =
        leases(&sessions, ["one", "two", "late", "lost", "gone", "repeated"]).await;
    sessions.acquire(&lost.key, &LeaseRequest::new("next", "holder")).await.unwrap();
    sessions.delete(&gone.key).await.unwrap();
    let write = |revision, text| SessionWrite::new(revision).entry(message("run", text));
    let (first, second) = (write(0, "first"), write(1, "second"));
    sessions.write(&repeated, &first).await.unwrap();

    let writes = [
        (&one, &first),
        (&late, &second),
        (&lost, &first),
        (&gone, &first),
        (&repeated, &first),
        (&two, &first),
        // A session has each of its writes in their order.
        (&one, &second),
        (&one, &second),
    ];
    let results = join_all(writes.map(|(lease, write)| sessions.write(lease, write))).await;
    let version = |revision| Ok(SessionVersion { revision, entries: revision });
    assert_eq!([&results[0], &results[4], &results[5]], [&version(1); 3]);
    assert_eq!(results[1], Err(SessionError::RevisionChanged { expected: 1, revision: 0 }));
    assert_eq!(results[2], Err(SessionError::Superseded { run: "next".into() }));
    assert_eq!(results[3], Err(SessionError::NotFound(Box::new(key("gone")))));
    // The third is the second once more, whose answer may have been lost.
    assert_eq!([&results[6], &results[7]], [&version(2); 2]);
    for (id, entries) in [("one", 2), ("two", 1), ("late", 0), ("lost", 0), ("gone", 0), ("repeated", 1)] {
        assert_eq!(entries_of(&sessions, id).await, entries, "{id}");
    }
}

#[tokio::test]
async fn writes_at_once_lose_no_change_of_the_state_that_they_share() {
    const SESSIONS: usize = 70;
    let folder = Folder::new();
    let sessions = SharedSessionStore::new(SqliteOptions::new(folder.file()).open().await.unwrap());
    let ids: Vec<_> = (0..SESSIONS).map(|number| format!("s-{number}")).collect();
    let ids: [&str; SESSIONS] = std::array::from_fn(|index| ids[index].as_str());
    let leases = leases(&sessions, ids).await;
    let writes = leases.iter().enumerate().map(|(number, lease)| {
        let changes =
            json!({ "own": number, format!("user:{number}"): number, format!("app:{number}"): number });
        let write = SessionWrite::new(0).entries([message("run", "a"), message("run", "b")]);
        let (write, sessions) = (write.title(format!("title {number}")).changes(map(changes)), &sessions);
        async move { sessions.write(lease, &write).await }
    });
    for version in join_all(writes).await {
        assert_eq!(version, Ok(SessionVersion { revision: 1, entries: 2 }));
    }
    for (number, lease) in leases.iter().enumerate() {
        let snapshot = sessions.load(&lease.key).await.unwrap().unwrap();
        assert_eq!(snapshot.session.title.as_deref(), Some(&*format!("title {number}")));
        assert_eq!(snapshot.state.session, map(json!({ "own": number })));
        assert_eq!([snapshot.state.user.len(), snapshot.state.app.len()], [SESSIONS; 2]);
        let page = sessions.entries(&lease.key, &EntryQuery::forward()).await.unwrap();
        assert_eq!(texts(&page.entries), ["a", "b"]);
    }
}

#[tokio::test]
async fn of_two_writes_at_once_the_one_that_the_file_has_no_room_for_costs_itself_alone() {
    let folder = Folder::new();
    let options = SqliteOptions::new(folder.file()).max_bytes(400_000);
    let sessions = SharedSessionStore::new(options.open().await.unwrap());
    let [small, large] = leases(&sessions, ["small", "large"]).await;
    let write = |text: &str| SessionWrite::new(0).entry(message("run", text));
    let (small_write, large_write) = (write("small"), write(&"x".repeat(500_000)));
    let (written, failed) =
        tokio::join!(sessions.write(&small, &small_write), sessions.write(&large, &large_write));
    assert_eq!(written, Ok(SessionVersion { revision: 1, entries: 1 }));
    let error = failed.unwrap_err();
    assert!(matches!(error, SessionError::Failed(_)) && error.to_string().contains("full"), "{error}");
    assert_eq!([entries_of(&sessions, "small").await, entries_of(&sessions, "large").await], [1, 0]);
}
