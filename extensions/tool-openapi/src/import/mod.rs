//! A document becomes operations.
//!
//! Each operation is imported by itself: what it has that cannot be carried is a diagnostic, or the reason why it is skipped, and
//! never costs another operation. The document is dropped afterwards; what calls and output schemas still need of it is kept as text.

mod body;
mod encoding;
mod found;
mod hint;
mod input;
mod name;
mod operation;
mod parameter;
mod response;
mod response_schemas;
mod schema;
mod security;
mod server;
mod upload;

use std::{collections::HashSet, fmt, sync::Arc};

use serde_json::Value;
use tool_http::HttpClient;
use tool_runtime::{
    ToolName,
    diagnostic::{Diagnostic, Severity},
};

pub(crate) use self::operation::ImportedOperation;
use self::{found::FoundOperation, operation::OperationReader, response_schemas::ResponseSchemas};
use crate::{
    OpenApiError,
    auth::ResolvedCredentials,
    document::{Document, DocumentPlace, Documents},
    settings::Settings,
};

/// An operation of a document that is no tool, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedOperation {
    /// The id of the operation, or else its method and path.
    pub operation: String,
    /// The JSON pointer of the operation, or of the part of it that cannot be carried; in another file after its name and `#`.
    pub pointer: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for SkippedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, pointer, reason } = self;
        write!(f, "`{operation}` is skipped: {reason} (at `{pointer}`)")
    }
}

