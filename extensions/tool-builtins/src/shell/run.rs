//! The calls of the shell tools.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::OnceCell;
use tool_runtime::{CancellationToken, prelude::*};

use super::{
    ShellSettings, ShellTools, deny,
    output::{self, CallOutput},
    task::TaskTable,
};
use crate::{
    sandbox::{CommandEnd, CommandLine, Confinement, Launcher, RunLimit, find_system_program},
    session::SessionKey,
};

const DEFAULT_TIMEOUT_MILLIS: u64 = 120_000;
pub(crate) const MAX_TIMEOUT_MILLIS: u64 = 600_000;

/// The state of tools, made by their first command.
#[derive(Default)]
pub(super) struct ShellState {
    // First: tasks use the launcher.
    pub(super) tasks: TaskTable,
    launcher: OnceCell<Arc<Launcher>>,
}

impl ShellState {
    async fn start_launcher_once(&self, confinement: &Confinement) -> Result<&Arc<Launcher>, ToolError> {
        let start = async { Launcher::start(confinement, None).await.map(Arc::new) };
        self.launcher
            .get_or_try_init(|| start)
            .await
            .map_err(|message| ToolError::new(ErrorKind::Unavailable, message))
    }
}

/// The arguments of `bash`.
pub(crate) struct CommandRequest {
    pub(crate) command: String,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) run_in_background: bool,
    pub(crate) folder: Option<String>,
}

pub(super) async fn run_command(
    tools: &ShellTools,
    request: CommandRequest,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let ShellTools { settings, state } = tools;
    check_and_confirm_command(settings, &request.command)?;
    let folder = resolve_start_folder(settings, request.folder.as_deref())?;
    let launcher = state.start_launcher_once(&settings.confinement).await?;
    let shell = find_system_program("bash");
    let shell = shell.unwrap_or_else(|| PathBuf::from(if cfg!(unix) { "/bin/sh" } else { "bash" }));
    let line = CommandLine {
        words: vec![shell.to_string_lossy().into_owned(), "-c".to_owned(), request.command],
        folder,
        environment: settings.environment.clone(),
    };
    let results = settings.results.as_deref();
    if request.run_in_background {
        tools.tasks().check_task_limit()?;
        let running = launcher.spawn(line).await.map_err(start_error)?;
        let timeout = request.timeout_ms.map_or(Duration::MAX, Duration::from_millis);
        let owner = SessionKey::of_call(cx);
        let task =
            tools.tasks().spawn_task(running, timeout, results.is_some(), Arc::clone(launcher), owner)?;
        let text = format!("{} runs; read it by `task_output`, end it by `task_stop`", task.id);
        let details = json!({ "task_id": task.id, "status": "not_ready", "enforced": launcher.enforced() });
        return Ok(ToolOutput::from(text).with_details(details));
    }
    let timeout_ms = request.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MILLIS).min(MAX_TIMEOUT_MILLIS);
    let limit =
        RunLimit { timeout: Duration::from_millis(timeout_ms), cancellation: cx.cancellation().clone() };
    let mut sink = CallOutput::new(cx, results.is_some());
    let running = launcher.spawn(line).await.map_err(start_error)?;
    let command_end = running.run_to_end(&limit, &mut sink).await.map_err(wait_error)?;
    sink.show_rest().await;
    if command_end == CommandEnd::NotStarted {
        return Err(sink.output.start_failure_error());
    }
    let result = sink.output.build_result(command_end, launcher.enforced(), results);
    if command_end == CommandEnd::Cancelled {
        let details = json!({ "output": result.text() });
        return Err(ToolError::cancelled().with_details(details));
    }
    Ok(result)
}

