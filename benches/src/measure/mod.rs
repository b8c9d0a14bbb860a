//! Measuring workloads and printing the results.

mod clock;
mod instructions;

use std::{
    env,
    fmt::{self, Write as _},
    hint::black_box,
};

use crate::{Side, Workload};

/// Measures all `workloads` and prints a row for each.
///
/// In a child process that counts instructions, runs only the work that the parent requested.
pub fn run(title: &str, workloads: &[Workload]) {
    if instructions::serve(workloads) {
        return;
    }
    let only = env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let counts = instructions::available();
    println!(
        "\n{title:<34} {}{}",
        HEADING,
        if counts { format!("   {HEADING}  instructions") } else { String::new() }
    );
    for workload in workloads.iter().filter(|it| only.as_ref().is_none_or(|only| it.name.contains(only))) {
        let times = clock::medians(workload);
        let shown = Row {
            floor: times.floor.map(clock::shown),
            validated: times.validated.map(clock::shown),
            ours: clock::shown(times.ours),
            ratio: times.ratio,
        };
        let mut row = format!("{:<34} {shown}", workload.name);
        if counts {
            let count = |side, time| instructions::count(workload.name, side, time);
            let floor = times.floor.and_then(|time| count("floor", time));
            let validated = times.validated.and_then(|time| count("validated", time));
            if let Some(ours) = count("ours", times.ours) {
                let ratio = floor.map(|floor| as_ratio(ours, floor));
                let [floor, validated] = [floor, validated].map(|count| count.map(|it| it.to_string()));
                let _ = write!(row, "   {}", Row { floor, validated, ours: ours.to_string(), ratio });
            }
        }
        println!("{row}");
    }
    if !counts {
        println!("valgrind is not installed: no instructions were counted");
    }
}

/// Measures all `workloads`, each with its limit in instructions, and prints both.
///
/// In a child process that counts instructions, runs only the work that the parent requested.
///
/// # Errors
///
/// Returns an error with the names of the workloads that exceed their limits.
pub fn against_bars(title: &str, workloads: Vec<(Workload, u64)>) -> Result<(), String> {
    let (workloads, bars): (Vec<_>, Vec<_>) = workloads.into_iter().unzip();
    if instructions::serve(&workloads) {
        return Ok(());
    }
    if !instructions::available() {
        println!("valgrind is not installed: no instructions were counted");
        return Ok(());
    }
    println!("\n{title:<34} instructions         bar");
    let mut beyond = Vec::new();
    for (workload, bar) in workloads.iter().zip(bars) {
        // Two repetitions are enough, because each takes much longer than the variation.
        let Some(count) = instructions::count(workload.name, "ours", FEW) else { continue };
        println!("{:<34} {count:>12} {bar:>11}", workload.name);
        if count > bar {
            beyond.push(workload.name);
        }
    }
    if beyond.is_empty() { Ok(()) } else { Err(format!("beyond the bar: {}", beyond.join(", "))) }
}

/// The duration above which a few repetitions are enough.
const FEW: std::time::Duration = std::time::Duration::from_millis(1);

const HEADING: &str = "      floor  jsonschema        ours  ratio";

/// One kind of measurement, for all sides.
struct Row {
    floor: Option<String>,
    validated: Option<String>,
    ours: String,
    /// The ratio of the framework to the floor.
    ratio: Option<f64>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { floor, validated, ours, ratio } = self;
        let [floor, validated] = [floor, validated].map(|cell| cell.as_deref().unwrap_or_default());
        let ratio = ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        write!(f, "{floor:>11} {validated:>11} {ours:>11} {ratio:>6}")
    }
}

#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
fn as_ratio(ours: u64, floor: u64) -> f64 {
    ours as f64 / floor as f64
}

/// Runs the work once and drops the answer.
fn once(side: &Side) {
    side(&mut |answer| {
        black_box(answer);
    });
}
