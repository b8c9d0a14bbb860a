//! Start-up in fresh processes: nothing is cached when a contender begins.

use std::{
    env,
    error::Error,
    fs,
    process::Command,
    time::{Duration, Instant},
};

use crate::{FLOOR, Side, Workload, measure};

/// A way to start: builds everything, and returns the work that lists all definitions as JSON text.
pub type Start = fn() -> Result<Side, Box<dyn Error>>;

/// The first argument of a child process.
const CHILD: &str = "--start";

/// The number of processes of each contender; medians count.
const ROUNDS: usize = 9;

/// The measurements of one start.
#[derive(Debug, Clone, Copy, Default)]
struct Started {
    /// The time to build and to list for the first time, in nanoseconds.
    first: u64,
    /// The time to list again, in nanoseconds.
    again: u64,
    /// The growth of resident memory, in KiB.
    memory: u64,
}

/// Starts each of `contenders`, which build and list `count` tools, in processes of their own, alternately, and
/// prints a Markdown table.
///
/// # Errors
///
/// Returns an error if a contender fails to start.
pub fn run(count: u64, contenders: &'static [(&'static str, Start)]) -> Result<(), Box<dyn Error>> {
    let sides = contenders.iter().map(|(name, start)| (*name, whole(*start))).collect();
    let workload = Workload { name: "start", sides };
    if measure::serve_once(&workload) {
        return Ok(());
    }
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [child, name] = arguments.as_slice()
        && child == CHILD
    {
        return child_process(contenders.iter().find(|(other, _)| other == name));
    }
    let mut rounds = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for ((name, _), rounds) in contenders.iter().zip(&mut rounds) {
            rounds.push(start(name)?);
        }
    }
    let counts: Vec<_> = contenders
        .iter()
        .map(|(name, _)| measure::count_once(&workload, name).map(|it| it / count))
        .collect();
    let medians: Vec<_> = rounds.iter().map(|rounds| median(rounds)).collect();
    print(count, contenders, &medians, &counts);
    Ok(())
}

/// Returns the work of building and listing once.
fn whole(start: Start) -> Side {
    Box::new(move |show| {
        if let Ok(list) = start() {
            list(show);
            // What was built is not taken apart: a program keeps it.
            std::mem::forget(list);
        }
    })
}

fn print(count: u64, contenders: &[(&'static str, Start)], medians: &[Started], counts: &[Option<u64>]) {
    let floor = contenders.iter().position(|(name, _)| *name == FLOOR);
    let time = |nanos| measure::shown(Duration::from_nanos(nanos));
    let row = |name: &str, cells: Vec<Option<u64>>, shown: &dyn Fn(u64) -> String, ratios: bool| {
        let of_floor = floor.and_then(|at| cells.get(at).copied().flatten()).filter(|_| ratios);
        let cells = cells.iter().enumerate().map(|(at, cell)| match (*cell, of_floor) {
            (None, _) => " |".to_owned(),
            (Some(cell), Some(of_floor)) if Some(at) != floor => {
                format!(" {} ({:.2}) |", shown(cell), measure::as_ratio(cell, of_floor))
            }
            (Some(cell), _) => format!(" {} |", shown(cell)),
        });
        println!("| {name} |{}", cells.collect::<String>());
    };
    let names: String = contenders.iter().map(|(name, _)| format!(" {name} |")).collect();
    println!(
        "| {} tools, each with its own argument type (ratio to floor) |{names}",
        measure::grouped(count)
    );
    println!("| --- |{}", " --- |".repeat(contenders.len()));
    let of = |part: fn(&Started) -> u64| medians.iter().map(|it| Some(part(it))).collect();
    row("`build()` and first list, time", of(|it| it.first), &time, true);
    row("`build()` and first list, instructions a tool", counts.to_vec(), &measure::grouped, true);
    let mebibytes = |kib| format!("{:.1} MiB", measure::as_ratio(kib, 1024));
    row("memory", of(|it| it.memory), &mebibytes, true);
    row("list again, time", of(|it| it.again), &time, false);
}

/// Starts `name` in a process of its own.
fn start(name: &str) -> Result<Started, Box<dyn Error>> {
    let output = Command::new(env::current_exe()?).args([CHILD, name]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [first, again, memory] = numbers.as_slice() else {
        return Err(format!("{name} did not start: {}", String::from_utf8_lossy(&output.stderr)).into());
    };
    Ok(Started { first: *first, again: *again, memory: *memory })
}

fn child_process(contender: Option<&(&'static str, Start)>) -> Result<(), Box<dyn Error>> {
    let (_, start) = contender.ok_or("no such contender")?;
    let before = resident()?;
    let clock = Instant::now();
    let list = start()?;
    let mut size = 0;
    list(&mut |text| size = text.len());
    let first = clock.elapsed();
    if size == 0 {
        return Err("nothing is listed".into());
    }
    let memory = resident()?.saturating_sub(before);
    let mut again: Vec<_> = (0..9)
        .map(|_| {
            let clock = Instant::now();
            list(&mut |text| size = std::hint::black_box(text).len());
            clock.elapsed()
        })
        .collect();
    again.sort_unstable();
    let again = again.get(again.len() / 2).copied().unwrap_or_default();
    println!("{} {} {memory}", first.as_nanos(), again.as_nanos());
    Ok(())
}

/// Returns the resident memory of this process in KiB.
fn resident() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no resident memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn median(rounds: &[Started]) -> Started {
    let of = |part: fn(&Started) -> u64| {
        let mut sorted: Vec<_> = rounds.iter().map(part).collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    };
    Started { first: of(|it| it.first), again: of(|it| it.again), memory: of(|it| it.memory) }
}
