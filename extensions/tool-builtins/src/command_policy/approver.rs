//! An approver that answers for the commands that a policy allows.

use tool_runtime::{
    ToolError,
    definition::Permission,
    policy::{Approval, ApprovalCause, ApprovalHandle, Approver},
};

use super::CommandPolicy;

/// Approves the commands that a [`CommandPolicy`] allows, rejects those that it denies, and asks another approver about
/// all others. Made by [`CommandPolicy::approver`].
#[derive(Debug, Clone)]
pub struct CommandApprover<A> {
    policy: CommandPolicy,
    person: A,
}

impl CommandPolicy {
    /// Returns an approver for tools that require an approval for each call (`confirm`), as a shell does: a command that
    /// the policy allows is approved, one that it denies is rejected, and `person` is asked about the others, and about
    /// everything else that requires an approval: other tools, rules, and questions of a body.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_builtins::CommandPolicy;
    /// use tool_runtime::{Executor, ToolCall, policy::{Approval, ApprovalRequest}, prelude::*};
    ///
    /// /// Runs a command.
    /// #[tool(confirm)]
    /// fn bash(command: String) -> String {
    ///     format!("ran {command}")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let policy = CommandPolicy::builder().allow("git status")?.deny("git push *")?.build();
    /// let person = |_: &ApprovalRequest| Approval::Rejected("not now".to_owned());
    /// let executor = Executor::builder(Registry::builder().tool::<bash>().build()?)
    ///     .permission(policy.clone())
    ///     .approver(policy.approver(person))
    ///     .build()?;
    /// let command = |command: &str| ToolCall::new("bash", json!({ "command": command }));
    /// let outcomes = executor.run(vec![command("git status"), command("git fetch")]).await;
    /// assert_eq!(outcomes[0].result().unwrap().text(), "ran git status");
    /// assert!(outcomes[1].result().unwrap().is_error());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn approver<A: Approver>(self, person: A) -> CommandApprover<A> {
        CommandApprover { policy: self, person }
    }
}

impl<A: Approver> Approver for CommandApprover<A> {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let arguments = request.call.arguments.to_value();
        let names = [request.definition().name().as_str(), request.definition().raw_name()];
        let is_confirmation = request.cause == ApprovalCause::Confirmation;
        let verdict = match &arguments {
            Ok(arguments) if is_confirmation => self.policy.judge_call(&names, arguments),
            _ => None,
        };
        match verdict {
            Some(Permission::Allow) => Ok(Approval::Approved),
            Some(Permission::Deny { reason }) => Ok(Approval::Rejected(reason)),
            _ => self.person.ask(request).await,
        }
    }
}
