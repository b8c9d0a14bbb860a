//! From a response to a result.

use std::{borrow::Cow, collections::HashMap, sync::OnceLock};

use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tool_runtime::{ErrorKind, ToolError, ToolOutput};

use crate::{client::Answer, import::assembled, settings::Settings};

/// The schemas of responses as text, from which an output schema is made when it is first needed.
#[derive(Default)]
pub(crate) struct Shapes {
    texts: OnceLock<HashMap<Box<str>, Box<str>>>,
}

impl Shapes {
    /// Sets the components, once the whole document is read.
    pub(crate) fn complete(&self, texts: HashMap<Box<str>, Box<str>>) {
        // The import completes once.
        let _ = self.texts.set(texts);
    }

    /// Returns the schema with the text `root` and the components that it refers to.
    pub(crate) fn assembled(&self, root: &str) -> Value {
        let get = |name: &str| {
            let text = self.texts.get()?.get(name)?;
            serde_json::from_str(text).ok().map(Cow::Owned)
        };
        let root = serde_json::from_str(root).unwrap_or_default();
        // Without a component that could not be translated, nothing is known of the results.
        assembled(root, get).unwrap_or(Value::Bool(true))
    }
}

/// Reads a response and makes a result of it.
///
/// # Errors
///
/// If the response breaks off.
pub(crate) async fn output(
    settings: &Settings,
    method: &str,
    answer: Answer,
) -> Result<ToolOutput, ToolError> {
    let Answer { response, url, note, issued } = answer;
    let status = response.status();
    let media_type =
        response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
    let (bytes, is_cut) = read(settings, response).await?;
    let details = json!({ "status": status.as_u16(), "method": method, "url": url.as_str() });
    let mut text = format!("{method} {url}\n{}", title(status));
    if let Some(note) = note {
        text.push_str(&format!("\n[{note}]"));
    }
    // A server may repeat the credentials of the request.
    let bytes = match std::str::from_utf8(&bytes).map(|it| issued.hide(it)) {
        Ok(Cow::Owned(hidden)) => hidden.into_bytes(),
        _ => bytes,
    };
    let body = String::from_utf8_lossy(&bytes);
    if !body.is_empty() {
        text.push_str("\n\n");
        text.push_str(&body);
    }
    if is_cut {
        text.push_str(&format!(
            "\n[.. the response is longer than {} bytes, and cut here ..]",
            settings.response_limit
        ));
    }
    let mut output = ToolOutput::from(text).with_details(details);
    let is_json = crate::import::is_json(&media_type);
    if is_json
        && !is_cut
        && status.is_success()
        && let Ok(value) = serde_json::from_slice(&bytes)
    {
        output = output.with_structured(value);
    }
    Ok(output)
}

fn title(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// Reads at most the limit of a body, and returns whether there is more.
async fn read(settings: &Settings, mut response: Response) -> Result<(Vec<u8>, bool), ToolError> {
    let limit = settings.response_limit;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| unavailable(&error))? {
        let room = limit - bytes.len();
        if chunk.len() > room {
            bytes.extend_from_slice(&chunk[..room]);
            // A cut character at the end is dropped.
            let valid = match std::str::from_utf8(&bytes) {
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                _ => bytes.len(),
            };
            bytes.truncate(valid);
            return Ok((bytes, true));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((bytes, false))
}

/// The error of a request without an answer. Its text has no URL, which may have a credential.
pub(crate) fn unavailable(error: &reqwest::Error) -> ToolError {
    let what = match () {
        () if error.is_timeout() => "the server did not answer in time",
        () if error.is_connect() => "the server cannot be reached",
        () => "the connection to the server failed",
    };
    let kind = if error.is_timeout() { ErrorKind::TimedOut } else { ErrorKind::Unavailable };
    ToolError::new(kind, what)
}
