//! Diagnostics of answers: parts of them that cannot be read.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tool_runtime::{
    diagnostic::{Diagnostic, Severity},
    policy::Escape,
};

/// The maximum number of different diagnostics of one code, so that a server that causes many hides none of another code.
const MAX_NOTICES_PER_CODE: usize = 20;
/// The maximum length of the name of a tool, a server or a member in a message.
pub(super) const MAX_NAME_CHARS: usize = 100;
/// The maximum length of the text of a server in a diagnostic.
const MAX_PROBLEM_CHARS: usize = 500;

/// The diagnostics of the answers of a server: each once, and the first ones only.
pub(super) struct Notices {
    server: Arc<str>,
    /// By their texts.
    diagnostics: Mutex<BTreeMap<String, Diagnostic>>,
}

impl Notices {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self { server, diagnostics: Mutex::default() }
    }

    /// Adds a warning about an answer; `tool` is the name of the tool that it belongs to.
    pub(super) fn add_warning(&self, code: &'static str, tool: Option<&str>, problem: &str) {
        let problem = Escape::LINE.at_most(MAX_PROBLEM_CHARS).text(problem);
        let mut diagnostic = Diagnostic::new(Severity::Warning, code, problem);
        if let Some(tool) = tool {
            diagnostic = diagnostic.of_tool(Escape::LINE.at_most(MAX_NAME_CHARS).text(tool));
        }
        self.add_if_new(diagnostic);
    }

    /// Adds a diagnostic, unless it is known.
    pub(super) fn add_if_new(&self, diagnostic: Diagnostic) {
        let text = diagnostic.to_string();
        let mut diagnostics = self.diagnostics.lock().unwrap_or_else(PoisonError::into_inner);
        let of_code = diagnostics.values().filter(|it| it.code == diagnostic.code).count();
        if of_code >= MAX_NOTICES_PER_CODE || diagnostics.contains_key(&text) {
            return;
        }
        tracing::warn!(server = &*self.server, "{text}");
        diagnostics.insert(text, diagnostic);
    }

    /// Returns the diagnostics.
    pub(super) fn diagnostics(&self) -> Vec<Diagnostic> {
        self.diagnostics.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_is_kept_once_and_the_first_of_a_code_are() {
        let notices = Notices::new("s".into());
        for number in 0..MAX_NOTICES_PER_CODE + 5 {
            notices.add_warning("many", None, &format!("problem {number:02}"));
            notices.add_warning("many", None, &format!("problem {number:02}"));
        }
        notices.add_warning("other", None, "another problem");
        let count = |code: &str| notices.diagnostics().iter().filter(|it| it.code == code).count();
        assert_eq!((count("many"), count("other")), (MAX_NOTICES_PER_CODE, 1));
        assert!(notices.diagnostics().iter().all(|it| it.severity == Severity::Warning));
    }

    #[test]
    fn texts_of_a_server_are_escaped_and_bounded() {
        let notices = Notices::new("s".into());
        notices.add_warning("code", Some(&format!("t\u{1b}{}", "x".repeat(200))), &"p".repeat(1_000));
        notices.add_warning("code", None, "short");
        let diagnostics = notices.diagnostics();
        let tools: Vec<_> =
            diagnostics.iter().map(|it| it.location.tool.as_ref().map(ToString::to_string)).collect();
        assert_eq!(tools.iter().filter(|it| it.is_none()).count(), 1);
        let tool = tools.into_iter().flatten().next().unwrap_or_default();
        assert!((100..140).contains(&tool.len()) && !tool.contains('\u{1b}'), "{tool}");
        let longest = diagnostics.iter().map(|it| it.message.len()).max();
        assert!(longest.is_some_and(|bytes| (500..540).contains(&bytes)), "{longest:?}");
    }
}
