//! Several processes with one database: this program starts itself again, with one ignored test as the other process.
//!
//! `SESSION_LOAD`, a number, multiplies the work of the tests of many processes; `.ci/slow` sets it.

use std::{
    env,
    io::{BufRead, BufReader, Lines, Write, stdin},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, SystemTime},
};

use tool_runtime::serde_json::json;
use tool_session::{
    Clock, Entry, EntryQuery, LeaseRequest, Session, SessionError, SessionExport, SessionFilter, SessionKey,
    SessionStore, SessionWrite, SharedSessionStore,
};

use super::{Engine, for_each_engine};
use crate::contract::world::{key, map, message, texts};

for_each_engine![
    a_killed_process_leaves_whole_writes_and_every_one_that_returned,
    a_process_that_lost_its_lease_writes_nothing_more,
    a_process_that_is_stopped_beyond_its_lease_writes_nothing_when_it_goes_on,
    ten_processes_on_one_session_lose_no_update,
    four_processes_on_a_hundred_sessions_lose_no_update,
    a_call_is_consumed_by_one_of_several_processes,
    an_import_of_a_killed_process_is_whole_or_absent,
    processes_that_open_a_new_database_at_once_migrate_it_once,
];

const ADDRESS_VARIABLE: &str = "SESSION_TEST_ADDRESS";
const PART_VARIABLE: &str = "SESSION_TEST_PART";
/// The number of entries of one write.
const ENTRIES: u64 = 3;

/// Another process, which plays one part.
struct OtherProcess {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
}

impl OtherProcess {
    fn start<E: Engine>(engine: &E, part: &str) -> Self {
        let engine_name = if engine.address().starts_with("postgres") { "postgres" } else { "sqlite" };
        let test = format!("engines::processes::{engine_name}_process");
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", &test]);
        command.env(ADDRESS_VARIABLE, engine.address()).env(PART_VARIABLE, part);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let input = process.stdin.take().unwrap();
        Self { process, lines, input }
    }

    /// Waits for the next line of the process itself, without its mark.
    fn next_line(&mut self) -> Option<String> {
        self.lines.by_ref().find_map(|line| line.unwrap().split_once('@').map(|(_, line)| line.to_owned()))
    }

    /// Waits for the next write, and returns its revision.
    fn next_revision(&mut self) -> u64 {
        self.next_line().expect("the process writes").parse().unwrap()
    }

    /// Lets the process go on.
    fn go_on(&mut self) {
        writeln!(self.input).unwrap();
    }

    /// Sends a signal to the process.
    fn signal(&self, signal: &str) {
        let mut kill = Command::new("kill");
        assert!(kill.args([signal, &self.process.id().to_string()]).status().unwrap().success());
    }

    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits until the process ends; returns `true` if it succeeded.
    fn wait(mut self) -> bool {
        // Its output is read, so that it cannot wait for a reader.
        while self.next_line().is_some() {}
        self.process.wait().unwrap().success()
    }
}

fn say(text: &str) {
    println!("@{text}");
}

#[cfg(feature = "sqlite")]
#[tokio::test]
#[ignore = "the other process of the tests of this file"]
async fn sqlite_process() {
    play_part::<super::SqliteEngine>().await;
}

#[cfg(all(feature = "postgres", unix))]
#[tokio::test]
#[ignore = "the other process of the tests of this file"]
async fn postgres_process() {
    play_part::<super::PostgresEngine>().await;
}

/// Without its variables, it does nothing.
async fn play_part<E: Engine>() {
    let (Ok(address), Ok(part)) = (env::var(ADDRESS_VARIABLE), env::var(PART_VARIABLE)) else { return };
    let store = E::of_address(&address).open(Clock::default()).await;
    let parts: Vec<_> = part.split(' ').collect();
    match parts[..] {
        ["write", run] => write_until_killed(&store.into(), run, false).await,
        ["write-in-steps", run] => write_until_killed(&store.into(), run, true).await,
        ["share", name, count] => write_in_turn(&store.into(), name, count.parse().unwrap()).await,
        ["many", name, rounds] => write_many(&store.into(), name, rounds.parse().unwrap()).await,
        ["consume"] => consume_all(&store).await,
        ["import"] => import_all(&store.into()).await,
        _ => panic!("unknown part {part}"),
    }
}

