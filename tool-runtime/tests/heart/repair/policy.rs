//! F17, F18, F21: permission to run repaired arguments, and their notes.

use tool_runtime::schema::{Repair, RepairOutcome, recover};

const ALL: [Repair; 3] = [Repair::Off, Repair::ReadOnlyTools, Repair::AllTools];

/// Returns, for each of [`ALL`], `true` if a read-only tool may run on `text`, and if another tool may.
fn permits(text: &str) -> [(bool, bool); 3] {
    let recovery = recover(text);
    ALL.map(|repair| (repair.permits(true, &recovery), repair.permits(false, &recovery)))
}

// F17
#[test]
fn repair_is_off_by_default() {
    assert_eq!(Repair::default(), Repair::Off);
}

// F17
#[test]
fn repaired_arguments_run_if_permitted() {
    assert_eq!(recover("{a:2}").text(), r#"{"a":2}"#);
    assert_eq!(permits("{a:2}"), [(false, false), (true, false), (true, true)]);
}

// F21, CF14
#[test]
fn truncated_arguments_never_run() {
    assert_eq!(permits(r#"{"city":"Par"#), [(false, false); 3]);
}

#[test]
fn json_always_runs_and_refused_texts_never_run() {
    assert_eq!(permits(r#"{"a":2}"#), [(true, true); 3]);
    assert_eq!(permits(r#"{"a":2}foo"#), [(false, false); 3]);
}

// F18
#[test]
fn json_is_returned_unchanged() {
    for text in [
        "{}",
        " { \"a\" : [ 1.0 , 1e5 ] } \n",
        r#"{"a":1,"a":2}"#,
        r#"{"a":"C:\new"}"#,
        "null",
        "[1]",
        r#""{a:1}""#,
        "",
        " \n",
    ] {
        let RepairOutcome::Strict(same) = recover(text) else { panic!("{text:?}") };
        assert_eq!((same.as_ptr(), same.len()), (text.as_ptr(), text.len()));
    }
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(recover(&deep), RepairOutcome::Strict(&deep));
}

// F18
#[test]
fn unreadable_text_is_kept() {
    assert_eq!(recover(r#"{"a":2}foo"#).text(), r#"{"a":2}foo"#);
    assert_eq!(recover("callback {}").text(), "callback {}");
}

#[test]
fn a_repair_is_always_reported() {
    let note = |text: &str| recover(text).note();
    assert_eq!(note("{}"), None);
    assert_eq!(
        note(r#"{"a":1 "b":2}"#).as_deref(),
        Some(
            "the arguments were not valid JSON (expected `,` or `}` at line 1 column 8) and were read as \
             {\"a\":1,\"b\":2}"
        )
    );
    assert_eq!(
        note(r#"{"city":"Par"#).as_deref(),
        Some(
            "the arguments were cut off (EOF while parsing a string at line 1 column 12) and were read as \
             {\"city\":\"Par\"}; fields may be missing"
        )
    );
    assert_eq!(
        note("{\n\"a\": NaN}").as_deref(),
        Some(
            "the arguments are not valid JSON (expected value at line 2 column 6) and were not repaired: a \
             number without a JSON equivalent at line 2 column 6"
        )
    );
}

#[test]
fn a_note_is_short_and_a_reason_contains_no_arguments() {
    let note = recover(&format!("{{a:'{}'}}", "é".repeat(1000))).note().unwrap();
    assert!(note.ends_with("éé… (2008 bytes in all)"), "{note}");
    assert!(note.chars().count() < 650, "{note}");

    for text in ["{a: s3cret)}", "{a: 's3cret' 's3cret'}", "s3cret {}", "{}s3cret", "{s3cret}"] {
        let RepairOutcome::Invalid { error, reason, .. } = recover(text) else { panic!("{text}") };
        assert!(!error.contains("s3cret") && !reason.contains("s3cret"), "{error} {reason}");
    }
}