/// The operations of a document, and what the import has to say about them.
pub(crate) struct ImportedDocument {
    pub(crate) operations: Vec<ImportedOperation>,
    pub(crate) skipped: Vec<SkippedOperation>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Imports the operations of `document` that `settings` select.
pub(crate) fn import_document(
    document: Document,
    settings: &Settings,
    http: &HttpClient,
) -> Result<ImportedDocument, OpenApiError> {
    let fetched = document.fetched_from().cloned();
    let documents = Documents::new(document);
    let (mut report, response_schemas) = (ImportReport::default(), Arc::new(ResponseSchemas::default()));
    let mut read: Vec<ImportedOperation> = Vec::new();
    let mut names: HashSet<ToolName> = HashSet::new();
    let base = settings.base_url.as_ref();
    let schemes = security::security_schemes(&documents, fetched.as_ref().map(|it| &it.url).or(base));
    let credentials = ResolvedCredentials::new(schemes, settings.access.credentials.clone(), base, http)?;
    let reader =
        OperationReader::new(&documents, settings, fetched, credentials, Arc::clone(&response_schemas));
    let all = found::find_operations(&documents, &mut report);
    warn_of_unknown_ids(&all, settings, &mut report);
    if settings.base_url.is_none() {
        reader.warn_of_document_servers(&mut report);
    }
    let mut without_base = None;
    let named =
        if settings.readable_names { name::readable_tool_names(&all) } else { name::stable_tool_names(&all) };
    for (found, name) in named {
        if !settings.choice.selects_operation(&found.operation_info()) {
            continue;
        }
        if settings.skip_unnamed && found.id().is_none() {
            report.add_skipped_operation(found, &found.place, "it has no `operationId`".to_owned());
            continue;
        }
        let Some(name) = name else {
            report.add_skipped_operation(
                found,
                &found.place,
                "another operation has its method and path".to_owned(),
            );
            continue;
        };
        if found.id().is_some_and(|id| id != name.raw()) {
            let message = format!(
                "the `operationId` is not unique or reserved; the name is `{name}`, of method and path"
            );
            report.warn("duplicate_id", name.as_str(), &found.place, message);
        }
        let operation = reader.read_operation(found, name, &mut report);
        match operation.and_then(|it| customize_operation(it, found, settings, &mut names)) {
            Ok(operation) => {
                reader.commit_pending_bytes();
                read.push(operation);
            }
            Err(problem) => {
                let mut reason = problem.reason;
                if problem.has_no_base {
                    reason.push_str("; set one with `base_url`");
                    without_base.get_or_insert_with(|| reason.clone());
                }
                report.add_skipped_operation(found, &problem.place, reason);
            }
        }
    }
    // A part of the operations may have a server of their own.
    if let (true, Some(reason)) = (read.is_empty(), without_base) {
        return Err(OpenApiError::config(format!("there is no base URL: {reason}")));
    }
    let responses = reader.into_output_components(&mut report)?;
    response_schemas.set_components(responses.into_component_texts());
    for id in settings.calls.views_of_unknown_operations(read.iter().map(|it| &it.definition)) {
        let message = format!("there is no tool of the operation `{id}`, which has a view");
        report.warn_document("unknown_view", message);
    }
    let (skipped, diagnostics) = report.into_skipped_and_diagnostics(&documents);
    Ok(ImportedDocument { operations: read, skipped, diagnostics })
}

/// Applies the descriptions of the program, and makes sure that a registry accepts the name.
fn customize_operation(
    read: ImportedOperation,
    found: &FoundOperation<'_>,
    settings: &Settings,
    names: &mut HashSet<ToolName>,
) -> Result<ImportedOperation, ImportProblem> {
    let definition = settings
        .choice
        .customized_definition(&found.operation_info(), read.definition)
        .map_err(|reason| ImportProblem::new(&found.place, reason))?;
    if !names.insert(definition.name().clone()) {
        let message = format!("another tool has the name `{}`", definition.name());
        return Err(ImportProblem::new(&found.place, message));
    }
    Ok(ImportedOperation { definition, ..read })
}

/// Warns of ids that the program chose and no operation has.
fn warn_of_unknown_ids(all: &[FoundOperation<'_>], settings: &Settings, report: &mut ImportReport) {
    let known: HashSet<_> = all.iter().filter_map(FoundOperation::id).collect();
    for id in settings.choice.ids.iter().filter(|id| !known.contains(&***id)) {
        let message = format!("no operation has the id `{id}`");
        report.warn("unknown_operation", "", &DocumentPlace::new(0, "/paths"), message);
    }
}

/// The reason why an operation cannot be carried.
#[derive(Debug)]
pub(crate) struct ImportProblem {
    pub(crate) place: DocumentPlace,
    pub(crate) reason: String,
    /// There is no base URL, which the program can set.
    pub(crate) has_no_base: bool,
}

impl ImportProblem {
    pub(crate) fn new(place: &DocumentPlace, reason: impl Into<String>) -> Self {
        Self { place: place.clone(), reason: reason.into(), has_no_base: false }
    }
}

/// The maximum size of all skipped operations and diagnostics of an import, in bytes: those of a hostile document may exceed the
/// document many times.
const MAX_REPORT_BYTES: usize = 64 << 20;

/// The size of an entry of a report without its texts, in bytes: an estimate.
const ENTRY_BYTES: usize = 256;

/// Skipped operations and diagnostics of an import.
#[derive(Default)]
pub(crate) struct ImportReport {
    skipped: Vec<(SkippedOperation, DocumentPlace)>,
    diagnostics: Vec<(Diagnostic, DocumentPlace)>,
    size: usize,
    /// The entries that exceed the maximum size.
    omitted: usize,
}

impl ImportReport {
    /// Counts an entry with these texts, whose pointer is in two places at most; `false` if it exceeds the maximum size.
    fn reserve_entry_room(&mut self, place: &DocumentPlace, texts: &[&str]) -> bool {
        let size = ENTRY_BYTES + 2 * place.pointer.len() + texts.iter().map(|it| it.len()).sum::<usize>();
        let has_room = self.size.saturating_add(size) <= MAX_REPORT_BYTES;
        if has_room {
            self.size += size;
        } else {
            self.omitted += 1;
        }
        has_room
    }

    fn add_skipped_operation(&mut self, found: &FoundOperation<'_>, place: &DocumentPlace, reason: String) {
        self.add_skipped_value(found.id_or_path(), place, reason);
    }

    /// Adds a skipped value that is no operation.
    fn add_skipped_value(
        &mut self,
        operation: impl Into<String>,
        place: &DocumentPlace,
        reason: impl Into<String>,
    ) {
        let (operation, reason) = (operation.into(), reason.into());
        if !self.reserve_entry_room(place, &[&operation, &reason]) {
            return;
        }
        let skipped = SkippedOperation { operation, pointer: String::new(), reason };
        self.skipped.push((skipped, place.clone()));
    }

    /// Adds a warning about a part of an operation.
    pub(crate) fn warn(
        &mut self,
        code: &'static str,
        tool: &str,
        place: &DocumentPlace,
        message: impl Into<String>,
    ) {
        self.add_diagnostic(Severity::Warning, code, tool, place, message.into());
    }

    /// Adds a note about a part of an operation.
    pub(crate) fn note(
        &mut self,
        code: &'static str,
        tool: &str,
        place: &DocumentPlace,
        message: impl Into<String>,
    ) {
        self.add_diagnostic(Severity::Note, code, tool, place, message.into());
    }

    /// Adds a warning about the document as a whole.
    fn warn_document(&mut self, code: &'static str, message: impl Into<String>) {
        self.diagnostics.push((Diagnostic::new(Severity::Warning, code, message), DocumentPlace::new(0, "")));
    }

    fn add_diagnostic(
        &mut self,
        severity: Severity,
        code: &'static str,
        tool: &str,
        place: &DocumentPlace,
        message: String,
    ) {
        if !self.reserve_entry_room(place, &[tool, &message]) {
            return;
        }
        let diagnostic = Diagnostic::new(severity, code, message);
        let diagnostic = if tool.is_empty() { diagnostic } else { diagnostic.of_tool(tool) };
        self.diagnostics.push((diagnostic, place.clone()));
    }

    /// Returns everything, with pointers into the documents as they were written.
    fn into_skipped_and_diagnostics(
        mut self,
        documents: &Documents,
    ) -> (Vec<SkippedOperation>, Vec<Diagnostic>) {
        if self.omitted > 0 {
            let message = format!(
                "{} more skipped operations and diagnostics are not listed: the report has its maximum size",
                self.omitted
            );
            self.warn_document("omitted", message);
        }
        let skipped = self.skipped.into_iter().map(|(mut it, place)| {
            it.pointer = documents.pointer_in_source(&place);
            it
        });
        let diagnostics = self.diagnostics.into_iter().map(|(mut it, place)| {
            it.location.pointer = documents.pointer_in_source(&place);
            it
        });
        (skipped.collect(), diagnostics.collect())
    }
}

/// Returns a text member of `value`.
pub(crate) fn non_empty_text_member<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).map(str::trim).filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_report_have_a_maximum_size_in_all() {
        let place = DocumentPlace::new(0, "/paths");
        let mut report = ImportReport::default();
        report.warn("paths", "tool", &place, "message");
        let entry = ENTRY_BYTES + 2 * "/paths".len() + "tool".len() + "message".len();
        assert_eq!(report.size, entry);
        report.add_skipped_value("operation", &place, "reason");
        let skipped = ENTRY_BYTES + 2 * "/paths".len() + "operation".len() + "reason".len();
        assert_eq!(report.size, entry + skipped);
        report.size = MAX_REPORT_BYTES - entry;
        report.note("paths", "tool", &place, "message");
        assert_eq!((report.size, report.omitted, report.diagnostics.len()), (MAX_REPORT_BYTES, 0, 2));
        report.size = MAX_REPORT_BYTES - entry + 1;
        report.note("paths", "tool", &place, "message");
        report.add_skipped_value("tool", &place, "message");
        assert_eq!((report.omitted, report.diagnostics.len(), report.skipped.len()), (2, 2, 1));
        assert_eq!(report.size, MAX_REPORT_BYTES - entry + 1);
    }
}
