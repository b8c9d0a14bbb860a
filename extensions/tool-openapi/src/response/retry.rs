//! Responses of failures that may pass.

use std::time::{Duration, SystemTime};

use reqwest::{
    StatusCode,
    header::{HeaderMap, RETRY_AFTER},
};

/// Returns the pause before another attempt; `None` if another attempt would fail, too.
pub(super) fn retry_pause(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let may_pass = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    may_pass.contains(&status).then(|| retry_after(headers).unwrap_or_default())
}

/// Reads `Retry-After` ([RFC 9110, section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)): seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<f64>() {
        // A number below zero, or none, is zero.
        Ok(seconds) => Some(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)),
        Err(_) => {
            let date = httpdate::parse_http_date(text).ok()?;
            Some(date.duration_since(SystemTime::now()).unwrap_or_default())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::{Duration, SystemTime};

    use reqwest::{StatusCode, header::HeaderMap};

    use super::retry_pause;

    #[test]
    fn a_failure_that_may_pass_has_the_pause_that_the_server_asks_for() {
        let paused = |status: u16, after: &str| {
            let headers = HeaderMap::from_iter([("retry-after".parse().unwrap(), after.parse().unwrap())]);
            retry_pause(StatusCode::from_u16(status).unwrap(), &headers)
        };
        for status in [429, 502, 503, 504] {
            assert_eq!(paused(status, " 7 "), Some(Duration::from_secs(7)));
        }
        for status in [200, 400, 404, 408, 500, 501] {
            assert_eq!(paused(status, "7"), None);
        }
        assert_eq!(paused(503, "soon"), Some(Duration::ZERO));
        assert_eq!(paused(503, "-1"), Some(Duration::ZERO));
        assert_eq!(paused(503, "NaN"), Some(Duration::ZERO));
        assert_eq!(paused(503, "1e300"), Some(Duration::MAX));
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
        assert!(paused(503, &date).unwrap() > Duration::from_secs(3500));
        assert_eq!(paused(503, "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
    }
}
