//! `run_code` for the scripts of skills.

use std::path::Path;

use tool_agent::skills::CodeExecutor;

use super::{CodeLanguage, CodeTools};
use crate::sandbox::find_system_program;

/// The name of the tool.
const RUN_CODE: &str = "run_code";

impl CodeLanguage {
    /// Returns the language of a script by the end of its name.
    fn of_script(path: &str) -> Option<Self> {
        match Path::new(path).extension()?.to_str()? {
            "py" => Some(Self::Python),
            "js" | "cjs" => Some(Self::JavaScript),
            "sh" | "bash" => Some(Self::Bash),
            _ => None,
        }
    }
}

/// The scripts of skills, by the ends of their names: `.py`, `.js`, `.cjs`, `.sh` and `.bash`, where the system has the program of the
/// language.
///
/// The model reads a script with `skill_read`, and runs its text with `run_code`: each run asks for approval and is in the sandbox as any
/// other program. A skill changes neither: its `allowed-tools` only narrow the tools of the run. The agent has the tool under its own
/// name, without a prefix.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, ScriptedModel, skills::{AgentSkills, InMemorySkills, Skill}};
/// use tool_builtins::CodeTools;
/// use tool_runtime::Registry;
///
/// let code = CodeTools::new()?;
/// let skill = Skill::new("sums", "Adds numbers. Use it for sums.", "Run `scripts/sum.sh`.")?;
/// let store = InMemorySkills::new([skill])?.with_file("sums", "scripts/sum.sh", "echo $((6 * 7))")?;
/// let agent = Agent::builder("clerk", ScriptedModel::new([]))
///     .tools(Registry::builder().toolset(code.clone()).build()?)
///     .skills(AgentSkills::new(store).with_code_executor(code))
///     .build()?;
/// # drop(agent);
/// # Ok::<(), anyhow::Error>(())
/// ```
impl CodeExecutor for CodeTools {
    fn tool(&self) -> &str {
        RUN_CODE
    }

    fn runs(&self, path: &str) -> bool {
        CodeLanguage::of_script(path)
            .is_some_and(|language| find_system_program(language.program_and_file_name().0).is_some())
    }
}
