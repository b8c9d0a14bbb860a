//! Errors of the crate `genai` by their kind.

use genai::{Error, ServiceTarget, webc};

use super::{ModelError, ModelErrorKind};
use crate::model::http::failure;

/// The error of a stream that ends before its response.
pub(super) const CUT: &str = "the stream of the response ended before the response did";

/// Texts that are never shown: the key.
#[derive(Default)]
pub(super) struct Redactor(Option<String>);

impl Redactor {
    pub(super) fn for_target(target: &ServiceTarget) -> Self {
        Self(target.auth.single_key_value().ok().filter(|key| !key.is_empty()))
    }

    fn redacted_text(&self, text: &str) -> String {
        failure::redacted_bounded_text(text, self.0.iter().map(String::as_str))
    }
}

/// Returns the error of a request.
pub(super) fn model_error_of_genai(error: Error, redacted: &Redactor) -> ModelError {
    let show = |text: &str| redacted.redacted_text(text);
    match error {
        Error::HttpError { status, body, headers, .. } => {
            failure::redacted_error_of_status(status, &headers, &body, show)
        }
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            model_error_of_webc(webc_error, redacted)
        }
        Error::WebStream { error, .. } => match error.downcast::<Error>() {
            Ok(error) => model_error_of_genai(*error, redacted),
            Err(error) => match error.downcast::<reqwest::Error>() {
                Ok(error) => failure::connection_error(*error, None),
                Err(error) => ModelError::new(
                    ModelErrorKind::Connection,
                    format!("the stream broke: {}", show(&error.to_string())),
                ),
            },
        },
        Error::ChatResponse { body, .. } => {
            let text = serde_json::json!({ "error": body }).to_string();
            failure::redacted_error_in_json(&text, show)
                .unwrap_or_else(|| malformed_response_error(&show(&body.to_string())))
        }
        // Its own text contains the whole request.
        Error::ChatResponseGeneration { cause, .. } => malformed_response_error(&show(&cause)),
        other => ModelError::new(error_kind(&other), show(&other.to_string())),
    }
}

fn model_error_of_webc(error: webc::Error, redacted: &Redactor) -> ModelError {
    match error {
        webc::Error::ResponseFailedStatus { status, body, headers } => {
            failure::redacted_error_of_status(status, &headers, &body, |text| redacted.redacted_text(text))
        }
        webc::Error::Reqwest(error) => failure::connection_error(error, None),
        other => malformed_response_error(&redacted.redacted_text(&other.to_string())),
    }
}

fn malformed_response_error(cause: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, format!("the response cannot be read: {cause}"))
}

fn error_kind(error: &Error) -> ModelErrorKind {
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