async fn write_until_killed(sessions: &SharedSessionStore, run: &str, in_steps: bool) {
    let grant = sessions.acquire(&key("s"), &LeaseRequest::new(run, "writer")).await.unwrap();
    for revision in grant.session.revision.. {
        let texts = (0..ENTRIES).map(|number| (revision * ENTRIES + number).to_string());
        let changes = map(json!({ "revision": revision + 1, "user:revision": revision + 1 }));
        let write =
            SessionWrite::new(revision).entries(texts.map(|text| message(run, &text))).changes(changes);
        match sessions.write(&grant.lease, &write).await {
            Ok(version) => say(&version.revision.to_string()),
            Err(SessionError::Superseded { run }) => return say(&format!("superseded by {run}")),
            Err(error) => panic!("{error}"),
        }
        if in_steps {
            stdin().read_line(&mut String::new()).unwrap();
        }
    }
}

async fn a_killed_process_leaves_whole_writes_and_every_one_that_returned<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    engine.open(Clock::default()).await;
    for kill in 0..4 {
        let mut process = OtherProcess::start(&engine, &format!("write run-{kill}"));
        let mut returned = 0;
        for _ in 0..5 + kill * 7 {
            returned = process.next_revision();
        }
        process.kill();

        let sessions: SharedSessionStore = engine.open(Clock::default()).await.into();
        // The lease of the killed process holds against others, and a process of its holder takes it over at once.
        let busy = sessions.acquire(&key("s"), &LeaseRequest::new("other", "other")).await.unwrap_err();
        assert!(matches!(busy, SessionError::Busy { .. }), "{busy}");
        // After it, no late write of the killed process is on its way.
        let grant = sessions.acquire(&key("s"), &LeaseRequest::new("check", "writer")).await.unwrap();
        let revision = grant.session.revision;
        assert!(revision >= returned, "{revision} {returned}");
        assert_eq!(grant.session.entries, revision * ENTRIES);
        let state = json!({ "revision": revision, "user:revision": revision });
        assert_eq!(json!(grant.state.merged()), state);
        let query = EntryQuery::forward().limit(EntryQuery::MAX_ENTRIES);
        let page = sessions.entries(&key("s"), &query).await.unwrap();
        assert!(
            texts(&page.entries).into_iter().eq((0..revision * ENTRIES).map(|number| number.to_string()))
        );
    }
}

async fn a_process_that_lost_its_lease_writes_nothing_more<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    let sessions: SharedSessionStore = engine.open(Clock::default()).await.into();
    let mut process = OtherProcess::start(&engine, "write first");
    process.next_revision();
    let grant = sessions.acquire(&key("s"), &LeaseRequest::new("second", "writer")).await.unwrap();
    assert!(process.wait());
    let session = sessions.load(&key("s")).await.unwrap().unwrap().session;
    assert_eq!(session.revision, grant.session.revision);
    let write = SessionWrite::new(session.revision).entry(message("second", "x"));
    sessions.write(&grant.lease, &write).await.unwrap();
}

