//! Instructions of one repetition, counted by valgrind's `callgrind`.
//!
//! The program runs itself under `callgrind` twice, with `n` and with `2 n` repetitions; the
//! difference is the work without the start of the program.

use std::{
    env,
    process::{Command, Stdio},
    time::Duration,
};

use super::once;
use crate::Workload;

/// The first argument of such a child process.
const CHILD: &str = "--count-instructions";

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
        (0..times.parse().unwrap_or(0)).for_each(|_| once(side));
    }
    true
}

/// Returns the instructions of one repetition of `side`; `time` is its approximate duration.
pub(super) fn count(name: &str, side: &str, time: Duration) -> Option<u64> {
    // Enough to average out rare events, such as the growth of the heap.
    let times = (1_000_000 / time.as_nanos().max(1)).clamp(2, 1_000);
    let times = u32::try_from(times).unwrap_or(2);
    let (few, more) = (total(name, side, times)?, total(name, side, 2 * times)?);
    Some(more.saturating_sub(few) / u64::from(times))
}

fn total(name: &str, side: &str, times: u32) -> Option<u64> {
    let program = env::current_exe().ok()?;
    let callgrind = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let mut command = Command::new("valgrind");
    command.args(callgrind).arg(program).args([CHILD, name, side, &times.to_string()]);
    let report = command.output().ok()?.stderr;
    // `==12345== Collected : 678910`
    let report = String::from_utf8_lossy(&report);
    let collected = report.lines().find_map(|line| line.split_once("Collected :"))?.1;
    collected.trim().parse().ok()
}
