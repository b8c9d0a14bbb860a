//! Measuring workloads and printing the results.

mod clock;
mod instructions;

use std::{
    env,
    error::Error,
    fmt::{self, Write as _},
    hint::black_box,
    time::Duration,
};

pub use self::clock::shown;
use crate::{FLOOR, OURS, Side, VALIDATED, Workload};

/// The measurements of one side of a workload.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The name of the side.
    pub side: &'static str,
    /// The median time of one repetition.
    pub time: Duration,
    /// The ratio of the time to the floor's, if there is a floor.
    pub time_ratio: Option<f64>,
    /// The instructions of one repetition, if `valgrind` is installed.
    pub instructions: Option<u64>,
    /// The ratio of the instructions to the floor's, if there is a floor.
    pub ratio: Option<f64>,
}

/// The name of a workload, and the measurements of its sides.
pub type Measurements = (&'static str, Vec<Measured>);

/// Measures the workloads whose names contain the first argument of the program, or all.
///
/// Returns `None` if the program has done other work: in a child process that counts instructions, and if the
/// first argument is `--profile`, which writes the profile of each side of those workloads to a file.
///
/// # Errors
///
/// Returns an error if a profile cannot be written.
pub fn rows(workloads: &[Workload]) -> Result<Option<Vec<Measurements>>, Box<dyn Error>> {
    if instructions::serve(workloads) {
        return Ok(None);
    }
    let only = env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let named = workloads.iter().filter(|it| only.as_ref().is_none_or(|only| it.name.contains(only)));
    if env::args().any(|argument| argument == "--profile") {
        for workload in named {
            profile(workload)?;
        }
        return Ok(None);
    }
    let counts = instructions::available();
    if !counts {
        println!("valgrind is not installed: no instructions were counted");
    }
    Ok(Some(named.map(|workload| (workload.name, measured(workload, counts))).collect()))
}

/// Measures all `workloads` and prints a row for each, with `title` above.
///
/// See [`rows`] for the arguments of the program.
///
/// # Errors
///
/// Returns an error if a profile cannot be written.
pub fn run(title: &str, workloads: &[Workload]) -> Result<(), Box<dyn Error>> {
    let Some(rows) = rows(workloads)? else { return Ok(()) };
    println!("\n{title:<34} {HEADING}   {HEADING}  instructions");
    for (name, sides) in rows {
        let row = |cell: &dyn Fn(&Measured) -> Option<String>, ratio: fn(&Measured) -> Option<f64>| {
            let of = |name| sides.iter().find(|it| it.side == name);
            let [floor, validated, ours] =
                [FLOOR, VALIDATED, OURS].map(|name| of(name).and_then(cell).unwrap_or_default());
            Row { floor, validated, ours, ratio: of(OURS).and_then(ratio) }
        };
        let times = row(&|it| Some(shown(it.time)), |it| it.time_ratio);
        let counts = row(&|it| it.instructions.map(|count| count.to_string()), |it| it.ratio);
        println!("{name:<34} {times}   {counts}");
    }
    Ok(())
}

fn profile(workload: &Workload) -> Result<(), Box<dyn Error>> {
    for ((side, _), times) in workload.sides.iter().zip(clock::medians(workload)) {
        let file = instructions::profile(workload.name, side, times.median)?;
        println!("callgrind_annotate {}", file.display());
    }
    Ok(())
}

fn measured(workload: &Workload, counts: bool) -> Vec<Measured> {
    let times = clock::medians(workload);
    let names = || workload.sides.iter().map(|(name, _)| *name);
    let count = |(side, times): (&'static str, &clock::Times)| {
        counts.then(|| instructions::count(workload.name, side, times.median)).flatten()
    };
    let counted: Vec<_> = names().zip(&times).map(count).collect();
    let floor = names().zip(&counted).find(|(name, _)| *name == FLOOR).and_then(|(_, count)| *count);
    let sides = names().zip(times).zip(counted);
    sides
        .map(|((side, times), instructions)| Measured {
            side,
            time: times.median,
            time_ratio: times.ratio,
            instructions,
            ratio: floor.zip(instructions).filter(|_| side != FLOOR).map(|(floor, it)| as_ratio(it, floor)),
        })
        .collect()
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
        let Some(count) = instructions::count(workload.name, OURS, FEW) else { continue };
        println!("{:<34} {count:>12} {bar:>11}", workload.name);
        if count > bar {
            beyond.push(workload.name);
        }
    }
    if beyond.is_empty() { Ok(()) } else { Err(format!("beyond the bar: {}", beyond.join(", "))) }
}

/// Returns the instructions of the first repetition of `side` of the work `name` in a fresh process, without a warm-up.
#[must_use]
pub fn count_once(name: &str, side: &str) -> Option<u64> {
    instructions::available().then(|| instructions::count_once(name, side)).flatten()
}

/// In a child process that counts the instructions of the work `name`, runs the side that `prepare` returns for its name
/// once, and returns `true`. The cost of `prepare` does not count.
#[must_use]
pub fn serve_once(name: &str, prepare: impl FnOnce(&str) -> Option<Side>) -> bool {
    instructions::serve_first(name, prepare)
}

/// The duration above which a few repetitions are enough.
const FEW: Duration = Duration::from_millis(1);

const HEADING: &str = "      floor  jsonschema        ours  ratio";

/// One kind of measurement, for all sides.
struct Row {
    floor: String,
    validated: String,
    ours: String,
    /// The ratio of the framework to the floor.
    ratio: Option<f64>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { floor, validated, ours, ratio } = self;
        write!(f, "{floor:>11} {validated:>11} {ours:>11} ")?;
        let ratio = ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        write!(f, "{ratio:>6}")
    }
}

/// Returns a Markdown table of the cells of `rows`, with a ratio to the floor behind each.
#[must_use]
pub fn table(
    title: &str,
    rows: &[Measurements],
    cell: fn(&Measured) -> (Option<String>, Option<f64>),
) -> String {
    let mut out = String::new();
    let sides = rows.first().map(|(_, sides)| sides.as_slice()).unwrap_or_default();
    let _ =
        writeln!(out, "| {title} |{}", sides.iter().map(|it| format!(" {} |", it.side)).collect::<String>());
    let _ = writeln!(out, "| --- |{}", " --- |".repeat(sides.len()));
    for (name, sides) in rows {
        let _ = write!(out, "| {name} |");
        for side in sides {
            let _ = match cell(side) {
                (None, _) => write!(out, " |"),
                (Some(cell), None) => write!(out, " {cell} |"),
                (Some(cell), Some(ratio)) => write!(out, " {cell} ({ratio:.2}) |"),
            };
        }
        out.push('\n');
    }
    out
}

/// Returns `count` with commas between thousands.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns the ratio of two counts.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
pub fn as_ratio(ours: u64, floor: u64) -> f64 {
    ours as f64 / floor as f64
}

/// Runs the work once and drops the answer.
fn once(side: &Side) {
    side(&mut |answer| {
        black_box(answer);
    });
}