async fn a_process_that_is_stopped_beyond_its_lease_writes_nothing_when_it_goes_on<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    engine.open(Clock::default()).await;
    let mut process = OtherProcess::start(&engine, "write-in-steps stopped");
    assert_eq!(process.next_revision(), 1);
    process.signal("-STOP");
    let now = engine.open(Clock::default()).await;
    let busy =
        SessionStore::acquire(&now, &key("s"), &LeaseRequest::new("other", "other")).await.unwrap_err();
    assert!(matches!(busy, SessionError::Busy { .. }), "{busy}");
    let later = Clock::new(|| SystemTime::now() + Duration::from_secs(31));
    let sessions: SharedSessionStore = engine.open(later).await.into();
    let unfinished = sessions.unfinished("shop").await.unwrap();
    assert_eq!(unfinished.iter().map(|it| it.run.to_string()).collect::<Vec<_>>(), ["stopped"]);
    let grant = sessions.acquire(&key("s"), &LeaseRequest::new("other", "other")).await.unwrap();
    assert_eq!(grant.interrupted, Some("stopped".into()));
    sessions.write(&grant.lease, &SessionWrite::new(1).entry(message("other", "x"))).await.unwrap();

    process.go_on();
    process.signal("-CONT");
    // By the clock of the process, its lease has not expired.
    assert_eq!(process.next_line().as_deref(), Some("superseded by other"));
    assert!(process.wait());
    let page = sessions.entries(&key("s"), &EntryQuery::forward()).await.unwrap();
    assert_eq!(texts(&page.entries), ["0", "1", "2", "x"]);
}

/// Returns the factor of the work of the tests of many processes.
fn load() -> usize {
    env::var("SESSION_LOAD").map_or(1, |load| load.parse().unwrap())
}

