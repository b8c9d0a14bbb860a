use std::{collections::BTreeSet, fmt, sync::Arc};

use tool_core::{ReadonlyContext, ToolDefinition};

use super::{Notice, Origin};
use crate::{Registry, panic_barrier::caught};

/// Which tools a model is shown: those that pass everything that is said here.
///
/// Names are those that the model would see, with their prefixes. A tool that is hidden is unknown to a
/// call; all the same this is no guard: a tool that not everyone may use has to check that by itself.
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
#[must_use = "it says what is shown to whoever takes it"]
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
    /// All tools.
    pub fn all() -> Self {
        Self::default()
    }

    /// Of those, the tools of these names.
    pub fn only<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        self.and(Rule::Only(names.into_iter().map(Into::into).collect()))
    }

    /// Of those, the tools of other names than these.
    pub fn except<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        self.and(Rule::Except(names.into_iter().map(Into::into).collect()))
    }

    /// Of those, the tools for which `shows` is true in the run.
    pub fn when(
        self,
        shows: impl Fn(ReadonlyContext<'_>, &ToolDefinition) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.and(Rule::When(Arc::new(shows)))
    }

    fn and(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Those of `tools` that pass, and those that it is not about; a notice for each that it panicked over.
    pub(crate) fn applied(&self, cx: ReadonlyContext<'_>, tools: &Registry) -> (Registry, Vec<Notice>) {
        let mut notices = Vec::new();
        let mut shows = |definition: &ToolDefinition| {
            let name = definition.name();
            if !tools.origin(name.as_str()).is_some_and(Origin::is_user_tool) {
                return true;
            }
            caught(|| self.shows(cx, definition)).unwrap_or_else(|message| {
                notices.push(Notice::Hidden { name: name.clone(), message });
                false
            })
        };
        let shown = tools.entries().iter().filter(|entry| shows(entry.definition())).cloned().collect();
        (tools.of(shown), notices)
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
