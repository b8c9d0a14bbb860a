//! Costs of stores: `cargo bench -p tool-session --features sqlite,postgres`. Prints, for each store, the time of the write of a step, of
//! one session and of 64 at once, and the begin of a run on a session with 100,000 messages (40 MB): its time, and the peak
//! memory of the process, without the memory of the open store.
//!
//! Postgres is the server that the tests find, on a local socket, with `fsync`.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::{
    env, fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tool_runtime::serde_json::json;
use tool_session::{
    EntryContent, EntryQuery, InMemoryStore, JsonText, LeaseRequest, SessionKey, SessionWrite,
    SharedSessionStore,
};

const MESSAGES: u64 = 100_000;
/// The number of bytes of the body of a message.
const MESSAGE_BYTES: usize = 400;
/// The number of messages behind the last compaction.
const RECENT_MESSAGES: u64 = 500;
/// The number of bytes of the messages that fill a context window.
const WINDOW_BYTES: usize = 800_000;
const STEPS: u64 = 300;
const SESSIONS: u64 = 64;

fn key(id: &str) -> Result<SessionKey> {
    Ok(SessionKey::new("bench", "user", id)?)
}

fn entry(kind: &str) -> Result<EntryContent> {
    let body = JsonText::of(&json!({ "role": "assistant", "text": "x".repeat(MESSAGE_BYTES - 34) }))?;
    Ok(EntryContent::new("run", kind, body))
}

/// Returns a step with three calls: a message, its results, and changes of state.
fn step(revision: u64) -> Result<SessionWrite> {
    let changes = json!({ "step": revision, "user:step": revision });
    let entries = [entry("message")?, entry("message")?, entry("message")?, entry("message")?];
    Ok(SessionWrite::new(revision).entries(entries).changes(changes.as_object().cloned().unwrap_or_default()))
}

async fn write_steps(sessions: &SharedSessionStore, id: &str, steps: u64) -> Result<()> {
    let lease = sessions.acquire(&key(id)?, &LeaseRequest::new("run", "bench")).await?.lease;
    for revision in 0..steps {
        sessions.write(&lease, &step(revision)?).await?;
    }
    Ok(())
}

