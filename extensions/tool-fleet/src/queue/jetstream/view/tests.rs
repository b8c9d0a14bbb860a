use tokio::time::advance;

use super::*;
use crate::{NewCall, queue::record::CallRecord};

fn record(id: usize, is_removed: bool) -> StreamRecord {
    let (id, key) = (format!("{id}-1"), ContentHash::of("tool"));
    let new = NewCall { id, key, max_workers: 3, request: vec![7; 100].into() };
    let CallRecord { call, max_workers } = CallRecord::new(&new, std::time::SystemTime::UNIX_EPOCH);
    StreamRecord { call, max_workers, number: 1, lease: Duration::ZERO, attempt: 0, is_removed }
}

#[tokio::test]
async fn calls_that_were_removed_leave_no_other_one_out() {
    let view = View::new(1);
    let max = view.max_entries;
    for id in 0..2 * max {
        view.note_record(id as u64 + 1, record(id, true));
    }
    assert_eq!(view.lock().removed_len(), max);
    for id in 0..max {
        view.note_record(1_000_000 + id as u64, record(id, false));
    }
    let lens = |entries: &ViewEntries| (entries.len(), entries.removed_len());
    assert_eq!(lens(&view.lock()), (max, 0));
    // One that is left out is returned nevertheless.
    let left_out = view.note_record(2_000_000, record(max, false));
    assert_eq!((left_out.sequence, left_out.record.is_removed), (2_000_000, false));
    assert!(view.entry(&format!("{max}-1")).is_none());
    // One that is removed makes room.
    view.note_record(3_000_000, record(0, true));
    view.note_record(3_000_001, record(max, false));
    assert!(view.entry(&format!("{max}-1")).is_some());
}

const SECOND: Duration = Duration::from_secs(1);

fn leased(id: usize) -> StreamRecord {
    StreamRecord { lease: 6 * SECOND, ..record(id, false) }
}

