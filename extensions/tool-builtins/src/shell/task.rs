//! Commands that run in the background.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, task::JoinSet, time};
use tool_runtime::{CancellationToken, prelude::*};

use super::output::CommandOutput;
use crate::{
    sandbox::{CommandEnd, Launcher, OutputSink, RunLimit, RunningCommand},
    session::SessionKey,
};

const MAX_RUNNING_TASKS: usize = 16;
/// The number of tasks whose output is kept; the oldest ended ones are forgotten first.
const MAX_KNOWN_TASKS: usize = 64;

/// The tasks of a tool set. Dropping it kills the running ones.
#[derive(Default)]
pub(super) struct TaskTable {
    inner: Mutex<Tasks>,
}

#[derive(Default)]
struct Tasks {
    known: VecDeque<Arc<ShellTask>>,
    last_number: u64,
    running: JoinSet<()>,
}

/// A command in the background.
pub(super) struct ShellTask {
    owner: SessionKey,
    pub(super) id: String,
    pub(super) output: SharedOutput,
    command_end: watch::Receiver<Option<CommandEnd>>,
    cancellation: CancellationToken,
}

/// The output of a running task.
#[derive(Clone)]
pub(super) struct SharedOutput(Arc<Mutex<CommandOutput>>);

impl SharedOutput {
    pub(super) fn lock(&self) -> MutexGuard<'_, CommandOutput> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputSink for SharedOutput {
    fn receive_stdout(&mut self, bytes: &[u8]) {
        self.lock().stdout.push(bytes);
    }

    fn receive_stderr(&mut self, bytes: &[u8]) {
        self.lock().stderr.push(bytes);
    }

    fn mark_possibly_incomplete(&mut self) {
        self.lock().is_cut = true;
    }
}

impl ShellTask {
    pub(super) fn ending_if_ended(&self) -> Option<CommandEnd> {
        *self.command_end.borrow()
    }

    /// Waits for the end, for at most `timeout`.
    pub(super) async fn wait_for_ending(&self, timeout: Duration) -> Option<CommandEnd> {
        let mut command_end = self.command_end.clone();
        let ended = command_end.wait_for(Option::is_some);
        time::timeout(timeout, ended).await.ok()?.ok().and_then(|command_end| *command_end)
    }

    /// Kills the command and waits until it has ended.
    pub(super) async fn kill_and_wait(&self) -> Option<CommandEnd> {
        self.cancellation.cancel();
        let mut command_end = self.command_end.clone();
        let ended = command_end.wait_for(Option::is_some).await;
        ended.ok().and_then(|command_end| *command_end)
    }
}

impl Tasks {
    fn check_task_limit(&mut self) -> Result<(), ToolError> {
        while self.running.try_join_next().is_some() {}
        if self.running.len() < MAX_RUNNING_TASKS {
            return Ok(());
        }
        let message = format!("{MAX_RUNNING_TASKS} tasks run already; stop one with `task_stop`");
        Err(ToolError::new(ErrorKind::Unavailable, message))
    }
}

impl TaskTable {
    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error if no other task may start.
    pub(super) fn check_task_limit(&self) -> Result<(), ToolError> {
        self.lock().check_task_limit()
    }

    /// Keeps a command that runs until its end.
    pub(super) fn spawn_task(
        &self,
        running: RunningCommand,
        timeout: Duration,
        keeps_all: bool,
        launcher: Arc<Launcher>,
        owner: SessionKey,
    ) -> Result<Arc<ShellTask>, ToolError> {
        let (sender, command_end) = watch::channel(None);
        let cancellation = CancellationToken::new();
        let output = SharedOutput(Arc::new(Mutex::new(CommandOutput::new(keeps_all))));
        let limit = RunLimit { timeout, cancellation: cancellation.clone() };
        let mut sink = output.clone();
        let mut tasks = self.lock();
        // Others may have started since there was room; a command that is dropped here ends.
        tasks.check_task_limit()?;
        tasks.last_number += 1;
        let id = format!("task_{}", tasks.last_number);
        let task = Arc::new(ShellTask { id, owner, output, command_end, cancellation });
        tasks.running.spawn(async move {
            let command_end = running.run_to_end(&limit, &mut sink).await;
            // A command whose end cannot be seen was killed when it was dropped.
            sender.send_replace(Some(command_end.unwrap_or(CommandEnd::Cancelled)));
            drop(launcher);
        });
        tasks.known.push_back(Arc::clone(&task));
        if tasks.known.len() > MAX_KNOWN_TASKS {
            let oldest = tasks.known.iter().position(|task| task.ending_if_ended().is_some());
            oldest.map(|place| tasks.known.remove(place));
        }
        Ok(task)
    }

    /// Returns a task of the user and session of `owner`.
    pub(super) fn find_own_task(&self, id: &str, owner: &SessionKey) -> Result<Arc<ShellTask>, ToolError> {
        let tasks = self.lock();
        let mut own = tasks.known.iter().filter(|task| task.owner == *owner);
        own.clone().find(|task| task.id == id).cloned().ok_or_else(|| {
            let known: Vec<&str> = own.by_ref().map(|task| &*task.id).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            ToolError::not_found(format!("there is no task `{id}`; the known tasks: {known}"))
        })
    }

    /// Kills all tasks and waits until they have ended.
    pub(super) async fn kill_and_join_all(&self) {
        let mut running = {
            let mut tasks = self.lock();
            tasks.known.iter().for_each(|task| task.cancellation.cancel());
            std::mem::take(&mut tasks.running)
        };
        while running.join_next().await.is_some() {}
    }
}
