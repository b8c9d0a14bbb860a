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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]
mod tests {
    use super::*;

    /// The items of a source, each with the number of its source.
    type SourceItems = Result<Result<Vec<(&'static str, u32)>, ToolError>, Panic>;

    fn panicked(message: &'static str) -> Panic {
        tool_runtime::guard::catch(|| std::panic::resume_unwind(Box::new(message))).unwrap_err()
    }

    /// The items of `sources`, and the severities, codes and messages of their diagnostics.
    #[allow(clippy::type_complexity, reason = "a test compares all of it")]
    fn merged(
        sources: Vec<SourceItems>,
    ) -> (Result<Vec<(&'static str, u32)>, ToolError>, Vec<(Severity, &'static str, String)>) {
        let (mut list, notes, number) =
            (MergedList::new("prompt"), DiagnosticNotes::default(), sources.len());
        for listed in sources {
            list.add_source(listed, |(key, _)| key);
        }
        let items = list.into_items_unless_all_failed(number, &notes);
        let diagnostics = notes.take().into_iter().map(|it| (it.severity, it.code, it.message)).collect();
        assert!(notes.take().is_empty());
        (items, diagnostics)
    }

    #[test]
    fn of_a_key_that_is_listed_twice_the_first_item_counts() {
        let sources = vec![Ok(Ok(vec![("a", 1), ("b", 1), ("a", 1)])), Ok(Ok(vec![("b", 2), ("c", 2)]))];
        let (items, diagnostics) = merged(sources);
        assert_eq!(items.unwrap(), [("a", 1), ("b", 1), ("c", 2)]);
        let warning = |key: &str| {
            let message = format!("the prompt `{key}` is listed more than once; the first one counts");
            (Severity::Warning, "duplicate_item", message)
        };
        assert_eq!(diagnostics, [warning("a"), warning("b")]);
    }

    #[test]
    fn a_source_that_failed_costs_its_own_items() {
        let down = || Ok(Err(ToolError::failed("it is down")));
        let (items, diagnostics) = merged(vec![down(), Err(panicked("boom")), Ok(Ok(vec![("a", 3)]))]);
        assert_eq!(items.unwrap(), [("a", 3)]);
        let error = |problem: &str| {
            let message = format!("a source of prompts cannot be listed: {problem}");
            (Severity::Error, "unlisted_items", message)
        };
        assert_eq!(diagnostics, [error("it is down"), error("it panicked: boom")]);
        // If each failed, the list has the first error.
        let (items, diagnostics) = merged(vec![down(), Err(panicked("boom"))]);
        assert_eq!(items.unwrap_err().reason(), "it is down");
        assert_eq!(diagnostics, []);
        assert_eq!(merged(Vec::new()).0.unwrap(), []);
    }

    #[test]
    fn the_problem_of_a_source_is_one_bounded_line() {
        let long = Ok(Err(ToolError::failed(format!("a\nb{}", "c".repeat(2 * MAX_PROBLEM_CHARS)))));
        let (_, diagnostics) = merged(vec![long, Ok(Ok(Vec::new()))]);
        let [(_, _, message)] = &diagnostics[..] else { panic!("{diagnostics:?}") };
        assert!(!message.contains('\n'), "{message}");
        let length = message.chars().count();
        assert!((MAX_PROBLEM_CHARS..MAX_PROBLEM_CHARS + 50).contains(&length), "{length}");
    }

    #[test]
    fn diagnostics_of_a_list_replace_those_of_the_list_before() {
        let notes = DiagnosticNotes::default();
        for key in ["a", "b"] {
            let mut list = MergedList::new("prompt");
            list.add_source(Ok(Ok(vec![key, key])), |key| key);
            list.into_items_unless_all_failed(1, &notes).unwrap();
        }
        let messages: Vec<_> = notes.take().into_iter().map(|it| it.message).collect();
        assert_eq!(messages, ["the prompt `b` is listed more than once; the first one counts"]);
    }

    #[test]
    fn an_item_that_no_source_has_is_the_first_error_of_a_source() {
        let mut unknown = UnknownItem::default();
        let not_found = |text: &'static str| Err::<u32, _>(ToolError::not_found(text));
        assert!(unknown.note_if_not_found(not_found("first")).is_none());
        assert!(unknown.note_if_not_found(not_found("second")).is_none());
        assert_eq!(unknown.note_if_not_found(Ok(7)).unwrap().unwrap(), 7);
        let failed = unknown.note_if_not_found(Err::<u32, _>(ToolError::failed("it is down")));
        assert_eq!(failed.unwrap().unwrap_err().reason(), "it is down");
        assert_eq!(unknown.into_error("prompt", "p").reason(), "first");
        let none = UnknownItem::default().into_error("prompt", "p\n");
        assert_eq!((none.kind(), &*none.reason()), (ErrorKind::NotFound, r"there is no prompt `p\n`"));
    }
}