/// Prints the time of a write: one after the other, and of many sessions at once.
async fn print_writes(name: &str, sessions: &SharedSessionStore) -> Result<()> {
    let began = Instant::now();
    write_steps(sessions, "alone", STEPS).await?;
    let alone = began.elapsed() / u32::try_from(STEPS)?;
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..SESSIONS {
        let sessions = sessions.clone();
        tasks.spawn(async move { write_steps(&sessions, &format!("s-{number}"), 20).await });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let together = began.elapsed() / u32::try_from(SESSIONS * 20)?;
    println!("{name:<10} {:>12} {:>17}", micros(alone), micros(together));
    Ok(())
}

/// Makes the long sessions: with a compaction near its end, and without one.
async fn make_long_sessions(sessions: &SharedSessionStore) -> Result<()> {
    const ENTRIES: u64 = 1000;
    for id in ["compacted", "whole"] {
        let lease = sessions.acquire(&key(id)?, &LeaseRequest::new("run", "bench")).await?.lease;
        for revision in 0..MESSAGES / ENTRIES {
            let kind = |number: u64| {
                let is_compaction =
                    id == "compacted" && revision * ENTRIES + number == MESSAGES - RECENT_MESSAGES;
                if is_compaction { EntryContent::COMPACTION } else { EntryContent::MESSAGE }
            };
            let entries = (0..ENTRIES).map(|number| entry(kind(number))).collect::<Result<Vec<_>>>()?;
            sessions.write(&lease, &SessionWrite::new(revision).entries(entries)).await?;
        }
        sessions.release(&lease).await?;
    }
    Ok(())
}

/// Begins a run: takes the lease, and reads the last compaction and what follows it, or else backwards until the window is full.
async fn begin_run(sessions: &SharedSessionStore, id: &str) -> Result<usize> {
    let key = key(id)?;
    sessions.acquire(&key, &LeaseRequest::new("next", "bench")).await?;
    let compaction = EntryQuery::backward().of_kind(EntryContent::COMPACTION).limit(1);
    let last = sessions.entries(&key, &compaction).await?.entries.pop();
    let query = match last {
        Some(last) => EntryQuery::forward().after(last.number),
        None => EntryQuery::backward().limit_bytes(WINDOW_BYTES),
    };
    Ok(sessions.entries(&key, &query.limit(EntryQuery::MAX_ENTRIES)).await?.entries.len())
}

/// Prints the begin of a run, the first and a later one, in a process that did nothing else.
async fn print_begins(name: &str, sessions: &SharedSessionStore) -> Result<()> {
    for id in ["compacted", "whole"] {
        let before = memory("VmRSS").unwrap_or_default();
        // Resets the peak; without effect on other systems.
        drop(fs::write("/proc/self/clear_refs", "5"));
        let began = Instant::now();
        let entries = begin_run(sessions, id).await?;
        let first = began.elapsed();
        let peak = memory("VmHWM").map(|peak| format!("{} kB", peak.saturating_sub(before)));
        let began = Instant::now();
        begin_run(sessions, id).await?;
        let later = began.elapsed();
        let peak = peak.unwrap_or_else(|| "unknown".to_owned());
        let bar = if name == "SQLite" { "at most 20 ms, 16384 kB" } else { "no bar" };
        println!(
            "{name:<10} {id:<10} {entries:>8} {:>12} {:>12} {peak:>12}  {bar}",
            micros(first),
            micros(later)
        );
    }
    Ok(())
}

/// Returns a line of the status of this process, in kB.
fn memory(line: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix(line)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

fn micros(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// Opens a store by the text with which the first process names it.
async fn open(address: &str) -> Result<SharedSessionStore> {
    match address.split_once(' ') {
        #[cfg(feature = "sqlite")]
        Some(("SQLite", path)) => Ok(tool_session::SqliteStore::open(path).await?.into()),
        #[cfg(feature = "postgres")]
        Some(("Postgres", url)) => Ok(tool_session::PostgresStore::open(url).await?.into()),
        _ => Ok(InMemoryStore::new().into()),
    }
}

/// Returns the stores of this build and this machine, and what runs until the end.
fn addresses(folder: &std::path::Path) -> Result<(Vec<String>, Option<std::process::Child>)> {
    let mut addresses = vec!["memory ".to_owned()];
    if cfg!(feature = "sqlite") {
        addresses.push(format!("SQLite {}", folder.join("bench.sqlite").display()));
    }
    if !cfg!(feature = "postgres") {
        return Ok((addresses, None));
    }
    let Some(programs) = env::var_os("SESSION_POSTGRES") else {
        println!("Postgres is left out; run `.ci/session/install` and source its file `environment`");
        return Ok((addresses, None));
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-support/src/postgres.sh");
    let mut command = Command::new("sh");
    command.arg(script).arg(programs).env("SESSION_FSYNC", "on").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn()?;
    let output = server.stdout.as_mut().context("the server has an output")?;
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line)?;
    addresses.push(format!("Postgres postgres://tester@localhost/postgres?host={}", line.trim()));
    Ok((addresses, Some(server)))
}

fn name_of(address: &str) -> &str {
    address.split(' ').next().unwrap_or_default()
}

/// The variable that names the store whose begins a further process of this program prints.
const BEGIN_VARIABLE: &str = "SESSION_BENCH_BEGIN";

#[tokio::main]
async fn main() -> Result<()> {
    if let Ok(address) = env::var(BEGIN_VARIABLE) {
        return print_begins(name_of(&address), &open(&address).await?).await;
    }
    let folder = env::temp_dir().join(format!("tool-session-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (addresses, server) = addresses(&folder)?;
    println!("\n{:<10} {:>12} {:>17}", "a step", "one session", "64 sessions, each");
    for address in &addresses {
        print_writes(name_of(address), &open(address).await?).await?;
    }
    println!(
        "\n{:<10} {:<10} {:>8} {:>12} {:>12} {:>12}  bar",
        "a begin", "session", "entries", "first", "later", "peak"
    );
    for address in &addresses {
        let sessions = open(address).await?;
        make_long_sessions(&sessions).await?;
        if address.starts_with("memory") {
            print_begins("memory", &sessions).await?;
        } else {
            let program = env::current_exe()?;
            let status = Command::new(program).env(BEGIN_VARIABLE, address).status()?;
            anyhow::ensure!(status.success(), "the process of {address} failed");
        }
    }
    if let Some(mut server) = server {
        // The end of its input stops it.
        drop(server.stdin.take());
        server.wait()?;
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}
