use std::time::Duration;

use tool_runtime::definition::ContentHash;

use super::*;

const CREATED: SystemTime = SystemTime::UNIX_EPOCH;

fn later() -> SystemTime {
    CREATED + Duration::from_secs(1)
}

fn new_record() -> CallRecord {
    let (id, key) = ("a-1".to_owned(), ContentHash::of("tool"));
    CallRecord::new(&NewCall { id, key, max_workers: 2, request: vec![7; 100].into() }, CREATED)
}

/// A record in this state, in its epoch 2, which one worker has taken.
fn record_in(state: CallState) -> CallRecord {
    let mut record = new_record();
    (record.call.state, record.call.epoch, record.call.workers) = (state, 2, 1);
    record
}

fn epoch(record: &CallRecord) -> QueueEpoch {
    let QueuedCall { id, epoch, request, .. } = record.call.clone();
    QueueEpoch { id, epoch, request }
}

/// An earlier epoch, a later one, and the same epoch of another request.
fn other_epochs(record: &CallRecord) -> [QueueEpoch; 3] {
    let own = epoch(record);
    let earlier = QueueEpoch { epoch: own.epoch - 1, ..own.clone() };
    let later = QueueEpoch { epoch: own.epoch + 1, ..own.clone() };
    [earlier, later, QueueEpoch { request: ContentHash::of("another request"), ..own }]
}

fn is_held_state(state: CallState) -> bool {
    matches!(state, CallState::Taken | CallState::Started)
}

#[test]
fn a_new_record_is_queued_and_has_no_worker() {
    let record = new_record();
    let call = QueuedCall {
        id: "a-1".to_owned(),
        key: ContentHash::of("tool"),
        request: super::super::request_hash(&[7; 100]),
        state: CallState::Queued,
        epoch: 0,
        workers: 0,
        was_started: false,
        cancel_requested: false,
        created: CREATED,
        changed: CREATED,
        bytes: 100,
    };
    assert_eq!(record, CallRecord { call, max_workers: 2 });
}

#[test]
fn a_queued_call_alone_is_taken_and_counts_epoch_and_worker() {
    for state in CallState::ALL {
        let (mut record, before) = (record_in(state), record_in(state));
        let is_taken = record.take(later());
        assert_eq!(is_taken, state == CallState::Queued, "{state:?}");
        if !is_taken {
            assert_eq!(record, before);
            continue;
        }
        let call = QueuedCall {
            state: CallState::Taken,
            epoch: 3,
            workers: 2,
            changed: later(),
            ..before.call.clone()
        };
        assert_eq!(record, CallRecord { call, ..before });
    }
}

#[test]
fn the_worker_of_the_epoch_and_request_alone_holds_a_call() {
    for state in CallState::ALL {
        let record = record_in(state);
        assert!(record.is_in(&epoch(&record)));
        assert_eq!(record.is_held(&epoch(&record)), is_held_state(state), "{state:?}");
        for other in other_epochs(&record) {
            assert!(!record.is_in(&other) && !record.is_held(&other), "{state:?} {other:?}");
        }
    }
}

#[test]
fn a_start_is_given_to_the_worker_that_holds_the_call_unless_it_is_to_be_cancelled() {
    for state in CallState::ALL {
        let before = record_in(state);
        for other in other_epochs(&before) {
            let mut record = before.clone();
            assert_eq!((record.start(&other, later()), &record), (StartGrant::Refused, &before));
        }
        let mut cancelled = before.clone();
        cancelled.call.cancel_requested = true;
        let unchanged = cancelled.clone();
        assert_eq!(
            (cancelled.start(&epoch(&before), later()), &cancelled),
            (StartGrant::Refused, &unchanged)
        );
        let mut record = before.clone();
        let grant = record.start(&epoch(&before), later());
        if is_held_state(state) {
            let call = QueuedCall {
                state: CallState::Started,
                was_started: true,
                changed: later(),
                ..before.call.clone()
            };
            assert_eq!((grant, record), (StartGrant::Given, CallRecord { call, ..before }));
        } else {
            assert_eq!((grant, record), (StartGrant::Refused, before));
        }
    }
}

#[test]
fn a_call_is_given_back_before_its_start_alone() {
    for state in CallState::ALL {
        for cancel_requested in [false, true] {
            let mut before = record_in(state);
            before.call.cancel_requested = cancel_requested;
            for other in other_epochs(&before) {
                let mut record = before.clone();
                assert!(!record.give_back(&other, later()));
                assert_eq!(record, before);
            }
            let mut record = before.clone();
            let is_given_back = record.give_back(&epoch(&before), later());
            assert_eq!(is_given_back, state == CallState::Taken, "{state:?}");
            if is_given_back {
                let state = if cancel_requested { CallState::Cancelled } else { CallState::Queued };
                let call = QueuedCall { state, workers: 0, changed: later(), ..before.call.clone() };
                before = CallRecord { call, ..before };
            }
            assert_eq!(record, before);
        }
    }
}

