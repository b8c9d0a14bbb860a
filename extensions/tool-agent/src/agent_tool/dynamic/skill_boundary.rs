//! The skills that a dynamic agent may have, and the selection of a model from them.

use tool_runtime::{Registry, RunContext, ToolError};

use super::fields::{DynamicRequest, RequestField, RequestFields};
use crate::skills::{AgentSkills, InMemorySkills, SkillError, SkillSelection};

/// The skills that an agent may have.
#[derive(Clone, Default)]
pub(super) enum SkillBoundary {
    /// Those of the agent of the call, if the model may choose.
    #[default]
    OfRun,
    Fixed(AgentSkills),
}

/// The skills of an agent in place of those of the template.
pub(super) struct ChosenSkills {
    /// `None` for an agent without skills.
    pub(super) skills: Option<AgentSkills>,
    /// Sentences about parts of them that the agent cannot use.
    pub(super) warnings: Vec<String>,
}

impl SkillBoundary {
    /// Returns the skills for a call of an agent with `tools`; `None` for those of the template, if neither the program nor the model chooses.
    ///
    /// # Errors
    ///
    /// Returns an error that lists the skills if a name is not among them, or if a skill cannot be read.
    pub(super) async fn select_skills(
        &self,
        fields: &RequestFields,
        request: &DynamicRequest,
        run: Option<&RunContext>,
        tools: &Registry,
    ) -> Result<Option<ChosenSkills>, ToolError> {
        let offered = match self {
            Self::Fixed(skills) => Some(skills.clone()),
            Self::OfRun if fields.offers(RequestField::Skills) => run.and_then(AgentSkills::of_run),
            Self::OfRun => return Ok(None),
        };
        let (skills, warnings) = match (offered, &request.skills) {
            (None, names) => {
                // None of the names is known.
                let none = InMemorySkills::new([]).map_err(SkillError::into_tool_error)?;
                AgentSkills::new(none).select(names.iter().flatten()).await?;
                (None, Vec::new())
            }
            (Some(_), Some(names)) if names.is_empty() => (None, Vec::new()),
            // A script runs by a tool of this agent only.
            (Some(offered), names) => {
                let offered = offered.for_tools(|tool| tools.get(tool).is_some());
                match names {
                    None => (Some(offered), Vec::new()),
                    Some(names) => {
                        let SkillSelection { skills, warnings } = offered.select(names).await?;
                        (Some(skills), warnings)
                    }
                }
            }
        };
        Ok(Some(ChosenSkills { skills, warnings }))
    }
}
