//! The options of one run: tools and settings beside those of the agent, and what a run below a call receives from it.

use std::{collections::BTreeMap, fmt, ptr, sync::Arc};

use tool_runtime::{
    Executor, Registry, RunContext,
    executor::{CallGuards, ExecutorError, RunSettings},
    toolbox::{RunTools, Visibility},
};

use crate::{Agent, agent::FrameworkTools, hook::SharedAgentHook, skills::AgentSkills};

/// The key of the value by which the runs below a run find what they inherit from it.
const INHERITANCE_KEY: &str = "tool_agent.inheritance";

/// A run with tools and settings of its own, beside those of its agent, for [`Runner::run_with`](crate::Runner::run_with).
/// A [`RunContext`] alone is one without any.
///
/// Agents below the calls of the run inherit the hooks, rules, permission policies and the approver of the
/// [settings](Self::settings). They have neither its tools nor its visibility.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, RunOptions, Runner, ScriptedModel, model::Reply};
/// use tool_runtime::{
///     RunContext, executor::RunSettings, policy::{Rule, Rules}, prelude::*, toolbox::Visibility,
/// };
///
/// /// Removes a file.
/// #[tool(destructive)]
/// fn remove(path: String) -> String {
///     path
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([
///     Reply::call("remove", json!({ "path": "a.txt" })),
///     Reply::text("I may not."),
/// ]);
/// let tools = Registry::builder().tool::<remove>().build()?;
/// let runner = Runner::new(Agent::builder("cleaner", model.clone()).tools(tools).build()?);
/// let options = RunOptions::new(RunContext::new().with_user("guest"))
///     .settings(RunSettings::new().rules(Rules::new([Rule::deny("remove")])))
///     .show(Visibility::all().except(["shell"]));
/// assert_eq!(runner.run_with(options, "Remove a.txt.").answer().await?, "I may not.");
/// let result = model.requests()[1].messages[2].tool_results().next().unwrap().text().into_owned();
/// assert_eq!(result, "Denied: a rule denies it: remove");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[must_use = "options do nothing until a run has them"]
pub struct RunOptions {
    pub(super) run: RunContext,
    /// Boxed, as in each of its owners: runs nest, and each frame would have room for it several times.
    pub(super) additions: Box<RunAdditions>,
}

/// The additions of one run to its agent.
#[derive(Clone, Default)]
pub(crate) struct RunAdditions {
    pub(super) tools: Option<RunTools>,
    pub(super) settings: Option<RunSettings>,
    pub(super) visibility: Option<Visibility>,
    /// The tools of the run, in place of the agent's.
    pub(super) replaced_tools: Option<Registry>,
    /// The tools of the framework of each agent by its name, in place of its own; only with replaced tools.
    replaced_framework: BTreeMap<Arc<str>, FrameworkTools>,
    /// An instruction after the agent's.
    pub(super) instruction: Option<Arc<str>>,
    /// `true` for a run of an agent below a call, which inherits.
    is_below_call: bool,
    /// The guards of the call above.
    guards: Option<CallGuards>,
    /// The hooks and guards that the run inherits.
    inheritance: Inheritance,
}

/// The hooks and guards that the runs below a run inherit.
#[derive(Clone, Default)]
struct Inheritance {
    /// The hooks of the runners, from the root run down.
    hooks: Vec<SharedAgentHook>,
    /// The guards of the settings of runs.
    guards: Vec<CallGuards>,
}

impl RunOptions {
    /// Creates options without tools and settings.
    pub fn new(run: RunContext) -> Self {
        Self { run, additions: Box::default() }
    }

    /// Sets additional and external tools, and which tools of the agent the model sees. Default: none, and all.
    pub fn tools(mut self, tools: RunTools) -> Self {
        self.additions.tools = Some(tools);
        self
    }

    /// Sets settings over those of the agent's executor. Calls that are open keep the settings of their run. A rule that
    /// compares an argument which no tool has ends the run as failed. Default: none.
    pub fn settings(mut self, settings: RunSettings) -> Self {
        self.additions.settings = Some(settings);
        self
    }

    /// Sets which tools the model sees, those of [`tools`](Self::tools) included; a call of any other one is answered as
    /// unknown. External tools of the run and tools of the framework, such as those of [skills](crate::skills), are never
    /// hidden. Default: all.
    pub fn show(mut self, visibility: Visibility) -> Self {
        self.additions.visibility = Some(visibility);
        self
    }

    pub(crate) fn with_additions(mut self, additions: Box<RunAdditions>) -> Self {
        self.additions = additions;
        self
    }
}

impl From<RunContext> for RunOptions {
    fn from(run: RunContext) -> Self {
        Self::new(run)
    }
}

impl fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunAdditions { tools, settings, visibility, .. } = &*self.additions;
        f.debug_struct("RunOptions")
            .field("run", &self.run)
            .field("tools", tools)
            .field("settings", settings)
            .field("visibility", visibility)
            .finish()
    }
}