#[test]
fn a_call_is_finished_by_the_worker_that_holds_it_alone() {
    for state in CallState::ALL {
        let before = record_in(state);
        for other in other_epochs(&before) {
            let mut record = before.clone();
            assert!(!record.finish(&other, 5, later()));
            assert_eq!(record, before);
        }
        let mut record = before.clone();
        assert_eq!(record.finish(&epoch(&before), 5, later()), is_held_state(state), "{state:?}");
        let finished =
            QueuedCall { state: CallState::Finished, bytes: 5, changed: later(), ..before.call.clone() };
        let expected = if is_held_state(state) { finished } else { before.call };
        assert_eq!(record.call, expected);
    }
}

#[test]
fn a_queued_call_is_cancelled_and_a_taken_one_is_to_be_cancelled() {
    for state in CallState::ALL {
        let (mut record, before) = (record_in(state), record_in(state));
        let has_changed = record.cancel(later());
        let expected = match state {
            CallState::Queued => {
                QueuedCall { state: CallState::Cancelled, changed: later(), ..before.call.clone() }
            }
            CallState::Taken => QueuedCall { cancel_requested: true, ..before.call.clone() },
            _ => before.call.clone(),
        };
        assert_eq!((has_changed, &record.call), (expected != before.call, &expected), "{state:?}");
    }
}

#[test]
fn the_lease_of_a_call_is_held_by_its_worker_and_lost_by_others() {
    for state in CallState::ALL {
        let mut record = record_in(state);
        let held = if is_held_state(state) { LeaseState::Held } else { LeaseState::Lost };
        assert_eq!(record.lease_state(&epoch(&record)), held, "{state:?}");
        record.call.cancel_requested = true;
        let cancelled = if is_held_state(state) { LeaseState::CancelRequested } else { LeaseState::Lost };
        assert_eq!(record.lease_state(&epoch(&record)), cancelled, "{state:?}");
        for other in other_epochs(&record) {
            assert_eq!(record.lease_state(&other), LeaseState::Lost);
        }
    }
}

/// Returns the effect of time on a record, and its state then.
fn settle(mut record: CallRecord, is_lapsed: bool, is_old: bool) -> (Settlement, CallState) {
    let before = record.clone();
    let settlement = record.settle(is_lapsed, is_old, later());
    let state = record.call.state;
    let expected = match settlement {
        Settlement::Changed => QueuedCall { state, changed: later(), ..before.call },
        Settlement::Unchanged | Settlement::Removed => before.call,
    };
    assert_eq!(record.call, expected);
    (settlement, state)
}

#[test]
fn the_end_of_a_lease_queues_a_call_again_or_ends_it() {
    use CallState::{Cancelled, Expired, Interrupted, Queued, Started, Taken};
    let (lapsed, old) = (true, true);
    for is_old in [false, true] {
        // While its worker has it, it does not age.
        assert_eq!(settle(record_in(Taken), !lapsed, is_old), (Settlement::Unchanged, Taken));
        assert_eq!(settle(record_in(Started), !lapsed, is_old), (Settlement::Unchanged, Started));
        // It is not run again, also if it is to be cancelled.
        let mut started = record_in(Started);
        assert_eq!(settle(started.clone(), lapsed, is_old), (Settlement::Changed, Interrupted));
        started.call.cancel_requested = true;
        assert_eq!(settle(started, lapsed, is_old), (Settlement::Changed, Interrupted));
        // After its last worker.
        let mut last = record_in(Taken);
        last.call.workers = last.max_workers;
        assert_eq!(settle(last.clone(), lapsed, is_old), (Settlement::Changed, Interrupted));
        last.call.cancel_requested = true;
        assert_eq!(settle(last, lapsed, is_old), (Settlement::Changed, Cancelled));
    }
    assert_eq!(settle(record_in(Taken), lapsed, !old), (Settlement::Changed, Queued));
    assert_eq!(settle(record_in(Taken), lapsed, old), (Settlement::Changed, Expired));
}

#[test]
fn a_queued_call_expires_by_its_age_and_an_ended_one_is_removed() {
    for is_lapsed in [false, true] {
        let queued = record_in(CallState::Queued);
        let unchanged = (Settlement::Unchanged, CallState::Queued);
        assert_eq!(settle(queued.clone(), is_lapsed, false), unchanged);
        assert_eq!(settle(queued, is_lapsed, true), (Settlement::Changed, CallState::Expired));
        for state in CallState::ENDED {
            assert_eq!(settle(record_in(state), is_lapsed, false), (Settlement::Unchanged, state));
            assert_eq!(settle(record_in(state), is_lapsed, true), (Settlement::Removed, state));
        }
    }
}
