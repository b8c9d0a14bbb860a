//! Limits and lifetimes of a server.

use std::{sync::Arc, time::Duration};

#[cfg(doc)]
use super::{HttpConfig, MAX_REQUEST};
use super::{McpServer, UsedStates};

impl McpServer {
    /// Sets the most items that one answer lists; at least 1. Default: 1000.
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items.max(1);
        self
    }

    /// Sets the largest request, in bytes. Default: [`MAX_REQUEST`].
    pub fn max_request(mut self, bytes: usize) -> Self {
        self.max_request = bytes;
        self
    }

    /// Sets the most calls, prompts and resources that are worked on at once, for all clients together. Beyond it, requests are
    /// answered by the error -32000. Default: 4096.
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.max_calls = calls;
        self
    }

    /// Sets the most calls, prompts and resources of one caller that are worked on at once. Beyond it, its requests are answered by
    /// the error -32000. A caller is an [`Identity`](HttpConfig::protect), or else a connection or session; requests without
    /// either have the limit [`max_calls`](Self::max_calls) alone. Default: 1024.
    pub fn max_calls_per_caller(mut self, calls: usize) -> Self {
        self.max_calls_per_caller = calls;
        self
    }

    /// Sets the time that running calls have when the server ends; then they are cancelled. Default: 30 seconds.
    pub fn shutdown_time(mut self, time: Duration) -> Self {
        self.shutdown_time = time;
        self
    }

    /// Sets the key that seals the state of calls between their rounds, for servers of several processes, which share it.
    /// Default: a random key of this server.
    pub fn key(mut self, key: [u8; 32]) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the storage of used states, for servers of several processes, which share it. Default: the memory of this server, so
    /// that a state is accepted once by each process.
    pub fn used_states(mut self, states: impl UsedStates) -> Self {
        self.used_states = Some(Arc::new(states));
        self
    }

    /// Sets the time for the answer to a question, up to revision 2025-11-25; then the question is an error of the tool, and the
    /// client is informed by `notifications/cancelled`. Default: 15 minutes.
    pub fn question_timeout(mut self, timeout: Duration) -> Self {
        self.question_timeout = timeout;
        self
    }

    /// Sets the time for the answer to a question, from revision 2026-07-28 on. Default: 15 minutes.
    pub fn state_lifetime(mut self, lifetime: Duration) -> Self {
        self.state_lifetime = lifetime;
        self
    }

    /// Sets the time that a call of a [long-running](tool_runtime::definition::Metadata::long_running) tool has as a task, for
    /// clients that support the tasks extension; its result is kept for as long again. Default: 1 hour.
    ///
    /// The task ends with the first result: of the body, or, if the body returns nothing but the id of an operation, of
    /// [`Executor::submit_result`](tool_runtime::Executor::submit_result). Its status is the last progress report or update.
    pub fn task_lifetime(mut self, lifetime: Duration) -> Self {
        self.task_lifetime = lifetime;
        self
    }

    /// Sets the most [tasks](Self::task_lifetime) that are kept, with those that have ended. Beyond it, the task that ended first is removed;
    /// if none has ended, the call is answered by the error -32000. A client without an [`Identity`](HttpConfig::protect) has no limit of its
    /// own: its name is no identity, and the id of a task is enough to ask for its result. Default: 10,000.
    pub fn max_tasks(mut self, tasks: usize) -> Self {
        self.task_limits.max_tasks = tasks;
        self
    }

    /// Sets the most tasks of one [`Identity`](HttpConfig::protect) that are kept, as [`max_tasks`](Self::max_tasks). Default: 1000.
    pub fn max_tasks_per_caller(mut self, tasks: usize) -> Self {
        self.task_limits.max_tasks_per_caller = tasks;
        self
    }

    /// Sets the largest sum of the results of tasks that have ended, in bytes of JSON. Beyond it, the tasks that ended first are removed;
    /// the last result is kept, whatever its size. Default: 64 MiB.
    pub fn max_task_bytes(mut self, bytes: usize) -> Self {
        self.task_limits.max_result_bytes = bytes;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(server: &McpServer) -> [usize; 7] {
        let tasks = &server.task_limits;
        [
            server.page_size,
            server.max_request,
            server.max_calls,
            server.max_calls_per_caller,
            tasks.max_tasks,
            tasks.max_tasks_per_caller,
            tasks.max_result_bytes,
        ]
    }

    fn seconds(server: &McpServer) -> [u64; 4] {
        let times =
            [server.shutdown_time, server.question_timeout, server.state_lifetime, server.task_lifetime];
        times.map(|time| time.as_secs())
    }

    #[test]
    fn the_default_limits_are_those_of_the_documentation() {
        let server = McpServer::new(tool_runtime::Registry::default());
        let mebibyte = 1024 * 1024;
        assert_eq!(limits(&server), [1_000, 4 * mebibyte, 4_096, 1_024, 10_000, 1_000, 64 * mebibyte]);
        assert_eq!(seconds(&server), [30, 15 * 60, 15 * 60, 60 * 60]);
        assert!(server.key.is_none() && server.used_states.is_none());
    }

    #[test]
    fn each_limit_is_its_own() {
        let server = McpServer::new(tool_runtime::Registry::default())
            .page_size(1)
            .max_request(2)
            .max_calls(3)
            .max_calls_per_caller(4)
            .max_tasks(5)
            .max_tasks_per_caller(6)
            .max_task_bytes(7)
            .shutdown_time(Duration::from_secs(8))
            .question_timeout(Duration::from_secs(9))
            .state_lifetime(Duration::from_secs(10))
            .task_lifetime(Duration::from_secs(11))
            .key([12; 32]);
        assert_eq!(limits(&server), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(seconds(&server), [8, 9, 10, 11]);
        assert_eq!(server.key, Some([12; 32]));
        assert_eq!(server.page_size(0).page_size, 1, "a page has an item");
    }
}
