//! Limits for concurrent calls.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{Semaphore, SemaphorePermit};
use tool_core::ToolDefinition;

/// Limits for concurrent calls, in addition to the [strategy](crate::executor::ExecutionStrategy) of the executor. Default: no
/// limits.
///
/// A limit applies to all batches of one executor. A tool that runs further calls of its executor occupies two places
/// while it waits for them: under a limit of one, it would wait forever.
///
/// # Examples
///
/// ```
/// use tool_runtime::policy::Limits;
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
    /// Creates limits without any limit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits each tool that is not `concurrency_safe` by its metadata to one call at a time, unless it is limited by
    /// name.
    #[must_use]
    pub fn by_hints(mut self) -> Self {
        self.by_hints = true;
        self
    }

    /// Sets the maximum number of concurrent calls of all tools.
    #[must_use]
    pub fn overall(mut self, calls: usize) -> Self {
        self.overall = Some(calls);
        self
    }

    /// Sets the maximum number of concurrent calls of the tool `name`.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, calls: usize) -> Self {
        self.tools.insert(name.into(), calls);
        self
    }

    /// Sets the maximum number of concurrent calls of all tools of the group `name`: the given ones, and those whose
    /// metadata has `group = name`.
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

/// An error in [`Limits`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitsError {
    /// A limit of 0, under which no call could run, for the named subject.
    Zero(String),
    /// A tool in two groups: the tool, and both groups.
    TwoGroups(String, [String; 2]),
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero(what) => {
                write!(f, "the limit of {what} is 0, so that no call could run; set it to at least 1")
            }
            Self::TwoGroups(tool, [one, other]) => {
                write!(
                    f,
                    "the tool `{tool}` is in the group `{one}` and in the group `{other}`; remove it from one"
                )
            }
        }
    }
}

impl std::error::Error for LimitsError {}

/// Limits that are enforced on the tools of one set.
#[derive(Debug, Clone, Default)]
pub(crate) struct EnforcedLimits {
    shared: Arc<SharedLimits>,
    tools: HashMap<String, ToolLimits>,
}

/// Limits that are enforced, independent of the set of tools.
#[derive(Debug, Default)]
struct SharedLimits {
    overall: Option<Semaphore>,
    tools: HashMap<String, Arc<Semaphore>>,
    groups: HashMap<String, Semaphore>,
    group_of: HashMap<String, String>,
    /// Semaphores of tools that are not `concurrency_safe`, created on first use; `None` if the hint is not enforced.
    by_hint: Option<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

/// The limits of one tool.
#[derive(Debug, Clone)]
struct ToolLimits {
    own: Option<Arc<Semaphore>>,
    group: Option<String>,
}

/// Permits for one call, released on drop.
pub(crate) struct Permits<'a>(#[expect(dead_code, reason = "held")] [Option<SemaphorePermit<'a>>; 3]);

impl EnforcedLimits {
    /// Enforces `limits` on `tools`.
    pub(crate) fn new<'a>(
        limits: &Limits,
        tools: impl Iterator<Item = &'a ToolDefinition>,
    ) -> Result<Self, LimitsError> {
        let semaphore = |what: String, calls: usize| match calls {
            0 => Err(LimitsError::Zero(what)),
            calls => Ok(Semaphore::new(calls.min(Semaphore::MAX_PERMITS))),
        };
        let mut shared =
            SharedLimits { by_hint: limits.by_hints.then(Mutex::default), ..SharedLimits::default() };
        if let Some(calls) = limits.overall {
            shared.overall = Some(semaphore("all tools".to_owned(), calls)?);
        }
        for (tool, calls) in &limits.tools {
            let limit = semaphore(format!("the tool `{tool}`"), *calls)?;
            shared.tools.insert(tool.clone(), Arc::new(limit));
        }
        for (group, (calls, members)) in &limits.groups {
            shared.groups.insert(group.clone(), semaphore(format!("the group `{group}`"), *calls)?);
            for tool in members {
                if let Some(other) =
                    shared.group_of.insert(tool.clone(), group.clone()).filter(|it| it != group)
                {
                    return Err(LimitsError::TwoGroups(tool.clone(), [other, group.clone()]));
                }
            }
        }
        Self::with_shared_limits(Arc::new(shared), tools)
    }

    /// Enforces the same limits, with the permits in use, on other tools.
    pub(crate) fn with_tools<'a>(
        &self,
        tools: impl Iterator<Item = &'a ToolDefinition>,
    ) -> Result<Self, LimitsError> {
        Self::with_shared_limits(Arc::clone(&self.shared), tools)
    }

    fn with_shared_limits<'a>(
        shared: Arc<SharedLimits>,
        tools: impl Iterator<Item = &'a ToolDefinition>,
    ) -> Result<Self, LimitsError> {
        let limited = tools.filter_map(|definition| match shared.limits_of_tool(definition) {
            Ok(ToolLimits { own: None, group: None }) => None,
            Ok(of_tool) => Some(Ok((definition.name().to_string(), of_tool))),
            Err(error) => Some(Err(error)),
        });
        let tools = limited.collect::<Result<_, _>>()?;
        Ok(Self { shared, tools })
    }

    /// Returns `true` if calls of `tool` are limited.
    pub(crate) fn limits_tool(&self, tool: &str) -> bool {
        self.shared.overall.is_some() || self.tools.contains_key(tool)
    }

    /// Waits until a call of `tool` may run. Dropping the future leaves the queue.
    pub(crate) async fn acquire_permits(&self, tool: &str) -> Permits<'_> {
        let of_tool = self.tools.get(tool);
        let own = of_tool.and_then(|of_tool| of_tool.own.as_deref());
        let group = of_tool.and_then(|of_tool| self.shared.groups.get(of_tool.group.as_ref()?));
        // Semaphores are acquired from the narrowest to the widest: a call that waits for its tool does not block other
        // tools, and a deadlock is impossible.
        let mut permits = [None, None, None];
        for (permit, semaphore) in permits.iter_mut().zip([own, group, self.shared.overall.as_ref()]) {
            if let Some(semaphore) = semaphore {
                // The semaphore is never closed.
                *permit = semaphore.acquire().await.ok();
            }
        }
        Permits(permits)
    }
}

impl SharedLimits {
    fn limits_of_tool(&self, definition: &ToolDefinition) -> Result<ToolLimits, LimitsError> {
        let (name, metadata) = (definition.name().as_str(), definition.metadata());
        let given = self.group_of.get(name);
        let declared = metadata.group.as_deref().filter(|group| self.groups.contains_key(*group));
        let group = match (given, declared) {
            (Some(given), Some(declared)) if given != declared => {
                return Err(LimitsError::TwoGroups(name.to_owned(), [given.clone(), declared.to_owned()]));
            }
            (given, declared) => given.map(String::as_str).or(declared).map(str::to_owned),
        };
        let by_hint = || {
            let by_hint = self.by_hint.as_ref().filter(|_| metadata.concurrency_safe == Some(false))?;
            // A poisoned lock can be recovered: every operation completes its changes.
            let mut by_hint = by_hint.lock().unwrap_or_else(PoisonError::into_inner);
            Some(Arc::clone(by_hint.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1)))))
        };
        Ok(ToolLimits { own: self.tools.get(name).cloned().or_else(by_hint), group })
    }
}
