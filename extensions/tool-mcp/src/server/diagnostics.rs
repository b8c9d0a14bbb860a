//! The diagnostics of a server: tools, prompts and resources that it does not have, although it should, and rules that apply to none.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tool_runtime::diagnostic::{Diagnostic, Severity};

/// The time after which a diagnostic that occurs again is a new one, and one that does not is over.
const RECENT_TIME: Duration = Duration::from_secs(60);
/// The most diagnostics that are remembered.
const MAX_RECENT: usize = 1_024;

/// A closure of the program that receives diagnostics.
type DiagnosticListener = Arc<dyn Fn(&Diagnostic) + Send + Sync>;

/// The diagnostics of a server. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct DiagnosticLog {
    recent: Arc<Mutex<HashMap<String, RecentDiagnostic>>>,
    listener: Option<DiagnosticListener>,
}

struct RecentDiagnostic {
    diagnostic: Diagnostic,
    /// `None` if it does not depend on the run.
    last: Option<Instant>,
}

impl RecentDiagnostic {
    fn is_over(&self) -> bool {
        self.last.is_some_and(|last| last.elapsed() > RECENT_TIME)
    }
}

impl fmt::Debug for DiagnosticLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}

impl DiagnosticLog {
    pub(super) fn set_listener(&mut self, listener: DiagnosticListener) {
        self.listener = Some(listener);
    }

    fn lock_recent(&self) -> std::sync::MutexGuard<'_, HashMap<String, RecentDiagnostic>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns those that are not over.
    pub(super) fn list(&self) -> Vec<Diagnostic> {
        let recent = self.lock_recent();
        let mut list: Vec<_> =
            recent.values().filter(|it| !it.is_over()).map(|it| it.diagnostic.clone()).collect();
        list.sort_by(|one, other| (one.code, &one.message).cmp(&(other.code, &other.message)));
        list
    }

