//! Times and ages on the command line.

use std::time::{Duration, SystemTime};

use jiff::{Span, SpanRelativeTo, Timestamp};

/// Returns a time in UTC, such as `2026-11-26 07:15:00`.
pub(super) fn time_text(time: SystemTime) -> String {
    match Timestamp::try_from(time) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "out of range".to_owned(),
    }
}

/// Reads an age such as `90d`, `2w` or `12h`; a day has 24 hours.
pub(super) fn parse_age(text: &str) -> Result<Duration, String> {
    let age = text.parse::<Span>().and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()));
    let age = age.ok().and_then(|age| Duration::try_from(age).ok());
    age.ok_or_else(|| "expected an age such as `90d`, `2w` or `12h`".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn an_age_is_a_number_with_a_unit() {
        let hours = |hours: u64| Ok(Duration::from_secs(hours * 3600));
        for (text, age) in
            [("90d", hours(90 * 24)), ("2w", hours(14 * 24)), ("12h", hours(12)), ("1d 6h", hours(30))]
        {
            assert_eq!(parse_age(text), age, "{text}");
        }
        for text in ["", "90", "-3d", "3d ago", "2 months", "1y", "d", "99999999999999999999d"] {
            assert!(parse_age(text).is_err_and(|error| error.contains("`90d`")), "{text}");
        }
    }

    #[test]
    fn any_time_has_a_text() {
        let after = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(time_text(after(1_795_677_300)), "2026-11-26 07:15:00");
        assert_eq!(time_text(UNIX_EPOCH - Duration::from_millis(1)), "1969-12-31 23:59:59");
        assert_eq!(time_text(after(1 << 40)), "out of range");
    }
}
