//! Several processes with one file: this program starts itself again, with one ignored test as the other process.

use std::{
    io::{BufRead, BufReader, Lines},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use tool_runtime::serde_json::json;
use tool_session::{EntryQuery, LeaseRequest, SessionError, SessionWrite, SharedSessionStore, SqliteStore};

use super::Folder;
use crate::contract::world::{key, map, message, texts};

const PATH_VARIABLE: &str = "TOOL_SESSION_TEST_FILE";
const RUN_VARIABLE: &str = "TOOL_SESSION_TEST_RUN";
/// The number of entries of one write.
const ENTRIES: u64 = 3;

/// A process that writes until it is killed, and prints each revision after its write.
struct WritingProcess {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl WritingProcess {
    fn start(path: &Path, run: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", "sqlite::processes::write_until_killed"]);
        command.env(PATH_VARIABLE, path).env(RUN_VARIABLE, run).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// Waits for the next write, and returns its revision.
    fn next_revision(&mut self) -> u64 {
        loop {
            let line = self.lines.next().expect("the process writes").unwrap();
            if let Some(revision) = line.strip_prefix("revision ") {
                return revision.parse().unwrap();
            }
        }
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// The other process of the tests below; without its variables it does nothing.
#[tokio::test]
#[ignore = "the other process of the tests of this file"]
async fn write_until_killed() {
    let (Ok(path), Ok(run)) = (std::env::var(PATH_VARIABLE), std::env::var(RUN_VARIABLE)) else { return };
    let sessions = SharedSessionStore::new(SqliteStore::open(path).await.unwrap());
    let grant = sessions.acquire(&key("s"), &LeaseRequest::new(&*run, "writer")).await.unwrap();
    for revision in grant.session.revision.. {
        let texts = (0..ENTRIES).map(|number| (revision * ENTRIES + number).to_string());
        let changes = map(json!({ "revision": revision + 1, "user:revision": revision + 1 }));
        let write =
            SessionWrite::new(revision).entries(texts.map(|text| message(&run, &text))).changes(changes);
        let version = sessions.write(&grant.lease, &write).await.unwrap();
        println!("revision {}", version.revision);
    }
}

#[tokio::test]
async fn a_killed_process_leaves_whole_writes_and_every_one_that_returned() {
    let folder = Folder::new();
    for kill in 0..4 {
        let mut process = WritingProcess::start(&folder.file(), &format!("run {kill}"));
        let mut returned = 0;
        for _ in 0..5 + kill * 7 {
            returned = process.next_revision();
        }
        process.kill();

        let sessions = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
        let snapshot = sessions.load(&key("s")).await.unwrap().unwrap();
        let revision = snapshot.session.revision;
        assert!(revision >= returned, "{revision} {returned}");
        assert_eq!(snapshot.session.entries, revision * ENTRIES);
        let state = json!({ "revision": revision, "user:revision": revision });
        assert_eq!(json!(snapshot.state.merged()), state);
        let query = EntryQuery::forward().limit(EntryQuery::MAX_ENTRIES);
        let page = sessions.entries(&key("s"), &query).await.unwrap();
        assert!(
            texts(&page.entries).into_iter().eq((0..revision * ENTRIES).map(|number| number.to_string()))
        );
        // The lease of the killed process holds against others, and a process of its holder takes it over at once.
        let busy = sessions.acquire(&key("s"), &LeaseRequest::new("other", "other")).await.unwrap_err();
        assert!(matches!(busy, SessionError::Busy { .. }), "{busy}");
    }
}

#[tokio::test]
async fn a_process_that_lost_its_lease_writes_nothing_more() {
    let folder = Folder::new();
    let mut process = WritingProcess::start(&folder.file(), "first");
    process.next_revision();
    let sessions = SharedSessionStore::new(SqliteStore::open(folder.file()).await.unwrap());
    let grant = sessions.acquire(&key("s"), &LeaseRequest::new("second", "writer")).await.unwrap();
    // The other process ends by the error of its next write; its output is read, so that it cannot wait for a reader.
    while process.lines.next().is_some() {}
    assert!(!process.process.wait().unwrap().success());
    let session = sessions.load(&key("s")).await.unwrap().unwrap().session;
    assert_eq!(session.revision, grant.session.revision);
    let write = SessionWrite::new(session.revision).entry(message("second", "x"));
    sessions.write(&grant.lease, &write).await.unwrap();
}
