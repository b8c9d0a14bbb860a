//! Definitions that a person has reviewed: a tool that changed since is neither listed nor called.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tool_runtime::{
    ToolDefinition,
    diagnostic::{Diagnostic, Severity},
    pin::{Change, ChangeKind, Pins},
    policy::Escape,
};

use super::{
    definitions::DefinitionReader,
    error::{ClientError, ClientErrorCause},
    notices::MAX_NAME_CHARS,
    requests::RequestSender,
};

/// The pins of a server's tools, and the tools that differ from them.
pub(super) struct PinnedDefinitions {
    pins: Pins,
    /// `true` if tools that differ are reported, and used all the same.
    warns: bool,
    /// The tools that differ, by their names at the server; `None` before the first listing.
    differing: Mutex<Option<Differing>>,
}

#[derive(Clone)]
struct Differing {
    /// The number of changes that the server had announced.
    version: u64,
    tools: Arc<HashMap<String, Change>>,
}

impl PinnedDefinitions {
    pub(super) fn new(pins: Pins, warns: bool) -> Self {
        Self { pins, warns, differing: Mutex::default() }
    }

    pub(super) fn only_warns(&self) -> bool {
        self.warns
    }

    /// Compares the tools of a listing, and returns a diagnostic for each that differs.
    pub(super) fn compare_definitions<'a>(
        &self,
        definitions: impl Iterator<Item = &'a ToolDefinition> + Clone,
        version: u64,
    ) -> Vec<Diagnostic> {
        // Two tools of the server may have one name here.
        let mut names: HashMap<&str, Vec<&str>> = HashMap::new();
        for it in definitions.clone() {
            names.entry(it.name().as_str()).or_default().push(it.raw_name());
        }
        let changes = self.pins.check_definitions(definitions);
        let changes = changes.into_iter().filter(|change| change.kind != ChangeKind::Removed);
        let mut tools = HashMap::new();
        for change in changes {
            for raw in names.get(change.tool.as_str()).into_iter().flatten() {
                tools.insert((*raw).to_owned(), change.clone());
            }
        }
        let mut diagnostics: Vec<_> = tools.values().map(|change| self.change_diagnostic(change)).collect();
        diagnostics.sort_by(|one, other| one.location.tool.cmp(&other.location.tool));
        let differing = Differing { version, tools: Arc::new(tools) };
        *self.differing.lock().unwrap_or_else(PoisonError::into_inner) = Some(differing);
        diagnostics
    }

    fn change_diagnostic(&self, change: &Change) -> Diagnostic {
        let (severity, code) = match (self.warns, change.kind) {
            (true, ChangeKind::Added) => (Severity::Warning, "not_pinned"),
            (false, ChangeKind::Added) => (Severity::Error, "not_pinned"),
            (true, _) => (Severity::Warning, "changed_since_pinned"),
            (false, _) => (Severity::Error, "changed_since_pinned"),
        };
        let left_out = if self.warns { "" } else { ", and is left out" };
        let message = format!("the tool is not as it was pinned{left_out}: {change}");
        Diagnostic::new(severity, code, message)
            .of_tool(change.tool.clone())
            .with_help("review the change, and renew the pin")
    }

    /// Returns `true` if a tool may be used; `raw` is its name at the server.
    pub(super) fn admits_tool(&self, raw: &str) -> bool {
        let differing = self.differing.lock().unwrap_or_else(PoisonError::into_inner);
        self.warns || differing.as_ref().is_some_and(|it| !it.tools.contains_key(raw))
    }

    fn has_compared_version(&self, version: u64) -> bool {
        let differing = self.differing.lock().unwrap_or_else(PoisonError::into_inner);
        differing.as_ref().is_some_and(|it| it.version == version)
    }
}

/// The pins of a server's tools, which can be renewed.
#[derive(Default)]
pub(super) struct CurrentPins(Mutex<Option<Arc<PinnedDefinitions>>>);

impl CurrentPins {
    pub(super) fn new(pinned: Option<PinnedDefinitions>) -> Self {
        Self(Mutex::new(pinned.map(Arc::new)))
    }

