//! Tests that need separate programs: linking, renamed dependencies, and features.
//!
//! The programs are in `fixtures/`; each prints its tools as one line of JSON. All are built before the first of
//! them runs, in three steps whose progress cargo prints. Programs of the usual profile are built in the target directory
//! of `trybuild`, with its flags, so that they share the compiled dependencies.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::LazyLock,
};

use serde_json::{Value, json};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// One call of cargo.
struct Step {
    name: &'static str,
    /// The target directory, below the one for tests; cargo serializes the builds of one directory.
    target: &'static str,
    options: &'static [&'static str],
}

const DEFAULT: &str = "all programs";
const EXTRA: &str = "a program with a feature";
const FAT_LTO: &str = "two programs with link-time optimisation";

/// The target directory of `trybuild`.
const SHARED: &str = "../tests/trybuild";

const STEPS: [Step; 3] = [
    Step { name: DEFAULT, target: SHARED, options: &["--workspace"] },
    Step { name: EXTRA, target: SHARED, options: &["--package", "features", "--features", "extra"] },
    Step {
        name: FAT_LTO,
        target: "fixtures",
        options: &["--package", "linked", "--package", "unlinked", "--profile", "fat-lto"],
    },
];

/// Shown if a build fails, because a change of the repository's dependencies is a likely reason.
const HINT: &str = "if `Cargo.lock` is out of date, copy the repository's to `ui-tests/fixtures` and run \
                    `cargo build --offline` there";

const OWN: [&str; 3] = ["own_one", "own_three", "own_two"];
const LIBRARY: [&str; 3] = ["library_add", "library_shout", "library_wait"];

#[test]
fn every_form_needs_only_one_dependency() {
    let report = report_of("only-runtime");
    let results = json!({
        "forecast": r#"{"city":"Paris","units":"Imperial","days":4}"#,
        "nothing": "",
        "borrowed": "8",
        "stored": "k",
        "sum_integers": "3",
        "sum_numbers": "3.5",
        "search": "q Some(2)",
        "search_again": "q None",
        "find": "n 1",
        "read": "/a 1",
        "separator": "/",
        "count_down": "[2,1,0]",
        "gives_value": "[1,2]",
        "gives_json": r#"{"a":[null]}"#,
        "gives_borrowed": "a",
        "gives_output": "output",
        "gives_content": "one\ntwo",
        "gives_bytes": "bytes",
        "gives_resource": "",
        "gives_none": "null",
        "fails_as_tool": "framework",
        "fails_as_error": "invalid digit found in string",
        "fails_as_box": "boxed",
        "fails_as_display": "displayed",
    });
    assert_eq!(report["results"], results);
    let results = results.as_object().unwrap();
    let mut names: Vec<_> = results.keys().map(String::as_str).chain(["blocks", "guarded"]).collect();
    names.sort_unstable();
    assert_eq!(names_in(&report), names);
}

#[test]
fn a_crate_renamed_in_each_attribute_gives_the_same_tools() {
    assert_eq!(report_of("renamed"), report_of("only-runtime"));
}

#[test]
fn a_crate_renamed_at_the_root_gives_the_same_tools() {
    assert_eq!(report_of("renamed-root"), report_of("only-runtime"));
}

#[test]
fn fixtures_for_one_dependency_have_only_one() {
    let lock = fs::read_to_string(Path::new(FIXTURES).join("Cargo.lock")).unwrap();
    for fixture in ["only-runtime", "renamed", "renamed-root"] {
        let package =
            format!("name = \"{fixture}\"\nversion = \"0.0.0\"\ndependencies = [\n \"tool-runtime\",\n]\n");
        assert!(lock.contains(&package), "`{fixture}` has other dependencies");
    }
}

// U02
#[test]
fn an_attribute_without_the_crate_that_owns_its_items_is_an_error_that_names_the_crate() {
    let output = cargo_build(SHARED, &["--package", "without-kit", "--features", "items"], &host())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr);
    for attribute in ["#[tool_macros::prompt]", "#[tool_macros::resource"] {
        assert!(error.contains(attribute), "{error}");
    }
    assert!(error.contains("`tool_kit` in the list of imported crates"), "{error}");
    let lock = fs::read_to_string(Path::new(FIXTURES).join("Cargo.lock")).unwrap();
    assert!(lock.contains("name = \"without-kit\"") && !lock.contains("name = \"tool-kit\""));
}

#[test]
fn tools_of_a_linked_library_are_discovered() {
    for profile in [DEFAULT, FAT_LTO] {
        let output = run(&program(profile, "linked"));
        assert!(output.status.success(), "{profile}: {output:?}");
        let report = parse(&output);
        assert_eq!(names_in(&report), [LIBRARY, OWN].concat(), "{profile}");
        assert_eq!(report["results"], json!({ "library_add": "5", "library_shout": "A" }), "{profile}");
    }
}

