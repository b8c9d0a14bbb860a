//! Running the tests: once each to find the mutants that they reach, and then against each mutant.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use crate::{Result, build::Program};

/// A test and its coverage.
pub struct Test {
    program: usize,
    pub name: String,
    time: Duration,
    reached: BTreeSet<usize>,
    pub fails: bool,
}

/// The result for a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The first test that failed or timed out.
    Caught(String),
    Survived,
    /// No test reaches the mutant.
    Unreached,
}

/// Runs `work` for each of `items`, `jobs` at a time.
fn run_in_threads<T: Sync, R: Send>(jobs: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = work(item);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn program_command(program: &Program) -> Command {
    let mut command = Command::new(&program.path);
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        // Tests must not write snapshots.
        .env("INSTA_UPDATE", "no")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Runs each test of `programs` once.
pub fn run_each_test(programs: &[Program], scratch: &Path, jobs: usize) -> Result<Vec<Test>> {
    let mut names = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        let output = program_command(program).args(["--list", "--format", "terse"]).output()?;
        let text = String::from_utf8(output.stdout)?;
        names.extend(text.lines().filter_map(|line| Some((at, line.strip_suffix(": test")?.to_owned()))));
    }
    let run = |(program, name): &(usize, String)| -> Result<Test, String> {
        let file = scratch.join(format!("{program}-{}", name.replace("::", "-")));
        let _ = fs::remove_file(&file);
        let began = Instant::now();
        let status = program_command(&programs[*program])
            .args(["--exact", name, "--test-threads=1"])
            .env("MUTANTS_REACHED", &file)
            .stdout(Stdio::null())
            .status()
            .map_err(|error| error.to_string())?;
        let time = began.elapsed();
        let reached = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(&file);
        let reached = reached.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(Test { program: *program, name: name.clone(), time, reached, fails: !status.success() })
    };
    Ok(run_in_threads(jobs, &names, run).into_iter().collect::<Result<_, _>>()?)
}

/// Returns the result for each of `mutants`.
pub fn judge_mutants(programs: &[Program], tests: &[Test], mutants: &[usize], jobs: usize) -> Vec<Verdict> {
    let done = AtomicUsize::new(0);
    let judge = |mutant: &usize| {
        let mut reaching: Vec<_> =
            tests.iter().filter(|it| !it.fails && it.reached.contains(mutant)).collect();
        // Fast tests that reach few other mutants run first.
        reaching.sort_by_key(|it| it.time.max(Duration::from_millis(5)) * it.reached.len() as u32);
        let verdict = if reaching.is_empty() {
            Verdict::Unreached
        } else {
            let caught = split_into_groups(&reaching).into_iter().find_map(|group| {
                (0..programs.len()).find_map(|at| {
                    let tests: Vec<_> = group.iter().filter(|it| it.program == at).copied().collect();
                    if tests.is_empty() { None } else { find_failing_test(&programs[at], tests, *mutant) }
                })
            });
            caught.map_or(Verdict::Survived, Verdict::Caught)
        };
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if !matches!(verdict, Verdict::Caught(_)) {
            eprintln!("mutant {mutant}: {verdict:?}");
        }
        if done.is_multiple_of(25) {
            eprintln!("{done} of {} mutants", mutants.len());
        }
        verdict
    };
    run_in_threads(jobs, mutants, judge)
}

/// Splits tests into groups, small ones first: most mutants are caught by any test that reaches them.
fn split_into_groups<'a, 'b>(mut tests: &'a [&'b Test]) -> Vec<&'a [&'b Test]> {
    let mut groups = Vec::new();
    for size in [3, 20, usize::MAX] {
        let (group, rest) = tests.split_at(size.min(tests.len()));
        groups.push(group);
        tests = rest;
    }
    groups
}

/// Returns the first of `tests` that fails or times out with the mutant switched on.
fn find_failing_test(program: &Program, mut tests: Vec<&Test>, mutant: usize) -> Option<String> {
    // In the order in which they run.
    tests.sort_by_key(|test| &test.name);
    let mut child = program_command(program)
        .arg("--exact")
        .args(tests.iter().map(|test| &test.name))
        .arg("--test-threads=1")
        .env("MUTANT", mutant.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let (sender, lines) = mpsc::channel();
    let output = child.stdout.take()?;
    #[expect(clippy::disallowed_methods, reason = "joined below")]
    let reader = thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(|line| line.ok()) {
            let _ = sender.send(line);
        }
    });
    let mut left = tests.iter().peekable();
    let caught = loop {
        // A test that does not hang ends before this, even on a busy machine.
        let usual = left.peek().map_or(Duration::ZERO, |test| test.time);
        match lines.recv_timeout(Duration::from_secs(15) + usual * 20) {
            Ok(line) if line.ends_with("FAILED") => break Some(line),
            Ok(line) if line.starts_with("test ") => drop(left.next()),
            Ok(_) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => break Some("no end".to_owned()),
            Err(mpsc::RecvTimeoutError::Disconnected) => break None,
        }
    };
    if caught.is_some() {
        let _ = child.kill();
    }
    let status = child.wait();
    let _ = reader.join();
    match status {
        Ok(status) if status.success() => caught,
        _ => caught.or_else(|| Some("it ended in the middle".to_owned())),
    }
}
