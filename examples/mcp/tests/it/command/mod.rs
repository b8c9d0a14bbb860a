//! The commands of `tool_mcp::cli` in `mcp-command`.

mod mcp;
mod serve;
