//! Limits of the lines of an export.

use tool_session::{EntryContent, SessionKey, jsonl};

const HEADER: &str = r#"{"format":"tool-session","v":1}"#;

/// An export of one session with `entries` entries, whose lines are `lines`.
fn export(revision: u64, entries: u64, title: &str, state: &str, lines: &[&str], end: &str) -> String {
    let key = r#""app":"shop","user":"u-7","id":"s","createdAt":0,"updatedAt":0"#;
    let session = format!(
        r#"{{"type":"session",{key},"revision":{revision},"entries":{entries},"title":"{title}","state":"{state}"}}"#
    );
    let lines: Vec<_> = [HEADER, &*session].into_iter().chain(lines.iter().copied()).chain([end]).collect();
    lines.join("\n")
}

fn entry(number: u64, time: i64) -> String {
    format!(r#"{{"type":"entry","number":{number},"time":{time},"run":"r","kind":"k","body":"1"}}"#)
}

fn end(sessions: usize, entries: usize) -> String {
    format!(r#"{{"type":"end","sessions":{sessions},"entries":{entries}}}"#)
}

fn problem(text: &str) -> Option<String> {
    jsonl::from_jsonl(text).err().map(|error| error.to_string())
}

#[test]
fn a_revision_is_at_most_2_to_the_53() {
    let largest = 1_u64 << 53;
    for (revision, expected) in [
        (0, None),
        (largest, None),
        (
            largest + 1,
            Some("the revision of the session \"s\" of user \"u-7\" in app \"shop\" is larger than 2^53"),
        ),
    ] {
        let text = export(revision, 0, "", "{}", &[], &end(1, 0));
        assert_eq!(problem(&text).as_deref(), expected, "{revision}");
    }
}

#[test]
fn a_title_and_a_state_have_the_limits_of_a_write() {
    let title = |bytes: usize| export(1, 0, &"x".repeat(bytes), "{}", &[], &end(1, 0));
    assert_eq!(problem(&title(SessionKey::MAX_NAME_BYTES)), None);
    let long = "the title has 769 bytes; at most 768 bytes are stored";
    assert_eq!(problem(&title(SessionKey::MAX_NAME_BYTES + 1)).as_deref(), Some(long));
    let state = |levels: usize| {
        let state = format!(r#"{{\"a\":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        export(1, 0, "", &state, &[], &end(1, 0))
    };
    assert_eq!(problem(&state(100)), None);
    let deep = "a value of the state is nested more than 100 levels deep";
    assert_eq!(problem(&state(101)).as_deref(), Some(deep));
}

#[test]
fn the_entries_of_a_session_are_numbered_without_gaps_and_counted() {
    let (one, two, three) = (entry(1, 0), entry(2, 0), entry(3, 0));
    let not_numbered = |last| {
        format!(
            "the entries of the session \"s\" of user \"u-7\" in app \"shop\" are not numbered from 1 to {last}"
        )
    };
    for (count, lines, expected) in [
        (0, &[][..], None),
        (2, &[&*one, &two], None),
        (2, &[&two, &one], Some(not_numbered(2))),
        (2, &[&two, &three], Some(not_numbered(2))),
        (3, &[&one, &two], Some(not_numbered(3))),
        (1, &[&one, &two], Some(not_numbered(1))),
    ] {
        let text = export(1, count, "", "{}", lines, &end(1, lines.len()));
        assert_eq!(problem(&text), expected, "{count} {lines:?}");
    }
}

#[test]
fn the_last_line_counts_sessions_and_entries() {
    let one = entry(1, 0);
    for (sessions, entries) in [(0, 1), (2, 1), (1, 0), (1, 2)] {
        let text = export(1, 1, "", "{}", &[&one], &end(sessions, entries));
        let expected = format!(
            "line 4 of the export: {sessions} sessions and {entries} entries are counted, and 1 and 1 found"
        );
        assert_eq!(problem(&text), Some(expected));
    }
    let text = export(1, 1, "", "{}", &[&one], &end(1, 1));
    assert_eq!(problem(&text), None);
    let twice = [&*text, HEADER].join("\n");
    let after = "line 5 of the export follows its end; remove it";
    assert_eq!(problem(&twice).as_deref(), Some(after));
    // An export of no session has two lines.
    assert_eq!(jsonl::from_jsonl(&format!("{HEADER}\n{}", end(0, 0))).unwrap(), []);
    assert_eq!(jsonl::to_jsonl(&[]).unwrap(), format!("{HEADER}\n{}\n", end(0, 0)));
}

#[test]
fn an_export_has_the_sessions_and_entries_of_all_its_lines() {
    let (one, two) = (entry(1, 5), entry(2, -5));
    let other = r#"{"type":"session","app":"shop","user":"u-7","id":"t","createdAt":1,"updatedAt":2,"revision":7,"entries":1,"state":"{}"}"#;
    let text = export(3, 2, "Sums", r#"{\"b\":2}"#, &[&one, &two, other, &one], &end(2, 3));
    let read = jsonl::from_jsonl(&text).unwrap();
    let found: Vec<_> =
        read.iter().map(|it| (it.session.key.id(), it.session.revision, it.entries.len())).collect();
    assert_eq!(found, [("s", 3, 2), ("t", 7, 1)]);
    assert_eq!((read[0].session.title.as_deref(), read[0].state.len()), (Some("Sums"), 1));
    assert_eq!(jsonl::from_jsonl(&jsonl::to_jsonl(&read).unwrap()).unwrap(), read);
    let again = text.replace("\"id\":\"t\"", "\"id\":\"s\"");
    let twice = "there are two exports of the session \"s\" of user \"u-7\" in app \"shop\"";
    assert_eq!(problem(&again).as_deref(), Some(twice));
}

#[test]
fn a_time_is_kept_to_the_millisecond_or_refused() {
    let read = |time: i64| {
        let text = format!(r#"{{"time":{time},"run":"r","kind":"k","body":"1"}}"#);
        tool_runtime::serde_json::from_str::<EntryContent>(&text).map_err(|error| error.to_string())
    };
    for time in [0, 1, -1, 999, -1001, i64::MAX, -i64::MAX] {
        let content = read(time).unwrap();
        let text = tool_runtime::serde_json::to_string(&content).unwrap();
        assert!(text.contains(&format!("\"time\":{time},")), "{time}: {text}");
    }
    let error = read(i64::MIN).unwrap_err();
    assert!(error.starts_with("-9223372036854775808 ms is not a valid time"), "{error}");
}
