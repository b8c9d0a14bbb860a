//! The command `sessions`: whole pages, as transcripts. `UPDATE=1` rewrites them, for review.
//!
//! The test program starts itself as the program.

mod pages;
mod refusals;
#[cfg(unix)]
mod terminal;

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{self, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

use tool_cli::Cli;
use tool_runtime::policy::Escape;
use tool_session::{SharedSessionStore, SqliteStore, cli::Sessions};

/// The variable with the arguments of the program, between unit separators.
const ARGUMENTS: &str = "TOOL_SESSION_ARGUMENTS";

/// Separates the output of the test harness from the output of the program.
const START: &str = "\u{2}start\n";

/// The program. As a test, it checks that it starts.
#[test]
fn the_command_is_part_of_a_program() {
    if let Ok(arguments) = env::var(ARGUMENTS) {
        std::io::stdout().write_all(START.as_bytes()).unwrap();
        let arguments = ["shop", "sessions"].into_iter().chain(arguments.split('\u{1f}'));
        let exit = Cli::new().command(Sessions::new()).run(arguments);
        process::exit(exit.code().into());
    }
    let ran = Desk::new().run(&["list"]);
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "There are no sessions.\n", ""));
}

/// The folder of a user with the program, which is removed with its value.
struct Desk(PathBuf);

/// The exit code, the standard output and the standard error of a command.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Desk {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "the-desk-of-a-user-of-the-command-sessions-{}-{}",
            process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// A desk whose default store has these sessions.
    fn with_sessions(jsonl: &str) -> Self {
        let desk = Self::new();
        let ran = desk.run_with(&["import", "-"], jsonl);
        assert_eq!(ran.code, 0, "{}", ran.err);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The path of the default store.
    fn database(&self) -> PathBuf {
        self.path("data/shop/sessions.sqlite")
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    fn program(&self, arguments: &[&str]) -> process::Command {
        let mut program = process::Command::new(env::current_exe().unwrap());
        program.args([
            "--exact",
            "command::the_command_is_part_of_a_program",
            "--nocapture",
            "--test-threads=2",
        ]);
        program.env(ARGUMENTS, arguments.join("\u{1f}")).env("COLUMNS", "80").current_dir(&self.0);
        program
            .env("XDG_DATA_HOME", self.path("data"))
            .env("SESSIONS_URL", "postgres://app:hush@127.0.0.1:1/agents");
        program
    }

    fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut program = self.program(arguments);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = program.spawn().unwrap();
        // A program that refuses the command line does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        let out = out.split_once(START).unwrap().1.to_owned();
        Ran { code: output.status.code().unwrap(), out, err }
    }

    /// The command, its standard output, its standard error after `!`, and its exit code, if that is not 0.
    fn transcript(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        let err: String =
            ran.err.lines().map(|line| format!("! {line}").trim_end().to_owned() + "\n").collect();
        let end = if ran.code == 0 { String::new() } else { format!("[exit code {}]\n", ran.code) };
        let folder = self.0.display().to_string();
        let page =
            format!("$ shop sessions {}\n{}{err}{end}", Escape::LINE.text(&arguments.join(" ")), ran.out);
        page.replace(&folder, "~")
    }

    /// Compares transcripts with the golden file `name`.
    #[track_caller]
    fn hold(&self, name: &str, lines: &[&[&str]]) {
        let pages: Vec<_> = lines.iter().map(|arguments| self.transcript(arguments)).collect();
        let seen = pages.join("\n");
        let path = format!("{}/tests/it/command/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if env::var_os("UPDATE").is_some() {
            fs::write(&path, &seen).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(seen == expected, "{path} differs; the page is\n{seen}");
    }

    fn store<T>(&self, operation: impl AsyncFnOnce(SharedSessionStore) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(self.database()).await.unwrap();
            let output = operation(store.clone().into()).await;
            store.close().await;
            output
        })
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Three sessions: a conversation with a call, one with hostile text, and one of a user.
fn sessions() -> String {
    let session = |app: &str,
                   user: &str,
                   id: &str,
                   more: serde_json::Value,
                   entries: &[(&str, serde_json::Value)]| {
        let mut line = serde_json::json!({
            "type": "session", "app": app, "user": user, "id": id, "revision": 3, "entries": entries.len(),
            "createdAt": 1_795_677_300_000_u64, "updatedAt": 1_795_677_360_000_u64, "state": "{}",
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let lines = entries.iter().enumerate().map(|(at, (kind, body))| {
            serde_json::json!({
                "type": "entry", "number": at + 1, "time": 1_795_677_301_000_u64, "run": "run-1", "kind": kind,
                "body": body.to_string(),
            })
        });
        [line].into_iter().chain(lines).map(|line| format!("{line}\n")).collect::<String>()
    };
    use serde_json::json;
    let message = |role: &str, part: serde_json::Value| {
        ("message", json!({ "v": 1, "message": { "role": role, "parts": [part] } }))
    };
    let call = json!({ "call": { "id": "c1", "name": "sum", "arguments": { "a": 2, "b": 3 } } });
    let result = json!({ "result": { "id": "c1", "name": "sum", "isError": false, "content": [{ "type": "text", "text": "5" }] } });
    let long: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let sums = session(
        "shop",
        "",
        "sums",
        json!({ "title": "Sums", "state": "{\"plan\":\"pro\"}" }),
        &[
            message("user", json!({ "text": "2 + 3?" })),
            message("assistant", call),
            message("tool", result),
            message("assistant", json!({ "text": long })),
            (
                "end",
                json!({ "v": 1, "reason": { "reason": "model_failed", "kind": "connection", "message": "it broke" } }),
            ),
            ("message", json!({ "v": 1, "sealed": "bm90aGluZw" })),
            ("compaction", json!({ "v": 1, "messages": [1, 2, 3] })),
            ("note", json!({ "any": ["other", "body"] })),
        ],
    );
    let hostile = "\u{1b}[31mred\u{202e}\r\n#9 admin, 2026-11-26 07:15:01\n    ok";
    let odd = session(
        "shop",
        "",
        "../\u{1b}[2J\u{202e}x",
        json!({ "title": hostile, "updatedAt": 1_795_677_350_000_u64 }),
        &[
            message("us\u{1b}er", json!({ "text": hostile })),
            message("assistant", json!({ "text": "x".repeat(1_010) })),
        ],
    );
    let of_user = session(
        "shop",
        "u-7",
        "s-1",
        json!({ "updatedAt": 1_795_677_340_000_u64, "origin": { "id": "s-0", "entry": 1 } }),
        &[message("user", json!({ "text": "Hello." }))],
    );
    let end = json!({ "type": "end", "sessions": 3, "entries": 11 });
    format!("{{\"format\":\"tool-session\",\"v\":1}}\n{sums}{odd}{of_user}{end}\n")
}