    /// Returns the pins, if there are any.
    pub(super) fn get(&self) -> Option<Arc<PinnedDefinitions>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn replace(&self, pinned: PinnedDefinitions) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(pinned));
    }

    /// Returns an error if the tool differs from its pin. Lists the tools again if the server announced a change of them.
    pub(super) async fn check_tool(
        &self,
        raw: &str,
        definitions: &DefinitionReader,
        requests: &RequestSender,
    ) -> Result<(), ClientError> {
        let Some(pinned) = self.get().filter(|pinned| !pinned.warns) else { return Ok(()) };
        let connector = &requests.connection.connector;
        let version = connector.changes.tools_version();
        if !pinned.has_compared_version(version) {
            let listing = requests.list_all_pages().await?;
            let definitions: Vec<_> = listing
                .items
                .iter()
                .filter_map(|tool| Some(definitions.read_definition(tool, requests.name()).ok()?.0))
                .collect();
            pinned.compare_definitions(definitions.iter(), version);
        }
        match pinned.admits_tool(raw) {
            true => Ok(()),
            false => {
                Err(connector.error(ClientErrorCause::Pinned(Escape::LINE.at_most(MAX_NAME_CHARS).text(raw))))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(name: &str, description: &str) -> ToolDefinition {
        let tool = json!({ "name": name, "description": description, "inputSchema": { "type": "object" } });
        let tool = serde_json::from_value(tool).unwrap();
        DefinitionReader::default().read_definition(&tool, "server").unwrap().0
    }

    fn pinned(warns: bool) -> PinnedDefinitions {
        let reviewed = [definition("same", "A."), definition("changed", "B."), definition("removed", "C.")];
        PinnedDefinitions::new(Pins::of_definitions(&reviewed), warns)
    }

    #[test]
    fn a_tool_that_differs_from_its_pin_has_a_diagnostic_and_is_left_out() {
        let listed = [definition("same", "A."), definition("changed", "Other."), definition("added", "D.")];
        for warns in [false, true] {
            let pinned = pinned(warns);
            let diagnostics = pinned.compare_definitions(listed.iter(), 7);
            let severity = if warns { Severity::Warning } else { Severity::Error };
            let codes: Vec<_> = diagnostics.iter().map(|it| (it.severity, it.code)).collect();
            assert_eq!(codes, [(severity, "not_pinned"), (severity, "changed_since_pinned")]);
            for (diagnostic, tool) in diagnostics.iter().zip(["added", "changed"]) {
                assert_eq!(diagnostic.location.tool.as_deref(), Some(tool));
                assert_eq!(diagnostic.help.as_deref(), Some("review the change, and renew the pin"));
                let start = "the tool is not as it was pinned";
                let rest = diagnostic.message.strip_prefix(start).unwrap();
                assert_eq!(rest.starts_with(", and is left out: "), !warns, "{rest}");
                assert_eq!(rest.starts_with(": "), warns, "{rest}");
            }
            let admitted = ["same", "changed", "added", "unknown"].map(|tool| pinned.admits_tool(tool));
            assert_eq!(admitted, [true, warns, warns, true]);
        }
    }

    #[test]
    fn before_the_first_listing_no_tool_is_admitted_unless_pins_only_warn() {
        assert!(!pinned(false).admits_tool("same") && pinned(true).admits_tool("same"));
        assert!(!pinned(false).only_warns() && pinned(true).only_warns());
    }

    #[test]
    fn a_comparison_is_of_the_version_of_its_listing() {
        let pinned = pinned(false);
        assert!(!pinned.has_compared_version(0));
        for version in [0, 7] {
            assert!(pinned.compare_definitions([].iter(), version).is_empty());
            assert_eq!(
                [0, 7, 8].map(|it| pinned.has_compared_version(it)),
                [0, 7, 8].map(|it| it == version)
            );
        }
        // The last listing counts.
        pinned.compare_definitions([definition("changed", "Other.")].iter(), 8);
        assert!(!pinned.admits_tool("changed"));
        pinned.compare_definitions([definition("changed", "B.")].iter(), 8);
        assert!(pinned.admits_tool("changed"));
    }

    #[test]
    fn tools_of_one_name_here_differ_together() {
        let named = |raw: &str| definition(raw, "A.");
        let (one, other) = (named("a b"), named("a c"));
        let pinned = PinnedDefinitions::new(Pins::of_definitions(&[named("other")]), false);
        pinned.compare_definitions([one, other].iter(), 0);
        assert!(!pinned.admits_tool("a b") && !pinned.admits_tool("a c"));
    }

    #[test]
    fn pins_are_replaced() {
        let current = CurrentPins::default();
        assert!(current.get().is_none() && CurrentPins::new(None).get().is_none());
        assert!(CurrentPins::new(Some(pinned(true))).get().unwrap().only_warns());
        current.replace(pinned(false));
        assert!(!current.get().unwrap().only_warns());
        current.replace(pinned(true));
        assert!(current.get().unwrap().only_warns());
    }
}
