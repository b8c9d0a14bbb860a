//! Measuring workloads, and printing what was found.

mod clock;
mod instructions;

use std::{env, fmt::Write as _, hint::black_box};

use crate::{Side, Workload};

/// Measures all `workloads` and prints a row for each.
///
/// Called as a child that counts instructions, it does only what the parent asked for.
pub fn run(title: &str, workloads: &[Workload]) {
    if instructions::serve(workloads) {
        return;
    }
    let only = env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let counts = instructions::available();
    println!("\n{:<34} {:>11} {:>11} {:>6}{}", title, "floor", "ours", "ratio", heading(counts));
    for workload in workloads.iter().filter(|it| only.as_ref().is_none_or(|only| it.name.contains(only))) {
        let times = clock::medians(workload);
        let mut row = format!(
            "{:<34} {}",
            workload.name,
            cells(times.floor.map(clock::shown), &clock::shown(times.ours))
        );
        let _ = write!(row, " {:>6}", ratio(times.ratio));
        if counts {
            let floor = times.floor.and_then(|time| instructions::count(workload.name, "floor", time));
            if let Some(ours) = instructions::count(workload.name, "ours", times.ours) {
                let shown = floor.map(|floor| floor.to_string());
                let _ = write!(row, "   {}", cells(shown, &ours.to_string()));
                let _ = write!(row, " {:>6}", ratio(floor.map(|floor| as_ratio(ours, floor))));
            }
        }
        println!("{row}");
    }
    if !counts {
        println!("valgrind is not installed: no instructions were counted");
    }
}

fn heading(counts: bool) -> String {
    if counts {
        format!("   {:>11} {:>11} {:>6}  instructions", "floor", "ours", "ratio")
    } else {
        String::new()
    }
}

fn cells(floor: Option<String>, ours: &str) -> String {
    format!("{:>11} {ours:>11}", floor.unwrap_or_default())
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "two digits of it are shown")]
fn as_ratio(ours: u64, floor: u64) -> f64 {
    ours as f64 / floor as f64
}

/// Does the work once and throws the answer away.
fn once(side: &Side) {
    side(&mut |answer| {
        black_box(answer);
    });
}
