//! The calls of one response.

use std::sync::Arc;

use tool_runtime::{
    CallOutcome, Executor, ToolCall,
    executor::{ExecutorError, RunSettings, Steering, StreamItem},
};

use super::{AgentEventKind, drive::Drive};

impl Drive {
    /// Executes calls as one batch, and emits its events. Messages that interrupt the batch are stored after it.
    pub(super) async fn executed(
        &self,
        executor: &Executor,
        calls: Vec<ToolCall>,
    ) -> (Vec<CallOutcome>, Vec<crate::Message>) {
        let inbox = Arc::clone(&self.inbox);
        let steering = Steering::new(move || std::future::ready(inbox.next_steering()));
        let mut stream = executor.batch(calls).with_run(Arc::clone(&self.run)).steering(&steering).stream();
        let mut outcomes = Vec::new();
        while let Some(item) = stream.next().await {
            match item {
                StreamItem::Event(event) => self.emit(AgentEventKind::Tool { event: Box::new(event) }).await,
                StreamItem::Outcomes(all) => outcomes = all,
            }
        }
        (outcomes, steering.take())
    }

    /// Derives the executor whose approvals are answered by the handle of the run.
    pub(super) fn with_approvals(&self, executor: Executor) -> Result<Executor, ExecutorError> {
        if !self.agent().0.approvals_by_handle {
            return Ok(executor);
        }
        let inbox = Arc::clone(&self.inbox);
        let settings = RunSettings::new().approver_fn(move |request| {
            let inbox = Arc::clone(&inbox);
            async move { inbox.answer(&request).await }
        });
        executor.with_settings(&self.run, settings)
    }
}
