//! A server of Postgres on a socket in a temporary folder, as a user other than root.
//!
//! The programs are those in the folder that `SESSION_POSTGRES` names, or else in the usual folders of the system. Without the variable and without a
//! server, the tests are skipped; see `.ci/session/install`. `SESSION_POOLER` names a folder with the pooler `pgbouncer`.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::skipped;

/// A server, which ends with the process of the test, however that ends.
#[derive(Debug)]
pub struct Server {
    folder: String,
    /// `None` after its end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    script: Child,
}

impl Server {
    /// Starts a server of its own; `None` if the machine has none.
    pub fn start() -> Option<Self> {
        Self::start_with(None)
    }

    fn start_with(pooler: Option<OsString>) -> Option<Self> {
        let programs = programs()?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/postgres.sh");
        let mut command = Command::new("sh");
        command.arg(script).arg(programs).args(pooler).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = command.spawn().unwrap();
        let (input, output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let (input, output) = (Some(input), BufReader::new(output));
        let mut server = Self { folder: String::new(), input, output, script };
        server.folder = server.next_line();
        assert!(!server.folder.is_empty(), "the server of Postgres does not start");
        Some(server)
    }

    /// Returns the URL of a database.
    pub fn url(&self) -> String {
        format!("postgres://tester@localhost/postgres?host={}", self.folder)
    }

    /// Stops the server at once, as a crash does (`stop`), or starts it again (`start`); waits for its end or until it answers. Between `pause`
    /// and `resume`, its processes do nothing.
    pub fn switch(&mut self, state: &str) {
        writeln!(self.input.as_mut().unwrap(), "{state}").unwrap();
        assert_eq!(self.next_line(), state);
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The script stops the server, and removes its folder.
        drop(self.input.take());
        drop(self.script.wait());
    }
}

/// The URL of the server that most tests share; `None` if the machine has none, which each test reports.
pub fn shared_url() -> Option<String> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Server::start_with(env::var_os(POOLER_VARIABLE)));
    reported(server.as_ref()).map(Server::url)
}

const POOLER_VARIABLE: &str = "SESSION_POOLER";

/// The URL of the pooler of the server; `None` if the machine has none, which each test reports.
pub fn pooler_url() -> Option<String> {
    let url = shared_url()?;
    if env::var_os(POOLER_VARIABLE).is_none() {
        skipped::report("there is no pooler; run `.ci/session/install` and source its file `environment`");
        return None;
    }
    Some(format!("{url}&port=6432"))
}

/// Reports that the running test is skipped if there is no server.
pub fn reported<T>(server: Option<T>) -> Option<T> {
    if server.is_none() {
        skipped::report(
            "there is no server of Postgres; run `.ci/session/install` and source its file `environment`",
        );
    }
    server
}

/// Returns the name of a schema that no other test has.
pub fn new_schema() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the folder of the programs of a server.
fn programs() -> Option<PathBuf> {
    if let Some(folder) = env::var_os("SESSION_POSTGRES").map(PathBuf::from) {
        assert!(folder.join("initdb").exists(), "`SESSION_POSTGRES` names a folder without `initdb`");
        return Some(folder);
    }
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    folders.filter(|folder| folder.join("initdb").exists()).max()
}
