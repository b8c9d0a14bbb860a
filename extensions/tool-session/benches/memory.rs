//! The time of a search among 100,000 notes of one user, for rare and for common words: `cargo bench -p tool-session --features
//! sqlite,postgres --bench memory`. The bar is 10 ms; Postgres, on the server that the tests find, is printed beside it.
//!
//! The texts have 20 words each; `w0` is in nearly all of them, `wN` in about one of N²/20. The medians of 21 searches are printed, in
//! milliseconds. An argument sets another number of notes.
#![allow(clippy::print_stdout, reason = "a program")]

use std::time::{Duration, Instant};

use anyhow::Context;
use tool_session::{
    EntryContent, InMemoryStore, JsonText, LeaseRequest, NoteContent, SessionKey, SessionWrite, SharedMemory,
    SharedSessionStore, SqliteStore,
};

const NOTES: usize = 100_000;
const WORDS_OF_A_NOTE: usize = 20;
const SEARCHES: usize = 21;

fn main() -> anyhow::Result<()> {
    let notes = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(NOTES);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure_stores(notes))
}

async fn measure_stores(notes: usize) -> anyhow::Result<()> {
    let store = InMemoryStore::new();
    measure("in memory", store.clone().into(), store.into(), notes).await?;

    let folder = std::env::temp_dir().join(format!("tool-session-bench-{}", std::process::id()));
    let store = SqliteStore::open(folder.join("notes.sqlite")).await?;
    let measured = measure("SQLite", store.clone().into(), store.clone().into(), notes).await;
    store.close().await;
    let bytes = std::fs::metadata(folder.join("notes.sqlite"))?.len();
    std::fs::remove_dir_all(folder)?;
    println!("{:>10}: {} MB in the file", "SQLite", bytes / 1_000_000);
    measured?;
    measure_postgres(notes).await
}

#[cfg(feature = "postgres")]
async fn measure_postgres(notes: usize) -> anyhow::Result<()> {
    use test_support::postgres::{new_schema, shared_url};

    let Some(url) = shared_url() else {
        println!("Postgres is left out; run `.ci/session/install` and source its file `environment`");
        return Ok(());
    };
    let store = tool_session::PostgresOptions::new(&url)?.schema(new_schema())?.open().await?;
    measure("Postgres", store.clone().into(), store.into(), notes).await
}

#[cfg(not(feature = "postgres"))]
async fn measure_postgres(_notes: usize) -> anyhow::Result<()> {
    println!("Postgres is left out; add the feature `postgres`");
    Ok(())
}

async fn measure(
    name: &str,
    sessions: SharedSessionStore,
    memory: SharedMemory,
    notes: usize,
) -> anyhow::Result<()> {
    let key = SessionKey::new("bench", "u-7", "s-1")?;
    let start = Instant::now();
    write_session(&sessions, &key, notes).await?;
    let written = start.elapsed();
    let text_of =
        |entry: &tool_session::Entry| entry.content.body.read::<String>().ok().map(NoteContent::new);
    let count = memory.add_session(&sessions, &key, text_of).await?;
    let added = start.elapsed().saturating_sub(written);
    println!("{name:>10}: {count} notes added in {:.1} s", added.as_secs_f64());

    let rare = format!("n{}", notes / 3);
    let question = format!("what did w0 say about w1 and w5 in w20 or {rare} of w300");
    let queries = [
        ("rare word", &*rare),
        ("common word", "w0"),
        ("five common words", "w0 w1 w2 w3 w4"),
        ("question", &question),
        ("no match", "zebra"),
    ];
    for (label, query) in queries {
        let mut times = Vec::with_capacity(SEARCHES);
        let mut matches = 0;
        for _ in 0..SEARCHES {
            let start = Instant::now();
            matches = memory.search(&key.user_key(), query, 10).await?.len();
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let median = times.get(SEARCHES / 2).map(Duration::as_secs_f64).context("there are searches")?;
        let bar = if name == "SQLite" { "at most 10 ms" } else { "no bar" };
        println!("{name:>10}: {label:<18} {:>7.2} ms, {matches} matches; {bar}", median * 1000.0);
    }
    Ok(())
}

/// Writes a session with one entry for each note.
async fn write_session(sessions: &SharedSessionStore, key: &SessionKey, notes: usize) -> anyhow::Result<()> {
    const WRITE_ENTRIES: usize = 1000;
    let lease = sessions.acquire(key, &LeaseRequest::new("run-1", "bench")).await?.lease;
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for (revision, first) in (0_u64..).zip((0..notes).step_by(WRITE_ENTRIES)) {
        let texts = (first..notes.min(first + WRITE_ENTRIES)).map(|number| note_text(number, &mut random));
        let entries =
            texts.map(|text| Ok(EntryContent::new("run-1", EntryContent::MESSAGE, JsonText::of(&text)?)));
        let entries = entries.collect::<anyhow::Result<Vec<_>>>()?;
        sessions.write(&lease, &SessionWrite::new(revision).entries(entries)).await?;
    }
    Ok(sessions.release(&lease).await?)
}

/// Returns a text whose last word is in no other one.
fn note_text(number: usize, random: &mut u64) -> String {
    let mut words: Vec<_> = (1..WORDS_OF_A_NOTE)
        .map(|_| format!("w{}", 4_000 / (1 + random_number(random) % 4_000) - 1))
        .collect();
    words.push(format!("n{number}"));
    words.join(" ")
}

fn random_number(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}
