//! Errors of the crate `genai` by their kind.

use genai::{Error, ServiceTarget, webc};

use super::{ModelError, ModelErrorKind};
use crate::model::http::failure;

/// The error of a stream that ends before its response.
pub(super) const CUT: &str = "the stream of the response ended before the response did";

/// Texts that are never shown: the key.
#[derive(Default)]
pub(super) struct Redacted(Option<String>);

impl Redacted {
    pub(super) fn of(target: &ServiceTarget) -> Self {
        Self(target.auth.single_key_value().ok().filter(|key| !key.is_empty()))
    }

    fn text(&self, text: &str) -> String {
        failure::bounded(text, self.0.iter().map(String::as_str))
    }
}

/// Returns the error of a request.
pub(super) fn of_genai(error: Error, redacted: &Redacted) -> ModelError {
    let show = |text: &str| redacted.text(text);
    match error {
        Error::HttpError { status, body, headers, .. } => failure::of_answer(status, &headers, &body, show),
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            of_webc(webc_error, redacted)
        }
        Error::WebStream { error, .. } => match error.downcast::<Error>() {
            Ok(error) => of_genai(*error, redacted),
            Err(error) => match error.downcast::<reqwest::Error>() {
                Ok(error) => failure::of_connection(*error, None),
                Err(error) => ModelError::new(
                    ModelErrorKind::Connection,
                    format!("the stream broke: {}", show(&error.to_string())),
                ),
            },
        },
        Error::ChatResponse { body, .. } => {
            let text = serde_json::json!({ "error": body }).to_string();
            failure::of_report(&text, show).unwrap_or_else(|| malformed(&show(&body.to_string())))
        }
        // Its own text contains the whole request.
        Error::ChatResponseGeneration { cause, .. } => malformed(&show(&cause)),
        other => ModelError::new(kind(&other), show(&other.to_string())),
    }
}

fn of_webc(error: webc::Error, redacted: &Redacted) -> ModelError {
    match error {
        webc::Error::ResponseFailedStatus { status, body, headers } => {
            failure::of_answer(status, &headers, &body, |text| redacted.text(text))
        }
        webc::Error::Reqwest(error) => failure::of_connection(error, None),
        other => malformed(&redacted.text(&other.to_string())),
    }
}

fn malformed(cause: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, format!("the response cannot be read: {cause}"))
}

fn kind(error: &Error) -> ModelErrorKind {
    match error {
        Error::RequiresApiKey { .. }
        | Error::NoAuthResolver { .. }
        | Error::NoAuthData { .. }
        | Error::Resolver { .. } => ModelErrorKind::Authentication,
        Error::NoChatResponse { .. }
        | Error::InvalidJsonResponseElement { .. }
        | Error::StreamParse { .. }
        | Error::JsonValueExt(_)
        | Error::SerdeJson(_) => ModelErrorKind::Malformed,
        Error::ClientBuildFail { .. } | Error::Internal(_) => ModelErrorKind::Other,
        _ => ModelErrorKind::InvalidRequest,
    }
}

#[cfg(test)]
mod tests;
