//! The result of `skill_load`.

use serde_json::json;
use tool_runtime::{RunContext, hook::Sanitizer, output::ToolOutput, policy::Escape};

use super::{
    Skill, SkillError, active::ActiveSkills, error::short_line, skill::is_script, skill_set::SkillSettings,
};

/// The maximum number of files in a result.
const MAX_FILES: usize = 200;

/// Loads a skill, which is active in `run` from now on.
pub(super) async fn load_skill(
    settings: &SkillSettings,
    name: &str,
    run: Option<&RunContext>,
) -> Result<ToolOutput, SkillError> {
    let skill = settings.load(name).await?;
    let text = skill_text(settings, &skill);
    if let Some(allowed) = skill.header.allowed_tools {
        let run = run.ok_or_else(|| {
            SkillError::invalid(
                "the skill narrows the tools of a run, and the call has none; call it in a run",
            )
        })?;
        ActiveSkills::of_run(run).add(&skill.header.name, allowed);
    }
    Ok(ToolOutput::from(text).with_details(json!({ "skill": skill.header.name })))
}

/// Returns the skill for a model: what it needs to know, and the instructions.
fn skill_text(settings: &SkillSettings, skill: &Skill) -> String {
    let Skill { header, body, files, unlisted_files } = skill;
    let mut text = format!("Skill `{}`: {}\n", header.name, Escape::LINE.text(&header.description));
    if let Some(compatibility) = &header.compatibility {
        text.push_str(&format!("Requires: {}\n", Escape::LINE.text(compatibility)));
    }
    if let Some(allowed) = &header.allowed_tools {
        text.push_str(&format!(
            "Until you answer, you can call {allowed}, and the tools of skills. Other calls are refused.\n"
        ));
    }
    for warning in settings.unusable_part_warnings(skill) {
        text.push_str(&format!("Warning: {warning}\n"));
    }
    if !files.is_empty() {
        text.push_str("Files, for `skill_read`:\n");
        for file in files.iter().take(MAX_FILES) {
            text.push_str(&format!("- {} ({} bytes)\n", short_line(&file.path), file.bytes));
        }
    }
    let more = files.len().saturating_sub(MAX_FILES);
    match unlisted_files.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)) {
        0 => {}
        more => text.push_str(&format!("{more} more files are not listed.\n")),
    }
    text.push_str(&format!("\nInstructions:\n\n{}", Sanitizer::clean(body.trim())));
    text
}

impl SkillSettings {
    /// Returns sentences about parts of a skill that the agent cannot use.
    pub(super) fn unusable_part_warnings(&self, skill: &Skill) -> Vec<String> {
        let scripts = skill.files.iter().filter(|file| is_script(&file.path));
        let runs = |path: &str| {
            let tool = self.code_tool_for(path)?;
            let is_allowed = skill.header.allowed_tools.as_ref().is_none_or(|it| it.may_allow_tool(&tool));
            is_allowed.then_some(())
        };
        let idle: Vec<_> = scripts.filter(|file| runs(&file.path).is_none()).collect();
        let Some(first) = idle.first() else { return Vec::new() };
        let others = match idle.len() {
            1 => String::new(),
            count => format!(" and {} other files", count - 1),
        };
        vec![format!(
            "the skill has scripts that no tool of this agent runs: `{}`{others}. Read them as text, and do not claim that they ran.",
            short_line(&first.path)
        )]
    }
}
