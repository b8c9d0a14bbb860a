//! A message broker of NATS on a free port of this machine.
//!
//! The program is the one that `FLEET_NATS` names, or else `nats-server` of the system. Without the variable and without a program, the tests are
//! skipped; see `.ci/fleet/install`.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::skipped;

/// Runs a program until the standard input ends, whatever ends the process at its other end; then removes the folder that the variable names. Each
/// line of the input is a signal for the program.
const RUN: &str = r#""$@" </dev/null & trap '' INT TERM HUP; while read -r signal; do kill -"$signal" "$!"; done
kill "$!" 2>/dev/null; kill -CONT "$!" 2>/dev/null; wait "$!" 2>/dev/null; [ -z "$NATS_FOLDER" ] || rm -rf "$NATS_FOLDER""#;

/// The folder that is removed with the server.
const FOLDER_VARIABLE: &str = "NATS_FOLDER";

/// A broker, which ends with the process of the test, however that ends.
#[derive(Debug)]
pub struct Server {
    url: String,
    /// `None` after its end.
    input: Option<ChildStdin>,
    shell: Child,
    /// The folder of JetStream, which is removed with the server.
    folder: Option<PathBuf>,
    /// Kept open, since the program writes to it.
    _log: BufReader<ChildStderr>,
}

impl Server {
    /// Starts a broker of its own; `None` if the machine has none.
    pub fn start() -> Option<Self> {
        program().map(|program| Self::start_at(program, "-1", None, false, &[]))
    }

    /// Starts a broker with the configuration in the file at `path`; `None` if the machine has none.
    pub fn start_with(path: &Path) -> Option<Self> {
        program()
            .map(|program| Self::start_at(program, "-1", None, false, &["-c".as_ref(), path.as_os_str()]))
    }

    /// Starts a broker of its own with JetStream, whose files outlive a restart; `None` if the machine has none.
    pub fn start_with_jetstream() -> Option<Self> {
        program().map(|program| Self::start_at(program, "-1", Some(new_folder()), false, &[]))
    }

    /// Ends the broker.
    pub fn stop(&mut self) {
        drop(self.input.take());
        self.shell.wait().unwrap();
    }

    /// Ends the broker unless it has ended, and starts another one at its address.
    pub fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// Starts another broker at the address of one that has ended.
    pub fn start_again(&mut self) {
        let port = self.url.rsplit(':').next().unwrap().to_owned();
        let folder = self.folder.take();
        *self = Self::start_at(program().unwrap(), &port, folder, false, &[]);
    }

    /// Deletes the files of JetStream of a broker that has ended.
    pub fn delete_files(&self) {
        fs::remove_dir_all(self.folder.as_ref().unwrap()).unwrap();
    }

    /// Ends the broker without a word to its clients.
    pub fn kill(&mut self) {
        self.send_signal("KILL");
        self.stop();
    }

    /// Sends a signal to the broker, such as `STOP` and `CONT`.
    pub fn send_signal(&mut self, signal: &str) {
        writeln!(self.input.as_mut().unwrap(), "{signal}").unwrap();
    }

    fn start_at(
        program: OsString,
        port: &str,
        folder: Option<PathBuf>,
        is_shared: bool,
        options: &[&OsStr],
    ) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", RUN, "sh"]).arg(program).args(["-a", "127.0.0.1", "-p", port]);
        command.args(options);
        if let Some(folder) = &folder {
            command.args(["-js", "-sd"]).arg(folder);
            if is_shared {
                // It is never dropped.
                command.env(FOLDER_VARIABLE, folder);
            }
        }
        let mut shell = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, mut log) = (shell.stdin.take(), BufReader::new(shell.stderr.take().unwrap()));
        let mut address = None;
        loop {
            let mut line = String::new();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the broker of NATS does not start");
            if let Some((_, listening)) = line.split_once("Listening for client connections on ") {
                address = Some(listening.trim().to_owned());
            }
            if line.contains("Server is ready") {
                break;
            }
        }
        let url = format!("nats://{}", address.unwrap());
        Self { url, input, shell, folder, _log: log }
    }

    /// Returns the URL for clients.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        drop(self.shell.wait());
        if let Some(folder) = &self.folder {
            drop(fs::remove_dir_all(folder));
        }
    }
}

/// The URL of the broker that most tests share; `None` if the machine has none, which each test reports.
pub fn shared_url() -> Option<&'static str> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    reported(SERVER.get_or_init(Server::start).as_ref()).map(Server::url)
}

/// The URL of the broker with JetStream that most tests share; `None` if the machine has none, which each test reports.
pub fn shared_jetstream_url() -> Option<&'static str> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let start = || program().map(|program| Server::start_at(program, "-1", Some(new_folder()), true, &[]));
    reported(SERVER.get_or_init(start).as_ref()).map(Server::url)
}

/// Reports that the running test is skipped if there is no broker.
pub fn reported<T>(server: Option<T>) -> Option<T> {
    if server.is_none() {
        skipped::report(
            "there is no broker of NATS; run `.ci/fleet/install` and source its file `environment`",
        );
    }
    server
}

fn new_folder() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("test-jetstream-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    env::temp_dir().join(name)
}

fn program() -> Option<OsString> {
    if let Some(program) = env::var_os("FLEET_NATS") {
        assert!(Path::new(&program).exists(), "`FLEET_NATS` names a file that does not exist");
        return Some(program);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.find_map(|folder| Some(folder.join("nats-server")).filter(|it| it.exists())).map(Into::into)
}
