//! The skills that a dynamic agent may have, and the selection of a model from them.

use tool_runtime::{Registry, RunContext, ToolError};

use super::fields::{DynamicRequest, Fields, RequestField};
use crate::skills::{AgentSkills, InMemorySkills, SkillError, SkillSelection};

/// The skills that an agent may have.
#[derive(Clone, Default)]
pub(super) enum SkillBoundary {
    /// Those of the agent of the call, if the model may choose.
    #[default]
    OfRun,
    Fixed(AgentSkills),
}

impl SkillBoundary {
    /// Returns the skills for a call of an agent with `tools`; `None` for those of the template.
    ///
    /// # Errors
    ///
    /// Returns an error that lists the skills if a name is not among them, or if a skill cannot be read.
    pub(super) async fn select(
        &self,
        fields: &Fields,
        request: &DynamicRequest,
        run: Option<&RunContext>,
        tools: &Registry,
    ) -> Result<Option<SkillSelection>, ToolError> {
        let offered = match self {
            Self::Fixed(skills) => Some(skills.clone()),
            Self::OfRun if fields.offers(RequestField::Skills) => run.and_then(AgentSkills::of_run),
            Self::OfRun => return Ok(None),
        };
        let Some(offered) = offered else {
            let Some(names) = request.skills.as_ref().filter(|names| !names.is_empty()) else {
                return Ok(None);
            };
            // None of these names is known.
            let none = InMemorySkills::new([]).map_err(SkillError::into_tool_error)?;
            return AgentSkills::new(none).select(names).await.map(Some);
        };
        // A script runs by a tool of this agent only.
        let offered = offered.for_tools(|tool| tools.get(tool).is_some());
        match &request.skills {
            Some(names) => offered.select(names).await.map(Some),
            None => Ok(Some(SkillSelection { skills: offered, warnings: Vec::new() })),
        }
    }
}
