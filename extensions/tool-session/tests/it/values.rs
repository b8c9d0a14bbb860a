//! The values that stores exchange with programs.

use std::time::{Duration, UNIX_EPOCH};

use tool_runtime::serde_json::{self, json};
use tool_session::{
    Clock, Entry, EntryOrder, EntryPage, EntryQuery, JsonText, LeaseRequest, Retention, SessionError,
    SessionFilter, SessionKey, SessionWrite,
};

use crate::contract::world::{entry, key, message};

#[test]
fn a_query_admits_an_entry_that_fits_all_its_filters() {
    let content = entry("one", "message", "x").with_branch("root").with_view("v");
    let plain = Entry { number: 5, content: message("one", "x") };
    let entry = Entry { number: 5, content };
    let all = EntryQuery::forward;
    for (query, fits, fits_plain) in [
        (all(), true, true),
        (all().after(4).before(6), true, true),
        (all().after(5), false, false),
        (all().before(5), false, false),
        (all().of_kind("message"), true, true),
        (all().of_kind("end"), false, false),
        (all().of_run("one"), true, true),
        (all().of_run("two"), false, false),
        (all().of_branch("root"), true, false),
        (all().of_branch("other"), false, false),
        (all().of_view("v"), true, false),
        (all().of_view("w"), false, false),
        (all().of_view("v").of_kind("end"), false, false),
        (EntryQuery::backward().of_branch("root").of_view("v").of_run("one"), true, false),
    ] {
        assert_eq!((query.admits(&entry), query.admits(&plain)), (fits, fits_plain), "{query:?}");
    }
}

#[test]
fn the_next_query_begins_behind_the_last_entry_of_a_page_that_has_more() {
    let page = |has_more, numbers: &[u64]| EntryPage {
        entries: numbers
            .iter()
            .map(|number| Entry { number: *number, content: message("one", "x") })
            .collect(),
        has_more,
    };
    let forward = EntryQuery::forward().of_kind("k");
    assert_eq!(forward.clone().next(&page(true, &[3, 7])), Some(forward.clone().after(7)));
    let backward = EntryQuery::backward();
    assert_eq!(backward.clone().next(&page(true, &[7, 3])), Some(backward.clone().before(3)));
    for ended in [page(false, &[3, 7]), page(true, &[])] {
        assert_eq!(forward.clone().next(&ended), None);
        assert_eq!(backward.clone().next(&ended), None);
    }
}

#[test]
fn requests_have_their_documented_defaults() {
    let query = EntryQuery::forward();
    assert_eq!((query.order, query.after, query.before), (EntryOrder::Forward, 0, None));
    assert_eq!((query.max_entries, query.max_bytes), (100, 4 << 20));
    assert_eq!(EntryQuery::backward().order, EntryOrder::Backward);
    assert_eq!(
        (EntryQuery::forward().limit(3).max_entries, EntryQuery::forward().limit_bytes(3).max_bytes),
        (3, 3)
    );
    let filter = SessionFilter::new("shop");
    assert_eq!((&*filter.app, filter.user, filter.after, filter.max_sessions), ("shop", None, None, 100));
    let retention = Retention::new("shop");
    assert_eq!((&*retention.app, retention.max_age, retention.max_sessions), ("shop", None, None));
    let request = LeaseRequest::new("run", "holder");
    assert_eq!((request.duration, request.revision), (Duration::from_secs(30), None));
    let write = SessionWrite::new(3);
    assert!(write.entries.is_empty() && write.state.is_empty() && !write.ends_run);
    assert_eq!((write.revision, write.usage, write.title), (3, None, None));
    let write = SessionWrite::new(3).entry(message("a", "1")).entries([message("a", "2")]).end_of_run();
    assert!(write.entries.len() == 2 && write.ends_run);
}

