//! Start-up in fresh processes: nothing is cached when a contender begins.

use std::{
    env,
    error::Error,
    fs,
    process::Command,
    time::{Duration, Instant},
};

use crate::{FLOOR, Side, measure};

/// A way to start, which builds everything.
pub type Start = fn() -> Result<Started, Box<dyn Error>>;

/// The work after the start.
pub struct Started {
    /// Lists all definitions as JSON text.
    pub list: Side,
    /// Calls one tool.
    pub call: Side,
}

/// The first argument of a child process.
const CHILD: &str = "--start";

/// The number of processes of each contender; medians count.
const ROUNDS: usize = 9;

/// The measured works of which instructions are counted.
const START: &str = "start";
const FIRST_CALL: &str = "first call";

/// The measurements of one start.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
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
    let start_of = |name: &str| contenders.iter().find(|(other, _)| *other == name).map(|(_, start)| *start);
    if measure::serve_once(START, |name| start_of(name).map(whole))
        || measure::serve_once(FIRST_CALL, |name| start_of(name).and_then(first_call))
    {
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
    let counts = |work: &str| contenders.iter().map(|(name, _)| measure::count_once(work, name)).collect();
    let (starts, calls): (Vec<_>, Vec<_>) = (counts(START), counts(FIRST_CALL));
    let starts = starts.into_iter().map(|it| it.map(|it| it / count)).collect();
    let medians: Vec<_> = rounds.iter().map(|rounds| median(rounds)).collect();
    print(count, contenders, &medians, starts, calls);
    Ok(())
}

/// Returns the work of building and listing once.
fn whole(start: Start) -> Side {
    Box::new(move |show| {
        if let Ok(started) = start() {
            (started.list)(show);
            // Nothing is dropped: a program keeps its tools.
            std::mem::forget(started);
        }
    })
}

/// Returns the work of the first call, after building and listing.
fn first_call(start: Start) -> Option<Side> {
    let started = start().ok()?;
    (started.list)(&mut |_| {});
    Some(started.call)
}

fn print(
    count: u64,
    contenders: &[(&'static str, Start)],
    medians: &[Measured],
    starts: Vec<Option<u64>>,
    calls: Vec<Option<u64>>,
) {
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
    let of = |part: fn(&Measured) -> u64| medians.iter().map(|it| Some(part(it))).collect();
    row("`build()` and first list, time", of(|it| it.first), &time, true);
    row("`build()` and first list, instructions a tool", starts, &measure::grouped, true);
    let mebibytes = |kib| format!("{:.1} MiB", measure::as_ratio(kib, 1024));
    row("memory", of(|it| it.memory), &mebibytes, true);
    row("list again, time", of(|it| it.again), &time, false);
    row("first call of a tool, instructions", calls, &measure::grouped, true);
}

/// Starts `name` in a process of its own.
fn start(name: &str) -> Result<Measured, Box<dyn Error>> {
    let output = Command::new(env::current_exe()?).args([CHILD, name]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [first, again, memory] = numbers.as_slice() else {
        return Err(format!("{name} did not start: {}", String::from_utf8_lossy(&output.stderr)).into());
    };
    Ok(Measured { first: *first, again: *again, memory: *memory })
}

fn child_process(contender: Option<&(&'static str, Start)>) -> Result<(), Box<dyn Error>> {
    let (_, start) = contender.ok_or("no such contender")?;
    let before = resident()?;
    let clock = Instant::now();
    let Started { list, call } = start()?;
    let mut size = 0;
    list(&mut |text| size = text.len());
    let first = clock.elapsed();
    if size == 0 {
        return Err("nothing is listed".into());
    }
    let memory = resident()?.saturating_sub(before);
    let mut answered = false;
    call(&mut |answer| answered = !answer.is_empty());
    if !answered {
        return Err("the call has no answer".into());
    }
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

fn median(rounds: &[Measured]) -> Measured {
    let of = |part: fn(&Measured) -> u64| {
        let mut sorted: Vec<_> = rounds.iter().map(part).collect();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    };
    Measured { first: of(|it| it.first), again: of(|it| it.again), memory: of(|it| it.memory) }
}
