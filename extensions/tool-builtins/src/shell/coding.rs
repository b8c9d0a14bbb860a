//! The shell under names and with arguments on which models were trained.

use tool_runtime::prelude::*;

use super::{
    ShellTools,
    run::{self, CommandRequest},
};

/// `Bash`, `TaskOutput` and `TaskStop`.
#[cfg(feature = "web")]
pub(crate) struct CodingShell(pub(crate) ShellTools);

#[cfg(feature = "web")]
#[toolset(name = "claudecode")]
impl CodingShell {
    /// Runs a command of bash and returns its output and exit code.
    ///
    /// Standard input is empty. Processes that a command leaves behind are ended with it; use `run_in_background` for a
    /// server. Long output is cut in the middle.
    #[tool(name = "Bash", destructive, open_world, confirm)]
    async fn bash(
        &self,
        /// Command to run.
        command: String,
        /// Milliseconds until the command is killed, with exit code 124. Default: 120000; none in the background.
        #[schemars(range(min = 1, max = 600_000))]
        timeout: Option<u64>,
        /// Purpose of the command in a few words, for people.
        description: Option<String>,
        /// Returns the id of a task at once, for `TaskOutput` and `TaskStop`.
        #[arg(default = false)]
        run_in_background: bool,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        // It is an argument that approvers show.
        drop(description);
        let request = CommandRequest { command, timeout_ms: timeout, run_in_background, folder: None };
        run::run_command(&self.0, request, cx).await
    }

    /// Returns the output of a background task, and its status: `success` after its end, otherwise `not_ready`, or `timeout` if
    /// it was awaited.
    #[tool(name = "TaskOutput", read_only)]
    async fn task_output(
        &self,
        /// Id of the task.
        #[serde(alias = "shell_id")]
        task_id: String,
        /// Waits for the end of the task.
        #[arg(default = true)]
        block: bool,
        /// Milliseconds to wait.
        #[arg(default = 30_000)]
        #[schemars(range(min = 1, max = 600_000))]
        timeout: u64,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        run::read_task(&self.0, &task_id, block.then_some(timeout), cx).await
    }

    /// Ends a running background task with all of its processes.
    #[tool(name = "TaskStop", destructive)]
    async fn task_stop(
        &self,
        /// Id of the task.
        #[serde(alias = "shell_id")]
        task_id: String,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        run::stop_task(&self.0, &task_id, cx).await
    }
}

/// `bash` alone.
pub(crate) struct ForegroundShell(pub(crate) ShellTools);

#[toolset(name = "shell")]
impl ForegroundShell {
    /// Runs a command of bash and returns its output and exit code.
    ///
    /// Standard input is empty. Processes that a command leaves behind are ended with it. Long output is cut in the middle.
    #[tool(destructive, open_world, confirm)]
    async fn bash(
        &self,
        /// Command to run.
        command: String,
        /// Milliseconds until the command is killed, with exit code 124. Default: 120000.
        #[schemars(range(min = 1, max = 600_000))]
        timeout_ms: Option<u64>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let request = CommandRequest { command, timeout_ms, run_in_background: false, folder: None };
        run::run_command(&self.0, request, cx).await
    }
}
