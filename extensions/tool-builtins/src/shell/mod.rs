//! Commands of a shell, and commands in the background.
//!
//! A command that fails is a normal result, since a model reads it and goes on. An error means that nothing ran, or that
//! the call was cancelled.

mod capture;
#[cfg(feature = "files")]
mod coding;
mod deny;
mod output;
mod run;
mod task;
mod update;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tool_runtime::{policy::ResultStore, prelude::*};

#[cfg(all(feature = "files", feature = "web"))]
pub(crate) use self::coding::CodingShell;
#[cfg(feature = "files")]
pub(crate) use self::coding::ForegroundShell;
#[cfg(feature = "code")]
pub(crate) use self::{
    output::CallOutput,
    run::{MAX_TIMEOUT_MILLIS, start_error, wait_error},
};
use self::{
    run::{CommandRequest, ShellState},
    task::TaskTable,
};
use crate::sandbox::{Confinement, Sandbox, path_without_links};

/// Tools that run commands in a folder: `bash`, `task_output` and `task_stop`.
///
/// Each call of `bash` requires approval. Commands run in a [`Sandbox`], [preferred](Sandbox::Preferred) by default: they
/// read and write the folder and a private temporary one, read and run the programs of the system, and have no network.
/// The details of a result say which guards were active.
///
/// A clone shares the sandbox and the background tasks, until a setting is changed. The tasks end with the last clone, or
/// when [`close`](Self::close) is called.
///
/// ```
/// use tool_builtins::ShellTools;
/// use tool_runtime::{Executor, Registry, ToolCall, policy::Approval, serde_json::json};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let tools = Registry::builder().toolset(ShellTools::new(folder.path())?).build()?;
/// let executor = Executor::builder(tools)
///     .approver(|_: &tool_runtime::policy::ApprovalRequest| Approval::Approved)
///     .build()?;
/// let outcomes = executor.run(vec![ToolCall::new("bash", json!({ "command": "echo one; exit 3" }))]).await;
/// let result = outcomes[0].result().ok_or("no result")?;
/// assert_eq!(result.text(), "one\n[exit code 3]");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ShellTools {
    settings: ShellSettings,
    state: Arc<ShellState>,
}

#[derive(Clone)]
struct ShellSettings {
    folder: PathBuf,
    confinement: Confinement,
    environment: Vec<(String, String)>,
    denied_patterns: Vec<String>,
    confirms: Option<ConfirmCommand>,
    results: Option<Arc<ResultStore>>,
}

type ConfirmCommand = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl ShellTools {
    /// Tools that run commands in `folder`.
    ///
    /// # Errors
    ///
    /// Returns an error if `folder` is not a folder.
    pub fn new(folder: impl AsRef<Path>) -> io::Result<Self> {
        let folder = folder.as_ref().canonicalize()?;
        if !folder.is_dir() {
            let message = format!("`{}` is no folder; commands run in one", folder.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
        }
        let mut confinement = Confinement::new(Sandbox::default());
        confinement.writable.push(folder.clone());
        let settings = ShellSettings {
            folder,
            confinement,
            environment: Vec::new(),
            denied_patterns: Vec::new(),
            confirms: None,
            results: None,
        };
        Ok(Self { settings, state: Arc::default() })
    }

    /// Chooses between a sandbox and none. Default: [`Sandbox::Preferred`].
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.settings.confinement.sandbox = sandbox;
        self.with_reset_state()
    }

    /// Permits commands to read and run what is below `path`, such as a folder of compilers. Folders of it that are in the
    /// program's `PATH` are in the one of the commands, too.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.confinement.readable.push(path_without_links(path.into()));
        self.with_reset_state()
    }

    /// Permits commands to read, write and run what is below `folder`, beside the first folder.
    #[must_use]
    pub fn writable(mut self, folder: impl Into<PathBuf>) -> Self {
        self.settings.confinement.writable.push(path_without_links(folder.into()));
        self.with_reset_state()
    }

    /// Permits connections to the network, also to services of this machine. Sockets by path stay refused. Default:
    /// `false`.
    #[must_use]
    pub fn network(mut self, is_permitted: bool) -> Self {
        self.settings.confinement.permits_network = is_permitted;
        self.with_reset_state()
    }

    /// Limits the memory of each process of a command, in bytes. Default: 4 GiB.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.settings.confinement.limits.memory_bytes = bytes;
        self.with_reset_state()
    }

    /// Sets the path of the program `bubblewrap`, which guards commands where it can run; `None` for the guards of the kernel alone.
    /// Default: `bwrap` in a folder of programs of the system, if it is there.
    #[must_use]
    pub fn bubblewrap(mut self, program: Option<PathBuf>) -> Self {
        self.settings.confinement.bubblewrap = program;
        self.with_reset_state()
    }

    /// Sets a variable of the environment of commands, which has only what describes language, time zone, user and
    /// terminal of the program. A command can print each variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.environment.push((name.into(), value.into()));
        self.with_reset_state()
    }

    /// Refuses commands that contain `pattern`, beside those that wipe a root or home folder, make a file system, write to
    /// a device or are a fork bomb.
    ///
    /// The list prevents accidents. It is no protection from a model that means harm: a command has many spellings. A
    /// sandbox is.
    #[must_use]
    pub fn deny(mut self, pattern: impl Into<String>) -> Self {
        self.settings.denied_patterns.push(pattern.into());
        self.with_reset_state()
    }

    /// Asks `confirms` before each command; `false` refuses it.
    #[must_use]
    pub fn confirm(mut self, confirms: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.settings.confirms = Some(Arc::new(confirms));
        self.with_reset_state()
    }

    /// Keeps output in `results` that is too long for a result, up to 8 MiB of each stream.
    #[must_use]
    pub fn results(mut self, results: Arc<ResultStore>) -> Self {
        self.settings.results = Some(results);
        self.with_reset_state()
    }

    /// Ends all background tasks, and returns when they have ended.
    pub async fn close(&self) {
        self.state.tasks.kill_and_join_all().await;
    }

    /// Another setting is another sandbox.
    fn with_reset_state(mut self) -> Self {
        self.state = Arc::default();
        self
    }

    fn tasks(&self) -> &TaskTable {
        &self.state.tasks
    }
}

