//! Programs that a model writes.
//!
//! Each run has a folder of its own below one private folder, which is removed after the result is made. Nothing runs
//! without a sandbox unless the program of the user says so.

#[cfg(feature = "agent")]
mod executor;
mod left;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, OpenOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{
    runtime::Handle,
    sync::{Mutex, OnceCell, OwnedMutexGuard},
    time::{self, Instant},
};
use tool_runtime::{prelude::*, schemars};

use self::left::ProgramFiles;
use crate::{
    sandbox::{
        CommandEnd, CommandLine, Confinement, Launcher, RunLimit, Sandbox, ScratchFolder,
        find_system_program, path_without_links, run_blocking,
    },
    shell::{CallOutput, MAX_TIMEOUT_MILLIS, start_error, wait_error},
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
    base: Arc<ScratchFolder>,
    confinement: Confinement,
    /// One run at a time: runs could read each other's files. It is of the folder, which tools of other settings share.
    turn: Arc<Mutex<()>>,
    state: Arc<CodeState>,
}

#[derive(Default)]
struct CodeState {
    launcher: OnceCell<Launcher>,
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
    fn program_and_file_name(self) -> (&'static str, &'static str) {
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
        let base = ScratchFolder::create("tool-code-")?;
        let confinement = Confinement::new(Sandbox::Required);
        Ok(Self { base: Arc::new(base), confinement, turn: Arc::default(), state: Arc::default() })
    }

    /// Chooses between a sandbox and none. Default: [`Sandbox::Required`].
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.confinement.sandbox = sandbox;
        self.with_reset_state()
    }

    /// Permits programs to read and run what is below `path`, such as libraries or a folder of data.
    #[must_use]
    pub fn readable(mut self, path: impl Into<PathBuf>) -> Self {
        self.confinement.readable.push(path_without_links(path.into()));
        self.with_reset_state()
    }

    /// Permits connections to the network, also to services of this machine. Default: `false`.
    #[must_use]
    pub fn network(mut self, is_permitted: bool) -> Self {
        self.confinement.permits_network = is_permitted;
        self.with_reset_state()
    }

    /// Limits the memory of each process of a program, in bytes. Default: 4 GiB.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.confinement.limits.memory_bytes = bytes;
        self.with_reset_state()
    }

    /// Sets the path of the program `bubblewrap`, which guards programs where it can run; `None` for the guards of the kernel alone.
    /// Default: `bwrap` in a folder of programs of the system, if it is there.
    #[must_use]
    pub fn bubblewrap(mut self, program: Option<PathBuf>) -> Self {
        self.confinement.bubblewrap = program;
        self.with_reset_state()
    }

    /// Another setting is another sandbox.
    fn with_reset_state(mut self) -> Self {
        self.state = Arc::default();
        self
    }

    async fn start_launcher_once(&self) -> Result<&Launcher, ToolError> {
        let start = || Launcher::start(&self.confinement, Some(Arc::clone(&self.base)));
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
        /// The time in which another program runs counts.
        #[schemars(range(min = 1, max = 600_000))]
        timeout_ms: Option<u64>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let (name, file_name) = language.program_and_file_name();
        let program = find_system_program(name).ok_or_else(|| {
            ToolError::new(
                ErrorKind::Unavailable,
                format!("there is no `{name}` on this machine; use another language"),
            )
        })?;
        let timeout_ms = timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MILLIS).min(MAX_TIMEOUT_MILLIS);
        let deadline = Instant::now() + Duration::from_millis(timeout_ms);
        let run = self.wait_for_turn_to_run(deadline, cx).await?;
        let launcher = self.start_launcher_once().await?;
        let (run, folder) = run.clear_and_create_folders(file_name, code).await?;
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
        let timeout = deadline.saturating_duration_since(Instant::now());
        let limit = RunLimit { timeout, cancellation: cx.cancellation().clone() };
        let mut sink = CallOutput::new(cx, false);
        let running = launcher.spawn(line).await.map_err(start_error)?;
        let command_end = running.run_to_end(&limit, &mut sink).await.map_err(wait_error)?;
        sink.show_rest().await;
        match command_end {
            // The call ends when the files are gone.
            CommandEnd::Cancelled => return run.remove_left_files().await.and(Err(ToolError::cancelled())),
            CommandEnd::NotStarted => return Err(sink.output.start_failure_error()),
            CommandEnd::Exited(_) | CommandEnd::TimedOut => {}
        }
        let result = sink.output.build_result(command_end, launcher.enforced(), None);
        let left = run_blocking(move || Ok(ProgramFiles::read_below(&folder.opened)));
        let left = left.await.map_err(|error| folder_error(&error))?;
        run.remove_left_files().await?;
        Ok(left.append_to_result(result))
    }
}

impl CodeTools {
    /// Waits for the end of another run.
    async fn wait_for_turn_to_run(&self, deadline: Instant, cx: &ToolContext) -> Result<CodeRun, ToolError> {
        let turn = Arc::clone(&self.turn);
        tokio::select! {
            turn = turn.lock_owned() => Ok(CodeRun { base: Arc::clone(&self.base), turn: Some(turn) }),
            () = time::sleep_until(deadline) => Err(ToolError::new(
                ErrorKind::Unavailable,
                "another program ran until the time limit, so that nothing was run; call it again",
            )),
            () = cx.cancellation().cancelled() => Err(ToolError::cancelled()),
        }
    }
}