    /// Logs the diagnostics that are new, and passes them to the listener. They are of a run, unless they are `lasting`.
    pub(super) fn report<'a, D>(&self, diagnostics: &'a [D], lasting: bool)
    where
        Diagnostic: From<&'a D>,
    {
        for diagnostic in diagnostics {
            self.report_diagnostic(&Diagnostic::from(diagnostic), lasting);
        }
    }

    /// Logs the diagnostics of a list of prompts or resources, as [`report`](Self::report) does.
    pub(super) fn report_list(&self, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            self.report_diagnostic(diagnostic, false);
        }
    }

    fn report_diagnostic(&self, diagnostic: &Diagnostic, lasting: bool) {
        if self.note_if_new(diagnostic, lasting) {
            self.log_and_notify_listener(diagnostic);
        }
    }

    fn note_if_new(&self, diagnostic: &Diagnostic, lasting: bool) -> bool {
        let key = format!("{} {}", diagnostic.code, diagnostic.message);
        let last = (!lasting).then(Instant::now);
        let mut recent = self.lock_recent();
        if let Some(known) = recent.get_mut(&key) {
            let is_over = known.is_over();
            known.last = last;
            return is_over;
        }
        if recent.len() >= MAX_RECENT {
            recent.retain(|_, known| !known.is_over());
        }
        let has_place = recent.len() < MAX_RECENT;
        if has_place {
            recent.insert(key, RecentDiagnostic { diagnostic: diagnostic.clone(), last });
        }
        // Beyond it, texts that are new each time are not reported.
        has_place
    }

    fn log_and_notify_listener(&self, diagnostic: &Diagnostic) {
        let Diagnostic { code, message, .. } = diagnostic;
        match diagnostic.severity {
            Severity::Error => tracing::error!(code, "the server lacks an item: {message}"),
            Severity::Warning => tracing::warn!(code, "an item of the server: {message}"),
            _ => tracing::info!(code, "an item of the server: {message}"),
        }
        if let Some(listener) = &self.listener
            && let Err(panic) = tool_runtime::guard::catch(|| listener(diagnostic))
        {
            tracing::error!(message = panic.message(), "the listener of diagnostics panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use test_support::collectors::EventLog;
    use tool_runtime::toolbox::RunDiagnostic;

    use super::*;

    fn diagnostic(toolset: &str) -> RunDiagnostic {
        RunDiagnostic::NotListed {
            toolset: toolset.to_owned(),
            error: tool_runtime::ToolError::failed("it is down"),
            listed_last: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_diagnostic_is_reported_once_until_it_was_over() {
        let reports = Arc::new(Mutex::new(0));
        let mut diagnostics = DiagnosticLog::default();
        let count = Arc::clone(&reports);
        diagnostics
            .set_listener(Arc::new(move |_| *count.lock().unwrap_or_else(PoisonError::into_inner) += 1));
        let reports = || *reports.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..3 {
            diagnostics.report(&[diagnostic("a"), diagnostic("b")], false);
            tokio::time::advance(RECENT_TIME / 2).await;
        }
        assert_eq!((reports(), diagnostics.list().len()), (2, 2));
        tokio::time::advance(RECENT_TIME).await;
        assert!(diagnostics.list().is_empty());
        diagnostics.report(&[diagnostic("a")], false);
        assert_eq!((reports(), diagnostics.list().len()), (3, 1));
        for number in 0..2 * MAX_RECENT {
            diagnostics.report(&[diagnostic(&number.to_string())], false);
        }
        assert_eq!(diagnostics.list().len(), MAX_RECENT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_diagnostic_is_over_after_a_minute_unless_it_lasts() {
        let log = DiagnosticLog::default();
        log.report(&[diagnostic("b"), diagnostic("a")], false);
        log.report(&[diagnostic("lasting")], true);
        tokio::time::advance(RECENT_TIME).await;
        let messages: Vec<_> = log.list().into_iter().map(|it| it.message).collect();
        assert_eq!(messages.len(), 3);
        assert!(messages.is_sorted(), "{messages:?}");
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        let left = log.list();
        assert!(left.len() == 1 && left[0].message.contains("lasting"), "{left:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn diagnostics_that_are_over_make_room_for_new_ones() {
        let log = DiagnosticLog::default();
        for number in 0..MAX_RECENT {
            log.report(&[diagnostic(&number.to_string())], false);
        }
        let is_new = |name: &str| log.note_if_new(&Diagnostic::from(&diagnostic(name)), false);
        assert!(!is_new("one more") && !is_new("0"));
        tokio::time::advance(RECENT_TIME * 2).await;
        assert!(is_new("one more"));
        assert_eq!(log.lock_recent().len(), 1);
    }

    #[test]
    fn a_diagnostic_is_a_line_of_the_log_with_its_severity() {
        for (severity, line) in [
            (
                Severity::Error,
                "ERROR tool_mcp::server::diagnostics: the server lacks an item: m {code: \"c\"}",
            ),
            (Severity::Warning, "WARN tool_mcp::server::diagnostics: an item of the server: m {code: \"c\"}"),
            (Severity::Note, "INFO tool_mcp::server::diagnostics: an item of the server: m {code: \"c\"}"),
        ] {
            let mut diagnostic = Diagnostic::from(&diagnostic("a"));
            (diagnostic.severity, diagnostic.code, diagnostic.message) = (severity, "c", "m".to_owned());
            let events =
                EventLog::events_of(|| DiagnosticLog::default().log_and_notify_listener(&diagnostic));
            assert_eq!(events, [line]);
        }
    }

    #[test]
    fn a_listener_that_panics_is_called_again() {
        let count = Arc::new(Mutex::new(0));
        let mut log = DiagnosticLog::default();
        let calls = Arc::clone(&count);
        log.set_listener(Arc::new(move |_| {
            *calls.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            std::panic::resume_unwind(Box::new("it broke"));
        }));
        log.report(&[diagnostic("a"), diagnostic("b")], true);
        assert_eq!(*count.lock().unwrap_or_else(PoisonError::into_inner), 2);
    }
}
