//! Pages of commands that succeed.

use std::fs;

use super::{Desk, sessions};

#[test]
fn helps_fit_80_columns() {
    let desk = Desk::new();
    desk.hold(
        "helps",
        &[
            &["--help"],
            &["list", "--help"],
            &["show", "--help"],
            &["export", "--help"],
            &["import", "--help"],
            &["delete", "--help"],
            &["prune", "--help"],
        ],
    );
}

#[test]
fn sessions_are_listed_and_shown_with_escapes_and_limits() {
    let desk = Desk::with_sessions(&sessions());
    desk.hold(
        "lists",
        &[
            &["list"],
            &["list", "--limit", "1"],
            &["list", "--user", ""],
            &["list", "--user", "u-7", "--output", "json"],
            &["list", "--app", "other"],
        ],
    );
    desk.hold(
        "shows",
        &[
            &["show", "sums"],
            &["show", "sums", "--limit", "2"],
            &["show", "sums", "--limit", "2", "--before", "3"],
            &["show", "../\u{1b}[2J\u{202e}x"],
            &["show", "s-1", "--user", "u-7"],
            &["show", "s-1", "--user", "u-7", "--output", "json"],
        ],
    );
    for arguments in [
        &["list"][..],
        &["show", "../\u{1b}[2J\u{202e}x"],
        &["show", "../\u{1b}[2J\u{202e}x", "--output", "json"],
    ] {
        let out = desk.run(arguments).out;
        assert!(!out.contains(['\u{1b}', '\u{202e}', '\r']), "{arguments:?}: {out:?}");
    }
}

#[test]
fn an_export_is_imported_byte_for_byte() {
    let desk = Desk::with_sessions(&sessions());
    let out = desk.run(&["export", "--all"]);
    assert_eq!((out.code, &*out.err), (0, ""));
    assert!(out.out.starts_with("{\"format\":\"tool-session\",\"v\":1}\n"), "{}", out.out);
    let ran = desk.run(&["export", "--all", "--file", "all.jsonl"]);
    assert_eq!((ran.code, &*ran.out), (0, "3 sessions with 11 entries written to all.jsonl\n"));
    let file = desk.path("all.jsonl");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&fs::metadata(&file).unwrap()) & 0o777, 0o600);
    let ran = desk.run(&["import", "all.jsonl", "--store", "sqlite:other.db"]);
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "3 sessions with 11 entries imported\n", ""));
    let again = desk.run(&["--store", "sqlite:other.db", "export", "--all"]);
    let read = |text: &str| tool_session::jsonl::from_jsonl(text).unwrap();
    assert_eq!(read(&out.out), read(&sessions()));
    assert_eq!(read(&again.out), read(&sessions()));
    assert_eq!(read(&fs::read_to_string(&file).unwrap()), read(&sessions()));
    // Of one session, and of those of a user.
    let one = desk.run(&["export", "sums"]).out;
    let ids = |text: &str| read(text).iter().map(|it| it.session.key.id().to_owned()).collect::<Vec<_>>();
    assert_eq!(ids(&one), ["sums"]);
    assert_eq!(ids(&desk.run(&["export", "--all", "--user", "u-7"]).out), ["s-1"]);
}

#[test]
fn an_import_of_another_app_says_how_to_find_it() {
    let desk = Desk::new();
    let ran = desk.run_with(&["import", "-", "--app", "till"], &sessions());
    let note = "note: the sessions belong to the app `shop`: list them by `--app`\n";
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "3 sessions with 11 entries imported\n", note));
}

#[test]
fn deletions_are_of_named_sessions_of_a_user_and_of_old_ones() {
    let desk = Desk::with_sessions(&sessions());
    let ids = || {
        let page =
            desk.store(async |store| store.list(&tool_session::SessionFilter::new("shop")).await.unwrap());
        page.iter().map(|it| it.key.id().to_owned()).collect::<Vec<_>>()
    };
    let ran = desk.run(&["delete", "sums", "--yes"]);
    assert_eq!((ran.code, &*ran.out, &*ran.err), (0, "1 session deleted\n", ""));
    assert_eq!(ids(), ["../\u{1b}[2J\u{202e}x", "s-1"]);
    let ran = desk.run(&["delete", "--all", "--user", "u-7", "--yes"]);
    assert_eq!((ran.code, &*ran.out), (0, "1 session deleted\n"));
    assert_eq!(ids(), ["../\u{1b}[2J\u{202e}x"]);

    let desk = Desk::with_sessions(&sessions());
    let ran = desk.run(&["prune", "--older-than", "36500d", "--keep", "1", "--yes"]);
    assert_eq!((ran.code, &*ran.out), (0, "1 session deleted\n"));
    let ran = desk.run(&["prune", "--keep", "0", "--yes"]);
    assert_eq!((ran.code, &*ran.out), (0, "2 sessions deleted\n"));
}

#[cfg(unix)]
#[test]
fn the_default_store_is_for_its_owner_alone() {
    use std::os::unix::fs::MetadataExt as _;
    let desk = Desk::with_sessions(&sessions());
    let mode = |path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(desk.path("data/shop")), mode(desk.database())), (0o700, 0o600));
}