impl fmt::Debug for ShellTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShellSettings { folder, confinement, denied_patterns, .. } = &self.settings;
        f.debug_struct("ShellTools")
            .field("folder", folder)
            .field("confinement", confinement)
            .field("denied_patterns", denied_patterns)
            .finish_non_exhaustive()
    }
}

#[toolset(name = "shell")]
impl ShellTools {
    /// Runs a command of bash and returns its output and exit code.
    ///
    /// Standard input is empty. Processes that a command leaves behind are ended with it; use `run_in_background` for a
    /// server. Long output is cut in the middle.
    #[tool(destructive, open_world, confirm)]
    async fn bash(
        &self,
        /// Command to run.
        command: String,
        /// Milliseconds until the command is killed, with exit code 124. Default: 120000; none in the background.
        #[schemars(range(min = 1, max = 600_000))]
        timeout_ms: Option<u64>,
        /// Returns the id of a task at once, for `task_output` and `task_stop`.
        #[arg(default = false)]
        run_in_background: bool,
        /// Folder in which the command starts, relative to the first one. Default: the first one.
        folder: Option<String>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        run::run_command(self, CommandRequest { command, timeout_ms, run_in_background, folder }, cx).await
    }

    /// Returns the output of a background task so far, and its status: `success` after its end, otherwise `not_ready`, or
    /// `timeout` if it was awaited.
    #[tool(read_only)]
    async fn task_output(
        &self,
        /// Id of the task.
        #[serde(alias = "shell_id")]
        task_id: String,
        /// Waits for the end of the task.
        #[arg(default = false)]
        wait: bool,
        /// Milliseconds to wait.
        #[arg(default = 30_000)]
        #[schemars(range(min = 1, max = 600_000))]
        timeout_ms: u64,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        run::read_task(self, &task_id, wait.then_some(timeout_ms), cx).await
    }

    /// Ends a running background task with all of its processes.
    #[tool(destructive)]
    async fn task_stop(
        &self,
        /// Id of the task.
        #[serde(alias = "shell_id")]
        task_id: String,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        run::stop_task(self, &task_id, cx).await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_kept_and_has_a_sandbox_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let shell = ShellTools::new(&path).unwrap();
        let confinement = &shell.settings.confinement;
        assert_eq!((&shell.settings.folder, &confinement.writable), (&path, &vec![path.clone()]));
        assert_eq!((confinement.sandbox, confinement.permits_network), (Sandbox::Preferred, false));
        assert!(Arc::ptr_eq(&shell.state, &shell.clone().state));
        let results = Arc::new(ResultStore::new(1));
        let changes: Vec<fn(ShellTools) -> ShellTools> = vec![
            |shell| shell.sandbox(Sandbox::Required),
            |shell| shell.readable("/no/such/folder"),
            |shell| shell.writable("/no/such/other"),
            |shell| shell.network(true),
            |shell| shell.memory_limit(7),
            |shell| shell.bubblewrap(Some("/no/bwrap".into())),
            |shell| shell.env("NAME", "value"),
            |shell| shell.deny("git push"),
            |shell| shell.confirm(|_| false),
        ];
        for change in &changes {
            assert!(!Arc::ptr_eq(&shell.state, &change(shell.clone()).state));
        }
        assert!(!Arc::ptr_eq(&shell.state, &shell.clone().results(Arc::clone(&results)).state));
        let shell = changes.iter().fold(shell, |shell, change| change(shell)).results(results);
        let ShellSettings { confinement, environment, denied_patterns, confirms, results, .. } =
            shell.settings;
        assert_eq!(confinement.sandbox, Sandbox::Required);
        assert_eq!(confinement.readable, [PathBuf::from("/no/such/folder")]);
        assert_eq!(confinement.writable, [path, "/no/such/other".into()]);
        assert!(confinement.permits_network);
        assert_eq!(confinement.limits.memory_bytes, 7);
        assert_eq!(confinement.bubblewrap, Some("/no/bwrap".into()));
        assert_eq!(environment, [("NAME".to_owned(), "value".to_owned())]);
        assert_eq!(denied_patterns, ["git push"]);
        assert!(confirms.is_some_and(|confirms| !confirms("ls")) && results.is_some());
    }
}