// J11
#[test]
fn a_program_that_aborts_on_panics_is_refused_at_start_up() {
    let warnings = |profile| {
        let output = run(&program(profile, "linked"));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(warnings(DEFAULT), "");
    let expected = "warning: the program is built with `panic = \"abort\"`: a tool that panics ends it, \
                    instead of its call; build it with `panic = \"unwind\"`\n";
    assert_eq!(warnings(FAT_LTO), expected);
}

#[test]
fn expected_tools_of_an_unlinked_library_are_an_error_at_start_up() {
    for profile in [DEFAULT, FAT_LTO] {
        let output = run(&program(profile, "unlinked"));
        assert_eq!(names_in(&parse(&output)), OWN, "{profile}");
        assert!(!output.status.success(), "{profile}");
        let error = String::from_utf8_lossy(&output.stderr);
        for name in LIBRARY {
            assert!(error.contains(&format!("`{name}` is expected and not there")), "{profile}: {error}");
        }
        assert!(error.contains("`tool_runtime::link!(that_crate)`"), "{profile}: {error}");
    }
}

#[test]
fn definitions_do_not_depend_on_the_profile() {
    let [debug, optimised] = [DEFAULT, FAT_LTO].map(|profile| run(&program(profile, "linked")));
    assert_eq!(parse(&debug), parse(&optimised));
}

#[test]
fn a_thousand_tools_are_discovered_and_sorted_in_every_run() {
    let program = program(DEFAULT, "thousand");
    let (first, second) = (run(&program), run(&program));
    assert!(first.status.success(), "{first:?}");
    assert!(first.stdout == second.stdout, "two runs differ");
    let report = parse(&first);
    let names: Vec<String> = (0..1000).map(|number| format!("tool_{number:03}")).collect();
    assert_eq!(names_in(&report), names);
    assert_eq!(report["results"], json!({ "tool_000": "1", "tool_999": "1000" }));
    assert_eq!(report["content_hash"].as_str().map(str::len), Some(64));
}

#[test]
fn a_tool_exists_if_and_only_if_its_feature_is_enabled() {
    let without = parse(&run(&program(DEFAULT, "features")));
    assert_eq!(names_in(&without), ["always", "either", "method"]);
    assert_eq!(without["results"]["either"], "without");

    let with = parse(&run(&program(EXTRA, "features")));
    let extra = ["above", "attribute", "below", "method", "module", "struct"].map(|it| format!("extra_{it}"));
    let names: Vec<_> = ["always", "either"].into_iter().chain(extra.iter().map(String::as_str)).collect();
    assert_eq!(names_in(&with), [names, vec!["method"]].concat());
    assert_eq!(with["results"]["either"], "with");
}

#[test]
fn fixtures_are_built_with_the_versions_of_the_repository() {
    let [of_fixtures, of_repository] =
        [format!("{FIXTURES}/Cargo.lock"), format!("{FIXTURES}/../../Cargo.lock")]
            .map(|path| published(&fs::read_to_string(path).unwrap()));
    let others: Vec<_> = of_fixtures.difference(&of_repository).collect();
    assert!(others.is_empty(), "the repository does not have {others:?}; {HINT}");
}

/// Returns the packages of a lock file that come from a registry, with their versions.
fn published(lock: &str) -> BTreeSet<String> {
    let packages = lock.split("[[package]]\n").filter(|package| package.contains("\nchecksum = "));
    packages.map(|package| package.lines().take(2).collect::<Vec<_>>().join(" ")).collect()
}

/// Returns the program `name` as `step` built it.
fn program(step: &str, name: &str) -> PathBuf {
    static BUILT: LazyLock<BTreeMap<(&str, String), PathBuf>> = LazyLock::new(|| {
        let host = host();
        let steps = STEPS.iter().enumerate();
        steps
            .flat_map(|(at, step)| {
                build(at, step, &host).into_iter().map(|(name, path)| ((step.name, name), path))
            })
            .collect()
    });
    BUILT[&(step, name.to_owned())].clone()
}

/// Builds programs and returns them by name.
fn build(at: usize, step: &Step, host: &str) -> BTreeMap<String, PathBuf> {
    // A handle, since the harness captures `eprintln!`.
    let _ =
        writeln!(io::stderr(), "ui-tests: building fixtures, {} of {}: {}", at + 1, STEPS.len(), step.name);
    let output = cargo_build(step.target, step.options, host)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo exists, because it runs this test");
    let messages = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "cargo printed the errors; {HINT}");
    let messages = messages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs").join(at.to_string());
    fs::create_dir_all(&programs).unwrap();
    let program = |message: Value| {
        let path = PathBuf::from(message["executable"].as_str()?);
        let is_program = message["target"]["kind"] == json!(["bin"]);
        is_program.then(|| {
            let name = message["target"]["name"].as_str().unwrap_or_default().to_owned();
            // The next step replaces the file.
            let kept = programs.join(&name);
            let _ = fs::remove_file(&kept);
            fs::hard_link(path, &kept).unwrap();
            (name, kept)
        })
    };
    messages.filter_map(program).collect()
}

/// A build of fixtures in a target directory below the one for tests.
fn cargo_build(target: &str, options: &[&str], host: &str) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from(env!("CARGO"))));
    cargo
        .current_dir(FIXTURES)
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS")
        .args(["build", "--locked", "--offline", "--message-format", "json-render-diagnostics"])
        .args(["--target", host, "--target-dir"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(target))
        // The flags of `trybuild`; with other flags, dependencies would only be compiled twice.
        .arg(format!(
            "--config=target.{host}.rustflags=['--cfg', 'trybuild', '--verbose', '-A', 'dead_code']"
        ))
        .args(options);
    cargo
}

/// Returns the target triple of the compiler.
fn host() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(rustc).arg("-vV").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn run(program: &Path) -> Output {
    Command::new(program).output().unwrap()
}

/// Returns the report of a program.
fn report_of(fixture: &str) -> Value {
    let output = run(&program(DEFAULT, fixture));
    assert!(output.status.success(), "{output:?}");
    parse(&output)
}

fn parse(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn names_in(report: &Value) -> Vec<&str> {
    report["definitions"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}
