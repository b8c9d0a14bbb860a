//! Programs that a model writes.
//!
//! Each run has a folder of its own below one private folder, which is removed after the result is made. Nothing runs
//! without a sandbox unless the program of the user says so.

mod left;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use cap_std::fs::Dir;
use schemars::JsonSchema;
use serde::Deserialize;
use tempfile::TempDir;
use tokio::sync::{Mutex, OnceCell};
use tool_runtime::{prelude::*, schemars};

use self::left::LeftFiles;
use crate::{
    sandbox::{CommandLine, Confinement, Ending, Launcher, Limits, RunLimit, Sandbox, system_program},
    shell::{CallOutput, MAX_TIMEOUT_MILLIS, end_error, start_error},
};

const DEFAULT_TIMEOUT_MILLIS: u64 = 120_000;

/// A tool that runs programs of a model: `run_code`, for the languages whose programs the system has.
///
/// The sandbox is [required](Sandbox::Required) and has no network, and no folder of the user: a program gets its input by
/// its text. The result has its output, images as images, and the beginning of other files that it left.
///
/// ```
/// use tool_builtins::CodeTools;
/// use tool_runtime::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = Registry::builder().toolset(CodeTools::new()?.sandbox(tool_builtins::Sandbox::Preferred)).build()?;
/// let code = "echo $((6 * 7)) | tee answer.txt";
/// let result = tools.call_unguarded("run_code", json!({ "language": "bash", "code": code })).await?;
/// assert_eq!(result.text(), "42\n[answer.txt, 3 bytes]\n42\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CodeTools {
    base: Arc<TempDir>,
    confinement: Confinement,
    state: Arc<CodeState>,
}

#[derive(Default)]
struct CodeState {
    launcher: OnceCell<Launcher>,
    /// One run at a time: runs of one sandbox could read each other's files.
    turn: Mutex<()>,
}

impl std::fmt::Debug for CodeState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeState").finish_non_exhaustive()
    }
}

/// A language of [`CodeTools`].
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(crate = "schemars")]
#[non_exhaustive]
pub enum CodeLanguage {
    /// Python 3.
    Python,
    /// JavaScript of Node.js.
    JavaScript,
    /// Bash.
    Bash,
}

impl CodeLanguage {
    /// The name of its program, and of the file with the code.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Python => ("python3", "main.py"),
            Self::JavaScript => ("node", "main.js"),
            Self::Bash => ("bash", "main.sh"),
        }
    }
}

impl CodeTools {
    /// A tool that runs programs below a new temporary folder.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be made.
    pub fn new() -> io::Result<Self> {
        let base = tempfile::Builder::new().prefix("tool-code-").tempdir()?;
        let confinement = Confinement {
            sandbox: Sandbox::Required,
            writable: vec![base.path().canonicalize()?],
            readable: Vec::new(),
            permits_network: false,
            limits: Limits::default(),
        };
        Ok(Self { base: Arc::new(base), confinement, state: Arc::default() })
    }

    /// Chooses between a sandbox and none. Default: [`Sandbox::Required`].
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.confinement.sandbox = sandbox;
        self.with_new_state()
    }

    /// Permits programs to read and run what is below `path`, such as libraries or a folder of data.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.confinement.readable.push(path.canonicalize().unwrap_or(path));
        self.with_new_state()
    }

    /// Permits connections to the network, also to services of this machine. Default: `false`.
    #[must_use]
    pub fn network(mut self, is_permitted: bool) -> Self {
        self.confinement.permits_network = is_permitted;
        self.with_new_state()
    }

    /// Limits the memory of each process of a program, in bytes. Default: 4 GiB.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.confinement.limits.memory_bytes = bytes;
        self.with_new_state()
    }

    /// Another setting is another sandbox.
    fn with_new_state(mut self) -> Self {
        self.state = Arc::default();
        self
    }

    async fn launcher(&self) -> Result<&Launcher, ToolError> {
        let start = || Launcher::start(&self.confinement);
        let launcher = self.state.launcher.get_or_try_init(start).await;
        launcher.map_err(|message| ToolError::new(ErrorKind::Unavailable, message))
    }
}

