//! From a response to a result.
//!
//! A model reads method and URL, the status line, and the body: JSON and text within a limit, images, audio and other bytes as
//! content. A response that reports a failure is a result, too, to which a model can react; a failure that may pass is marked, so
//! that a retry policy repeats the call.

mod body;
mod head;
mod limit;
mod link;
mod next;
mod retry;
mod schema;

use std::borrow::Cow;

use reqwest::{
    Method, Response, Url,
    header::{CONTENT_TYPE, LINK},
};
use serde_json::{Value, json};
use tool_runtime::{
    Content, ErrorKind, ToolContext, ToolDefinition, ToolError, ToolOutput,
    context::{LogLevel, LogLine},
};

use self::{
    body::ShownBody,
    head::ResponseHead,
    limit::{LimitedText, limit_text, shorten_part},
    next::{LinkedRequest, NextPage},
};
pub(crate) use self::{
    body::{ReadBody, read_response},
    schema::ResponseSchema,
};
use crate::{
    client::HttpAnswer,
    media_type::{is_json_essence, media_essence},
    request::RequestPlan,
    settings::Settings,
    view::View,
};

/// An answer without its body.
pub(crate) struct ResponseWithoutBody {
    head: ResponseHead,
    redirected: Option<Url>,
    note: Option<String>,
}

impl ResponseWithoutBody {
    /// Takes everything but the body from `answer`.
    pub(crate) fn of(answer: HttpAnswer) -> (Self, Response) {
        let HttpAnswer { mut response, url, redirected, note, issued } = answer;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        (Self { head: ResponseHead { status, url, headers, issued }, redirected, note }, response)
    }
}

/// An operation, and the call that a response answers.
pub(crate) struct AnsweredCall<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) definition: &'a ToolDefinition,
    pub(crate) plan: &'a RequestPlan,
    pub(crate) response_schema: Option<&'a ResponseSchema>,
    pub(crate) view: Option<&'a View>,
    pub(crate) arguments: &'a str,
    pub(crate) cx: &'a ToolContext,
}

/// Makes a result of a response, of which `read` is the body.
///
/// # Errors
///
/// With strict responses, if it does not match its schema; and with failures as errors, if it reports a failure.
pub(crate) fn make_output(
    call: &AnsweredCall<'_>,
    answered: ResponseWithoutBody,
    read: ReadBody,
) -> Result<ToolOutput, ToolError> {
    let ResponseWithoutBody { head, redirected, note } = answered;
    let (size, is_cut) = (read.bytes.len(), read.is_cut);
    let next = call.next_page(&head, redirected.as_ref());
    let mut tail: Vec<_> = next.iter().map(NextPage::next_page_note).collect();
    let media_type = head.header_text(&CONTENT_TYPE).unwrap_or_default();
    let essence = media_essence(&media_type);
    let has_secret = head.issued.has_redactable_secret_in(&read.bytes);
    let shown = match read.into_shown_body(&media_type, &essence, head.url.as_str()) {
        ShownBody::Text { text, notes } => {
            tail.splice(0..0, notes.into_iter().map(|it| format!("[{it}]")));
            // A server may repeat the credentials of the request.
            let hidden =
                if is_cut { head.issued.redacted_cut_text(&text) } else { head.issued.redacted_text(&text) };
            let text = match hidden {
                Cow::Owned(hidden) => hidden,
                Cow::Borrowed(_) => text,
            };
            Ok(text)
        }
        ShownBody::Nothing => Ok(String::new()),
        ShownBody::Content(_) if has_secret => {
            tail.push("[the response repeats a credential of the request, and is not shown]".to_owned());
            Ok(String::new())
        }
        ShownBody::Content(content) => Err(content),
    };
    let json = match &shown {
        Ok(text) if !is_cut && !text.is_empty() && is_json_essence(&essence) => {
            Some(serde_json::from_str(text))
        }
        _ => None,
    };
    let mismatch = call.schema_mismatch(&head, &shown, json.as_ref(), is_cut);
    let body = shown.as_ref().map(String::len).unwrap_or_default().min(call.settings.response_limit);
    let opening = head.opening_text(&call.plan.method, note, max_joined_bytes(body, &tail));
    let output = match shown {
        Ok(text) => call.text_output(&head, opening, TextBody { text, json, is_cut }, tail)?,
        Err(content) => ToolOutput::new([Content::text(join_text(opening, "", &tail)), content]),
    };
    let details = ResponseDetails { method: call.plan.method.clone(), head, size, next, mismatch };
    call.add_details_or_fail_if_set(details, output)
}

/// A body that is text, with its value if it is said to be JSON.
struct TextBody {
    text: String,
    json: Option<serde_json::Result<Value>>,
    is_cut: bool,
}

/// The opening, the body and the remarks of a text.
fn join_text(opening: String, body: &str, tail: &[String]) -> String {
    let mut text = opening;
    text.reserve(max_joined_bytes(body.len(), tail));
    if !body.is_empty() {
        text.push_str("\n\n");
        text.push_str(body);
    }
    for note in tail {
        text.push('\n');
        text.push_str(note);
    }
    text
}

/// The most bytes that [`join_text`] adds to an opening, with a body of this length.
fn max_joined_bytes(body_bytes: usize, tail: &[String]) -> usize {
    let notes: usize = tail.iter().map(|note| "\n".len() + note.len()).sum();
    "\n\n".len() + body_bytes + notes
}