impl RunAdditions {
    /// Creates the additions of a run below a call, whose calls pass `guards`.
    pub(crate) fn below_call(guards: Option<CallGuards>) -> Box<Self> {
        Box::new(Self { is_below_call: true, guards, ..Self::default() })
    }

    /// Sets the tools of the run, in place of the agent's.
    pub(crate) fn replace_tools(&mut self, tools: Registry) {
        self.replaced_tools = Some(tools);
    }

    /// Sets the skills of the run of `agent`, and of each of its members, in place of their own. What else settings of an agent bring remains. The run
    /// has [replaced tools](Self::replace_tools), too.
    pub(crate) fn replace_skills(&mut self, agent: &Agent, skills: Option<&AgentSkills>) {
        let replaced =
            |agent: &Agent| (Arc::clone(&agent.0.name), agent.0.tools.framework.with_skills(skills.cloned()));
        self.replaced_framework =
            std::iter::once(agent).chain(agent.agents_with_model()).map(replaced).collect();
    }

    /// Returns the tools of the framework of `agent`, which has replaced tools.
    pub(super) fn framework_tools_of<'a>(&'a self, agent: &'a Agent) -> &'a FrameworkTools {
        self.replaced_framework.get(agent.name()).unwrap_or(&agent.0.tools.framework)
    }

    /// Adds an instruction after the agent's.
    pub(crate) fn add_instruction(&mut self, instruction: impl Into<Arc<str>>) {
        self.instruction = Some(instruction.into());
    }

    /// Takes what `run` inherits from the runs above it, and offers it, with what its runner and its settings add, to
    /// those below. Returns the hooks of the run that are not the agent's.
    pub(super) fn inherit(
        &mut self,
        run: &RunContext,
        of_runner: &[SharedAgentHook],
    ) -> Vec<SharedAgentHook> {
        let above = run.value::<Inheritance>(INHERITANCE_KEY);
        if self.is_below_call
            && let Some(above) = above.as_deref()
        {
            self.inheritance = above.clone();
        }
        let mut hooks = self.inheritance.hooks.clone();
        for hook in of_runner {
            if !hooks.iter().any(|it| ptr::addr_eq(it.dynamic(), hook.dynamic())) {
                hooks.push(hook.clone());
            }
        }
        let mut guards = self.inheritance.guards.clone();
        guards.extend(self.settings.as_ref().map(CallGuards::from));
        if above.is_some() || !hooks.is_empty() || !guards.is_empty() {
            run.set(INHERITANCE_KEY, Inheritance { hooks: hooks.clone(), guards });
        }
        hooks
    }

    /// Derives the executor with the settings and the visibility of the run.
    pub(super) fn with_settings(
        &self,
        run: &RunContext,
        executor: Executor,
    ) -> Result<Executor, ExecutorError> {
        let executor = match &self.settings {
            Some(settings) => executor.with_settings(run, settings.clone())?,
            None => executor,
        };
        match &self.visibility {
            Some(visibility) => executor.with_settings(run, RunSettings::new().show(visibility.clone())),
            None => Ok(executor),
        }
    }

    /// Derives the executor whose calls pass the guards of the settings of runs above.
    pub(super) fn with_inherited_guards(&self, executor: Executor) -> Executor {
        self.inheritance.guards.iter().fold(executor, |executor, guards| executor.with_guards(guards))
    }

    /// Derives the executor whose calls pass the guards of the call above.
    pub(super) fn with_guards(&self, executor: Executor) -> Executor {
        match &self.guards {
            Some(guards) => executor.with_guards(guards),
            None => executor,
        }
    }

    /// Returns `true` if calls of the run pass guards of the runs above.
    pub(super) fn has_guards(&self) -> bool {
        self.guards.is_some() || !self.inheritance.guards.is_empty()
    }
}
