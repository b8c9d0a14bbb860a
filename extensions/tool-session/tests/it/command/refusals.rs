//! Commands that are refused.

use std::fs;

use tool_session::SessionFilter;

use super::{Desk, sessions};

impl Desk {
    #[track_caller]
    fn refused(&self, arguments: &[&str], code: i32, message: &str) {
        let ran = self.run(arguments);
        let err = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            ran.code == code && ran.out.is_empty() && err.contains(message),
            "{arguments:?} {}: {err}",
            ran.code
        );
    }

    fn count(&self) -> usize {
        self.store(async |store| store.list(&SessionFilter::new("shop")).await.unwrap().len())
    }
}

#[test]
fn a_deletion_without_a_terminal_and_without_yes_is_refused() {
    let desk = Desk::with_sessions(&sessions());
    let nothing = "nothing was deleted: stdin is not a terminal, so that the question cannot be asked; `--yes` confirms the deletion";
    for arguments in [
        &["delete", "sums"][..],
        &["delete", "--all"],
        &["prune", "--keep", "0"],
        &["prune", "--older-than", "1d"],
    ] {
        desk.refused(arguments, 3, nothing);
        // Nor is an answer in a pipe one of a person.
        assert_eq!(desk.run_with(arguments, "y\n").code, 3);
    }
    assert_eq!(desk.count(), 3);
}

#[test]
fn an_unknown_session_is_named_with_escapes_and_nothing_is_deleted() {
    let desk = Desk::with_sessions(&sessions());
    let unknown =
        "there is no session `a\\u{1b}[2J` in the app `shop`; `shop sessions list` lists all sessions";
    for command in ["show", "export"] {
        desk.refused(&[command, "a\u{1b}[2J"], 2, unknown);
    }
    desk.refused(&["delete", "sums", "a\u{1b}[2J", "--yes"], 2, unknown);
    desk.refused(&["show", "sums", "--user", "u-8"], 2, "there is no session `sums` of the user `u-8`");
    desk.refused(&["export", "sums", "none", "--file", "new.jsonl"], 2, "there is no session `none`");
    assert!(!desk.path("new.jsonl").exists(), "a part of an export is not kept");
    assert_eq!(desk.count(), 3);
}

#[test]
fn an_import_is_all_or_nothing() {
    let desk = Desk::new();
    let cut = |text: &str| fs::write(desk.path("in.jsonl"), text).unwrap();
    let whole = sessions();
    cut(whole.trim_end().rsplit_once('\n').unwrap().0);
    desk.refused(&["import", "in.jsonl"], 2, "`in.jsonl` cannot be imported: the export was cut off");
    cut(&whole[..whole.len() / 2]);
    desk.refused(&["import", "in.jsonl"], 2, "`in.jsonl` cannot be imported: line ");
    cut(&whole.replacen("\"v\":1", "\"v\":9", 1));
    desk.refused(&["import", "in.jsonl"], 2, "the export has version 9, and this program reads version 1");
    fs::write(desk.path("in.jsonl"), [0xff, 0xfe]).unwrap();
    desk.refused(&["import", "in.jsonl"], 2, "the file `in.jsonl` cannot be read: it is not UTF-8");
    desk.refused(&["import", "none.jsonl"], 2, "the file `none.jsonl` cannot be read: ");
    desk.refused(
        &["import", "-"],
        2,
        "the standard input cannot be imported: the first line is not the one of an export",
    );
    assert!(!desk.database().exists(), "nothing was imported, and no store was made");
    // A session that exists refuses all of them.
    let desk = Desk::with_sessions(&sessions());
    assert_eq!(desk.run(&["delete", "sums", "--yes"]).code, 0);
    let ran = desk.run_with(&["import", "-"], &sessions());
    assert!(ran.code == 2 && ran.err.contains("already"), "{}", ran.err);
    assert_eq!(desk.count(), 2);
}

#[test]
fn a_store_that_cannot_be_opened_is_an_error_that_names_it() {
    let desk = Desk::with_sessions(&sessions());
    desk.refused(&["list", "--store", "sqlite:none.db"], 2, "there is no file sqlite:");
    assert!(!desk.path("none.db").exists(), "no command but `import` makes a store");
    fs::write(desk.path("text.db"), "This is a text, and no database.").unwrap();
    desk.refused(&["list", "--store", "sqlite:text.db"], 2, "text.db cannot be opened: the database failed");
    for (url, problem) in [
        ("sqlite:", "the path of `sqlite:PATH` is missing"),
        ("a.db", "expected `sqlite:PATH` or `postgres://user@host/database`, got `a.db`"),
        (
            "mysql://app@db/a",
            "expected `sqlite:PATH` or `postgres://user@host/database`, got `mysql://app@db/a`",
        ),
        ("postgres://app:hush@db/a", "`--store` contains a password"),
        ("env:NONE", "NONE"),
    ] {
        desk.refused(&["list", "--store", url], 2, problem);
        assert!(!desk.run(&["list", "--store", url]).err.contains("hush"));
    }
    desk.refused(&["show", "a"], 2, "there is no session `a`");
    desk.refused(&["show", ""], 2, "the session id is empty");
}

#[cfg(feature = "postgres")]
#[test]
fn the_password_of_a_url_in_a_variable_is_in_no_message() {
    let desk = Desk::new();
    let ran = desk.run(&["list", "--store", "env:SESSIONS_URL"]);
    assert!(ran.code == 2 && ran.err.contains("postgres://127.0.0.1/agents cannot be opened"), "{}", ran.err);
    assert!(!ran.err.contains("hush"), "{}", ran.err);
}

#[test]
fn a_database_of_a_newer_version_names_both_versions() {
    let desk = Desk::with_sessions(&sessions());
    let mut bytes = fs::read(desk.database()).unwrap();
    // The `user_version` of the file.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(desk.database(), bytes).unwrap();
    for arguments in
        [&["list"][..], &["show", "sums"], &["delete", "sums", "--yes"], &["prune", "--keep", "1", "--yes"]]
    {
        desk.refused(
            arguments,
            2,
            "cannot be opened: the database has version 99, and this program supports versions up to",
        );
    }
}

#[test]
fn a_command_without_what_it_needs_says_so() {
    let desk = Desk::with_sessions(&sessions());
    desk.refused(&["export"], 2, "give names, or `--all`");
    desk.refused(&["delete", "--yes"], 2, "give names, or `--all`");
    desk.refused(
        &["prune", "--yes"],
        2,
        "give `--older-than AGE`, such as `90d`, or `--keep NUMBER`, or both",
    );
    desk.refused(&["prune", "--older-than", "soon"], 2, "expected an age such as `90d`");
    desk.refused(&["export", "sums", "--all"], 2, "cannot be used with");
    fs::write(desk.path("old.jsonl"), "old").unwrap();
    desk.refused(
        &["export", "sums", "--file", "old.jsonl"],
        2,
        "the file `old.jsonl` exists; give `--file` a new file",
    );
    assert_eq!(fs::read_to_string(desk.path("old.jsonl")).unwrap(), "old");
    desk.refused(
        &["export", "sums", "--file", "none/new.jsonl"],
        2,
        "the file `none/new.jsonl` cannot be made: ",
    );
    assert_eq!(desk.count(), 3);
}
