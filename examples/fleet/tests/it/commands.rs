//! The commands `work` and `fleet` of a program.

mod drain;
mod durable;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Child, ChildStderr, ChildStdout, Command, Stdio, id},
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::Value;
use test_support::nats::{Server, reported};

use super::worker;

/// A broker of the test alone: pools of one name with different keys do not fit together.
fn start_broker() -> Option<Server> {
    reported(Server::start())
}

/// A folder with the key of a pool, which is removed with its value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("fleet-{}-{}", id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name));
        fs::create_dir_all(&folder.0).unwrap();
        let key = [
            "fleet",
            "key",
            "--program-key",
            &folder.file("program.key"),
            "--save",
            &folder.file("pool.key"),
        ];
        let ran = Ran::of(&mut worker(), &key);
        assert_eq!(ran.code, 0, "{}", ran.errors);
        folder
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

struct Ran {
    code: i32,
    output: String,
    errors: String,
}

impl Ran {
    fn of(command: &mut Command, arguments: &[&str]) -> Self {
        let ran = command.args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: ran.status.code().unwrap(), output: text(ran.stdout), errors: text(ran.stderr) }
    }
}

/// A process with a worker, which is killed when it is dropped.
struct WorkerProcess {
    child: Child,
    output: BufReader<ChildStdout>,
    errors: BufReader<ChildStderr>,
    /// The name that it has printed.
    name: String,
}

impl WorkerProcess {
    /// Starts a worker, and waits until it serves.
    fn start(mut command: Command, url: &str, key: &str, arguments: &[&str]) -> Self {
        command.args(["work", "--nats", url, "--key", key]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let errors = BufReader::new(child.stderr.take().unwrap());
        let mut started = Self { child, output, errors, name: String::new() };
        let note = started.read_errors_until("this is the worker `");
        started.name = note.split('`').nth(1).unwrap().to_owned();
        started.read_errors_until("serving 7 tools in the pool `weather`");
        started
    }

    /// Returns the line with the text.
    fn read_errors_until(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(self.errors.read_line(&mut line).unwrap(), 0, "the worker has ended before {text:?}");
        }
        line
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the worker has ended");
        line.trim_end().to_owned()
    }

    /// Waits until the calls of the response that are valid have come.
    fn read_held_calls(&mut self) {
        for _ in 0..6 {
            assert!(self.read_line().starts_with("holding "));
        }
    }

    fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success()
        );
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn workers_and_tools_of_a_pool_are_listed_until_their_worker_is_terminated() {
    let Some(server) = start_broker() else { return };
    let url = server.url();
    let folder = Folder::new();
    let key = folder.file("pool.key");
    let list = |command: &str, option: &str| {
        Ran::of(&mut worker(), &["fleet", command, "--nats", url, "--key", &key, option])
    };
    for command in ["workers", "tools"] {
        let ran = list(command, "--json");
        assert_eq!((ran.code, &*ran.output), (1, ""));
        assert!(ran.errors.contains("no worker of the pool `weather` answers"), "{}", ran.errors);
        assert!(!ran.errors.contains("could not list"), "{}", ran.errors);
    }
    let mut serving = WorkerProcess::start(worker(), url, &key, &[]);
    let listed: Value = serde_json::from_str(&list("workers", "--json").output).unwrap();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["tools"]), (1, &Value::from(7)));
    assert_eq!(listed[0]["worker"], *serving.name);
    let ran = list("workers", "--limit=1");
    assert!(ran.output.contains(listed[0]["worker"].as_str().unwrap()), "{}", ran.output);
    // One line for each worker, on a terminal of 80 columns, too.
    let registry = listed[0]["registry"].as_str().unwrap();
    assert!(ran.output.contains(&registry[..12]) && !ran.output.contains(&registry[..13]), "{}", ran.output);
    let tools: Value = serde_json::from_str(&list("tools", "--json").output).unwrap();
    assert_eq!(tools[0]["name"], "weather__compare_stations");
    let ran = list("tools", "--limit=2");
    assert!(ran.output.contains("weather__convert_temperature"), "{}", ran.output);
    assert!(!ran.output.contains("count_words"), "{}", ran.output);
    assert!(ran.errors.contains("there are 7 in all; `--limit` shows more"), "{}", ran.errors);
    serving.signal("-TERM");
    assert_eq!(serving.exit_code(), Some(0));
    assert_eq!(list("workers", "--json").code, 1);
}

