//! Folders, links and files that other threads exchange while tools run.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use tool_runtime::prelude::*;

use super::{SECRET, World};

/// Content of a file outside that has a second name inside, by which it may be read and never changed.
const SHARED: &str = "content with a name inside and one outside";

/// A name that only the folder outside has.
const OUTSIDE_NAME: &str = "only-outside";

/// The calls of one tool: how many were tried, and how many had a result.
#[derive(Debug, Default)]
struct CallCount {
    tried: u64,
    succeeded: u64,
}

/// Replaces a folder by a link to the folder outside, and back.
fn exchange_folders(world: &World, outside: &Path) {
    let (present, real) = (world.path("dir"), world.path("real"));
    let _ = fs::rename(&real, &present);
    thread::yield_now();
    let _ = fs::rename(&present, &real);
    let _ = symlink(outside, &present);
    thread::yield_now();
    let _ = fs::remove_file(&present);
}

/// Replaces a file by a link to one outside, and gives a file outside a name inside.
fn exchange_files(world: &World, outside: &Path) {
    let (file, link, hard) = (world.path("file"), world.path("link"), world.path("hard"));
    let _ = symlink(outside.join("f"), &link);
    let _ = fs::rename(&link, &file);
    thread::yield_now();
    let _ = fs::remove_file(&file);
    let _ = fs::write(&file, "inside\n");
    let _ = fs::hard_link(outside.join("shared"), &hard);
    thread::yield_now();
    let _ = fs::remove_file(&hard);
}

/// A call that is made in each round that its period divides: a write waits for the disk.
struct RepeatedCall {
    period: u64,
    tool: &'static str,
    arguments: Value,
}

fn calls() -> Vec<RepeatedCall> {
    let call = |period, tool, arguments| RepeatedCall { period, tool, arguments };
    let read = |path| call(1, "read_file", json!({ "path": path }));
    let edit = |path, old_text, new_text| {
        call(20, "edit_file", json!({ "path": path, "old_text": old_text, "new_text": new_text }))
    };
    let write = |path, content| call(20, "write_file", json!({ "path": path, "content": content }));
    vec![
        read("dir/f"),
        read("file"),
        read("hard"),
        read("dir/only-outside"),
        edit("dir/f", "inside", "inside!"),
        edit("dir/f", "secret", "changed"),
        read("file"),
        edit("file", "secret", "changed"),
        edit("hard", "content", "changed"),
        write("dir/f", "inside\n"),
        write("dir/new", "changed"),
        write("dir/sub/new", "changed"),
        write("file", "changed"),
        write("hard", "changed"),
        call(2, "list_files", json!({ "path": "dir" })),
        call(2, "list_files", json!({})),
        call(2, "glob", json!({ "pattern": "**/*" })),
        call(2, "glob", json!({ "pattern": "*", "path": "dir" })),
        call(4, "grep", json!({ "pattern": "secret" })),
        call(4, "grep", json!({ "pattern": "secret", "path": "dir" })),
        call(4, "grep", json!({ "pattern": "secret", "path": "file" })),
    ]
}

// R07, R08, R09, R14, R17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_are_exchanged_while_tools_run_lead_nowhere() {
    // `.ci/slow` runs for a minute.
    let seconds = env::var("RACE_SECONDS").ok().map(|seconds| seconds.parse().unwrap());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let world = World::new();
    let outside = world.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    for (name, content) in [("f", SECRET), ("shared", SHARED), (OUTSIDE_NAME, SECRET)] {
        fs::write(outside.join(name), content).unwrap();
    }
    world.write("real/f", "inside\n");
    let is_over = AtomicBool::new(false);
    let (world, outside) = (&world, outside.as_path());
    let (counts, leaks, exchanges) = thread::scope(|scope| {
        let exchangers = [exchange_folders, exchange_files].map(|exchange| {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut count: u64 = 0;
                while !is_over.load(Ordering::Relaxed) {
                    exchange(world, outside);
                    count += 1;
                }
                count
            })
        });
        // The threads end before an assertion, which would otherwise wait for them.
        let (counts, leaks) = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let mut counts: BTreeMap<&str, CallCount> = BTreeMap::new();
                let mut leaks = Vec::new();
                let mut round: u64 = 0;
                while end.map_or(round < 400, |end| Instant::now() < end) {
                    round += 1;
                    for RepeatedCall { period, tool, arguments } in calls() {
                        if !round.is_multiple_of(period) {
                            continue;
                        }
                        let result = world.call(tool, arguments).await;
                        let count = counts.entry(tool).or_default();
                        count.tried += 1;
                        count.succeeded += u64::from(result.is_ok());
                        let text = result.unwrap_or_else(|error| error);
                        if text.contains(SECRET) || (text.contains(OUTSIDE_NAME) && tool != "read_file") {
                            leaks.push(text);
                        }
                    }
                }
                (counts, leaks)
            })
        });
        is_over.store(true, Ordering::Relaxed);
        (counts, leaks, exchangers.map(|exchanger| exchanger.join().unwrap()))
    });
    println!("exchanges of folders and of files: {exchanges:?}");
    for (tool, CallCount { tried, succeeded }) in &counts {
        println!("{tool:<12} {tried:>8} tried {succeeded:>8} with a result");
    }
    assert_eq!(leaks, Vec::<String>::new());
    assert_eq!(counts.len(), 6);
    // No leak means nothing where every call fails.
    let failed: Vec<_> = counts.iter().filter(|(_, count)| count.succeeded == 0).collect();
    assert!(failed.is_empty() && exchanges.iter().all(|count| *count > 0), "{failed:?} {exchanges:?}");
    for (name, content) in [("f", SECRET), ("shared", SHARED), (OUTSIDE_NAME, SECRET)] {
        assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), content, "{name}");
    }
    assert_eq!(fs::read_dir(outside).unwrap().count(), 3);
}
