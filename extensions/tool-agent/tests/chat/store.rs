//! `chat --session`: conversations that a later process continues.

use std::{fs, path::PathBuf};

use tool_session::{EntryQuery, LeaseRequest, SessionKey, SharedSessionStore, SqliteStore};

use super::{HELLO, Ran, file, run_with, script};

/// A data folder of a user, which is removed with its value.
struct DataFolder(PathBuf, &'static str);

impl DataFolder {
    fn new(name: &'static str) -> Self {
        let folder = PathBuf::from(file(&format!("data-folder-of-the-user-of-a-chat-{name}")));
        drop(fs::remove_dir_all(&folder));
        Self(folder, name)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join("program").join(name)
    }

    /// Runs `chat` with this data folder.
    fn chat(&self, arguments: &[&str], input: &str) -> Ran {
        run_with(arguments, input, &[("XDG_DATA_HOME", self.0.to_str().unwrap()), ("COLUMNS", "80")])
    }

    /// Answers one message by a script of these replies.
    fn prompt(&self, session: &[&str], replies: &[&str]) -> Ran {
        let script = script(&format!("{}-script", self.1), replies);
        self.chat(&[&["--script", &script, "--prompt", "Hi."], session].concat(), "")
    }

    fn run<T>(&self, operation: impl AsyncFnOnce(SharedSessionStore) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(self.path("sessions.sqlite")).await.unwrap();
            let output = operation(store.clone().into()).await;
            store.close().await;
            output
        })
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn key(session: &str) -> SessionKey {
    SessionKey::new("program", "", session).unwrap()
}

/// A reply that expects a request with messages of these roles.
fn reply(roles: &[&str], text: &str) -> String {
    let messages: Vec<_> = roles.iter().map(|role| format!(r#"{{"role":"{role}"}}"#)).collect();
    format!(
        r#"{{"request":{{"messages":[{}]}},"response":{{"parts":[{{"text":"{text}"}}]}}}}"#,
        messages.join(",")
    )
}

fn answered(ran: &Ran, text: &str) {
    assert_eq!((ran.out.as_str(), ran.code), (text, Some(0)), "{}", ran.err);
}

#[cfg(unix)]
fn mode(path: &std::path::Path) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn a_later_process_continues_a_session_and_no_other_one() {
    let data = DataFolder::new("continues");
    let (first, second) = (reply(&["user"], "One."), reply(&["user", "assistant", "user"], "Two."));
    answered(&data.prompt(&["--session", "a"], &[&first]), "One.\n");
    answered(&data.prompt(&["--session", "a"], &[&second]), "Two.\n");
    answered(&data.prompt(&["--session", "b"], &[&first]), "One.\n");
    answered(&data.prompt(&[], &[&first]), "One.\n");
    let other = data.path("other.db");
    let url = format!("sqlite:{}", other.display());
    answered(&data.prompt(&["--session", "a", "--store", &url], &[&first]), "One.\n");
    answered(&data.prompt(&["--session", "a", "--store", &url], &[&second]), "Two.\n");
    assert!(data.path("other.db.key").exists());
}

#[test]
fn nothing_is_stored_without_a_session() {
    let data = DataFolder::new("nothing");
    answered(&data.prompt(&[], &[HELLO]), "Hello.\n");
    assert!(!data.0.exists());
    // Options that would have no effect are errors.
    for option in [["--store", "sqlite:a.db"], ["--wait", "1"]] {
        let ran = data.prompt(&option, &[HELLO]);
        assert!(ran.code == Some(2) && ran.err.contains("--session <NAME>"), "{}", ran.err);
    }
    assert!(!data.0.exists());
}

#[cfg(unix)]
#[test]
fn the_files_of_a_session_are_for_their_owner_alone() {
    let data = DataFolder::new("modes");
    answered(&data.prompt(&["--session", "a"], &[HELLO]), "Hello.\n");
    assert_eq!(mode(&data.0.join("program")), 0o700);
    assert_eq!(mode(&data.path("sessions.sqlite")), 0o600);
    let key_file = data.path("sessions.sqlite.key");
    assert_eq!((mode(&key_file), fs::read(&key_file).unwrap().len()), (0o600, 32));
    // A key that others can read is no secret.
    fs::set_permissions(&key_file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let ran = data.prompt(&["--session", "a"], &[HELLO]);
    assert!(
        ran.code == Some(2) && ran.err.contains("the key of the program cannot be used: "),
        "{}",
        ran.err
    );
}

// S07
#[test]
fn secret_arguments_are_encrypted_in_the_file_and_read_by_the_next_process() {
    const PIN: &str = "831947";
    let data = DataFolder::new("secrets");
    let call = format!(
        r#"{{"response":{{"parts":[{{"call":{{"id":"c1","name":"unlock","arguments":{{"pin":"{PIN}"}}}}}}]}}}}"#
    );
    answered(&data.prompt(&["--session", "a"], &[&call, HELLO]), "Hello.\n");
    let bodies = data.run(async |store| {
        let page = store.entries(&key("a"), &EntryQuery::forward()).await.unwrap();
        page.entries.iter().map(|entry| entry.content.body.to_string()).collect::<Vec<_>>()
    });
    assert!(bodies.len() > 3 && !bodies.concat().contains(PIN), "{bodies:?}");
    let again = reply(&["user", "assistant", "tool", "assistant", "user"], "Again.");
    answered(&data.prompt(&["--session", "a"], &[&again]), "Again.\n");
    // Without the key, the conversation cannot be read.
    fs::remove_file(data.path("sessions.sqlite.key")).unwrap();
    let ran = data.prompt(&["--session", "a"], &[HELLO]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(1)));
    assert!(ran.err.contains("encrypted under another key"), "{}", ran.err);
}

#[test]
fn a_session_in_use_is_an_error_that_names_the_options() {
    let data = DataFolder::new("busy");
    answered(&data.prompt(&["--session", "a"], &[HELLO]), "Hello.\n");
    data.run(async |store| store.acquire(&key("a"), &LeaseRequest::new("run-9", "process-9")).await.unwrap());
    let ran = data.prompt(&["--session", "a", "--wait", "0"], &[HELLO]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(1)));
    let expected = "error: the session is in use: the run `run-9` of another process did not end; wait longer by `--wait`, or name \
                    another `--session`";
    assert_eq!(ran.err, expected);
    answered(&data.prompt(&["--session", "b", "--wait", "0"], &[HELLO]), "Hello.\n");
    // After a second, the person learns what the program waits for.
    let ran = data.prompt(&["--session", "a", "--wait", "2"], &[HELLO]);
    let note = "note: the session `a` is in use; waiting at most 2 seconds";
    assert_eq!((ran.out.as_str(), ran.err, ran.code), ("", format!("{note} {expected}"), Some(1)));
}

#[test]
fn a_new_conversation_is_a_session_that_does_not_exist() {
    let data = DataFolder::new("new");
    let first = reply(&["user"], "One.");
    answered(&data.prompt(&["--session", "a-2"], &[&first]), "One.\n");
    let path = script("new-sessions", &[&first, &first, &first]);
    let ran = data.chat(&["--session", "a", "--script", &path], "Hi.\n/new\nHi.\n/new\nHi.\n");
    answered(&ran, "One.\nOne.\nOne.\n");
    for name in ["a-3", "a-4"] {
        assert!(ran.err.contains(&format!("a new conversation begins: the session `{name}`")), "{}", ran.err);
    }
    let entries = data.run(async |store| {
        let mut entries = Vec::new();
        for name in ["a", "a-2", "a-3", "a-4"] {
            entries.push(store.load(&key(name)).await.unwrap().unwrap().session.entries);
        }
        entries
    });
    assert_eq!(entries, [3, 3, 3, 3]);
}

#[test]
fn a_name_may_be_any_text_within_the_limit() {
    let data = DataFolder::new("names");
    let hostile = "../\u{1b}[31m\u{202e}'; DROP TABLE sessions; --";
    let (first, second) = (reply(&["user"], "One."), reply(&["user", "assistant", "user"], "Two."));
    answered(&data.prompt(&["--session", hostile], &[&first]), "One.\n");
    answered(&data.prompt(&["--session", hostile], &[&second]), "Two.\n");
    for (name, problem) in [
        ("", "`--session`: the session id is empty"),
        (&*"x".repeat(769), "`--session`: the session id has 769 bytes; at most 768 bytes are stored"),
    ] {
        let ran = data.prompt(&["--session", name], &[HELLO]);
        assert!(ran.code == Some(2) && ran.err.contains(problem), "{}", ran.err);
    }
}

#[test]
fn a_store_that_cannot_be_opened_is_an_error_before_the_model_is_asked() {
    let data = DataFolder::new("unusable");
    answered(&data.prompt(&["--session", "a"], &[HELLO]), "Hello.\n");
    let folder = data.path("folder.db");
    fs::create_dir(&folder).unwrap();
    let text = data.path("text.db");
    fs::write(&text, "This is a text, and no database.").unwrap();
    for (path, problem) in [(&folder, "cannot be opened: "), (&text, "cannot be opened: the database failed")]
    {
        let url = format!("sqlite:{}", path.display());
        let ran = data.prompt(&["--session", "a", "--store", &url], &[HELLO]);
        assert!(ran.code == Some(2) && ran.out.is_empty() && ran.err.contains(problem), "{}", ran.err);
    }
    let url = ["--session", "a", "--store", "mysql://app:hush@db/agents"];
    let ran = data.prompt(&url, &[HELLO]);
    assert!(
        ran.code == Some(2) && !ran.err.contains("hush") && ran.err.contains("contains a password"),
        "{}",
        ran.err
    );
}

#[test]
fn the_help_names_the_default_store() {
    let data = DataFolder::new("help");
    let help = data.chat(&["--help"], "");
    assert_eq!(help.code, Some(0));
    let page = help.out.replace(data.0.to_str().unwrap(), "~");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chat/help.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, &page).unwrap();
    }
    assert!(page == fs::read_to_string(path).unwrap_or_default(), "{path} differs; the page is\n{page}");
}
