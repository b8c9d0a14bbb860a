//! The answers of an authorization server in the form that the SDK reads. A member that cannot be read is absent, unless the
//! answer is nothing without it; an error keeps its reason.

use reqwest::Url;
use serde_json::{Map, Value, json};

/// The most characters of a reason.
const MAX_REASON_CHARS: usize = 500;

/// The shortest secret that is removed from texts.
const MIN_SECRET_BYTES: usize = 4;

/// Errors of a refresh after which only the user can help.
const REJECTIONS: [&str; 5] =
    ["invalid_grant", "invalid_client", "unauthorized_client", "bad_refresh_token", "expired_token"];

/// An answer of an endpoint.
pub(super) struct EndpointAnswer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl EndpointAnswer {
    /// Removes secrets of the request from the text of an error.
    pub(super) fn with_secrets_redacted(self, secrets: &[String]) -> Self {
        if self.status < 400 {
            return self;
        }
        let Some(Value::Object(mut members)) = parse_json_body(&self.body) else { return self };
        for value in members.values_mut() {
            if let Value::String(text) = value {
                for secret in secrets.iter().filter(|secret| secret.len() >= MIN_SECRET_BYTES) {
                    *text = text.replace(secret, "***");
                }
            }
        }
        Self { body: Value::Object(members).to_string().into_bytes(), ..self }
    }
}

/// Reads the answer of a token endpoint.
pub(super) fn normalized_token_answer(answer: &EndpointAnswer, is_refresh: bool) -> EndpointAnswer {
    let members = answer_members(&answer.body);
    let error = members.as_ref().and_then(error_and_description);
    if let Some((error, description)) = error {
        return refusal_answer(&error, &description, is_refresh);
    }
    let is_success = (200..300).contains(&answer.status);
    match members {
        Some(members) if is_success && is_nonempty_text(members.get("access_token")) => {
            EndpointAnswer { status: 200, body: normalized_token_members(members).to_string().into_bytes() }
        }
        _ => {
            let text = String::from_utf8_lossy(&answer.body);
            let problem = if is_success { "the answer has no `access_token`" } else { "no error is named" };
            let description = format!("{problem} (HTTP {}): {}", answer.status, text.trim());
            refusal_answer("invalid_answer", &description, is_refresh)
        }
    }
}

/// Reads the answer of a registration endpoint. `redirect_uri` is the registered one.
pub(super) fn normalized_registration_answer(answer: EndpointAnswer, redirect_uri: &str) -> EndpointAnswer {
    if !(200..300).contains(&answer.status) {
        return answer;
    }
    let Some(mut members) = answer_members(&answer.body) else { return answer };
    if let Some((error, description)) = error_and_description(&members) {
        return refusal_answer(&error, &description, false);
    }
    if let Some(Value::Number(id)) = members.get("client_id") {
        let id = id.to_string();
        members.insert("client_id".to_owned(), id.into());
    }
    remove_members_without_text(&mut members, &["client_secret", "client_name"]);
    members.insert("redirect_uris".to_owned(), json!([redirect_uri]));
    EndpointAnswer { status: answer.status, body: Value::Object(members).to_string().into_bytes() }
}

/// Returns the reason that an answer gives, with its description.
fn error_and_description(members: &Map<String, Value>) -> Option<(String, String)> {
    let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    match members.get("error")? {
        Value::Null | Value::Bool(false) => None,
        Value::String(error) if error.is_empty() => None,
        Value::String(error) => Some((error.clone(), text("error_description").to_owned())),
        other => Some(("error".to_owned(), other.to_string())),
    }
}

/// Describes the error that an authorization server or its redirect names.
pub(super) fn describe_error(error: &str, description: &str) -> String {
    let text = match description.trim() {
        "" => error.to_owned(),
        description => format!("{error}: {description}"),
    };
    match text.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

fn refusal_answer(error: &str, description: &str, is_refresh: bool) -> EndpointAnswer {
    let description = match is_refresh && REJECTIONS.contains(&error) {
        true => return error_answer("invalid_grant", &describe_error(error, description)),
        false => describe_error(description, ""),
    };
    error_answer(error, &description)
}

fn error_answer(error: &str, description: &str) -> EndpointAnswer {
    let mut body = json!({ "error": describe_error(error, "") });
    if !description.is_empty() {
        body["error_description"] = description.into();
    }
    EndpointAnswer { status: 400, body: body.to_string().into_bytes() }
}

/// Reads JSON, also behind a byte order mark.
pub(super) fn parse_json_body(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body)).ok()
}

/// Returns the members of an answer, which is an object or a form.
fn answer_members(body: &[u8]) -> Option<Map<String, Value>> {
    if let Some(value) = parse_json_body(body) {
        return match value {
            Value::Object(members) => Some(members),
            _ => None,
        };
    }
    let form = std::str::from_utf8(body).ok()?.trim();
    let mut url = Url::parse("http://form/").ok()?;
    url.set_query(Some(form));
    let members: Map<_, _> =
        url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect();
    (members.contains_key("access_token") || members.contains_key("error")).then_some(members)
}

/// Returns the members of a token answer with the types of RFC 6749.
fn normalized_token_members(mut members: Map<String, Value>) -> Value {
    let expires_in = members.remove("expires_in").and_then(|value| duration_seconds(&value));
    if let Some(seconds) = expires_in {
        members.insert("expires_in".to_owned(), seconds.into());
    }
    if !is_nonempty_text(members.get("token_type")) {
        members.insert("token_type".to_owned(), "bearer".into());
    }
    if let Some(Value::Array(scopes)) = members.get("scope") {
        let scopes: Vec<_> = scopes.iter().filter_map(Value::as_str).collect();
        let scopes = scopes.join(" ");
        members.insert("scope".to_owned(), scopes.into());
    }
    remove_members_without_text(&mut members, &["scope", "refresh_token"]);
    Value::Object(members)
}

/// Reads a duration in seconds, rounded down. Negative ones are 0.
fn duration_seconds(value: &Value) -> Option<u64> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    seconds.filter(|it| it.is_finite()).map(|it| it.max(0.0) as u64)
}

/// Removes those of the members that are no texts, or empty ones.
fn remove_members_without_text(members: &mut Map<String, Value>, names: &[&str]) {
    members.retain(|name, value| !names.contains(&name.as_str()) || is_nonempty_text(Some(value)));
}

fn is_nonempty_text(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