/// Refuses a command before anything runs.
fn check_and_confirm_command(settings: &ShellSettings, command: &str) -> Result<(), ToolError> {
    if command.contains('\0') {
        return Err(ToolError::bad_parameter("the command contains a NUL character; leave it out"));
    }
    if let Some(reason) = deny::reason_to_deny_command(command, &settings.denied_patterns) {
        let message = format!("the command is refused: {reason}; nothing was run");
        return Err(ToolError::new(ErrorKind::Denied, message));
    }
    if settings.confirms.as_ref().is_some_and(|confirms| !confirms(command)) {
        return Err(ToolError::new(ErrorKind::Denied, "the command was not confirmed; nothing was run"));
    }
    Ok(())
}

/// The folder in which a command starts. The sandbox guards files; this is for mistakes.
fn resolve_start_folder(settings: &ShellSettings, folder: Option<&str>) -> Result<PathBuf, ToolError> {
    let Some(folder) = folder else { return Ok(settings.folder.clone()) };
    let resolved = settings.folder.join(folder).canonicalize().ok().filter(|path| path.is_dir());
    let resolved = resolved.ok_or_else(|| ToolError::not_found(format!("there is no folder `{folder}`")))?;
    let is_inside = settings.confinement.writable.iter().any(|root| resolved.starts_with(root));
    if is_inside {
        return Ok(resolved);
    }
    Err(ToolError::bad_parameter(format!("`{folder}` is outside of the folder; use a path inside of it")))
}

pub(crate) fn start_error(error: std::io::Error) -> ToolError {
    ToolError::failed(format!("the command cannot be started: {error}"))
}

pub(crate) fn wait_error(error: std::io::Error) -> ToolError {
    ToolError::failed(format!("the end of the command cannot be seen, so that it was killed: {error}"))
}

/// Returns the state of a task, after at most `wait_ms`.
pub(super) async fn read_task(
    tools: &ShellTools,
    id: &str,
    wait_ms: Option<u64>,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let task = tools.tasks().find_own_task(id, &SessionKey::of_call(cx))?;
    let command_end = match wait_ms {
        None => task.ending_if_ended(),
        Some(wait_ms) => {
            let cancellation: &CancellationToken = cx.cancellation();
            tokio::select! {
                command_end = task.wait_for_ending(Duration::from_millis(wait_ms)) => command_end,
                () = cancellation.cancelled() => return Err(ToolError::cancelled()),
            }
        }
    };
    let results = tools.settings.results.as_deref();
    let Some(command_end) = command_end else {
        let status = if wait_ms.is_some() { "timeout" } else { "not_ready" };
        let text = format!("[{status}: {id} is still running]\n{}", task.output.lock().text_of_streams(None));
        return Ok(ToolOutput::from(text).with_details(json!({ "task_id": id, "status": status })));
    };
    if command_end == CommandEnd::NotStarted {
        return Err(task.output.lock().start_failure_error());
    }
    let launcher = tools.state.start_launcher_once(&tools.settings.confinement).await?;
    let result = task.output.lock().build_result(command_end, launcher.enforced(), results);
    let mut details = result.details().cloned().unwrap_or_default();
    if let Some(details) = details.as_object_mut() {
        details.insert("task_id".to_owned(), json!(id));
        details.insert("status".to_owned(), json!("success"));
    }
    Ok(result.with_details(details))
}

pub(super) async fn stop_task(
    tools: &ShellTools,
    id: &str,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let task = tools.tasks().find_own_task(id, &SessionKey::of_call(cx))?;
    if let Some(command_end) = task.ending_if_ended() {
        let message = format!(
            "the task {id} has ended with exit code {}; only a running task can be stopped",
            output::result_exit_code(command_end)
        );
        return Err(ToolError::conflict(message));
    }
    let command_end = task.kill_and_wait().await;
    let text = task.output.lock().text_of_streams(None);
    let details =
        json!({ "task_id": id, "status": "stopped", "exit_code": command_end.map(output::result_exit_code) });
    Ok(ToolOutput::from(format!("[{id} is stopped]\n{text}")).with_details(details))
}
