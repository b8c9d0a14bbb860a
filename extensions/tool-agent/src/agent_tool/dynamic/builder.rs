//! The builder of a tool for dynamic agents.

use std::{fmt, sync::Arc};

use tool_runtime::{Registry, ToolContext, ToolDefinition, ToolError, ToolName, schema::InputSchema};

use super::{
    DynamicAgentTool,
    boundary::ToolBoundary,
    fields::{RequestField, RequestFields},
    skill_boundary::SkillBoundary,
};
use crate::{Agent, AgentError, agent_tool::AgentToolSettings, skills::AgentSkills};

/// The default name of the tool.
const NAME: &str = "dynamic_agent";

const DESCRIPTION: &str = "Starts an agent for one request, and returns its answer. It knows nothing but the request. \
    Use it for work that would fill this conversation, or that needs a part of the tools only.";

/// Builds a [`DynamicAgentTool`].
#[must_use = "a builder does nothing until `build`"]
pub struct DynamicAgentBuilder {
    template: Agent,
    name: String,
    description: String,
    boundary: ToolBoundary,
    skills: SkillBoundary,
    fields: RequestFields,
}

impl DynamicAgentBuilder {
    pub(super) fn new(template: Agent) -> Self {
        Self {
            template,
            name: NAME.to_owned(),
            description: DESCRIPTION.to_owned(),
            boundary: ToolBoundary::default(),
            skills: SkillBoundary::default(),
            fields: RequestFields::default(),
        }
    }

    /// Sets the name of the tool. Default: `dynamic_agent`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the description of the tool.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the tools that an agent may have, in place of those of the run of the call. The schema lists their names, if they
    /// are at most 256; then another name is an invalid argument.
    pub fn boundary(mut self, tools: Registry) -> Self {
        self.boundary = ToolBoundary::Fixed(tools);
        self
    }

    /// Sets the tools that an agent may have to the result of `tools`, which is called for each call. The schema does not
    /// list their names.
    pub fn boundary_fn<F, Fut>(mut self, tools: F) -> Self
    where
        F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Registry, ToolError>> + Send + 'static,
    {
        self.boundary = ToolBoundary::PerCall(Arc::new(move |cx| Box::pin(tools(cx))));
        self
    }

    /// Sets the skills that an agent may have, in place of those of the run of the call. An agent has them all, unless the model
    /// [may choose](RequestField::Skills).
    pub fn skill_boundary(mut self, skills: AgentSkills) -> Self {
        self.skills = SkillBoundary::Fixed(skills);
        self
    }

    /// Offers a field of the arguments. Default: all fields but [`RequestField::Skills`].
    pub fn show(mut self, field: RequestField) -> Self {
        self.fields.show(field);
        self
    }

    /// Removes a field from the arguments; a model that sends it all the same changes nothing. `request` stays.
    pub fn hide(mut self, field: RequestField) -> Self {
        self.fields.hide(field);
        self
    }

    /// Sets the description of a field.
    pub fn describe(mut self, field: RequestField, description: impl Into<String>) -> Self {
        self.fields.describe(field, description.into());
        self
    }

    /// Builds the tool.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is no name of a tool.
    pub fn build(self) -> Result<DynamicAgentTool, AgentError> {
        let Self { template, name, description, boundary, skills, fields } = self;
        let invalid = |message| AgentError::InvalidTool { message };
        let name = ToolName::new(name).map_err(|error| invalid(error.to_string()))?;
        let names = boundary.listed_tool_names(name.as_str());
        let schema = InputSchema::new(fields.argument_schema(names.as_deref()))
            .map_err(|error| invalid(error.to_string()))?;
        let definition = ToolDefinition::new(name, description, schema);
        Ok(DynamicAgentTool {
            definition,
            settings: AgentToolSettings::new(template),
            boundary,
            skills,
            fields,
        })
    }
}

impl fmt::Debug for DynamicAgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicAgentBuilder")
            .field("name", &self.name)
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}
