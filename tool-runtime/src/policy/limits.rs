//! How many calls run at once.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use tokio::sync::{Semaphore, SemaphorePermit};
use tool_core::ToolDefinition;

/// How many calls may run at once, beside what the strategy of an executor says.
///
/// A limit holds for all batches of one executor. A tool that itself runs calls of its executor takes two
/// places while it waits for them: under a limit of one it would wait for ever.
///
/// # Examples
///
/// ```
/// use tool_runtime::Limits;
///
/// let limits = Limits::new().overall(8).tool("search", 2).group("database", 1, ["insert", "update"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Limits {
    overall: Option<usize>,
    tools: BTreeMap<String, usize>,
    groups: BTreeMap<String, (usize, Vec<String>)>,
    by_hints: bool,
}

impl Limits {
    /// No limit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One call at a time of each tool that says that it is not `concurrency_safe`, and is not limited by
    /// its name.
    #[must_use]
    pub fn by_hints(mut self) -> Self {
        self.by_hints = true;
        self
    }

    /// At most `calls` of all tools at once.
    #[must_use]
    pub fn overall(mut self, calls: usize) -> Self {
        self.overall = Some(calls);
        self
    }

    /// At most `calls` of the tool `name` at once.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, calls: usize) -> Self {
        self.tools.insert(name.into(), calls);
        self
    }

    /// At most `calls` at once of all tools of the group `name`: of those given here, and of those that
    /// say `group = name` of themselves.
    #[must_use]
    pub fn group<N: Into<String>>(
        mut self,
        name: impl Into<String>,
        calls: usize,
        tools: impl IntoIterator<Item = N>,
    ) -> Self {
        self.groups.insert(name.into(), (calls, tools.into_iter().map(Into::into).collect()));
        self
    }
}

/// What is wrong with [`Limits`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitsError {
    /// A limit of 0, by which nothing would ever run; of what.
    Zero(String),
    /// A tool in two groups: the tool, and the groups.
    TwoGroups(String, [String; 2]),
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => write!(f, "the limit of {what} is 0, by which nothing would ever run"),
            Self::TwoGroups(tool, [one, other]) => {
                write!(
                    f,
                    "the tool `{tool}` is in the group `{one}` and in the group `{other}`; it can be in one"
                )
            }
        }
    }
}

impl std::error::Error for LimitsError {}

/// Limits that are being kept.
#[derive(Debug, Default)]
pub(crate) struct Limited {
    overall: Option<Semaphore>,
    tools: HashMap<String, Semaphore>,
    groups: HashMap<String, Semaphore>,
    group_of: HashMap<String, String>,
}

/// The right to run one call; given back when it is dropped.
pub(crate) struct Permits<'a>(#[expect(dead_code, reason = "held")] [Option<SemaphorePermit<'a>>; 3]);

impl Limited {
    /// Keeps `limits` on `tools`.
    pub(crate) fn new<'a>(
        limits: &Limits,
        tools: impl Iterator<Item = &'a ToolDefinition>,
    ) -> Result<Self, LimitsError> {
        let semaphore = |what: String, calls: usize| match calls {
            0 => Err(LimitsError::Zero(what)),
            calls => Ok(Semaphore::new(calls.min(Semaphore::MAX_PERMITS))),
        };
        let mut limited = Self::default();
        if let Some(calls) = limits.overall {
            limited.overall = Some(semaphore("all tools".to_owned(), calls)?);
        }
        for (tool, calls) in &limits.tools {
            limited.tools.insert(tool.clone(), semaphore(format!("the tool `{tool}`"), *calls)?);
        }
        for (group, (calls, members)) in &limits.groups {
            limited.groups.insert(group.clone(), semaphore(format!("the group `{group}`"), *calls)?);
            members.iter().try_for_each(|tool| limited.join(tool, group))?;
        }
        for definition in tools {
            let (name, metadata) = (definition.name().as_str(), definition.metadata());
            if let Some(group) =
                metadata.group.as_ref().filter(|group| limited.groups.contains_key(&***group))
            {
                limited.join(name, group)?;
            }
            if limits.by_hints && metadata.concurrency_safe == Some(false) {
                limited.tools.entry(name.to_owned()).or_insert_with(|| Semaphore::new(1));
            }
        }
        Ok(limited)
    }

    fn join(&mut self, tool: &str, group: &str) -> Result<(), LimitsError> {
        match self.group_of.insert(tool.to_owned(), group.to_owned()) {
            Some(other) if other != group => {
                Err(LimitsError::TwoGroups(tool.to_owned(), [other, group.to_owned()]))
            }
            _ => Ok(()),
        }
    }

    /// Whether calls of `tool` are limited.
    pub(crate) fn concerns(&self, tool: &str) -> bool {
        self.overall.is_some() || self.tools.contains_key(tool) || self.group_of.contains_key(tool)
    }

    /// Waits until a call of `tool` may run. Dropping the future gives up the place in the queue.
    pub(crate) async fn enter(&self, tool: &str) -> Permits<'_> {
        let group = self.group_of.get(tool).and_then(|group| self.groups.get(group));
        // From the narrow to the wide, always: who waits for a tool does not keep others from running,
        // and nobody waits in a circle.
        let mut permits = [None, None, None];
        for (permit, semaphore) in
            permits.iter_mut().zip([self.tools.get(tool), group, self.overall.as_ref()])
        {
            if let Some(semaphore) = semaphore {
                // Never closed.
                *permit = semaphore.acquire().await.ok();
            }
        }
        Permits(permits)
    }
}
