//! The tools that settings of an agent bring, beside those of its program.

use std::sync::{Arc, Mutex, PoisonError};

use tool_runtime::{
    Executor, Registry, RunContext, executor::RunSettings, registry::BuildError, request::SharedRequestHook,
    toolbox::RunDiagnostic,
};

use super::tools::ListingError;
use crate::{
    AgentKnowledge, NativeTool,
    skills::{AgentSkills, SkillRule},
};

/// The tools of the framework that an agent has: those of its skills and of its knowledge.
#[derive(Debug, Clone, Default)]
pub(crate) struct FrameworkTools {
    pub(crate) skills: Option<AgentSkills>,
    pub(crate) knowledge: Option<AgentKnowledge>,
    pub(crate) native: Vec<NativeTool>,
    /// The last tools of the program, and the same with those of the framework.
    last: Arc<Mutex<Option<ExtendedTools>>>,
}

#[derive(Debug, Clone)]
struct ExtendedTools {
    program: Registry,
    all: Registry,
    dropped: Vec<RunDiagnostic>,
}

impl FrameworkTools {
    /// Returns the same tools with `skills` in place of those of the agent.
    pub(crate) fn with_skills(&self, skills: Option<AgentSkills>) -> Self {
        Self { skills, last: Arc::default(), ..self.clone() }
    }

    fn is_empty(&self) -> bool {
        self.skills.is_none() && self.knowledge.is_none() && self.native.is_empty()
    }

    /// Returns `executor` with the tools and the rule of the framework, and diagnostics about the tools whose names they have.
    pub(super) fn add_to(
        &self,
        executor: Executor,
        run: &RunContext,
    ) -> Result<(Executor, Vec<RunDiagnostic>), ListingError> {
        if self.is_empty() {
            return Ok((executor, Vec::new()));
        }
        let ExtendedTools { all, dropped, .. } =
            self.add_framework_tools(executor.tools()).map_err(ListingError::Tools)?;
        let mut executor = executor.with_tools(all).map_err(ListingError::Executor)?;
        if let Some(skills) = &self.skills {
            skills.set_as_skills_of_run(run);
            let rule = SkillRule::of_run(run);
            let settings = RunSettings::new().hook(rule.clone()).permission(rule);
            executor = executor.with_settings(run, settings).map_err(ListingError::Executor)?;
        }
        Ok((executor, dropped))
    }

    /// Returns `program` with the tools of the framework; the same registry for the same tools.
    fn add_framework_tools(&self, program: &Registry) -> Result<ExtendedTools, BuildError> {
        let lock = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = lock().clone();
        if let Some(last) = last.filter(|it| it.program.is_same(program)) {
            return Ok(last);
        }
        let (tools, hooks) = self.tools_and_request_hooks()?;
        let (all, dropped) = program.with_framework_tools(&tools, &hooks)?;
        let extended = ExtendedTools { program: program.clone(), all, dropped };
        *lock() = Some(extended.clone());
        Ok(extended)
    }

    fn tools_and_request_hooks(&self) -> Result<(Vec<Registry>, Vec<SharedRequestHook>), BuildError> {
        let skills = self.skills.as_ref().map(AgentSkills::tools).transpose()?;
        let knowledge = self.knowledge.as_ref().map(AgentKnowledge::tools).transpose()?;
        let native = self.native.iter().cloned().map(SharedRequestHook::new);
        let filters = self.knowledge.as_ref().and_then(AgentKnowledge::request_hook);
        let hooks = self.skills.iter().map(AgentSkills::request_hook).chain(filters).chain(native).collect();
        Ok((skills.into_iter().chain(knowledge).collect(), hooks))
    }
}
