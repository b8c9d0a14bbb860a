//! Lists that change.

use std::sync::OnceLock;

use tool_mcp::{rmcp::model::Prompt, server::PromptSet};
use tool_runtime::{Toolbox, prelude::*};

/// The lists of the server.
pub(crate) struct Lists {
    /// Set once it holds the tools that change it.
    toolbox: OnceLock<Toolbox>,
    prompts: PromptSet,
}

impl Lists {
    pub(crate) fn new(prompts: PromptSet) -> Self {
        Self { toolbox: OnceLock::new(), prompts }
    }

    /// Sets the toolbox, which holds the tools that change it.
    pub(crate) fn set_toolbox(&self, toolbox: Toolbox) {
        // The program sets it once.
        let _ = self.toolbox.set(toolbox);
    }
}

/// Comes and goes.
#[tool(register = false)]
fn test_temporary() -> &'static str {
    "Still here."
}

/// Adds a tool to the list, or removes it.
#[tool]
fn test_trigger_tool_change(lists: &Lists) -> anyhow::Result<&'static str> {
    let Some(toolbox) = lists.toolbox.get() else { anyhow::bail!("the server has no toolbox") };
    if toolbox.remove("test_temporary") {
        return Ok("removed");
    }
    let tools = Registry::builder().tool::<test_temporary>().build()?;
    toolbox.add_all([tools.get("test_temporary").cloned()])?;
    Ok("added")
}

/// Adds a prompt to the list, or removes it.
#[tool]
fn test_trigger_prompt_change(lists: &Lists) -> &'static str {
    if lists.prompts.remove("test_temporary_prompt") {
        return "removed";
    }
    let prompt = Prompt::new("test_temporary_prompt", Some("Comes and goes."), None);
    // Clones are the same set.
    let _ = lists.prompts.clone().text(prompt, |_| "Still here.".to_owned());
    "added"
}
