//! Several sources of the items of a server, which prompts and resources have in common.

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use tool_runtime::{
    ErrorKind, ToolError,
    diagnostic::{Diagnostic, Severity},
    guard::Panic,
    policy::Escape,
};

/// The most items that a source lists.
pub(super) const MAX_LISTED: usize = 100_000;
/// The most items of a page of a source.
pub(super) const PAGE_ITEMS: usize = 1_000;
/// The most characters of a problem that a diagnostic has.
const MAX_PROBLEM_CHARS: usize = 500;

/// Lists all items of a source, page by page: a future in the panic barrier.
macro_rules! list_source {
    ($source:expr, $list:ident, $run:expr) => {
        tool_runtime::guard::catch_async(|| async {
            let (mut items, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let paging = crate::server::Paging::new(cursor.as_deref(), super::sources::PAGE_ITEMS);
                let page = $source.$list($run, paging).await?;
                let is_empty = page.items.is_empty();
                items.extend(page.items);
                if items.len() > super::sources::MAX_LISTED {
                    break Err(tool_runtime::ToolError::failed(format!(
                        "it lists more than {} items; list fewer",
                        super::sources::MAX_LISTED
                    )));
                }
                match page.next {
                    Some(next) if !is_empty && cursor.as_ref() != Some(&next) => cursor = Some(next),
                    Some(_) => {
                        break Err(tool_runtime::ToolError::failed(
                            "a page of its list has no items, or is its own next one",
                        ));
                    }
                    None => break Ok(items),
                }
            }
        })
    };
}
pub(super) use list_source;

/// The items of several sources, of which the first of a key counts.
pub(super) struct MergedList<T> {
    /// The items are of this kind, for messages.
    kind: &'static str,
    pub(super) items: Vec<T>,
    keys: HashSet<String>,
    failures: Vec<ToolError>,
    diagnostics: Vec<Diagnostic>,
}

impl<T> MergedList<T> {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, items: Vec::new(), keys: HashSet::new(), failures: Vec::new(), diagnostics: Vec::new() }
    }

    /// Adds the items of the next source. One that failed costs its own items, with a diagnostic.
    pub(super) fn add_source(
        &mut self,
        listed: Result<Result<Vec<T>, ToolError>, Panic>,
        key: impl Fn(&T) -> &str,
    ) {
        let listed = match listed {
            Ok(Ok(listed)) => listed,
            Ok(Err(error)) => {
                let reason = Some(error.reason()).filter(|reason| !reason.is_empty());
                let problem = reason.map_or_else(|| error.feedback(), Cow::into_owned);
                return self.add_failure(&problem, error);
            }
            Err(panic) => {
                return self.add_failure(&format!("it panicked: {}", panic.message()), panic.into());
            }
        };
        for item in listed {
            if self.keys.insert(key(&item).to_owned()) {
                self.items.push(item);
                continue;
            }
            let problem =
                format!("the {} `{}` is listed more than once; the first one counts", self.kind, key(&item));
            self.add_diagnostic(Severity::Warning, "duplicate_item", &problem);
        }
    }

    fn add_failure(&mut self, problem: &str, error: ToolError) {
        let problem = format!("a source of {}s cannot be listed: {problem}", self.kind);
        self.add_diagnostic(Severity::Error, "unlisted_items", &problem);
        self.failures.push(error);
    }

    fn add_diagnostic(&mut self, severity: Severity, code: &'static str, problem: &str) {
        let message = Escape::LINE.at_most(MAX_PROBLEM_CHARS).text(problem);
        self.diagnostics.push(Diagnostic::new(severity, code, message));
    }

    /// Returns the items, or the first error if each of the `sources` failed; notes the diagnostics.
    pub(super) fn into_items_unless_all_failed(
        self,
        sources: usize,
        notes: &DiagnosticNotes,
    ) -> Result<Vec<T>, ToolError> {
        if self.failures.len() < sources {
            notes.replace_all(self.diagnostics);
            return Ok(self.items);
        }
        self.failures.into_iter().next().map_or(Ok(self.items), Err)
    }
}

/// Diagnostics until they are taken; of many, the last ones.
#[derive(Default)]
pub(super) struct DiagnosticNotes(Mutex<Vec<Diagnostic>>);

impl DiagnosticNotes {
    fn replace_all(&self, diagnostics: Vec<Diagnostic>) {
        // Those of the list before are of no interest any more.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = diagnostics;
    }

    pub(super) fn take(&self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The errors of the sources that were asked for an item.
#[derive(Default)]
pub(super) struct UnknownItem(Option<ToolError>);

impl UnknownItem {
    /// Notes that a source does not have the item; returns the result of one that has it.
    pub(super) fn note_if_not_found<T>(
        &mut self,
        result: Result<T, ToolError>,
    ) -> Option<Result<T, ToolError>> {
        match result {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.0.get_or_insert(error);
                None
            }
            result => Some(result),
        }
    }

    pub(super) fn into_error(self, kind: &str, key: &str) -> ToolError {
        let shown = || Escape::LINE.at_most(MAX_PROBLEM_CHARS).text(key);
        self.0.unwrap_or_else(|| ToolError::not_found(format!("there is no {kind} `{}`", shown())))
    }
}
