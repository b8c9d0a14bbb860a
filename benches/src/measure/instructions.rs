//! Instructions of one repetition, counted by valgrind's `callgrind`.
//!
//! The program runs itself under `callgrind`, which collects within [`measured`] only: neither the start of the
//! program nor a warm-up counts.

use std::{
    env, fs,
    io::{Error, Result},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use super::once;
use crate::{Side, Workload};

/// The first argument of such a child process.
const CHILD: &str = "--count-instructions";

/// The function within which `callgrind` collects.
const MEASURED: &str = "--toggle-collect=*instructions::measured*";

pub(super) fn available() -> bool {
    let version =
        Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs the work that the parent process requested, if there is a parent.
pub(super) fn serve(workloads: &[Workload]) -> bool {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [child, name, side, times] = arguments.as_slice() else { return false };
    if child != CHILD {
        return false;
    }
    let workload = workloads.iter().find(|it| it.name == name);
    if let Some(side) = workload.and_then(|it| it.side(side)) {
        let times = times.parse().unwrap_or(0);
        // The first calls fill caches and the heap. The cost of a single one is the cost of the first.
        (0..times.min(20)).filter(|_| times > 1).for_each(|_| once(side));
        measured(side, times);
    }
    true
}

/// Runs the first repetition of the work `name` that the parent process requested, if there is a parent. `prepare`
/// returns the side with the requested name; its own cost is not collected.
pub(super) fn serve_first(name: &str, prepare: impl FnOnce(&str) -> Option<Side>) -> bool {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [child, requested, side, _] = arguments.as_slice() else { return false };
    if child != CHILD || requested != name {
        return false;
    }
    if let Some(side) = prepare(side) {
        measured(&side, 1);
    }
    true
}

#[inline(never)]
fn measured(side: &Side, times: u32) {
    (0..times).for_each(|_| once(side));
}

/// Returns the instructions of one repetition of `side`; `time` is its approximate duration.
pub(super) fn count(name: &str, side: &str, time: Duration) -> Option<u64> {
    collected(name, side, repetitions(time))
}

/// Returns the instructions of the first repetition of `side`.
pub(super) fn count_once(name: &str, side: &str) -> Option<u64> {
    collected(name, side, 1)
}

fn collected(name: &str, side: &str, times: u32) -> Option<u64> {
    let report = callgrind("/dev/null".into(), name, side, times).ok()?;
    // `==12345== Collected : 678910`
    let collected = report.lines().find_map(|line| line.split_once("Collected :"))?.1;
    Some(collected.trim().parse::<u64>().ok()? / u64::from(times))
}

/// Writes the profile of `side` to a file beside the program, and returns its path.
pub(super) fn profile(name: &str, side: &str, time: Duration) -> Result<PathBuf> {
    // `target/release/deps/program`
    let program = env::current_exe()?;
    let folder = program.ancestors().nth(2).unwrap_or(&program).join("callgrind");
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{}.{side}", name.replace([' ', ','], "_")));
    callgrind(file.clone(), name, side, repetitions(time))?;
    Ok(file)
}

/// Returns a number that averages out rare events, such as the growth of the heap.
fn repetitions(time: Duration) -> u32 {
    u32::try_from(1_000_000 / time.as_nanos().max(1)).unwrap_or(u32::MAX).clamp(2, 1_000)
}

/// Runs this program under `callgrind` and returns its report.
fn callgrind(file: PathBuf, name: &str, side: &str, times: u32) -> Result<String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", MEASURED]);
    command.arg(format!("--callgrind-out-file={}", file.display())).arg(env::current_exe()?);
    let output = command.args([CHILD, name, side, &times.to_string()]).output()?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(report) } else { Err(Error::other(report)) }
}
