#![doc = include_str!("docs/guide/index.md")]

// The pages name items as a program does: `Executor`, `policy::Rules`.
#[allow(unused_imports, reason = "links of the pages resolve in this scope")]
use crate::*;

/// A submodule without items for each page.
macro_rules! pages {
    ($($name:ident: $file:literal,)+) => {
        $(
            #[doc = include_str!(concat!("docs/guide/", $file))]
            pub mod $name {}
        )+
    };
}

pages! {
    getting_started: "getting_started.md",
    arguments: "arguments.md",
    errors_and_retry: "errors_and_retry.md",
    cancellation_and_timeouts: "cancellation_and_timeouts.md",
    approval_and_permission: "approval_and_permission.md",
    state_and_actions: "state_and_actions.md",
    testing_a_tool: "testing_a_tool.md",
    streaming_and_progress: "streaming_and_progress.md",
    requests_and_dialects: "requests_and_dialects.md",
    security: "security.md",
    coming_from: "coming_from.md",
    features_and_limits: "features_and_limits.md",
    choices: "choices.md",
}

/// A submodule for each page whose examples are doctests of the crate that the page is about, which depends on this one.
macro_rules! extension_pages {
    ($($name:ident: $file:literal,)+) => {
        $(
            #[cfg_attr(not(doctest), doc = include_str!(concat!("docs/guide/", $file)))]
            pub mod $name {}
        )+
    };
}

extension_pages! {
    agents: "agents.md",
    built_in_tools: "built_in_tools.md",
    fleet: "fleet.md",
    mcp: "mcp.md",
    openapi: "openapi.md",
    sessions: "sessions.md",
    several_agents: "several_agents.md",
    skills_and_knowledge: "skills_and_knowledge.md",
    tool_search: "tool_search.md",
    toolkit: "toolkit.md",
}
