#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

#[test]
fn a_time_is_a_number_of_milliseconds_before_or_after_the_epoch() {
    for (moment, millis) in [
        (UNIX_EPOCH, 0),
        (UNIX_EPOCH + Duration::from_micros(1_999), 1),
        (UNIX_EPOCH - Duration::from_millis(1), -1),
        (UNIX_EPOCH - Duration::from_micros(1_999), -1),
        (UNIX_EPOCH + Duration::from_secs(1 << 40), 1_000 << 40),
    ] {
        assert_eq!(from_time(moment), millis);
        assert_eq!(from_time(to_time(millis)), millis);
        assert_eq!(truncated(moment), to_time(millis));
    }
    assert_eq!(to_time(1_500), UNIX_EPOCH + Duration::from_millis(1_500));
    assert_eq!(to_time(-1_500), UNIX_EPOCH - Duration::from_millis(1_500));
}

#[test]
fn a_number_of_milliseconds_is_read_and_written() {
    #[derive(serde::Serialize, Deserialize)]
    struct Moment(#[serde(with = "super")] SystemTime);
    for millis in [0_i64, 7, -7, 1 << 50, -(1 << 50)] {
        let text = millis.to_string();
        let Moment(read) = serde_json::from_str(&text).unwrap();
        assert_eq!(read, to_time(millis));
        assert_eq!(serde_json::to_string(&Moment(read)).unwrap(), text);
    }
    assert!(serde_json::from_str::<Moment>("1.5").is_err());
}