#[test]
fn keys_and_urls_that_cannot_be_used_are_usage_errors_that_name_no_secret() {
    let folder = Folder::new();
    let key = folder.file("pool.key");
    let check = |arguments: &[&str], code: i32, expected: &str| {
        let ran = Ran::of(worker().env("BROKER", "nats://token@127.0.0.1:1"), arguments);
        assert_eq!((ran.code, &*ran.output), (code, ""), "{}", ran.errors);
        let errors = ran.errors.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(errors.contains(expected), "{errors}");
        assert!(!errors.contains("hush"), "{errors}");
    };
    let nats = "nats://127.0.0.1:1";
    check(
        &["work", "--nats", "nats://hush@127.0.0.1:1", "--key", &key],
        2,
        "give the URL by `--nats env:NAME`",
    );
    check(&["work", "--postgres", "postgres://a:hush@b/c", "--key", &key], 2, "contains a password or token");
    check(
        &["work", "--nats", nats, "--key", &folder.file("none.key")],
        2,
        "none.key` does not exist; write it by `fleet key`",
    );
    check(
        &["work", "--nats", nats, "--key", &key, "--pool", "a.b"],
        2,
        "the name of a pool has 1 to 64 letters",
    );
    check(&["work", "--nats", nats, "--key", &key, "--slots", "0"], 2, "--slots");
    check(&["work", "--key", &key], 2, "--nats");
    check(&["work", "--nats", "env:BROKER", "--key", &key], 1, "the broker at `127.0.0.1:1` cannot be used");
    // The key of another pool is never written over.
    let program_key = folder.file("program.key");
    let other = ["fleet", "key", "--program-key", &program_key, "--save", &key, "--pool", "mail"];
    check(&other, 2, "has another key; give another path");
}

/// Starts the caller, which answers the calls of the quick start.
fn start_caller(url: &str, folder: &Folder) -> Child {
    let mut caller = Command::new(env!("CARGO_BIN_EXE_fleet-caller"));
    caller.args([url, &folder.file("program.key")]).stdout(Stdio::piped()).stderr(Stdio::piped());
    caller.spawn().unwrap()
}

/// Waits for the messages of all calls: no call was lost with its worker.
fn assert_all_answered(caller: Child) {
    let output = caller.wait_with_output().unwrap();
    let messages = String::from_utf8(output.stdout).unwrap();
    assert_eq!(messages.lines().count(), 8, "{messages}");
    assert!(!messages.contains("worker"), "{messages}");
}

/// Sends a request, and returns the status and the body of its answer.
fn request(url: &str, head: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(format!("{head} HTTP/1.1\r\nhost: worker\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[test]
fn a_worker_that_drains_is_alive_and_not_ready_and_a_second_signal_ends_it() {
    let Some(server) = start_broker() else { return };
    let url = server.url();
    let folder = Folder::new();
    let mut command = worker();
    command.env("FLEET_HOLD_CALLS", folder.file("never"));
    let health = ["--health", "127.0.0.1:0"];
    let mut serving = WorkerProcess::start(command, url, &folder.file("pool.key"), &health);
    let health = serving.read_line();
    assert_eq!(request(&health, "GET /healthz"), (200, "ok\n".to_owned()));
    assert_eq!(request(&health, "GET /readyz"), (200, "ok\n".to_owned()));
    assert_eq!(request(&health, "GET /").0, 404);
    assert_eq!(request(&health, "POST /readyz").0, 405);
    let mut caller = start_caller(url, &folder);
    serving.read_held_calls();
    serving.signal("-INT");
    serving.read_errors_until("taking no more calls");
    assert_eq!(request(&health, "GET /healthz").0, 200);
    assert_eq!(request(&health, "GET /readyz"), (503, "the worker is draining\n".to_owned()));
    serving.signal("-INT");
    assert_eq!(serving.exit_code(), Some(130));
    caller.kill().unwrap();
    caller.wait().unwrap();
}

#[test]
fn the_calls_of_a_worker_that_is_terminated_end_with_their_results() {
    let Some(server) = start_broker() else { return };
    let url = server.url();
    let folder = Folder::new();
    let mut command = worker();
    command.env("FLEET_HOLD_CALLS", folder.file("release"));
    let mut serving = WorkerProcess::start(command, url, &folder.file("pool.key"), &[]);
    let mut caller = Command::new(env!("CARGO_BIN_EXE_fleet-caller"));
    let caller =
        caller.args([url, &folder.file("program.key")]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let caller = caller.spawn().unwrap();
    // The calls of the response that are valid.
    for _ in 0..6 {
        assert!(serving.read_line().starts_with("holding "));
    }
    serving.signal("-TERM");
    serving.read_errors_until("taking no more calls");
    fs::write(folder.file("release"), "").unwrap();
    assert_all_answered(caller);
    assert_eq!(serving.exit_code(), Some(0));
}

#[test]
fn a_worker_without_its_broker_is_alive_and_not_ready_until_the_broker_is_back() {
    let Some(mut server) = start_broker() else { return };
    let (folder, url) = (Folder::new(), server.url().to_owned());
    let mut command = worker();
    command.env("FLEET_HOLD_CALLS", folder.file("release"));
    let health = ["--health", "127.0.0.1:0"];
    let mut serving = WorkerProcess::start(command, &url, &folder.file("pool.key"), &health);
    let health = serving.read_line();
    assert_eq!(request(&health, "GET /readyz").0, 200);
    let caller = start_caller(&url, &folder);
    serving.read_held_calls();
    server.stop();
    // The client notices soon that the broker has ended, and that there is another one.
    let lost = (503, "the connection to the broker is lost\n".to_owned());
    while request(&health, "GET /readyz") != lost {}
    assert_eq!(request(&health, "GET /healthz").0, 200);
    server.restart();
    while request(&health, "GET /readyz").0 != 200 {}
    // The calls go on, whose worker and caller have lost their connections meanwhile.
    fs::write(folder.file("release"), "").unwrap();
    assert_all_answered(caller);
}
