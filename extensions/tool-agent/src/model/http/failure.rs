//! Errors of providers and of connections.

use std::{
    borrow::Cow,
    time::{Duration, SystemTime},
};

use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

use super::HttpModelSettings;
use crate::model::{ModelError, ModelErrorKind};

/// The maximum number of characters of a provider's message in an error.
const MAX_MESSAGE_CHARS: usize = 1_000;

/// Returns the error of a response whose status is not a success.
pub(super) fn error_of_status(
    settings: &HttpModelSettings,
    status: StatusCode,
    headers: &HeaderMap,
    body: &str,
) -> ModelError {
    redacted_error_of_status(status, headers, body, |text| redacted_text(settings, text))
}

/// Returns the error of a response whose status is not a success; `redact` returns a text of it without secrets.
pub(in crate::model) fn redacted_error_of_status(
    status: StatusCode,
    headers: &HeaderMap,
    body: &str,
    redact: impl Fn(&str) -> String,
) -> ModelError {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let report = ErrorReport::of(&value);
    let (texts, message) = report.as_ref().map_or(([""; 3], body), |report| (report.texts, &*report.message));
    let code = status.as_u16();
    ModelError::new(
        error_kind(code, texts, message),
        format!("the server answered {code}: {}", redact(message)),
    )
    .with_status(code)
    .with_retry_after(retry_after(headers).or_else(|| report?.retry_delay()))
}

/// Returns the error that a response of status 200, or an event of a stream, reports.
pub(super) fn error_reported_in_response(settings: &HttpModelSettings, text: &str) -> Option<ModelError> {
    redacted_error_in_json(text, |text| redacted_text(settings, text))
}

/// Returns the error that JSON reports; `redact` returns a text of it without secrets.
pub(in crate::model) fn redacted_error_in_json(
    text: &str,
    redact: impl Fn(&str) -> String,
) -> Option<ModelError> {
    let value: Value = serde_json::from_str(text).ok()?;
    let report = ErrorReport::of(&value)?;
    let (texts, message) = (report.texts, &*report.message);
    let has = |names: &[&str]| texts.iter().any(|text| names.contains(text));
    // The status that the provider sends with the same error.
    let status = match () {
        () if report.status.is_some() => report.status.unwrap_or_default(),
        () if has(&[
            "rate_limit_error",
            "rate_limit_exceeded",
            "RESOURCE_EXHAUSTED",
            "insufficient_quota",
        ]) =>
        {
            429
        }
        () if has(&["authentication_error", "permission_error", "invalid_api_key", "UNAUTHENTICATED"]) => 401,
        () if has(&["invalid_request_error", "invalid_prompt", "not_found_error", "INVALID_ARGUMENT"]) => 400,
        () if is_context_too_long(texts, message) => 400,
        () => 500,
    };
    let error = format!("the server reported an error: {}", redact(message));
    let error =
        ModelError::new(error_kind(status, texts, message), error).with_retry_after(report.retry_delay());
    Some(report.status.into_iter().fold(error, ModelError::with_status))
}

/// Returns the error of a request that the provider refused, if it did.
pub(super) fn refusal_error(settings: &HttpModelSettings, text: &str) -> Option<ModelError> {
    let reason = settings.provider.refusal(text)?;
    let message = format!("the provider refused the request: {}", redacted_text(settings, &reason));
    Some(ModelError::new(ModelErrorKind::Refused, message))
}

/// The error object of a provider.
struct ErrorReport<'v> {
    /// The members `code`, `type` and `status`.
    texts: [&'v str; 3],
    message: Cow<'v, str>,
    /// The HTTP status, where it is one of these members.
    status: Option<u16>,
    details: &'v Value,
}

impl<'v> ErrorReport<'v> {
    fn of(value: &'v Value) -> Option<Self> {
        // Gemini sends a list while it streams; OpenAI's responses have their own objects.
        let places = ["/error", "/0/error", "/response/error", "/choices/0/error"];
        let error = places.iter().find_map(|place| value.pointer(place).filter(|it| is_error_value(it)));
        let is_own = || {
            value.get("message").is_some_and(Value::is_string)
                || value.get("object").is_some_and(|it| it == "error")
        };
        let error = error.or_else(|| is_own().then_some(value))?;
        let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or("");
        // Beside an error that says no more than that there is one.
        let message = error.get("message").or_else(|| value.get("message"));
        let message = match message.filter(|it| !it.is_null()).unwrap_or(error) {
            Value::String(text) => text.into(),
            Value::Object(members) if members.is_empty() => "no message".into(),
            other => other.to_string().into(),
        };
        let members = ["code", "status", "status_code", "http_code"];
        let status = members.iter().find_map(|name| stated_http_error_status(error.get(name)?));
        Some(Self {
            texts: ["code", "type", "status"].map(text),
            message,
            status,
            details: error.get("details").unwrap_or(&Value::Null),
        })
    }

    /// Returns the pause that Google's [`RetryInfo`](https://cloud.google.com/apis/design/errors#error_info) asks for.
    fn retry_delay(&self) -> Option<Duration> {
        let details = self.details.as_array()?;
        details.iter().find_map(|detail| match detail.get("retryDelay")? {
            Value::String(text) => parsed_duration(text),
            Value::Object(members) => {
                // 64-bit numbers are texts in the JSON of Protocol Buffers.
                let number = |name: &str| match members.get(name) {
                    Some(Value::String(text)) => text.trim().parse().ok(),
                    number => number?.as_f64(),
                };
                let nanos = number("nanos").unwrap_or_default() / 1e9;
                Duration::try_from_secs_f64(number("seconds").unwrap_or_default() + nanos).ok()
            }
            number => Duration::try_from_secs_f64(number.as_f64()?).ok(),
        })
    }
}

