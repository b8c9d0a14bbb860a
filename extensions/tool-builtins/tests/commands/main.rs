//! Commands of the tools, on Linux: as the user that runs the tests, and once more as a user without rights.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may")]
#![allow(clippy::disallowed_methods, reason = "the handles are awaited")]
#![cfg(target_os = "linux")]

mod code;
mod exchanges;
mod leftovers;
mod refusals;
mod results;
mod settings;
#[cfg(feature = "agent")]
mod skills;
mod tasks;
mod users;

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use tempfile::TempDir;
use tool_builtins::{Sandbox, ShellTools};
use tool_runtime::prelude::*;

/// A sandbox and its mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mode {
    sandbox: Sandbox,
    has_bubblewrap: bool,
}

impl From<Sandbox> for Mode {
    fn from(sandbox: Sandbox) -> Self {
        Self { sandbox, has_bubblewrap: false }
    }
}

impl Mode {
    fn set(self, shell: ShellTools) -> ShellTools {
        shell.sandbox(self.sandbox).bubblewrap(bubblewrap().filter(|_| self.has_bubblewrap))
    }

    fn is_off(self) -> bool {
        self.sandbox == Sandbox::Off
    }
}

/// Each sandbox with each mechanism, and none.
fn modes() -> Vec<Mode> {
    confined().into_iter().chain([Sandbox::Off.into()]).collect()
}

fn confined() -> Vec<Mode> {
    let has_bubblewrap = [false, true].into_iter().take(1 + usize::from(bubblewrap().is_some()));
    has_bubblewrap
        .flat_map(|has_bubblewrap| {
            [Sandbox::Required, Sandbox::Preferred].map(|sandbox| Mode { sandbox, has_bubblewrap })
        })
        .collect()
}

/// The program `bubblewrap`, where it can run.
fn bubblewrap() -> Option<PathBuf> {
    static PROGRAM: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let of_system = || Some(PathBuf::from("/usr/bin/bwrap")).filter(|path| path.exists());
        let Some(program) = env::var_os("BUILTINS_BWRAP").map(PathBuf::from).or_else(of_system) else {
            report_skipped("all modes with bubblewrap", "there is no `bwrap`; see `.ci/builtins/install`");
            return None;
        };
        let arguments = ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"];
        let output = std::process::Command::new(&program).args(arguments).output();
        if output.as_ref().is_ok_and(|output| output.status.success()) {
            return Some(program);
        }
        report_skipped("all modes with bubblewrap", &format!("it cannot run here: {output:?}"));
        None
    });
    PROGRAM.clone()
}

/// A folder with tools, a secret beside it, and a variable by which the processes of its commands are found.
struct World {
    folder: TempDir,
    marker: String,
    shell: ShellTools,
    tools: Registry,
}

const MARKER: &str = "TOOL_TEST_MARKER";

impl World {
    fn new(mode: impl Into<Mode>) -> Self {
        Self::with(|shell| mode.into().set(shell))
    }

    fn with(change: impl FnOnce(ShellTools) -> ShellTools) -> Self {
        static WORLDS: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret.txt"), "a secret").unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        let marker = format!("{}-{}", std::process::id(), WORLDS.fetch_add(1, Ordering::Relaxed));
        let shell = ShellTools::new(folder.path().join("root")).unwrap().env(MARKER, &marker);
        let shell = change(shell);
        let tools = Registry::builder().toolset(shell.clone()).build().unwrap();
        Self { folder, marker, shell, tools }
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.tools.call_unguarded(tool, arguments).await
    }

    /// The result of a command that may fail.
    async fn run(&self, command: &str) -> ToolOutput {
        self.call("bash", json!({ "command": command })).await.unwrap()
    }

    async fn text(&self, command: &str) -> String {
        self.run(command).await.text().to_string()
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("root")
    }

    /// Waits until no process of the commands is left.
    fn assert_nothing_is_left(&self) {
        assert_processes(&self.marker, |count| count == 0);
    }
}

fn details(output: &ToolOutput) -> &Value {
    output.details().unwrap()
}

fn exit_code(output: &ToolOutput) -> i64 {
    details(output)["exit_code"].as_i64().unwrap()
}

/// Looks at the processes with `marker` until their number is right.
fn assert_processes(marker: &str, is_right: impl Fn(usize) -> bool) {
    const MAX_LOOKS: usize = 20_000;
    let mut found = Vec::new();
    for _ in 0..MAX_LOOKS {
        found = marked_processes(marker);
        if is_right(found.len()) {
            return;
        }
        thread::yield_now();
    }
    panic!("these processes are there: {found:?}");
}

/// The command lines of all processes with `marker` in their environment. A process that has ended has none.
fn marked_processes(marker: &str) -> Vec<String> {
    let wanted = format!("{MARKER}={marker}");
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let is_marked = |process: &Path| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let command_line = |process: &Path| fs::read_to_string(process.join("cmdline")).unwrap_or_default();
    processes.filter(|process| is_marked(process)).map(|process| command_line(&process)).collect()
}

/// This program, which runs one of its tests.
fn this_program(test: &str) -> std::process::Command {
    let mut program = std::process::Command::new(env::current_exe().unwrap());
    program.args(["--exact", test, "--nocapture"]);
    program
}

fn has_python(test: &str) -> bool {
    let is_found = Path::new("/usr/bin/python3").exists();
    if !is_found {
        report_skipped(test, "there is no /usr/bin/python3");
    }
    is_found
}

/// The variable with the file that lists the tests which did not run.
const SKIPPED_TESTS: &str = "TOOL_TESTS_SKIPPED";

/// Says that a test did not run.
fn report_skipped(test: &str, reason: &str) {
    use std::io::Write as _;
    println!("skipped: {test}: {reason}");
    if let Some(path) = env::var_os(SKIPPED_TESTS) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "tool-builtins: {test}: {reason}").unwrap();
    }
}
