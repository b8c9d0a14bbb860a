//! Mutation testing: measures how many small changes of the code the tests detect. See the README.

mod build;
mod find;
mod run;
mod tree;

use std::{
    collections::{BTreeMap, HashMap},
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde::Deserialize;

use self::{find::Mutant, run::Verdict};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// The options of the command line.
struct Options {
    seed: u64,
    sample: usize,
    jobs: usize,
    /// The start of the paths of the mutated files.
    under: String,
}

/// Accepted survivors, each with a reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptedFile {
    #[serde(default)]
    accepted: Vec<Accepted>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accepted {
    file: String,
    function: String,
    change: String,
    reason: String,
}

impl Accepted {
    fn accepts(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file && self.function == mutant.function && self.change == mutant.change
    }
}

fn read_options() -> Result<Options> {
    let mut options = Options { seed: 1, sample: 340, jobs: 2, under: String::new() };
    let mut arguments = env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        match name.as_str() {
            "--seed" => options.seed = value.parse()?,
            "--sample" => options.sample = value.parse()?,
            "--jobs" => options.jobs = value.parse()?,
            "--under" => options.under = value,
            _ => return Err(format!("`{name}` is none of `--seed`, `--sample`, `--jobs`, `--under`").into()),
        }
    }
    Ok(options)
}

/// Returns a sample of `all`: the mutants with the least hashes, so that changes elsewhere keep most of the sample.
fn choose_sample(all: Vec<Mutant>, options: &Options) -> BTreeMap<usize, Mutant> {
    let mut twins = HashMap::new();
    let mut all: Vec<_> = all
        .into_iter()
        .map(|mutant| {
            let name = (mutant.file.clone(), mutant.function.clone(), mutant.change.clone());
            let twin = twins.entry(name).and_modify(|twin| *twin += 1).or_insert(0);
            let mut hasher = DefaultHasher::new();
            (options.seed, &mutant.file, &mutant.function, &mutant.change, *twin).hash(&mut hasher);
            (hasher.finish(), mutant)
        })
        .collect();
    all.sort_by_key(|(hash, _)| *hash);
    let mut chosen: Vec<Mutant> = Vec::new();
    for (_, mutant) in all {
        let beside = |it: &Mutant| it.file != mutant.file || it.edit.agrees_with(&mutant.edit);
        if chosen.len() < options.sample && chosen.iter().all(beside) {
            chosen.push(mutant);
        }
    }
    chosen.into_iter().enumerate().collect()
}

fn main() -> Result<ExitCode> {
    let options = read_options()?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize()?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let scratch = target.join("mutants");
    // A separate target directory: cargo would mix up two workspaces with the same packages.
    let (tree, target) = (scratch.join("tree"), scratch.join("build"));
    fs::create_dir_all(&tree)?;
    let accepted: AcceptedFile = toml::from_str(&fs::read_to_string(here.join("accepted.toml"))?)?;

    let all = tree::all_mutants(&root, &options.under)?;
    println!("{} mutants; a sample of {} by seed {}", all.len(), options.sample, options.seed);
    // With a part of the folders alone, the others are not found.
    if options.under.is_empty() {
        for it in accepted.accepted.iter().filter(|it| !all.iter().any(|mutant| it.accepts(mutant))) {
            println!("accepted, but there is no such mutant: {} in {}: {}", it.file, it.function, it.change);
        }
    }
    let mut chosen = choose_sample(all, &options);
    let sampled = chosen.len();
    build::remove_uncompilable(&root, &tree, &target, &mut chosen)?;
    let programs = build::build_programs(&tree, &target)?;
    let tests = run::run_each_test(&programs, &scratch, options.jobs)?;
    println!("{} tests", tests.len());
    for test in tests.iter().filter(|test| test.fails) {
        println!("left out, because it fails without a mutant: {}", test.name);
    }
    let names = chosen.iter().map(|(number, mutant)| format!("{number} {mutant}\n"));
    fs::write(scratch.join("mutants.txt"), names.collect::<String>())?;
    let numbers: Vec<_> = chosen.keys().copied().collect();
    let verdicts = run::judge_mutants(&programs, &tests, &numbers, options.jobs);

    let (mut caught, mut equivalent, mut survived) = (0, 0, Vec::new());
    for (mutant, verdict) in chosen.values().zip(&verdicts) {
        let is_accepted = accepted.accepted.iter().any(|it| it.accepts(mutant));
        match verdict {
            Verdict::Caught(_) => caught += 1,
            _ if is_accepted => equivalent += 1,
            verdict => survived.push((mutant, verdict)),
        }
    }
    survived.sort_by_key(|(mutant, _)| (&mutant.file, mutant.line));
    for (mutant, verdict) in &survived {
        println!("{verdict:?}: {mutant}");
    }
    let viable = caught + survived.len();
    println!(
        "{caught} caught, {} survived, {equivalent} equivalent (accepted.toml), {} not viable",
        survived.len(),
        sampled - chosen.len(),
    );
    let share = 100.0 * caught as f64 / viable.max(1) as f64;
    println!("{share:.1} % of {viable} viable mutants caught");
    for it in accepted.accepted.iter().filter(|it| it.reason.trim().is_empty()) {
        println!("accepted without a reason: {} in {}: {}", it.file, it.function, it.change);
    }
    Ok(if share >= 95.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
