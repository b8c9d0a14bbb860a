//! The active skills of a run, and the rule that they are.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tool_runtime::{
    RunContext, ToolError,
    definition::Permission,
    hook::{Before, BeforeCall, Hook},
    policy::{PermissionPolicy, PermissionRequest},
    registry::OUTPUT_TOOL,
    schema::Arguments,
};

use super::{
    AllowedTools,
    error::short_line,
    tools::{SKILL_LIST, SKILL_LOAD, SKILL_READ},
};

/// The tools that no skill forbids.
const ALWAYS_ALLOWED: [&str; 4] = [SKILL_LIST, SKILL_LOAD, SKILL_READ, OUTPUT_TOOL];

/// The rule of the active skills of a run: a call must be allowed by each of them. See [the module](super#active-skills).
///
/// Agents with skills have it. A program that lets another run call tools of an agent adds it to the executor of that run, so that the run is
/// no way around it.
///
/// # Examples
///
/// ```
/// use tool_agent::skills::SkillRule;
/// use tool_runtime::{Executor, Registry, RunContext, executor::RunSettings};
///
/// let (run, executor) = (RunContext::new(), Executor::new(Registry::default()));
/// let narrowed = executor.with_settings(&run, RunSettings::new().permission(SkillRule::of_run(&run)))?;
/// # drop(narrowed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SkillRule(Arc<ActiveSkills>);

/// The skills that a run has loaded. A list that only grows: a run never regains a tool.
#[derive(Debug, Default)]
pub(super) struct ActiveSkills(Mutex<Vec<ActiveSkill>>);

#[derive(Debug, Clone)]
struct ActiveSkill {
    name: Arc<str>,
    allowed: AllowedTools,
}

impl SkillRule {
    /// Returns the rule of `run`, which applies to skills that are loaded later, too.
    #[must_use]
    pub fn of_run(run: &RunContext) -> Self {
        Self(ActiveSkills::of_run(run))
    }

    /// Returns the reason for which a call is refused.
    fn refusal_reason(&self, tool: &str, arguments: &Arguments<'_>) -> Result<Option<String>, ToolError> {
        if ALWAYS_ALLOWED.contains(&tool) {
            return Ok(None);
        }
        let active = self.0.active_skills();
        let compares_arguments = active.iter().any(|skill| skill.allowed.compares_arguments());
        let arguments = if compares_arguments { arguments.to_value()? } else { Value::Null };
        let refusing = active.iter().find(|skill| !skill.allowed.allows(tool, &arguments));
        Ok(refusing.map(|ActiveSkill { name, allowed }| {
            let name = short_line(name);
            format!(
                "the skill `{name}` is active and allows only {allowed}; make the call without the tool `{tool}`, or answer and \
                 say what is missing"
            )
        }))
    }
}

/// Decides on the arguments that run.
impl PermissionPolicy for SkillRule {
    async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        let refusal = self.refusal_reason(request.tool(), request.arguments)?;
        Ok(refusal.map_or(Permission::Allow, Permission::deny))
    }
}

/// Blocks a call before a person is asked to approve it.
impl Hook for SkillRule {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        let refusal = self.refusal_reason(call.tool(), call.arguments())?;
        Ok(refusal.map_or(Before::Continue, Before::block))
    }
}

/// Returns the name of a value of one agent in one run: a child run has a copy of the values of its parent, and the agents of a sequence share
/// them.
pub(super) fn run_value_key(run: &RunContext, value: &str) -> String {
    let agent = run.branch().or(run.agent()).unwrap_or_default();
    format!("tool-agent:{value}:{}:{agent}", run.id())
}

impl ActiveSkills {
    /// Returns the skills of `run`.
    pub(super) fn of_run(run: &RunContext) -> Arc<Self> {
        run.value_or_insert_with(&run_value_key(run, "active-skills"), Self::default)
    }

    /// Narrows the tools of the run from now on.
    pub(super) fn add(&self, name: &Arc<str>, allowed: AllowedTools) {
        let mut active = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A skill that changed while it was active narrows twice.
        if !active.iter().any(|skill| skill.name == *name && skill.allowed == allowed) {
            active.push(ActiveSkill { name: Arc::clone(name), allowed });
        }
    }

    /// Returns `true` if a skill of this name narrows the tools.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.active_skills().iter().any(|skill| *skill.name == *name)
    }

    fn active_skills(&self) -> Vec<ActiveSkill> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_skill_narrows_once_unless_it_has_changed() {
        let active = ActiveSkills::of_run(&RunContext::new());
        let tools = |text: &str| AllowedTools::parse(text).unwrap();
        for (name, allowed, count) in
            [("a", "look", 1), ("a", "look", 1), ("b", "look", 2), ("a", "look find", 3), ("b", "look", 3)]
        {
            active.add(&name.into(), tools(allowed));
            assert_eq!(active.active_skills().len(), count, "{name} {allowed}");
        }
        assert!(active.contains("a") && active.contains("b") && !active.contains("c"));
    }
}