#[toolset(name = "code")]
impl CodeTools {
    /// Runs a program and returns its output, its exit code, and the images and files that it wrote to the folder in which
    /// it starts.
    ///
    /// Nothing is kept from one program to the next. There is no network, and standard input is empty.
    #[tool(destructive, confirm)]
    async fn run_code(
        &self,
        /// Language of the program.
        language: CodeLanguage,
        /// Text of the program.
        code: String,
        /// Milliseconds until the program is killed, with exit code 124. Default: 120000.
        #[schemars(range(min = 1, max = 600_000))]
        timeout_ms: Option<u64>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let (name, file_name) = language.program();
        let program = system_program(name).ok_or_else(|| {
            ToolError::new(
                ErrorKind::Unavailable,
                format!("there is no `{name}` on this machine; use another language"),
            )
        })?;
        let _turn = tokio::select! {
            turn = self.state.turn.lock() => turn,
            () = cx.cancellation().cancelled() => return Err(ToolError::cancelled()),
        };
        let launcher = self.launcher().await?;
        let base = Arc::clone(&self.base);
        let prepared = run_blocking(move || {
            // What an earlier program left, also beside its folder.
            remove_contents(base.path())?;
            CodeFolder::create(base.path(), file_name, &code)
        });
        let folder = prepared
            .await
            .map_err(|error| ToolError::failed(format!("the folder of the program: {error}")))?;
        let home = folder.home.to_string_lossy().into_owned();
        let line = CommandLine {
            words: [program.as_path(), &folder.code].map(|path| path.to_string_lossy().into_owned()).into(),
            folder: folder.work.clone(),
            environment: vec![
                ("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()),
                ("HOME".to_owned(), home.clone()),
                ("TMPDIR".to_owned(), home),
            ],
        };
        let timeout_ms = timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MILLIS).min(MAX_TIMEOUT_MILLIS);
        let limit =
            RunLimit { timeout: Duration::from_millis(timeout_ms), cancellation: cx.cancellation().clone() };
        let mut sink = CallOutput::new(cx, false);
        let running = launcher.spawn(line).await.map_err(start_error)?;
        let ending = running.run_to_end(&limit, &mut sink).await.map_err(end_error)?;
        if ending == Ending::Cancelled {
            return Err(ToolError::cancelled());
        }
        let result = sink.output.result(ending, launcher.enforced(), None);
        let base = Arc::clone(&self.base);
        let left = run_blocking(move || {
            let left = LeftFiles::read(&folder.opened);
            remove_contents(base.path()).map(|()| left)
        });
        let left = left.await.map_err(|error| {
            ToolError::failed(format!("what the program left cannot be removed: {error}"))
        })?;
        Ok(left.add_to(result))
    }
}

/// Runs work that blocks for a bounded time on a thread for it.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    #[expect(clippy::disallowed_methods, reason = "the call waits for it, and it ends by itself")]
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// The paths of one command that removes them.
#[cfg(unix)]
const MAX_REMOVED_PATHS: usize = 200;

/// Removes all that is below `folder`. The tree is hostile, and may be deeper than a stack: `rm` follows no link and does not recurse.
fn remove_contents(folder: &Path) -> io::Result<()> {
    let entries: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    if entries.is_empty() {
        return Ok(());
    }
    #[cfg(unix)]
    {
        let run_quietly = |name: &str, options: &[&str], paths: &[PathBuf]| {
            let program =
                system_program(name).ok_or_else(|| io::Error::other(format!("there is no `{name}`")))?;
            let mut command = std::process::Command::new(program);
            command.args(options).args(paths).stdin(std::process::Stdio::null());
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).status()
        };
        // Folders that their owner may not change. The folder itself: a link among the arguments would be followed.
        run_quietly("chmod", &["-R", "u+rwX", "--"], &[folder.to_owned()])?;
        for some in entries.chunks(MAX_REMOVED_PATHS) {
            run_quietly("rm", &["-rf", "--"], some)?;
        }
    }
    #[cfg(not(unix))]
    for entry in entries {
        fs::remove_dir_all(entry)?;
    }
    match fs::read_dir(folder)?.next() {
        None => Ok(()),
        Some(_) => Err(io::Error::other("a file or folder of an earlier program cannot be removed")),
    }
}

/// The folders of one run.
struct CodeFolder {
    code: PathBuf,
    work: PathBuf,
    /// The folder of the program, opened before it runs: it may be exchanged later.
    opened: Dir,
    home: PathBuf,
}

impl CodeFolder {
    fn create(base: &Path, file_name: &str, text: &str) -> io::Result<Self> {
        let run = tempfile::Builder::new().prefix("run-").tempdir_in(base)?.keep();
        let (code, work, home) = (run.join(file_name), run.join("work"), run.join("home"));
        fs::write(&code, text)?;
        fs::create_dir(&work)?;
        fs::create_dir(&home)?;
        let opened = Dir::open_ambient_dir(&work, cap_std::ambient_authority())?;
        Ok(Self { code, work, opened, home })
    }
}
