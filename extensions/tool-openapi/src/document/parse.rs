//! Text to value.

use std::{fs::File, io::Read as _, path::Path};

use serde_json::Value;

use crate::{OpenApiError, OpenApiErrorKind};

/// The maximum size of a document, in bytes.
pub(super) const MAX_DOCUMENT_BYTES: u64 = 64 << 20;

/// The stack of the parser of YAML, in bytes.
const YAML_STACK_BYTES: usize = 32 << 20;

/// Reads a file as text.
pub(super) fn read_text(path: &Path) -> Result<String, OpenApiError> {
    let failure = |error: std::io::Error| {
        let message = format!("`{}` cannot be read: {error}", path.display());
        OpenApiError::new(OpenApiErrorKind::Unreadable, message).with_source(error)
    };
    let mut text = String::new();
    let file = File::open(path).map_err(failure)?;
    file.take(MAX_DOCUMENT_BYTES + 1).read_to_string(&mut text).map_err(failure)?;
    if text.len() as u64 > MAX_DOCUMENT_BYTES {
        let message = format!("`{}` is longer than {MAX_DOCUMENT_BYTES} bytes", path.display());
        return Err(OpenApiError::new(OpenApiErrorKind::Unreadable, message));
    }
    Ok(text)
}

/// Parses JSON or YAML, told apart by the first character.
pub(super) fn parse_document(text: &str) -> Result<Value, OpenApiError> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('<') {
        let message = "expected an OpenAPI document in JSON or YAML, received a page of HTML or XML";
        return Err(OpenApiError::new(OpenApiErrorKind::Malformed, message));
    }
    if text.trim_start().starts_with(['{', '[']) {
        return serde_json::from_str(text).map_err(|error| malformed_document_error("JSON", error));
    }
    // The parser recurses, with large frames: whatever the stack of the caller is, a deep document is an error.
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().name("yaml".to_owned()).stack_size(YAML_STACK_BYTES);
        let parsing = parser.spawn_scoped(scope, || parse_yaml(text));
        let failed = |what: String| OpenApiError::new(OpenApiErrorKind::Unreadable, what);
        let parsing = parsing.map_err(|error| {
            failed(format!("no thread can be started to read YAML: {error}")).with_source(error)
        })?;
        parsing.join().unwrap_or_else(|_| Err(failed("the parser of YAML panicked".to_owned())))
    })
}

fn parse_yaml(text: &str) -> Result<Value, OpenApiError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 16_000_000,
            max_nodes: 8_000_000,
            max_depth: 120,
            max_total_scalar_bytes: 64 << 20,
            // One anchor may well be used a hundred times; the total of what aliases repeat is limited.
            enforce_alias_anchor_ratio: false,
        },
        // As in YAML 1.2, and as other readers of OpenAPI: a property named `y` and the country `NO` are texts.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| malformed_document_error("YAML", error))
}

fn malformed_document_error(
    format: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> OpenApiError {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    OpenApiError::new(OpenApiErrorKind::Malformed, format!("the document is not valid {format}: {text}"))
        .with_source(error)
}
