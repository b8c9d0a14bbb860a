//! Errors of providers and of connections.

use std::time::{Duration, SystemTime};

use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

use super::Settings;
use crate::model::{ModelError, ModelErrorKind};

/// The maximum number of characters of a provider's message in an error.
const LONGEST: usize = 1_000;

/// Returns the error of a response whose status is not a success.
pub(super) fn of_status(
    settings: &Settings,
    status: StatusCode,
    headers: &HeaderMap,
    body: &str,
) -> ModelError {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    // Gemini sends a list while it streams.
    let error = value.pointer("/error").or_else(|| value.pointer("/0/error")).unwrap_or(&value);
    let texts = ["code", "type", "status"].map(|name| error.get(name).and_then(Value::as_str).unwrap_or(""));
    let message = error.get("message").and_then(Value::as_str).or(error.as_str()).unwrap_or(body);
    let kind = kind(status, texts, message);
    let code = status.as_u16();
    let message = redacted(settings, message);
    ModelError::new(kind, format!("the server answered {code}: {message}"))
        .with_status(code)
        .with_retry_after(retry_after(headers))
}

fn kind(status: StatusCode, texts: [&str; 3], message: &str) -> ModelErrorKind {
    let message = message.to_ascii_lowercase();
    let has = |part: &str| message.contains(part);
    let is_long = texts.contains(&"context_length_exceeded")
        || has("prompt is too long")
        || has("maximum context length")
        || has("context window")
        || has("exceeds the maximum number of tokens");
    match status.as_u16() {
        400 | 413 | 422 if is_long => ModelErrorKind::ContextTooLong,
        // A quota that is used up does not come back by itself.
        429 if texts.contains(&"insufficient_quota") => ModelErrorKind::InvalidRequest,
        401 | 403 => ModelErrorKind::Authentication,
        408 => ModelErrorKind::TimedOut,
        429 => ModelErrorKind::RateLimited,
        500.. => ModelErrorKind::Unavailable,
        _ => ModelErrorKind::InvalidRequest,
    }
}

/// Returns the error of a connection.
pub(super) fn of_connection(error: reqwest::Error) -> ModelError {
    // The URL may contain credentials.
    let error = error.without_url();
    let (kind, message) = match () {
        () if error.is_timeout() => {
            (ModelErrorKind::TimedOut, "the server did not answer in time".to_owned())
        }
        () if error.is_builder() => {
            (ModelErrorKind::InvalidRequest, format!("the request cannot be sent: {error}"))
        }
        () => (ModelErrorKind::Connection, format!("the connection to the server failed: {}", root(&error))),
    };
    ModelError::new(kind, message).with_source(error)
}

/// Returns the innermost cause.
fn root(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Returns a bounded text of the server without the key.
pub(super) fn redacted(settings: &Settings, text: &str) -> String {
    let mut text = text.trim().to_owned();
    let secrets = settings.key.iter().chain(settings.headers.iter().map(|(_, value)| value));
    for secret in secrets.filter(|secret| !secret.0.is_empty()) {
        text = text.replace(&*secret.0, "[secret]");
    }
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}.. ({} bytes in all)", &text[..at], text.len()),
        None if text.is_empty() => "no message".to_owned(),
        None => text,
    }
}

/// Returns a URL without its user information.
pub(super) fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

/// Reads the header `Retry-After` ([RFC 9110, section
/// 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)): seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    if let Some(millis) = text("retry-after-ms").and_then(|it| it.trim().parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let after = text("retry-after")?.trim();
    match after.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let date = httpdate::parse_http_date(after).ok()?;
            Some(date.duration_since(SystemTime::now()).unwrap_or_default())
        }
    }
}
