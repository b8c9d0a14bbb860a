//! Functions as items.

mod discovery;
mod prompts;
mod resources;
#[cfg(feature = "mcp")]
mod served;
mod templates;
