use super::*;

#[test]
fn ages_of_limits_are_set_to_the_end_of_their_range() {
    let limits = |call_age, result_age| QueueLimits { calls: 3, bytes: 7, call_age, result_age };
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(30 * 24 * 60 * 60));
    let beyond = most + Duration::from_millis(1);
    assert_eq!(limits(Duration::ZERO, beyond).clamped(), limits(least, most));
    assert_eq!(limits(beyond, Duration::ZERO).clamped(), limits(most, least));
    assert_eq!(limits(least, most).clamped(), limits(least, most));
    assert_eq!(limits(most, least).clamped(), limits(most, least));
}

#[test]
fn states_have_names_by_which_they_are_found() {
    let names = CallState::ALL.map(CallState::name);
    let expected = ["queued", "taken", "started", "finished", "interrupted", "cancelled", "expired"];
    assert_eq!(names, expected);
    let ended = CallState::ALL.map(CallState::is_ended);
    assert_eq!(ended, [false, false, false, true, true, true, true]);
    #[cfg(any(feature = "nats", feature = "postgres"))]
    {
        assert_eq!(names.map(CallState::of_name), CallState::ALL.map(Some));
        assert_eq!(CallState::of_name("other"), None);
    }
}

/// The nonce and the first encrypted bytes.
#[test]
fn the_first_64_bytes_of_a_request_tell_it_from_others() {
    let request: Vec<u8> = (0..100).collect();
    let (mut changed_at_63, mut changed_at_64) = (request.clone(), request.clone());
    (changed_at_63[63], changed_at_64[64]) = (0, 0);
    assert_ne!(request_hash(&changed_at_63), request_hash(&request));
    assert_eq!(request_hash(&changed_at_64), request_hash(&request));
    assert_ne!(request_hash(&request[..10]), request_hash(&request[..11]));
    let (id, key) = ("a-1".to_owned(), ContentHash::of("tool"));
    let new = NewCall { id, key, max_workers: 1, request: request.clone().into() };
    assert_eq!(new.request_hash(), request_hash(&request));
}
