//! The text about skills in the instruction of an agent.

use std::sync::Arc;

use tokio::sync::OnceCell;
use tool_runtime::{
    RunContext, ToolError,
    policy::Escape,
    request::{ModelRequest, RequestHook},
};

use super::{SkillHeader, SkillList, active::run_value_key, skill_set::SkillSettings, tools::SKILL_LOAD};

/// The maximum number of bytes of names and descriptions in an instruction.
const MAX_INSTRUCTION_BYTES: usize = 16 << 10;

/// Adds names and descriptions to each request of a run: those of its first request, so that a provider can cache them.
pub(super) struct SkillInstruction(pub(super) SkillSettings);

impl RequestHook for SkillInstruction {
    async fn on_request(&self, request: ModelRequest) -> Result<(), ToolError> {
        let list = self.list_of_run(request.run()).await;
        if list.headers.is_empty() {
            return Ok(());
        }
        let (lines, left_out) = header_lines(&list.headers, MAX_INSTRUCTION_BYTES);
        let more = match left_out {
            0 => String::new(),
            more => format!("{more} more: call `skill_list`.\n"),
        };
        request.instruct(format!(
            "You have skills: instructions for certain tasks. If a task matches a description, call `{SKILL_LOAD}` before you begin, and \
             follow the result. Do not load others.\n{lines}{more}"
        ));
        Ok(())
    }

    fn name(&self) -> &str {
        "skills"
    }
}

impl SkillInstruction {
    /// Returns the skills as they were at the first request of the run. Skills that cannot be listed do not end the run.
    async fn list_of_run(&self, run: &RunContext) -> Arc<SkillList> {
        let key = run_value_key(run, "skill-list");
        let cell = run.value_or_insert_with(&key, OnceCell::<Arc<SkillList>>::new);
        let list = cell.get_or_init(|| async {
            let list = self.0.list().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "a run has no skills");
                SkillList::default()
            });
            for diagnostic in &list.diagnostics {
                tracing::warn!(%diagnostic, "a skill cannot be used");
            }
            Arc::new(list)
        });
        Arc::clone(list.await)
    }
}

/// Returns a line for each skill, and the number of those for which the text has no room.
pub(super) fn header_lines(headers: &[SkillHeader], max_bytes: usize) -> (String, usize) {
    let mut lines = String::new();
    for (at, header) in headers.iter().enumerate() {
        let line = format!("- `{}`: {}\n", header.name, Escape::LINE.text(&header.description));
        if lines.len() + line.len() > max_bytes {
            return (lines, headers.len() - at);
        }
        lines.push_str(&line);
    }
    (lines, 0)
}
