//! A server of Postgres on a socket in a temporary folder, by the script of `tool-session`.
//!
//! The programs are those in the folder that `SESSION_POSTGRES` names, or else in the usual folder of the system. Without a server, the tests are
//! skipped; see `.ci/session/install`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

/// A server, which ends with the process of the test, however that ends.
pub(super) struct Server {
    folder: String,
    /// `None` after its end.
    input: Option<ChildStdin>,
    script: Child,
}

impl Server {
    /// Starts a server; `None` if the machine has none.
    pub(super) fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            let text = "skipped: there is no server of Postgres; run `.ci/session/install` and source its file `environment`";
            // Past the capture of the test.
            writeln!(std::io::stderr(), "{text}").unwrap();
            return None;
        };
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../tool-session/tests/it/postgres/server.sh");
        let mut command = Command::new("sh");
        command.arg(script).arg(programs).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = command.spawn().unwrap();
        let (input, mut folder) = (script.stdin.take(), String::new());
        BufReader::new(script.stdout.take().unwrap()).read_line(&mut folder).unwrap();
        assert!(!folder.is_empty(), "the server of Postgres does not start");
        Some(Self { folder: folder.trim_end().to_owned(), input, script })
    }

    /// Returns the URL of a database.
    pub(super) fn url(&self) -> String {
        format!("postgres://tester@localhost/postgres?host={}", self.folder)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The script stops the server, and removes its folder.
        drop(self.input.take());
        drop(self.script.wait());
    }
}

/// Returns the name of a schema that no other test has.
pub(super) fn new_schema() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the folder of the programs of a server.
fn programs() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("SESSION_POSTGRES").map(PathBuf::from) {
        assert!(folder.join("initdb").exists(), "`SESSION_POSTGRES` names a folder without `initdb`");
        return Some(folder);
    }
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    folders.filter(|folder| folder.join("initdb").exists()).max()
}
