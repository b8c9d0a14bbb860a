//! Functions as items.

mod discovery;
mod prompts;