/// Takes the lease as soon as it is free, and ends the run with one write.
async fn write_once(sessions: &SharedSessionStore, key: &SessionKey, name: &str, number: usize) {
    let run = format!("{name} {number}");
    let grant = loop {
        match sessions.acquire(key, &LeaseRequest::new(&*run, name)).await {
            Ok(grant) => break grant,
            Err(SessionError::Busy { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    let id = key.id();
    let changes =
        json!({ "runs": { &*run: 1 }, "user:runs": { id: { &*run: 1 } }, "app:runs": { id: { &*run: 1 } } });
    let write = SessionWrite::new(grant.session.revision).entry(message(&run, &run)).changes(map(changes));
    sessions.write(&grant.lease, &write.end_of_run()).await.unwrap();
}

async fn write_in_turn(sessions: &SharedSessionStore, name: &str, count: usize) {
    for number in 0..count {
        write_once(sessions, &key("s"), name, number).await;
    }
}

/// Checks that a session has each run once, in its entries and in the state of each scope.
async fn check_runs(sessions: &SharedSessionStore, key: &SessionKey, expected: &[String]) {
    let snapshot = sessions.load(key).await.unwrap().unwrap();
    let query = EntryQuery::forward().limit(EntryQuery::MAX_ENTRIES);
    let page = sessions.entries(key, &query).await.unwrap();
    assert!(page.entries.iter().map(|it| it.number).eq(1..=snapshot.session.entries));
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    assert_eq!(sorted(texts(&page.entries)), expected);
    let state = json!(snapshot.state.merged());
    for runs in [&state["runs"], &state["user:runs"][key.id()], &state["app:runs"][key.id()]] {
        assert_eq!(sorted(runs.as_object().unwrap().keys().cloned().collect()), expected);
    }
}

fn names_of(processes: usize, count: usize) -> Vec<String> {
    let names =
        (0..processes).flat_map(|process| (0..count).map(move |number| format!("{process} {number}")));
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

async fn ten_processes_on_one_session_lose_no_update<E: Engine>() {
    const PROCESSES: usize = 10;
    let Some(engine) = E::new().await else { return };
    let sessions: SharedSessionStore = engine.open(Clock::default()).await.into();
    let count = 5 * load();
    let processes =
        (0..PROCESSES).map(|number| OtherProcess::start(&engine, &format!("share {number} {count}")));
    for process in processes.collect::<Vec<_>>() {
        assert!(process.wait());
    }
    check_runs(&sessions, &key("s"), &names_of(PROCESSES, count)).await;
}

async fn write_many(sessions: &SharedSessionStore, name: &str, rounds: usize) {
    for round in 0..rounds {
        for number in 0..100 {
            // Each process goes another way.
            let step = [1, 3, 7, 9][name.parse::<usize>().unwrap()];
            let id = format!("s-{}", number * step % 100);
            write_once(sessions, &key(&id), name, round).await;
        }
    }
}

async fn four_processes_on_a_hundred_sessions_lose_no_update<E: Engine>() {
    const PROCESSES: usize = 4;
    let Some(engine) = E::new().await else { return };
    let sessions: SharedSessionStore = engine.open(Clock::default()).await.into();
    let rounds = load();
    let processes =
        (0..PROCESSES).map(|number| OtherProcess::start(&engine, &format!("many {number} {rounds}")));
    for process in processes.collect::<Vec<_>>() {
        assert!(process.wait());
    }
    for number in 0..100 {
        check_runs(&sessions, &key(&format!("s-{number}")), &names_of(PROCESSES, rounds)).await;
    }
}

/// The number of records of the test below.
const RECORDS: usize = 30;

async fn consume_all(store: &impl tool_runtime::open_calls::OpenCallStore) {
    say("ready");
    stdin().read_line(&mut String::new()).unwrap();
    let mut consumed = 0;
    for record in store.list(&Default::default()).await.unwrap() {
        consumed += usize::from(store.consume(&record).await.unwrap());
    }
    say(&consumed.to_string());
}

// I20
async fn a_call_is_consumed_by_one_of_several_processes<E: Engine>() {
    use tool_runtime::open_calls::OpenCallStore;

    let Some(engine) = E::new().await else { return };
    let store = engine.open(Clock::default()).await;
    for serial in 0..RECORDS {
        store.put(super::open_calls::record(Some("run"), "call", serial as u64)).await.unwrap();
    }
    let mut processes: Vec<_> = (0..4).map(|_| OtherProcess::start(&engine, "consume")).collect();
    for process in &mut processes {
        assert_eq!(process.next_line().as_deref(), Some("ready"));
    }
    processes.iter_mut().for_each(OtherProcess::go_on);
    let consumed = processes.iter_mut().map(|it| it.next_line().unwrap().parse::<usize>().unwrap());
    assert_eq!(consumed.sum::<usize>(), RECORDS);
    assert_eq!(OpenCallStore::list(&store, &Default::default()).await.unwrap(), []);
}

/// The numbers of sessions of an import, and of entries of each.
const IMPORT: (usize, u64) = (20, 300);

async fn import_all(sessions: &SharedSessionStore) {
    let exports = (0..IMPORT.0).map(|number| {
        let mut session = Session::new(key(&format!("s-{number}")), SystemTime::UNIX_EPOCH);
        (session.revision, session.entries) = (1, IMPORT.1);
        let entries = (1..=IMPORT.1).map(|number| Entry { number, content: message("run", "x") });
        SessionExport { session, state: map(json!({ "a": 1 })), entries: entries.collect() }
    });
    let exports: Vec<_> = exports.collect();
    say("importing");
    sessions.import(&exports).await.unwrap();
    say("imported");
}

async fn an_import_of_a_killed_process_is_whole_or_absent<E: Engine>() {
    for _ in 0..3 {
        let Some(engine) = E::new().await else { return };
        let sessions: SharedSessionStore = engine.open(Clock::default()).await.into();
        let mut process = OtherProcess::start(&engine, "import");
        assert_eq!(process.next_line().as_deref(), Some("importing"));
        process.kill();
        let found = sessions.list(&SessionFilter::new("shop")).await.unwrap();
        assert!(found.is_empty() || found.len() == IMPORT.0, "{}", found.len());
        for session in found {
            assert_eq!(sessions.export(&session.key).await.unwrap().entries.len() as u64, IMPORT.1);
        }
    }
}

async fn processes_that_open_a_new_database_at_once_migrate_it_once<E: Engine>() {
    const PROCESSES: usize = 4;
    for _ in 0..2 {
        let Some(engine) = E::new().await else { return };
        let processes =
            (0..PROCESSES).map(|number| OtherProcess::start(&engine, &format!("share {number} 1")));
        for process in processes.collect::<Vec<_>>() {
            assert!(process.wait());
        }
        let sessions: SharedSessionStore = engine.open(Clock::default()).await.into();
        check_runs(&sessions, &key("s"), &names_of(PROCESSES, 1)).await;
    }
}
