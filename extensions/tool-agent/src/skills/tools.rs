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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;
    use crate::skills::{Skill, SkillDiagnostic, SkillHeader};

    fn headers(count: usize, description: &str) -> Vec<SkillHeader> {
        let header = |at: usize| Skill::new(format!("s-{at:04}"), description, "").unwrap().header;
        (0..count).map(header).collect()
    }

    #[test]
    fn skills_are_listed_up_to_a_number_of_bytes() {
        let headers = headers(3, "d");
        let lines = "- `s-0000`: d\n- `s-0001`: d\n";
        for (max_bytes, expected) in [
            (lines.len(), (lines.to_owned(), 1)),
            (lines.len() - 1, ("- `s-0000`: d\n".to_owned(), 2)),
            (lines.len() * 3 / 2, (format!("{lines}- `s-0002`: d\n"), 0)),
            (0, (String::new(), 3)),
        ] {
            assert_eq!(header_lines(&headers, max_bytes), expected, "{max_bytes}");
        }
    }

    #[test]
    fn the_list_names_what_it_leaves_out() {
        let list = |headers: Vec<SkillHeader>, diagnostics: usize| {
            let diagnostic = |at: usize| SkillDiagnostic::new(&format!("d-{at}"), "it is broken");
            SkillList { headers, diagnostics: (0..diagnostics).map(diagnostic).collect() }
        };
        assert_eq!(list_text(&list(Vec::new(), 0)), "There are no skills.");
        assert_eq!(list_text(&list(headers(1, "d"), 0)), "- `s-0000`: d");
        let broken = |at: usize| format!("\nthe skill `d-{at}` cannot be used: it is broken");
        let ten: String = (0..10).map(broken).collect();
        assert_eq!(list_text(&list(headers(1, "d"), 10)), format!("- `s-0000`: d{ten}"));
        let more = "\n1 more skills cannot be used.";
        assert_eq!(list_text(&list(headers(1, "d"), 11)), format!("- `s-0000`: d{ten}{more}"));
        let description = "x".repeat(1_000);
        let fitting = MAX_LIST_BYTES / (description.len() + "- `s-0000`: \n".len());
        let left_out = "1 more skills are not listed: the list would be too long.";
        assert!(!list_text(&list(headers(fitting, &description), 0)).contains("more skills"));
        assert!(list_text(&list(headers(fitting + 1, &description), 0)).ends_with(left_out));
    }
}
