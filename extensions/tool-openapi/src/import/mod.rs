//! A document becomes operations.
//!
//! Each operation is imported by itself: what it has that cannot be carried is a diagnostic, or the reason why it is skipped, and
//! never costs another operation. The document is dropped afterwards; what calls and output schemas still need of it is kept as text.

mod body;
mod encoding;
mod name;
mod operation;
mod parameter;
mod response;
mod schema;
mod security;
mod server;
mod upload;

use std::{collections::HashSet, sync::Arc};

use serde_json::Value;
use tool_runtime::{
    ToolName,
    diagnostic::{Diagnostic, Severity},
};

use self::operation::{Found, Read, Reading};
pub(crate) use self::{
    body::{essence, is_json},
    schema::assembled,
};
use crate::{
    OpenApiError,
    auth::Granted,
    client::HttpClient,
    document::{Document, Documents, Place},
    response::Shapes,
    settings::Settings,
    tool::{Api, OperationTool},
};

/// An operation of a document that is no tool, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedOperation {
    /// The id of the operation, or else its method and path.
    pub operation: String,
    /// The JSON pointer of the operation, or of the part of it that cannot be carried.
    pub pointer: String,
    /// The reason.
    pub reason: String,
}

/// The tools of a document, and what the import has to say about it.
pub(crate) struct Imported {
    pub(crate) tools: Vec<Arc<OperationTool>>,
    pub(crate) skipped: Vec<SkippedOperation>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Imports the operations of `document` that `settings` select.
pub(crate) fn import(
    document: Document,
    settings: Settings,
    client: HttpClient,
) -> Result<Imported, OpenApiError> {
    let fetched = document.fetched().cloned();
    let documents = Documents::new(document);
    let (mut report, shapes) = (Report::default(), Arc::new(Shapes::default()));
    let mut read: Vec<Read> = Vec::new();
    let mut names: HashSet<ToolName> = HashSet::new();
    let base = settings.base_url.as_ref();
    let schemes = security::schemes(&documents, fetched.as_ref().map(|it| &it.url).or(base));
    let granted = Granted::new(schemes, settings.reach.credentials.clone(), base, client.direct())?;
    let reading = Reading::new(&documents, &settings, fetched, granted, Arc::clone(&shapes));
    for found in operation::all(&documents, &mut report) {
        if !settings.selects(&found.described()) {
            continue;
        }
        if settings.skip_unnamed && found.id().is_none() {
            report.skip(&found, &found.place, "it has no `operationId`".to_owned());
            continue;
        }
        let name = operation::name_of(&found, |name| names.contains(name));
        if !names.insert(name.clone()) {
            report.skip(&found, &found.place, format!("another operation has its name `{name}`"));
            continue;
        }
        if found.id().is_some_and(|id| id != name.raw()) {
            let message =
                "another operation has the same `operationId`, so this one is named by its method and path";
            report.warn("duplicate_id", name.as_str(), &found.place, message);
        }
        match reading.operation(&found, name, &mut report) {
            Ok(operation) => read.push(operation),
            Err(problem) if problem.is_fatal => {
                let message = format!("{}; set one with `base_url`", problem.reason);
                return Err(OpenApiError::config(message));
            }
            Err(problem) => report.skip(&found, &problem.place, problem.reason),
        }
    }
    let responses = reading.finish(&mut report)?;
    shapes.complete(responses.into_texts());
    drop(documents);
    let api = Arc::new(Api { client, shapes, settings });
    let tools =
        read.into_iter().map(|it| OperationTool::new(it.definition, it.plan, it.access, Arc::clone(&api)));
    let tools = tools.map(Arc::new);
    Ok(Imported { tools: tools.collect(), skipped: report.skipped, diagnostics: report.diagnostics })
}

/// The reason why an operation cannot be carried.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    pub(crate) reason: String,
    /// No operation of the document can be carried.
    pub(crate) is_fatal: bool,
}

impl Problem {
    pub(crate) fn new(place: &Place, reason: impl Into<String>) -> Self {
        Self { place: place.clone(), reason: reason.into(), is_fatal: false }
    }
}

/// Skipped operations and diagnostics of an import.
#[derive(Default)]
pub(crate) struct Report {
    skipped: Vec<SkippedOperation>,
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    fn skip(&mut self, found: &Found<'_>, place: &Place, reason: String) {
        let operation = found.label();
        self.skipped.push(SkippedOperation { operation, pointer: place.pointer.clone(), reason });
    }

    /// Adds a skipped value that is no operation.
    fn skip_value(&mut self, operation: impl Into<String>, place: &Place, reason: impl Into<String>) {
        self.skipped.push(SkippedOperation {
            operation: operation.into(),
            pointer: place.pointer.clone(),
            reason: reason.into(),
        });
    }

    /// Adds a warning about a part of an operation.
    pub(crate) fn warn(&mut self, code: &'static str, tool: &str, place: &Place, message: impl Into<String>) {
        self.add(Severity::Warning, code, tool, place, message.into());
    }

    /// Adds a note about a part of an operation.
    pub(crate) fn note(&mut self, code: &'static str, tool: &str, place: &Place, message: impl Into<String>) {
        self.add(Severity::Note, code, tool, place, message.into());
    }

    /// Adds a warning about the document as a whole.
    fn warn_document(&mut self, code: &'static str, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(Severity::Warning, code, message));
    }

    fn add(&mut self, severity: Severity, code: &'static str, tool: &str, place: &Place, message: String) {
        let mut diagnostic = Diagnostic::new(severity, code, message).of_tool(tool);
        diagnostic.location.pointer.clone_from(&place.pointer);
        self.diagnostics.push(diagnostic);
    }
}

/// Returns a text member of `value`.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).map(str::trim).filter(|it| !it.is_empty())
}
