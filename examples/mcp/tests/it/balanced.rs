//! Three processes of a server behind a load balancer.

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
        let [database, url] = [String::new(), String::new()];
        let mut balanced = Self { script, _input: input, output, database, ids: [0; 3], url };
        while let Some(line) = balanced.output.next() {
            let line = line.unwrap();
            if let Some((_, folder)) = line.split_once("?host=") {
                balanced.database = folder.to_owned();
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

    /// Opens a session, calls a tool in it, and returns the text of its result.
    fn call(&self, tool: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-command"));
        let called = command.args(["mcp", "call", &self.url]).args(tool).output().unwrap();
        assert!(called.status.success(), "{called:?}");
        String::from_utf8(called.stdout).unwrap().trim_end().to_owned()
    }

    /// Calls often enough that each process runs a call, and returns the ids of the processes that did.
    fn called_ids(&self) -> BTreeSet<u32> {
        (0..9).map(|_| self.call(&["process_id"]).parse().unwrap()).collect()
    }
}

#[test]
fn each_request_comes_to_another_process_and_a_killed_process_is_not_noticed() {
    let Some(mut balanced) = Balanced::start() else { return };
    assert_eq!(balanced.call(&["add", r#"{"a": 2, "b": 3}"#]), "5");
    assert_eq!(balanced.called_ids(), balanced.ids.into());

    let killed = balanced.ids[1];
    let status = Command::new("kill").args(["-9", &killed.to_string()]).status().unwrap();
    assert!(status.success());
    assert!(!balanced.called_ids().contains(&killed));
    let line = balanced.output.next().unwrap().unwrap();
    assert_eq!(balanced.note_process(&line), Some(1), "{line}");
    // The balancer looks for it every second.
    let is_taken_in = (0..100).any(|_| balanced.called_ids().contains(&balanced.ids[1]));
    assert!(is_taken_in, "the process that was started again has no calls");

    let Balanced { mut script, _input: input, database, ids, .. } = balanced;
    drop(input);
    assert!(script.wait().unwrap().success());
    assert!(!Path::new(&database).exists());
    let names = ids.map(|id| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default());
    assert!(names.iter().all(|name| !name.starts_with("mcp-balanced")), "{names:?}");
}
