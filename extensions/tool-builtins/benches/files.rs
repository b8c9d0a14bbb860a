//! `grep` against ripgrep, and a page near the end of a large file against `tail`: medians of one run.
//!
//! `BENCH_FOLDER` is the folder that is searched (default: the sources of crates in the folder of cargo), `BENCH_MIB` the size
//! of the large file (default: 1024), `BENCH_ROUNDS` the number of rounds (default: 5), `BUILTINS_RG` the path of ripgrep, as in the
//! file `environment` of `.ci/builtins/install`. Each figure stands beside its bar.
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

/// The bars: our time as a multiple of theirs, and the memory of a page near the end of a large file.
const MAX_GREP_RATIO: f64 = 1.5;
const MAX_READ_RATIO: f64 = 2.0;
const MAX_READ_KIB: u64 = 8 * 1024;

/// Files and bytes without which a comparison says little.
const MIN_FILES: u64 = 20_000;
const MIN_BYTES: u64 = 200 << 20;

/// The medians of two runs that take turns, so that a busy machine slows both.
fn medians(mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (Duration, Duration) {
    let rounds = number("BENCH_ROUNDS", 5);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let runs: [&mut dyn FnMut(); 2] = [&mut ours, &mut theirs];
        for (run, times) in runs.into_iter().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed());
        }
    }
    let [ours, theirs] = times.map(|mut times| {
        times.sort();
        times.get(rounds / 2).copied().unwrap_or_default()
    });
    (ours, theirs)
}

fn tools(folder: &Path) -> Registry {
    Registry::builder().toolset(FileTools::new(folder).unwrap()).build().unwrap()
}

fn print_ratio(name: &str, (ours, theirs): (Duration, Duration), bar: f64) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let verdict = if ratio <= bar { "" } else { "  MISSED" };
    println!("{name:<45} {ours:>12.2?} {theirs:>12.2?} {ratio:>8.2} {bar:>8.2}{verdict}");
}

/// The number of files below a folder, and their bytes.
fn folder_size(folder: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                let (more_files, more_bytes) = folder_size(&entry.path());
                files += more_files;
                bytes += more_bytes;
            }
            Ok(metadata) => {
                files += 1;
                bytes += metadata.len();
            }
            Err(_) => {}
        }
    }
    (files, bytes)
}

/// All matches are counted, as ripgrep does: no limit ends the search early.
fn bench_grep(runtime: &tokio::runtime::Runtime) {
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let default = cargo.or_else(|| Some(env::home_dir()?.join(".cargo"))).unwrap().join("registry/src");
    let folder = env::var_os("BENCH_FOLDER").map_or(default, PathBuf::from);
    let ripgrep = env::var_os("BUILTINS_RG").unwrap_or_else(|| "rg".into());
    if Command::new(&ripgrep).arg("--version").output().is_err() {
        println!(
            "ripgrep is not found; source the file `environment` of `.ci/builtins/install` to compare with it"
        );
        return;
    }
    let (files, bytes) = folder_size(&folder);
    let note = if files < MIN_FILES || bytes < MIN_BYTES { "; too few for a comparison" } else { "" };
    println!("{files} files, {} MiB{note}", bytes >> 20);
    let tools = tools(&folder);
    let threads = thread::available_parallelism().unwrap().get().min(8).to_string();
    for pattern in PATTERNS {
        let ours = || {
            let query = json!({ "pattern": pattern, "mode": "count", "case_sensitive": true, "offset": 1_000_000_000 });
            runtime.block_on(tools.call("grep", query)).unwrap();
        };
        let theirs = || {
            let mut ripgrep = Command::new(&ripgrep);
            ripgrep.args(["-j", &threads, "--count", "--hidden", "--no-require-git", "--no-config"]);
            ripgrep.args(["--glob", "!{target,node_modules,.git,.hg,.svn,.jj}", "-e", pattern]);
            ripgrep.arg(&folder).stdout(Stdio::null()).status().unwrap();
        };
        let name = format!("grep {pattern:?}, rg -j{threads}");
        print_ratio(&name, medians(ours, theirs), MAX_GREP_RATIO);
    }
}

/// A line of the memory of this process, in KiB.
fn memory_kib(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
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
    // The system forgets the largest memory until now.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let memory_before = memory_kib("VmRSS:");
    read();
    let memory_after = memory_kib("VmHWM:");
    let theirs = || {
        let mut tail = Command::new("tail");
        tail.args(["-n", &format!("+{offset}")]).arg(&path).stdout(Stdio::null()).status().unwrap();
    };
    print_ratio("50 lines before the end, tail -n +N", medians(read, theirs), MAX_READ_RATIO);
    if let (Some(before), Some(after), true) = (memory_before, memory_after, is_reset) {
        let more = after.saturating_sub(before);
        let verdict = if more <= MAX_READ_KIB { "" } else { "  MISSED" };
        println!(
            "{:<45} {more:>8} KiB {:>36}{verdict}",
            "memory of this read, at its peak",
            format!("{MAX_READ_KIB} KiB")
        );
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    println!("{:<45} {:>12} {:>12} {:>8} {:>8}", "", "ours", "theirs", "ratio", "bar");
    bench_read(&runtime);
    bench_grep(&runtime);
}