/// A run, whose files are removed with it: the next one waits for that.
struct CodeRun {
    base: Arc<ScratchFolder>,
    turn: Option<OwnedMutexGuard<()>>,
}

impl CodeRun {
    /// Makes its folders. If the call is dropped meanwhile, the run ends after it, and no other one has the turn before.
    async fn clear_and_create_folders(
        self,
        file_name: &'static str,
        code: String,
    ) -> Result<(Self, CodeFolder), ToolError> {
        let prepared = run_blocking(move || {
            // What an earlier program left, also beside its folder.
            self.base.remove_all_contents()?;
            let folder = CodeFolder::create_with_code(&self.base, file_name, &code)?;
            Ok((self, folder))
        });
        prepared.await.map_err(|error| folder_error(&error))
    }

    /// Removes what the program left.
    async fn remove_left_files(mut self) -> Result<(), ToolError> {
        let (base, turn) = (Arc::clone(&self.base), self.turn.take());
        let removed = run_blocking(move || {
            let _turn = turn;
            base.remove_all_contents()
        });
        removed
            .await
            .map_err(|error| ToolError::failed(format!("what the program left cannot be removed: {error}")))
    }
}

impl Drop for CodeRun {
    /// Removes what a call that was dropped left, beside the tasks of the program.
    fn drop(&mut self) {
        /// The processes of the program were killed, and may not have ended yet.
        const MAX_ATTEMPTS: usize = 10;
        let Some(turn) = self.turn.take() else { return };
        let base = Arc::clone(&self.base);
        let remove = move || {
            let _turn = turn;
            let _ = (0..MAX_ATTEMPTS).find(|_| base.remove_all_contents().is_ok());
        };
        match Handle::try_current() {
            #[expect(clippy::disallowed_methods, reason = "it ends by itself, and the next run waits for it")]
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

fn folder_error(error: &io::Error) -> ToolError {
    ToolError::failed(format!("the folder of the program: {error}"))
}

/// The folder of a run: there is one at a time.
const RUN_FOLDER: &str = "run";

/// The folders of one run.
struct CodeFolder {
    code: PathBuf,
    work: PathBuf,
    /// The folder of the program, opened before it runs: it may be exchanged later.
    opened: Dir,
    home: PathBuf,
}

impl CodeFolder {
    /// Makes them below the handle of `base`, which is empty.
    fn create_with_code(base: &ScratchFolder, file_name: &str, text: &str) -> io::Result<Self> {
        let create_folder = |parent: &Dir, name: &str| {
            parent.create_dir(name)?;
            parent.open_dir_nofollow(name)
        };
        let run = create_folder(&base.open_dir()?, RUN_FOLDER)?;
        let mut code = run.open_with(file_name, OpenOptions::new().write(true).create_new(true))?;
        code.write_all(text.as_bytes())?;
        let opened = create_folder(&run, "work")?;
        run.create_dir("home")?;
        let path = base.path().join(RUN_FOLDER);
        let (code, work, home) = (path.join(file_name), path.join("work"), path.join("home"));
        Ok(Self { code, work, opened, home })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::{future::Future as _, pin::pin, sync::mpsc, task::Context};

    use super::*;

    #[test]
    fn a_run_that_is_dropped_in_its_preparation_keeps_the_turn_until_its_end() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let tools = CodeTools::new().unwrap();
            let (release, released) = mpsc::channel::<()>();
            // The preparation waits for the one thread.
            #[expect(clippy::disallowed_methods, reason = "it is awaited")]
            let blocker = tokio::task::spawn_blocking(move || released.recv());
            let deadline = Instant::now() + Duration::from_secs(60);
            let run = tools.wait_for_turn_to_run(deadline, &ToolContext::for_test()).await.unwrap();
            {
                let mut prepared = pin!(run.clear_and_create_folders("main.sh", "the code".to_owned()));
                assert!(
                    prepared.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending()
                );
            }
            assert!(tools.turn.try_lock().is_err());
            release.send(()).unwrap();
            blocker.await.unwrap().unwrap();
            let _turn = tools.turn.lock().await;
            assert_eq!(tools.base.open_dir().unwrap().entries().unwrap().count(), 0);
        });
    }

    #[test]
    fn each_setting_is_kept_and_has_a_sandbox_of_its_own() {
        let code = CodeTools::new().unwrap();
        assert_eq!((code.confinement.sandbox, code.confinement.permits_network), (Sandbox::Required, false));
        assert!(Arc::ptr_eq(&code.state, &code.clone().state));
        let changes: [fn(CodeTools) -> CodeTools; 5] = [
            |code| code.sandbox(Sandbox::Off),
            |code| code.readable("/no/such/folder"),
            |code| code.network(true),
            |code| code.memory_limit(7),
            |code| code.bubblewrap(Some("/no/bwrap".into())),
        ];
        for change in changes {
            assert!(!Arc::ptr_eq(&code.state, &change(code.clone()).state));
        }
        let confinement = changes.into_iter().fold(code, |code, change| change(code)).confinement;
        assert_eq!((confinement.sandbox, confinement.permits_network), (Sandbox::Off, true));
        assert_eq!(confinement.readable, [PathBuf::from("/no/such/folder")]);
        assert_eq!(confinement.limits.memory_bytes, 7);
        assert_eq!(confinement.bubblewrap, Some("/no/bwrap".into()));
    }
}
