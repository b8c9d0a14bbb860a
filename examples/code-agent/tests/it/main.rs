//! Runs the program at a terminal, by scripts.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[cfg(target_os = "linux")]
mod researcher;
#[path = "../../../agents/tests/it/terminal.rs"]
mod terminal;

use std::{fs, path::Path, process::Command};

use self::terminal::{Terminal, hold};

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of a project, beside the file of its sessions.
struct World(tempfile::TempDir);

impl World {
    /// Copies the project into a new folder.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir(&project).unwrap();
        for name in ["greet.sh", "tests.sh"] {
            fs::copy(Path::new(PACKAGE).join("project").join(name), project.join(name)).unwrap();
        }
        Self(folder)
    }

    /// Starts a process of the agent in the project, in one session.
    fn start(&self, script: &str, prompt: &str) -> Terminal {
        let mut command = Command::new(env!("CARGO_BIN_EXE_code-agent"));
        command.current_dir(self.0.path().join("project")).env("TERM", "xterm").env_remove("NO_COLOR");
        let store = format!("sqlite:{}", self.0.path().join("sessions.db").display());
        command.args(["chat", "--session", "greeting", "--store", &store, "--prompt", prompt]);
        Terminal::start(command.arg("--script").arg(format!("{PACKAGE}/scripts/{script}.jsonl")))
    }

    /// Returns the text of a file of the project.
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join("project").join(name)).unwrap()
    }
}

#[test]
fn the_agent_is_ended_in_the_middle_and_continues_its_task_list_in_a_new_process() {
    let world = World::new();
    let mut first = world.start("begin", "The greeting has no name. Fix it, and run the tests.");
    first.enter("[y/N]", "y\n");
    // The question about the command is open.
    first.wait("sh tests.sh");
    first.wait("[y/N]");
    first.interrupt();
    let (seen, code) = first.finish();
    hold("begin", &seen);
    assert_eq!(code, Some(130), "{seen}");
    assert!(world.read("greet.sh").contains("echo \"Hello, ${1:-you}!\""));
    let list = ["[x] Find the greeting", "[x] Greet by name", "[>] Running the tests"];
    assert!(list.iter().all(|line| seen.contains(line)), "{seen}"); // S21
    assert!(seen.contains("[ ] Run the tests"), "{seen}"); // S21
    assert_eq!(seen.matches("\n  [").count(), 3 * list.len(), "{seen}"); // Z09

    let mut second = world.start("continue", "Go on, and add NEWS.md.");
    second.enter("[y/N]", "y\n");
    second.enter("[y/N]", "y\n");
    let (seen, code) = second.finish();
    hold("continue", &seen);
    assert_eq!(code, Some(0), "{seen}");
    // The list of the first process, before the model of the second one says anything.
    let before = seen.split("The greeting is fixed.").next().unwrap();
    assert!(list.iter().all(|line| before.contains(line)), "{seen}"); // S07 S21
    // T11: the model found a tool that no request lists, and the question is about that tool.
    assert_eq!(world.read("NEWS.md"), "- The greeting has a name.\n");
}

#[test]
fn a_change_that_a_person_rejects_is_not_made() {
    let world = World::new();
    let before = world.read("greet.sh");
    let mut agent = world.start("begin", "The greeting has no name. Fix it, and run the tests.");
    agent.enter("[y/N]", "n\n");
    agent.wait("[y/N]");
    agent.interrupt();
    let (seen, _) = agent.finish();
    assert!(seen.contains("edit_file failed"), "{seen}");
    assert_eq!(world.read("greet.sh"), before);
}
