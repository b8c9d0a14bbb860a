//! Tests of the catalogue, prompts and resources, through the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[cfg(feature = "agent")]
mod agent;
mod catalogue;
mod connectors;
mod folders;
mod functions;
#[cfg(feature = "mcp")]
mod offered;
mod prompt_files;
mod resources;
#[cfg(feature = "mcp")]
mod served;
#[cfg(feature = "session")]
mod user_items;