#[test]
fn each_error_says_what_to_do_and_whether_it_passes() {
    let key = Box::new(key("s"));
    let name = "session \"s\" of user \"u-7\" in app \"shop\"";
    let not_found = format!("there is no {name}");
    let exists = format!("there is a {name} already; delete it, or use another id");
    for (error, is_transient, text) in [
        (SessionError::Invalid("it is wrong".into()), false, "it is wrong"),
        (SessionError::NotFound(key.clone()), false, &*not_found),
        (SessionError::Exists(key), false, &exists),
        (
            SessionError::Busy { run: "one".into(), expires_at: UNIX_EPOCH },
            true,
            "the run \"one\" has the lease of the session; wait for its end",
        ),
        (
            SessionError::Superseded { run: "one".into() },
            false,
            "the run \"one\" has taken over the session; this run must not write",
        ),
        (
            SessionError::RevisionChanged { expected: 1, revision: 2 },
            false,
            "the session has revision 2, and the write is for 1; load it again",
        ),
        (
            SessionError::Full { max_sessions: 3 },
            false,
            "the limit of 3 sessions is reached, and all are in use; delete some of them",
        ),
        (
            SessionError::NewerVersion { found: 2, supported: 1 },
            false,
            "the database has version 2, and this program supports versions up to 1; update the program",
        ),
        (SessionError::ReadOnly, false, "the store was opened for reading only; open it without `read_only`"),
        (SessionError::Closed, false, "the store was closed; open it again"),
        (SessionError::Unavailable("it is locked".into()), true, "it is locked"),
        (SessionError::Failed("it is broken".into()), false, "it is broken"),
    ] {
        assert_eq!((error.to_string().as_str(), error.is_transient()), (text, is_transient));
    }
}

#[test]
fn a_text_is_json_of_at_most_16_mebibytes() {
    const MAX: usize = JsonText::MAX_BYTES;
    let of_bytes = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert_eq!(JsonText::new(of_bytes(MAX)).unwrap().as_str().len(), MAX);
    let error = JsonText::new(of_bytes(MAX + 1)).unwrap_err().to_string();
    assert_eq!(error, "the text has 16777217 bytes; at most 16777216 bytes (16 MiB) are stored");
    assert!(JsonText::of(&"x".repeat(MAX - 2)).is_ok() && JsonText::of(&"x".repeat(MAX - 1)).is_err());
    for text in ["", "{", "1 2", "nul"] {
        let error = JsonText::new(text).unwrap_err().to_string();
        assert!(error.starts_with("the text is not valid JSON: "), "{text:?}: {error}");
    }
    let text = JsonText::new(" [1 ] ").unwrap();
    assert_eq!((format!("{text}"), format!("{text:?}")), (" [1 ] ".to_owned(), " [1 ] ".to_owned()));
    assert_eq!(text.read::<Vec<u8>>().unwrap(), [1]);
    let error = text.read::<bool>().unwrap_err().to_string();
    assert!(error.starts_with("the stored text is not a valid `bool`: "), "{error}");
    let error = serde_json::from_value::<JsonText>(json!("{")).unwrap_err().to_string();
    assert!(error.contains("not valid JSON"), "{error}");
    assert_eq!(json!(text), json!(" [1 ] "));
}

#[test]
fn a_key_has_an_id_and_names_of_at_most_768_bytes() {
    let empty = "the session id is empty; give each session an id";
    assert_eq!(SessionKey::new("a", "u", "").unwrap_err().to_string(), empty);
    let nul = "the user contains a NUL; use an id without it";
    assert_eq!(SessionKey::new("a", "\0", "s").unwrap_err().to_string(), nul);
    let key = SessionKey::new("a", "u", "s").unwrap();
    let other = key.with_id("t").unwrap();
    assert_eq!((other.app(), other.user(), other.id()), ("a", "u", "t"));
    assert_eq!(key.with_id("").unwrap_err().to_string(), empty);
    assert!(key < other);
    let read = |value| serde_json::from_value::<SessionKey>(value).map_err(|error| error.to_string());
    assert_eq!(read(json!(key)), Ok(key));
    assert_eq!(read(json!({ "app": "", "user": "", "id": "" })), Err(empty.to_owned()));
}

#[test]
fn a_clock_returns_what_its_closure_says() {
    let time = UNIX_EPOCH + Duration::from_secs(7);
    let clock = Clock::new(move || time);
    assert_eq!(clock.now(), time);
    assert_eq!(format!("{clock:?}"), "Clock { .. }");
    assert!(Clock::default().now() > time);
}
