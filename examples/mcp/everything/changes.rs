//! Lists that change. Each process of a cluster has its own lists, which a change leaves as they were.

use std::sync::OnceLock;

use tool_kit::catalogue::Catalogue;
use tool_runtime::prelude::*;

use crate::prompts::temporary_prompt;

/// The catalogue of the server: set once it holds the tools that change it.
#[derive(Default)]
pub(crate) struct Lists(OnceLock<Catalogue>);

impl Lists {
    pub(crate) fn set_catalogue(&self, catalogue: Catalogue) {
        // The program sets it once.
        let _ = self.0.set(catalogue);
    }

    fn catalogue(&self) -> anyhow::Result<&Catalogue> {
        self.0.get().ok_or_else(|| anyhow::anyhow!("the server has no catalogue"))
    }
}

/// Comes and goes.
#[tool(register = false)]
fn test_temporary() -> &'static str {
    "Still here."
}

/// Adds a tool to the list, and removes it again.
#[tool]
fn test_trigger_tool_change(lists: &Lists) -> anyhow::Result<&'static str> {
    let toolbox = lists.catalogue()?.tools();
    let tools = Registry::builder().tool::<test_temporary>().build()?;
    toolbox.add_all([tools.get("test_temporary").cloned()])?;
    toolbox.remove("test_temporary");
    Ok("changed")
}

/// Adds a prompt to the list, and removes it again.
#[tool]
fn test_trigger_prompt_change(lists: &Lists) -> anyhow::Result<&'static str> {
    let catalogue = lists.catalogue()?;
    catalogue.add_prompt(temporary_prompt()?)?;
    catalogue.remove("test_temporary_prompt")?;
    Ok("changed")
}