/// Lets time pass, in which the server shows signs of life.
async fn pass_with_contact(view: &View, seconds: u32) {
    for _ in 0..seconds {
        advance(SECOND).await;
        view.note_contact();
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_over_once_its_record_was_the_same_for_as_long() {
    let view = View::new(1);
    pass_with_contact(&view, 10).await;
    let entry = view.note_record(1, leased(0));
    pass_with_contact(&view, 5).await;
    assert!(!view.is_lapsed(&entry));
    pass_with_contact(&view, 1).await;
    assert!(view.is_lapsed(&entry));
    // Another record of the call, whose lease was extended.
    let extended = view.note_record(2, leased(0));
    assert!(!view.is_lapsed(&extended));
}

/// Its worker may not reach the server, either.
#[tokio::test(start_paused = true)]
async fn a_lease_is_not_over_while_the_server_is_silent_and_begins_anew_after_that() {
    let view = View::new(1);
    let entry = view.note_record(1, leased(0));
    pass_with_contact(&view, 3).await;
    advance(MAX_SILENCE - Duration::from_millis(1)).await;
    assert!(view.is_lapsed(&entry));
    advance(Duration::from_millis(1)).await;
    assert!(!view.is_lapsed(&entry));
    view.note_contact();
    assert!(!view.is_lapsed(&entry));
    pass_with_contact(&view, 5).await;
    assert!(!view.is_lapsed(&entry));
    pass_with_contact(&view, 1).await;
    assert!(view.is_lapsed(&entry));
}

#[tokio::test(start_paused = true)]
async fn a_short_silence_of_the_server_extends_no_lease() {
    let view = View::new(1);
    let entry = view.note_record(1, leased(0));
    pass_with_contact(&view, 3).await;
    advance(MAX_SILENCE - Duration::from_millis(1)).await;
    view.note_contact();
    assert!(view.is_lapsed(&entry));
}

#[tokio::test(start_paused = true)]
async fn the_latest_record_of_a_call_is_known_with_the_time_at_which_it_was_seen_first() {
    let view = View::new(1);
    let first = view.note_record(5, record(0, false));
    advance(SECOND).await;
    for sequence in [4, 5] {
        let noted = view.note_record(sequence, record(0, true));
        assert_eq!((noted.sequence, noted.record.is_removed, noted.seen), (5, false, first.seen));
    }
    let noted = view.note_record(6, record(0, true));
    assert_eq!((noted.sequence, noted.record.is_removed, noted.seen), (6, true, first.seen + SECOND));
    assert_eq!(view.entry("0-1").map(|entry| entry.sequence), Some(6));
}

#[test]
fn a_record_is_forgotten_unless_a_later_one_is_known() {
    let view = View::new(1);
    let is_known = || view.entry("0-1").is_some();
    view.note_record(5, record(0, false));
    view.forget_until("0-1", 4);
    assert!(is_known());
    view.forget_until("0-1", 5);
    assert!(!is_known());
    view.note_record(5, record(0, true));
    for other in [4, 6] {
        view.forget_removed("0-1", other);
        assert!(is_known(), "{other}");
    }
    view.forget_removed("0-1", 5);
    assert!(!is_known());
    view.note_record(6, record(0, false));
    view.remove_record("1-1");
    assert!(is_known());
    view.remove_record("0-1");
    assert!(!is_known());
    view.note_record(1, record(0, false));
    view.forget_records();
    assert_eq!((is_known(), view.totals()), (false, QueueTotals::default()));
}

#[tokio::test(start_paused = true)]
async fn records_that_are_no_longer_in_the_stream_leave_once_all_were_read() {
    let view = View::new(1);
    view.note_record(1, record(0, false));
    view.note_record(2, record(1, false));
    advance(SECOND).await;
    let start = Instant::now();
    view.note_record(3, record(2, false));
    let error = view.wait_until_complete(SECOND).await.map_err(|error| error.to_string());
    let problem = "the broker failed: JetStream did not send the stored calls within 1s; try again";
    assert_eq!(error, Err(problem.to_owned()));
    view.complete(&HashSet::from(["1-1".to_owned()]), start);
    let known = [0, 1, 2].map(|id| view.entry(&format!("{id}-1")).is_some());
    assert_eq!(known, [false, true, true]);
    assert_eq!(view.totals(), QueueTotals { calls: 2, bytes: 200 });
    assert!(view.wait_until_complete(SECOND).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn records_that_cannot_be_read_are_an_error_with_the_reason() {
    let view = View::new(1);
    view.progress.send_replace(ReadProgress::Reading(Some("no right".to_owned())));
    let error = view.wait_until_complete(SECOND).await.map_err(|error| error.to_string());
    let problem = "the broker failed: JetStream did not send the stored calls within 1s: no right; try again";
    assert_eq!(error, Err(problem.to_owned()));
}

fn message(subject: &str, reply: Option<&str>) -> Message {
    Message {
        subject: subject.into(),
        reply: reply.map(Into::into),
        payload: Default::default(),
        headers: None,
        status: None,
        description: None,
        length: 0,
    }
}

#[test]
fn positions_are_read_from_the_reply_subject_of_each_form() {
    let position =
        |reply| Position::of(&message("s", reply)).map(|it| (it.sequence, it.delivered, it.pending));
    let expected = Some((42, 7, 3));
    assert_eq!(position(Some("$JS.ACK.stream.consumer.1.42.7.1700000000.3")), expected);
    assert_eq!(position(Some("$JS.ACK.domain.account.stream.consumer.1.42.7.1700000000.3")), expected);
    assert_eq!(position(Some("$JS.ACK.domain.account.stream.consumer.1.42.7.1700000000.3.token")), expected);
    assert_eq!(position(Some("$JS.ACK.stream.consumer.1.x.7.1700000000.3")), None);
    assert_eq!(position(Some("$JS.ACK.stream.consumer.1.42.7")), None);
    assert_eq!(position(None), None);
}

#[test]
fn a_record_is_one_of_its_subject_alone() {
    let is_of = |subject| is_record_of(&record(0, false), &message(subject, None));
    assert!(is_of("tools.trip.durable.calls.0-1"));
    assert!(!is_of("tools.trip.durable.calls.1-1"));
    assert!(!is_of("tools.trip.durable.calls.0-1.x"));
}

#[test]
fn a_heartbeat_names_the_last_message_that_was_sent() {
    let mut heartbeat = message("s", None);
    assert_eq!(last_delivered(&heartbeat), None);
    for (text, expected) in [("12", Some(12)), ("x", None)] {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(LAST_DELIVERED, text);
        heartbeat.headers = Some(headers);
        assert_eq!(last_delivered(&heartbeat), expected);
    }
}
