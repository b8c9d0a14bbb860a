//! Three processes of a server behind a load balancer.

mod kills;

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead as _, BufReader, Lines},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// The status of the script on a machine that lacks a program.
const MISSING_PROGRAM: i32 = 2;

/// The processes, the balancer and the database.
struct Balanced {
    script: Child,
    /// The script ends with it.
    _input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The folder of the database.
    database: String,
    /// The file of the key.
    key: String,
    /// The ids of the processes, by their number.
    ids: [u32; 3],
    /// The URL of the balancer.
    url: String,
}

impl Balanced {
    /// Starts all of it; `None` on a machine that lacks a program, which is reported.
    fn start() -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("balanced/run");
        let mut script = Command::new(script)
            .arg(env!("CARGO_BIN_EXE_mcp-balanced"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = script.stdin.take().unwrap();
        let output = BufReader::new(script.stdout.take().unwrap()).lines();
        let [database, key, url] = [String::new(), String::new(), String::new()];
        let mut balanced = Self { script, _input: input, output, database, key, ids: [0; 3], url };
        while let Some(line) = balanced.output.next() {
            let line = line.unwrap();
            if let Some((_, folder)) = line.split_once("?host=") {
                balanced.database = folder.to_owned();
            }
            if let Some(key) = line.strip_prefix("key: ") {
                balanced.key = key.to_owned();
            }
            balanced.note_process(&line);
            if line.starts_with("http://") {
                balanced.url = line;
                return Some(balanced);
            }
        }
        let status = balanced.script.wait().unwrap();
        assert_eq!(status.code(), Some(MISSING_PROGRAM), "the balanced server does not start");
        let is_optional = ["MCP_HAPROXY", "SESSION_POSTGRES"].into_iter().any(|it| env::var_os(it).is_none());
        assert!(is_optional, "the variables name programs that do not exist");
        test_support::skipped::report(
            "there is no `haproxy` or no server of Postgres; run `.ci/balancer/install` and `.ci/session/install`, and \
             source their files `environment`",
        );
        None
    }

    /// Notes the id in a line `process NUMBER: URL, id ID`, and returns the index of the process.
    fn note_process(&mut self, line: &str) -> Option<usize> {
        let (number, rest) = line.strip_prefix("process ")?.split_once(':')?;
        let index = number.parse::<usize>().unwrap() - 1;
        self.ids[index] = rest.rsplit(' ').next()?.parse().unwrap();
        Some(index)
    }

    /// Kills a process, and returns its id. The script starts another one in its place.
    fn kill_process(&mut self, index: usize) -> u32 {
        let killed = self.ids[index];
        let status = Command::new("kill").args(["-9", &killed.to_string()]).status().unwrap();
        assert!(status.success());
        killed
    }

    /// Waits until a process that was killed is started again.
    fn wait_for_start(&mut self, index: usize) {
        let line = self.output.next().unwrap().unwrap();
        assert_eq!(self.note_process(&line), Some(index), "{line}");
    }

    /// Opens a session, calls a tool in it, and returns the text of its result.
    fn call(&self, tool: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-command"));
        let called = command.args(["mcp", "call", &self.url]).args(tool).output().unwrap();
        assert!(called.status.success(), "{called:?}");
        String::from_utf8(called.stdout).unwrap().trim_end().to_owned()
    }

    /// Calls often enough that each process runs a call, and returns the ids of the processes that did.
    fn called_ids(&self) -> BTreeSet<u32> {
        (0..6).map(|_| self.called_id()).collect()
    }

    fn called_id(&self) -> u32 {
        self.call(&["process_id"]).parse().unwrap()
    }

    /// Waits until a process that was started again has calls: the balancer looks for it every second.
    fn wait_for_calls(&self, index: usize) {
        let is_taken_in = (0..200).any(|_| self.called_id() == self.ids[index]);
        assert!(is_taken_in, "the process that was started again has no calls");
    }
}

#[test]
fn each_request_comes_to_another_process_and_a_killed_process_is_not_noticed() {
    let Some(mut balanced) = Balanced::start() else { return };
    assert_eq!(balanced.call(&["notes"]), "[]");
    balanced.call(&["write_note", r#"{"text": "milk"}"#]);
    assert_eq!(balanced.call(&["notes"]), r#"["milk"]"#);
    assert_eq!(balanced.called_ids(), balanced.ids.into());

    let killed = balanced.kill_process(1);
    assert!(!balanced.called_ids().contains(&killed));
    balanced.wait_for_start(1);
    balanced.wait_for_calls(1);

    let Balanced { mut script, _input: input, database, ids, .. } = balanced;
    drop(input);
    assert!(script.wait().unwrap().success());
    assert!(!Path::new(&database).exists());
    let names = ids.map(|id| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default());
    assert!(names.iter().all(|name| !name.starts_with("mcp-balanced")), "{names:?}");
}
