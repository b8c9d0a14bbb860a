//! The skills of an agent.

use std::{collections::BTreeSet, fmt, sync::Arc};

use tool_runtime::{Registry, RunContext, ToolError, registry::BuildError, request::SharedRequestHook};

use super::{
    CodeExecutor, SharedSkills, Skill, SkillError, SkillList, active::run_value_key,
    code::SharedCodeExecutor, error::short_line, instruction::SkillInstruction, tools::SkillTools,
};

/// The maximum number of names in an error.
const MAX_SHOWN_NAMES: usize = 20;

/// The skills of an agent: they bring the tools `skill_list`, `skill_load` and `skill_read`, a text with names and descriptions, which is
/// added to each instruction, and the rule about [active skills](super#active-skills).
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply, skills::{AgentSkills, InMemorySkills, Skill}};
/// use tool_runtime::prelude::*;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let skill = Skill::new("greetings", "How to greet. Use it for the first answer.", "Say: good morning.")?;
/// let model = ScriptedModel::new([
///     Reply::call("skill_load", json!({ "name": "greetings" })),
///     Reply::text("Good morning."),
/// ]);
/// let skills = AgentSkills::new(InMemorySkills::new([skill])?);
/// let agent = Agent::builder("clerk", model).skills(skills).build()?;
/// assert_eq!(Runner::new(agent).run("Hello.").answer().await?, "Good morning.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct AgentSkills(SkillSettings);

/// A part of the skills of an agent, chosen by names: see [`AgentSkills::select`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SkillSelection {
    /// The skills, without any others.
    pub skills: AgentSkills,
    /// Sentences about parts of them that the agent cannot use, such as scripts without a tool that runs them.
    pub warnings: Vec<String>,
}

/// The settings of the tools of skills.
#[derive(Clone)]
pub(super) struct SkillSettings {
    skills: SharedSkills,
    /// The names that can be loaded; `None` for all.
    boundary: Option<Arc<BTreeSet<String>>>,
    code: Vec<SharedCodeExecutor>,
}

impl AgentSkills {
    /// Creates the skills of an agent, without an executor for scripts.
    #[must_use]
    pub fn new(skills: impl Into<SharedSkills>) -> Self {
        Self(SkillSettings { skills: skills.into(), boundary: None, code: Vec::new() })
    }

    /// Adds a tool that runs scripts of skills. The agent has the tool itself, by [`AgentBuilder::tools`](crate::AgentBuilder::tools).
    #[must_use]
    pub fn with_code_executor(mut self, executor: impl CodeExecutor + 'static) -> Self {
        self.0.code.push(SharedCodeExecutor::new(executor));
        self
    }

    /// Keeps only the skills with these names; an earlier limit remains. Default: all skills.
    #[must_use]
    pub fn only(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names = names.into_iter().map(Into::into).filter(|name: &String| self.0.is_within(name));
        let names: BTreeSet<_> = names.collect();
        self.0.boundary = Some(Arc::new(names));
        self
    }

