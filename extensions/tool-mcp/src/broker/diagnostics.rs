//! The diagnostics of the servers of a broker.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tool_runtime::diagnostic::Diagnostic;

/// The diagnostics of the last listing of each server.
#[derive(Default)]
pub(super) struct ListingDiagnostics(Mutex<BTreeMap<String, Vec<Diagnostic>>>);

impl ListingDiagnostics {
    /// Sets the diagnostics of a server, and logs those that are new.
    pub(super) fn replace_and_log_new(&self, server: &str, diagnostics: Vec<Diagnostic>) {
        let all = self.0.lock();
        let before = all
            .unwrap_or_else(PoisonError::into_inner)
            .insert(server.to_owned(), diagnostics.clone())
            .unwrap_or_default();
        for diagnostic in diagnostics.iter().filter(|diagnostic| !before.contains(diagnostic)) {
            tracing::warn!(server, code = diagnostic.code, "{diagnostic}");
        }
    }

    /// Returns the diagnostics of all servers, by name.
    pub(super) fn all(&self) -> BTreeMap<String, Vec<Diagnostic>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter()
            .filter(|(_, diagnostics)| !diagnostics.is_empty())
            .map(|(name, it)| (name.clone(), it.clone()))
            .collect()
    }
}