impl AnsweredCall<'_> {
    /// The result with a text, within the limit.
    fn text_output(
        &self,
        head: &ResponseHead,
        opening: String,
        body: TextBody,
        mut tail: Vec<String>,
    ) -> Result<ToolOutput, ToolError> {
        let TextBody { text, json, is_cut } = body;
        let is_success = head.status.is_success();
        let (mut is_valid, received) = (json.is_some(), text.len());
        let text = match self.view.filter(|_| is_success && !text.is_empty()) {
            // What the view leaves out is never shown.
            Some(view) => match view.apply_view(&text) {
                Ok(text) => text,
                Err(_) => {
                    let why = if is_cut { "too long" } else { "not JSON" };
                    tail.push(format!("[the response is {why}, so that none of its members can be shown]"));
                    is_valid = false;
                    String::new()
                }
            },
            None => text,
        };
        let calls = &self.settings.calls;
        if is_cut {
            tail.push(format!(
                "[the response has more than {} bytes; the rest was not read]",
                calls.read_limit
            ));
        }
        // The note of the limit has a line of its own.
        let around = opening.len() + max_joined_bytes(0, &tail) + "\n".len();
        let room = self.settings.response_limit.saturating_sub(around);
        let LimitedText { text, note, is_json } = limit_text(text, room, is_valid, calls.readback.as_deref());
        tail.splice(0..0, note);
        let value = match json {
            _ if !is_json || !is_success => None,
            // Neither a view nor the limit left anything out.
            Some(Ok(value)) if self.view.is_none() && text.len() == received => Some(value),
            _ => serde_json::from_str(&text).ok(),
        };
        // The text is not the value of the response.
        let output = ToolOutput::new([Content::text(join_text(opening, &text, &tail))]);
        Ok(value.into_iter().fold(output, ToolOutput::with_structured))
    }

    /// Returns how a successful response differs from the declared schema.
    fn schema_mismatch(
        &self,
        head: &ResponseHead,
        shown: &Result<String, Content>,
        json: Option<&serde_json::Result<Value>>,
        is_cut: bool,
    ) -> Option<String> {
        let response_schema = self.response_schema.filter(|_| head.status.is_success() && !is_cut)?;
        match shown {
            Ok(text) if text.is_empty() => None,
            Ok(_) if json.is_some() => match json? {
                Ok(value) => response_schema.schema_mismatch(value),
                Err(error) => Some(format!("expected JSON, received invalid JSON: {error}")),
            },
            _ => {
                let media_type = head.header_text(&CONTENT_TYPE).unwrap_or(Cow::Borrowed("no media type"));
                Some(format!("expected JSON, received `{}`", media_type.escape_debug()))
            }
        }
    }

    /// Reports a response that does not match its schema.
    fn report_mismatch(&self, mismatch: &str, details: &ResponseDetails) -> Result<(), ToolError> {
        let message = format!("the response does not match its declared schema: {mismatch}");
        if self.settings.calls.strict {
            return Err(ToolError::new(ErrorKind::InvalidOutput, message).with_details(details.to_value()));
        }
        let status = details.head.status.as_u16();
        self.cx.log(LogLine::new(LogLevel::Warning, message).with_data(json!({ "status": status })))
    }

    /// Returns what the first link to a next page leads to; `redirected` is the URL of a request whose response has
    /// another one.
    fn next_page(&self, head: &ResponseHead, redirected: Option<&Url>) -> Option<NextPage> {
        let headers = head.headers.get_all(LINK).iter().filter_map(|it| it.to_str().ok());
        let target = headers.flat_map(|it| link::link_targets(it, "next")).next()?;
        let target = head.issued.url_without_credentials(&head.url.join(target).ok()?);
        let schema = self.definition.input_schema();
        let url = redirected.unwrap_or(&head.url);
        let asked =
            LinkedRequest { plan: self.plan, schema: &schema.to_value(), arguments: self.arguments, url };
        Some(asked.next_page(&target))
    }

    /// Reports what does not match, marks a response of a failure that may pass, and makes errors of failures if the program wants
    /// that.
    fn add_details_or_fail_if_set(
        &self,
        details: ResponseDetails,
        output: ToolOutput,
    ) -> Result<ToolOutput, ToolError> {
        if let Some(mismatch) = &details.mismatch {
            self.report_mismatch(mismatch, &details)?;
        }
        let pause = retry::retry_pause(details.head.status, &details.head.headers);
        if details.head.status.is_success() || !self.settings.calls.failures_as_errors {
            let output = output.with_details_from(move || details.to_value());
            return Ok(pause.into_iter().fold(output, ToolOutput::as_retryable));
        }
        let error = ToolError::failed(output.into_text()).retryable(pause.is_some());
        let error = error.with_details(details.to_value());
        Err(pause.into_iter().fold(error, ToolError::with_retry_after))
    }
}

/// The parts of a response that become the details of the result when a program reads them.
struct ResponseDetails {
    method: Method,
    head: ResponseHead,
    size: usize,
    next: Option<NextPage>,
    mismatch: Option<String>,
}

impl ResponseDetails {
    fn to_value(&self) -> Value {
        let Self { method, head, size, next, mismatch } = self;
        let mut value = json!({
            "status": head.status.as_u16(),
            "method": method.as_str(),
            "url": head.url.as_str(),
            "headers": head.header_details(),
            "bytes": size,
        });
        if let Some(next) = next {
            value["next"] = next.next_page_details();
        }
        if let Some(mismatch) = mismatch {
            value["mismatch"] = Value::from(&**mismatch);
        }
        value
    }
}

impl NextPage {
    fn next_page_note(&self) -> String {
        match self {
            Self::Arguments(arguments) => {
                let arguments = arguments.to_string();
                format!("[there is a next page: call the same tool with {}]", shorten_part(&arguments))
            }
            Self::Url(url) => format!("[there is a next page: {}]", shorten_part(url)),
        }
    }

    fn next_page_details(&self) -> Value {
        match self {
            Self::Arguments(arguments) => json!({ "arguments": arguments }),
            Self::Url(url) => json!({ "url": url }),
        }
    }
}