    /// Lists the skills; a skill that cannot be read is a diagnostic.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn list(&self) -> Result<SkillList, SkillError> {
        self.0.list().await
    }

    /// Returns the skills with these names for another agent, such as one whose skills a model chooses.
    ///
    /// # Errors
    ///
    /// Returns an error for the model if one of the names is not among the skills, or a skill cannot be read. It names those that there
    /// are.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::skills::{AgentSkills, InMemorySkills, Skill};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let store = InMemorySkills::new([Skill::new("greetings", "How to greet.", "Greet by name.")?])?;
    /// let skills = AgentSkills::new(store);
    /// assert!(skills.select(["greetings"]).await?.warnings.is_empty());
    /// let error = skills.select(["payments"]).await.unwrap_err();
    /// assert_eq!(error.feedback(), "there is no skill `payments`; the skills are `greetings`");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn select(
        &self,
        names: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<SkillSelection, ToolError> {
        let list = self.0.list().await.map_err(SkillError::into_tool_error)?;
        let (mut chosen, mut warnings) = (BTreeSet::new(), Vec::new());
        for name in names {
            let name = name.as_ref();
            if !list.headers.iter().any(|header| *header.name == *name) {
                return Err(unknown_skill(name, &list));
            }
            if chosen.insert(name.to_owned()) {
                let skill = self.0.load(name).await.map_err(SkillError::into_tool_error)?;
                warnings.extend(
                    self.0.unusable_part_warnings(&skill).iter().map(|text| format!("`{name}`: {text}")),
                );
            }
        }
        Ok(SkillSelection { skills: self.clone().only(chosen), warnings })
    }

    /// Returns the skills of the agent of `run`; `None` if it has none, or has not begun.
    #[must_use]
    pub fn of_run(run: &RunContext) -> Option<Self> {
        run.value::<Self>(&run_value_key(run, "skills")).map(|skills| Self::clone(&skills))
    }

    /// Makes these the skills of the agent of `run`.
    pub(crate) fn set_as_skills_of_run(&self, run: &RunContext) {
        run.set(run_value_key(run, "skills"), self.clone());
    }

    /// Returns the same skills for an agent with other tools: scripts run by those of which `is_available` knows the name.
    pub(crate) fn for_tools(mut self, has_tool: impl Fn(&str) -> bool) -> Self {
        self.0.code.retain(|executor| executor.is_available(&has_tool));
        self
    }

    /// Returns the tools.
    pub(crate) fn tools(&self) -> Result<Registry, BuildError> {
        Registry::builder().toolset(SkillTools(self.0.clone())).build()
    }

    /// Returns the hook that adds to the instruction.
    pub(crate) fn request_hook(&self) -> SharedRequestHook {
        SharedRequestHook::new(SkillInstruction(self.0.clone()))
    }

    pub(super) async fn load(&self, name: &str) -> Result<Skill, SkillError> {
        self.0.load(name).await
    }
}

impl SkillSettings {
    fn is_within(&self, name: &str) -> bool {
        self.boundary.as_ref().is_none_or(|names| names.contains(name))
    }

    fn check_boundary(&self, name: &str) -> Result<(), SkillError> {
        match self.is_within(name) {
            true => Ok(()),
            false => Err(SkillError::UnknownSkill { name: name.to_owned() }),
        }
    }

    /// Lists the skills within the boundary.
    pub(super) async fn list(&self) -> Result<SkillList, SkillError> {
        let mut list = self.skills.list().await?;
        list.headers.retain(|header| self.is_within(&header.name));
        if let Some(names) = &self.boundary {
            list.diagnostics.retain(|diagnostic| names.contains(&diagnostic.place));
        }
        Ok(list)
    }

    pub(super) async fn load(&self, name: &str) -> Result<Skill, SkillError> {
        self.check_boundary(name)?;
        self.skills.load(name).await
    }

    pub(super) async fn read_file(&self, name: &str, path: &str) -> Result<Vec<u8>, SkillError> {
        self.check_boundary(name)?;
        self.skills.read_file(name, path).await
    }

    /// Returns the name of the tool that runs the script at `path`.
    pub(super) fn code_tool_for(&self, path: &str) -> Option<String> {
        self.code.iter().find_map(|executor| executor.tool_for(path))
    }
}

fn unknown_skill(name: &str, list: &SkillList) -> ToolError {
    let names = list.headers.iter().take(MAX_SHOWN_NAMES).map(|header| format!("`{}`", header.name));
    let names = names.collect::<Vec<_>>().join(", ");
    let more = match list.headers.len().saturating_sub(MAX_SHOWN_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let name = short_line(name);
    ToolError::failed(match names.is_empty() {
        true => format!("there is no skill `{name}`; this agent has none"),
        false => format!("there is no skill `{name}`; the skills are {names}{more}"),
    })
}

impl fmt::Debug for AgentSkills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSkills").field("boundary", &self.0.boundary).finish_non_exhaustive()
    }
}
