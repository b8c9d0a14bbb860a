//! The tools of skills.

use tool_runtime::{ToolContext, ToolError, output::ToolOutput, toolset};

use super::{
    SkillError, SkillList, error::short_line, instruction::header_lines, load::load_skill,
    read::text_file_part, skill_set::SkillSettings,
};

/// The names of the tools.
pub(super) const SKILL_LIST: &str = "skill_list";
pub(super) const SKILL_LOAD: &str = "skill_load";
pub(super) const SKILL_READ: &str = "skill_read";

/// The maximum number of bytes of a list of skills.
const MAX_LIST_BYTES: usize = 32 << 10;

/// The tools on the skills of an agent.
#[derive(Clone)]
pub(super) struct SkillTools(pub(super) SkillSettings);

#[toolset(name = "skills")]
impl SkillTools {
    /// Lists the skills: instructions for certain tasks, with their names and descriptions.
    #[tool(read_only)]
    async fn skill_list(&self) -> Result<String, ToolError> {
        let list = self.0.list().await.map_err(SkillError::into_tool_error)?;
        Ok(list_text(&list))
    }

    /// Loads a skill: its instructions, and the paths of its files. Load it before the task that it is for, and follow it.
    #[tool(read_only)]
    async fn skill_load(
        &self,
        /// Name of the skill, from the list.
        name: String,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        load_skill(&self.0, &name, cx.run().map(AsRef::as_ref)).await.map_err(SkillError::into_tool_error)
    }

    /// Reads a file of a skill, as text. A long file is read in parts; the result says where the next one begins.
    #[tool(read_only)]
    async fn skill_read(
        &self,
        /// Name of the skill.
        name: String,
        /// Path of the file, as `skill_load` returned it.
        path: String,
        /// Byte at which the part begins, from 0.
        #[arg(default = 0)]
        offset: u64,
    ) -> Result<String, ToolError> {
        let content = self.0.read_file(&name, &path).await.map_err(SkillError::into_tool_error)?;
        text_file_part(&path, content, offset).map_err(SkillError::into_tool_error)
    }
}

/// Returns the list for a model.
fn list_text(list: &SkillList) -> String {
    const MAX_DIAGNOSTICS: usize = 10;
    let (mut text, left_out) = header_lines(&list.headers, MAX_LIST_BYTES);
    if text.is_empty() {
        text.push_str("There are no skills.\n");
    }
    if left_out > 0 {
        text.push_str(&format!("{left_out} more skills are not listed: the list would be too long.\n"));
    }
    for diagnostic in list.diagnostics.iter().take(MAX_DIAGNOSTICS) {
        text.push_str(&format!("{}\n", short_line(&diagnostic.to_string())));
    }
    match list.diagnostics.len().saturating_sub(MAX_DIAGNOSTICS) {
        0 => {}
        more => text.push_str(&format!("{more} more skills cannot be used.\n")),
    }
    text.truncate(text.trim_end().len());
    text
}
