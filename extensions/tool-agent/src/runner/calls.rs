//! The calls of one response.

use std::sync::Arc;

use tool_runtime::{
    CallOutcome, Executor, ToolCall,
    executor::{Batch, ExecutorError, RunSettings, Steering, StreamItem},
};

use super::{AgentEventKind, drive::Drive};
use crate::QueueMode;

impl Drive {
    /// Executes calls as one batch, and emits its events. Messages that interrupt the batch are stored after it.
    pub(super) async fn executed(
        &self,
        executor: &Executor,
        calls: Vec<ToolCall>,
    ) -> (Vec<CallOutcome>, Vec<crate::Message>) {
        self.streamed_batch(executor.batch(calls)).await
    }

    /// Runs a batch, and emits its events.
    pub(super) async fn streamed_batch(&self, batch: Batch) -> (Vec<CallOutcome>, Vec<crate::Message>) {
        let inbox = Arc::clone(&self.inbox);
        let steering = Steering::new(move || std::future::ready(inbox.next_steering()));
        let mut stream = batch.with_run(Arc::clone(&self.run)).steering(&steering).stream();
        let mut outcomes = Vec::new();
        while let Some(item) = stream.next().await {
            match item {
                StreamItem::Event(event) => self.emit(AgentEventKind::Tool { event: Box::new(event) }).await,
                StreamItem::Outcomes(all) => outcomes = all,
            }
        }
        let mut messages = steering.take();
        if !messages.is_empty() && self.agent().0.steering_mode == QueueMode::All {
            messages.extend(std::iter::from_fn(|| self.inbox.next_steering()));
        }
        (outcomes, messages)
    }

    /// Derives the executor whose approvals are answered by the handle of the run, and whose spans have the content of
    /// the agent's.
    pub(super) fn with_approvals(&self, executor: Executor) -> Result<Executor, ExecutorError> {
        let agent = &self.agent().0;
        let mut settings = RunSettings::new();
        if agent.trace_content {
            settings = settings.trace_arguments(true).trace_results(true);
        }
        if !agent.approvals_by_handle {
            let unchanged = !agent.trace_content;
            return if unchanged { Ok(executor) } else { executor.with_settings(&self.run, settings) };
        }
        let inbox = Arc::clone(&self.inbox);
        let settings = settings.approver_fn(move |request| {
            let inbox = Arc::clone(&inbox);
            async move { inbox.answer(&request).await }
        });
        executor.with_settings(&self.run, settings)
    }
}