/// Returns the HTTP status of an error that a number, or the text of one, states.
fn stated_http_error_status(value: &Value) -> Option<u16> {
    let status = match value {
        Value::String(text) => text.split_whitespace().next()?.parse().ok()?,
        value => value.as_f64()?,
    };
    // A status has no fraction; another number is none.
    (400.0..600.0).contains(&status).then_some(status as u16)
}

/// Returns `true` for a value that reports an error: empty ones stand beside whole responses.
fn is_error_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    }
}

/// Returns the duration of a text such as `38`, `38s`, `1.5s` or `500ms`.
fn parsed_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, seconds) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, number) => (number.unwrap_or(text), 1.0),
    };
    Duration::try_from_secs_f64(number.trim_end().parse::<f64>().ok()? * seconds).ok()
}

/// Returns `true` if the conversation exceeds the context window: [Anthropic](https://github.com/anthropics/claude-code/issues/12186)
/// ([with `max_tokens`](https://github.com/docker/docker-agent/issues/569)),
/// [Gemini](https://github.com/google-gemini/gemini-cli/issues/12098), OpenAI, llama.cpp, vLLM.
fn is_context_too_long(texts: [&str; 3], message: &str) -> bool {
    const MESSAGES: [&str; 6] = [
        "prompt is too long",
        "exceed context limit",
        "exceeds the maximum number of tokens",
        "maximum context length",
        "context window",
        "available context size",
    ];
    let message = message.to_ascii_lowercase();
    ["context_length_exceeded", "exceed_context_size_error"].iter().any(|code| texts.contains(code))
        || MESSAGES.iter().any(|part| message.contains(part))
}

fn error_kind(status: u16, texts: [&str; 3], message: &str) -> ModelErrorKind {
    match status {
        400 | 413 | 422 if is_context_too_long(texts, message) => ModelErrorKind::ContextTooLong,
        // A quota that is used up does not come back by itself.
        429 if texts.contains(&"insufficient_quota") => ModelErrorKind::InvalidRequest,
        401 | 403 => ModelErrorKind::Authentication,
        408 => ModelErrorKind::TimedOut,
        429 => ModelErrorKind::RateLimited,
        500.. => ModelErrorKind::Unavailable,
        _ => ModelErrorKind::InvalidRequest,
    }
}

/// Returns the error of a connection to the server at `url`, without secrets.
pub(in crate::model) fn connection_error(error: reqwest::Error, url: Option<&str>) -> ModelError {
    // The URL may contain credentials.
    let error = error.without_url();
    let server = url.map_or_else(|| "the server".to_owned(), |url| format!("`{}`", url_without_secrets(url)));
    let (kind, message) = match () {
        () if error.is_timeout() => (ModelErrorKind::TimedOut, format!("{server} did not answer in time")),
        () if error.is_builder() => {
            (ModelErrorKind::InvalidRequest, format!("the request to {server} cannot be sent: {error}"))
        }
        () => (
            ModelErrorKind::Connection,
            format!(
                "the connection to {server} failed: {}; check that the server runs, and its base URL",
                innermost_cause(&error)
            ),
        ),
    };
    ModelError::new(kind, message).with_source(error)
}

/// Returns the innermost cause.
fn innermost_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Returns a bounded text of the server without the key.
pub(super) fn redacted_text(settings: &HttpModelSettings, text: &str) -> String {
    let secrets = settings.key.iter().chain(settings.headers.iter().map(|(_, value)| value));
    redacted_bounded_text(text, secrets.map(|secret| &*secret.0).chain(url_credentials(&settings.base_url)))
}

/// Returns a bounded text of the server without `secrets`.
pub(in crate::model) fn redacted_bounded_text<'s>(
    text: &str,
    secrets: impl Iterator<Item = &'s str>,
) -> String {
    let mut text = text.trim().to_owned();
    for secret in secrets.filter(|secret| !secret.is_empty()) {
        text = text.replace(secret, "[secret]");
    }
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((at, _)) => format!("{}.. ({} bytes in all)", &text[..at], text.len()),
        None if text.is_empty() => "no message".to_owned(),
        None => text,
    }
}

/// Returns a URL without its user information.
pub(super) fn url_without_credentials(url: &str) -> String {
    match user_information(url) {
        Some(user) => url.replacen(&format!("{user}@"), "", 1),
        None => url.to_owned(),
    }
}

/// Returns a URL for messages: without its user information, query and fragment, which may contain secrets.
pub(super) fn url_without_secrets(url: &str) -> String {
    let url = url_without_credentials(url);
    let end = url.find(['?', '#']).unwrap_or(url.len());
    url[..end].to_owned()
}

/// Returns the user information of a URL, and its password.
fn url_credentials(url: &str) -> impl Iterator<Item = &str> {
    let user = user_information(url);
    user.into_iter().chain(user.and_then(|user| Some(user.split_once(':')?.1)))
}

fn user_information(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest[..end].rsplit_once('@').map(|(user, _)| user)
}

/// Reads the header `Retry-After` ([RFC 9110, section
/// 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)): seconds, also with the unit `s`, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let millis = text("retry-after-ms").and_then(|it| it.trim().parse::<f64>().ok());
    if let Some(pause) = millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1e3).ok()) {
        return Some(pause);
    }
    let after = text("retry-after")?.trim();
    parsed_duration(after).or_else(|| {
        let date = httpdate::parse_http_date(after).ok()?;
        Some(date.duration_since(SystemTime::now()).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests;
