//! `grep` against ripgrep, and a page near the end of a large file against `tail`: medians of one run.
//!
//! `BENCH_FOLDER` is the folder that is searched (default: the sources of crates in the folder of cargo), `BENCH_MIB` the size
//! of the large file (default: 1024), `BENCH_ROUNDS` the number of rounds (default: 5).
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and may fail")]

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tool_builtins::FileTools;
use tool_runtime::prelude::*;

const PATTERNS: [&str; 5] =
    ["unsafe fn", "impl<.*> Iterator for", "TODO|FIXME", "(?i)copyright", "no_such_word_at_all"];

fn number(name: &str, default: usize) -> usize {
    env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..number("BENCH_ROUNDS", 5))
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn tools(folder: &Path) -> Registry {
    Registry::builder().toolset(FileTools::new(folder).unwrap()).build().unwrap()
}

fn print_ratio(name: &str, ours: Duration, theirs: Duration) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{name:<45} {ours:>12.2?} {theirs:>12.2?} {ratio:>8.2}");
}

/// All matches are counted, as ripgrep does: no limit ends the search early.
fn bench_grep(runtime: &tokio::runtime::Runtime) {
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let default = cargo.or_else(|| Some(env::home_dir()?.join(".cargo"))).unwrap().join("registry/src");
    let folder = env::var_os("BENCH_FOLDER").map_or(default, PathBuf::from);
    if Command::new("rg").arg("--version").output().is_err() {
        println!("`rg` is not found; install Debian's `ripgrep` to compare with it");
        return;
    }
    let tools = tools(&folder);
    let threads = thread::available_parallelism().unwrap().get().min(8).to_string();
    for pattern in PATTERNS {
        let ours = median(|| {
            let query = json!({ "pattern": pattern, "mode": "count", "case_sensitive": true, "offset": 1_000_000_000 });
            runtime.block_on(tools.call("grep", query)).unwrap();
        });
        let theirs = median(|| {
            let mut ripgrep = Command::new("rg");
            ripgrep.args([
                "-j",
                &threads,
                "--count",
                "--hidden",
                "--no-require-git",
                "--glob",
                "!{target,node_modules,.git}",
                "-e",
                pattern,
            ]);
            ripgrep.arg(&folder).stdout(Stdio::null()).status().unwrap();
        });
        print_ratio(&format!("grep {pattern:?}, rg -j{threads}"), ours, theirs);
    }
}

/// The largest resident memory of this process until now, in KiB.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

fn bench_read(runtime: &tokio::runtime::Runtime) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let line = format!("{}\n", "a line of a log ".repeat(5));
    let lines = number("BENCH_MIB", 1024) * (1 << 20) / line.len();
    let mut file = fs::File::create(&path).unwrap();
    let block = line.repeat(1024);
    for _ in 0..lines / 1024 {
        file.write_all(block.as_bytes()).unwrap();
    }
    let offset = lines / 1024 * 1024 - 99;
    let tools = tools(folder.path());
    let read = || {
        let query = json!({ "path": "large", "offset": offset, "limit": 50 });
        runtime.block_on(tools.call("read_file", query)).unwrap();
    };
    let memory_before = peak_memory();
    read();
    let memory_after = peak_memory();
    let ours = median(read);
    let theirs = median(|| {
        let mut tail = Command::new("tail");
        tail.args(["-n", &format!("+{offset}")]).arg(&path).stdout(Stdio::null()).status().unwrap();
    });
    print_ratio("50 lines before the end, tail -n +N", ours, theirs);
    if let (Some(before), Some(after)) = (memory_before, memory_after) {
        println!("peak memory of the read: {} KiB more", after - before);
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    println!("{:<45} {:>12} {:>12} {:>8}", "", "ours", "theirs", "ratio");
    bench_read(&runtime);
    bench_grep(&runtime);
}
