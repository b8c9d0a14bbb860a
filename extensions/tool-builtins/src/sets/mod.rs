//! Ready sets of files, shell and web, each with its rules as one call.

#[cfg(feature = "web")]
mod coding;
mod default;

#[cfg(feature = "web")]
pub use self::coding::CodingTools;
pub use self::default::DefaultTools;

/// The executor of a set, whose calls [`conservative`](crate::conservative) judges.
#[cfg(feature = "command-policy")]
fn conservative_executor(
    tools: tool_runtime::Registry,
    person: impl tool_runtime::policy::Approver + 'static,
) -> tool_runtime::executor::ExecutorBuilder {
    let policy = crate::conservative();
    let approver = policy.approver(person);
    tool_runtime::Executor::builder(tools).permission(policy).approver(approver)
}
