#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::UNIX_EPOCH;

use super::*;

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// The lease of the run `one`, held by `a` from 1 s to 3 s.
fn stored() -> StoredLease {
    let request = LeaseRequest::new("one", "a").for_duration(Duration::from_secs(2));
    StoredLease::of_request(&request, 7, at(1_000), Some(JsonText::new("1").unwrap()))
}

fn released() -> StoredLease {
    StoredLease { is_released: true, ..stored() }
}

#[test]
fn a_lease_is_active_before_its_end_and_unfinished_from_it_on() {
    for (now, is_active) in [(0, true), (1_000, true), (2_999, true), (3_000, false), (9_000, false)] {
        let is = |lease: &StoredLease| (lease.is_active(at(now)), lease.is_unfinished(at(now)));
        assert_eq!(is(&stored()), (is_active, !is_active), "{now}");
        assert_eq!(is(&released()), (false, false), "{now}");
    }
}

#[test]
fn a_request_waits_for_another_holder_and_an_unchanged_revision() {
    let check = |lease: &StoredLease, holder: &str, expected: Option<u64>, now: u64| {
        let mut request = LeaseRequest::new("two", holder);
        request.revision = expected;
        match lease.check_takeover(&request, 5, at(now)) {
            Ok(()) => "granted",
            Err(SessionError::Busy { run, expires_at }) if run == "one".into() && expires_at == at(3_000) => {
                "busy"
            }
            Err(SessionError::Superseded { run }) if run == "one".into() => "superseded",
            Err(error) => panic!("{error}"),
        }
    };
    for (lease, holder, expected, now, end) in [
        (stored(), "b", None, 2_999, "busy"),
        (stored(), "b", Some(4), 2_999, "busy"),
        (stored(), "b", None, 3_000, "granted"),
        (stored(), "a", None, 2_999, "granted"),
        (stored(), "a", Some(5), 2_999, "granted"),
        (stored(), "a", Some(4), 2_999, "superseded"),
        (released(), "b", None, 0, "granted"),
        (released(), "b", Some(6), 0, "superseded"),
    ] {
        assert_eq!(check(&lease, holder, expected, now), end, "{holder} {expected:?} {now}");
    }
}

#[test]
fn a_holder_has_the_last_epoch_and_a_run_that_goes_on() {
    let key = SessionKey::new("app", "user", "s").unwrap();
    let lease = stored().to_lease(&key);
    assert_eq!((&lease.key, &lease.run, lease.epoch, lease.expires_at), (&key, &"one".into(), 7, at(3_000)));
    let older = Lease { epoch: 6, ..lease.clone() };
    assert_eq!(stored().check_epoch_and_unreleased(&lease), Ok(()));
    assert_eq!(released().check_epoch(&lease), Ok(()));
    let ended = released().check_epoch_and_unreleased(&lease).unwrap_err().to_string();
    assert!(ended.contains(r#"the run "one" has ended; acquire the lease again"#), "{ended}");
    for error in [
        stored().check_epoch_and_unreleased(&older),
        stored().check_epoch(&older),
        released().check_epoch_and_unreleased(&older),
    ] {
        assert_eq!(error, Err(SessionError::Superseded { run: "one".into() }));
    }
}

#[test]
fn a_lease_ends_after_its_duration_in_whole_milliseconds() {
    let mut lease = stored();
    lease.extend_expiry(at(5_000) + Duration::from_micros(400));
    assert_eq!(lease.expires_at, at(7_000));
    lease.duration = Duration::from_micros(1_600);
    lease.extend_expiry(at(5_000));
    assert_eq!(lease.expires_at, at(5_001));
    // A clock cannot add every duration.
    let century = Duration::from_secs(100 * 365 * 86_400);
    assert_eq!(expiry_time(at(0), Duration::MAX), at(0) + century);
    assert_eq!(
        expiry_time(at(0), century - Duration::from_secs(1)),
        at(0) + century - Duration::from_secs(1)
    );
}

#[test]
fn a_grant_names_the_run_that_was_interrupted() {
    let key = SessionKey::new("app", "user", "s").unwrap();
    let snapshot = || {
        let session = Session::new(key.clone(), at(0));
        SessionSnapshot { session, state: ScopedState::default() }
    };
    let other = StoredLease { run: "two".into(), ..stored() };
    let ended = StoredLease { is_released: true, ..other.clone() };
    for (previous, interrupted) in [
        (None, None),
        (Some(stored()), Some("one".into())),
        (Some(other.clone()), Some("two".into())),
        (Some(ended), None),
    ] {
        let grant = stored().to_grant(snapshot(), previous.as_ref());
        assert_eq!(grant.interrupted, interrupted);
        assert_eq!((grant.lease.epoch, grant.usage.as_ref().map(JsonText::as_str)), (7, Some("1")));
    }
    // The usage of a run goes on with that run, or with one that continues it.
    let usage =
        |previous: Option<&StoredLease>, run: &str| usage_to_continue(previous, &run.into()).is_some();
    assert!(usage(Some(&stored()), "one") && usage(Some(&released()), "one"));
    assert!(usage(Some(&stored()), "two") && !usage(Some(&released()), "two") && !usage(None, "one"));
    assert!(!usage(Some(&StoredLease { usage: None, ..stored() }), "one"));
}
