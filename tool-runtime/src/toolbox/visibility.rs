use std::{collections::BTreeSet, fmt, sync::Arc};

use tool_core::{ReadonlyContext, ToolDefinition};

use super::{Origin, RunDiagnostic};
use crate::{Registry, guard::catch};

/// A filter for the tools that a model sees. A tool must pass all conditions.
///
/// Names are those on the model's side, with their prefixes. Calls of a hidden tool fail as unknown, but
/// visibility is not access control: a tool that is restricted to some users has to check permissions itself.
///
/// # Examples
///
/// ```
/// use tool_runtime::toolbox::Visibility;
///
/// let shown = Visibility::all()
///     .except(["files__remove"])
///     .when(|cx, tool| cx.agent() != Some("guest") || tool.metadata().is_read_only());
/// ```
#[derive(Clone, Default)]
#[must_use = "a visibility has no effect until it is passed to a toolbox or a run"]
pub struct Visibility {
    rules: Vec<Rule>,
}

#[derive(Clone)]
enum Rule {
    Only(BTreeSet<String>),
    Except(BTreeSet<String>),
    When(Arc<When>),
}

type When = dyn Fn(ReadonlyContext<'_>, &ToolDefinition) -> bool + Send + Sync;

impl Visibility {
    /// Creates a filter that all tools pass.
    pub fn all() -> Self {
        Self::default()
    }

    /// Keeps only the tools with these names.
    pub fn only<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        self.with_rule(Rule::Only(names.into_iter().map(Into::into).collect()))
    }

    /// Removes the tools with these names.
    pub fn except<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        self.with_rule(Rule::Except(names.into_iter().map(Into::into).collect()))
    }

    /// Keeps only the tools for which `shows` returns `true` in the run.
    pub fn when(
        self,
        shows: impl Fn(ReadonlyContext<'_>, &ToolDefinition) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with_rule(Rule::When(Arc::new(shows)))
    }

    fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Returns the tools that pass the filter, and those that it does not apply to; with a diagnostic for each tool
    /// for which a condition panicked.
    pub(crate) fn apply_to_registry(
        &self,
        cx: ReadonlyContext<'_>,
        tools: &Registry,
    ) -> (Registry, Vec<RunDiagnostic>) {
        let mut diagnostics = Vec::new();
        let mut shows = |definition: &ToolDefinition| {
            let name = definition.name();
            if !tools.origin(name.as_str()).is_some_and(Origin::is_user_tool) {
                return true;
            }
            catch(|| self.shows(cx, definition)).unwrap_or_else(|panic| {
                let message = panic.into_message();
                diagnostics.push(RunDiagnostic::Hidden { name: name.clone(), message });
                false
            })
        };
        let shown = tools.entries().iter().filter(|entry| shows(entry.definition())).cloned().collect();
        (tools.with_entries_of_this(shown), diagnostics)
    }

    pub(super) fn shows(&self, cx: ReadonlyContext<'_>, definition: &ToolDefinition) -> bool {
        let name = definition.name().as_str();
        self.rules.iter().all(|rule| match rule {
            Rule::Only(names) => names.contains(name),
            Rule::Except(names) => !names.contains(name),
            Rule::When(shows) => shows(cx, definition),
        })
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.rules).finish()
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only(names) => write!(f, "only {names:?}"),
            Self::Except(names) => write!(f, "except {names:?}"),
            Self::When(_) => f.write_str("when .."),
        }
    }
}
