use std::{sync::Arc, time::Duration};

use tokio::runtime::Handle;
use tool_core::{
    Arguments, ErrorKind, Prepared, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, WithCallId,
};

use super::{
    Guard, Problem,
    barrier::{Barrier, barrier},
};
use crate::arguments::{Check, OutputCheck};

/// A tool, and what its schemas were compiled to.
pub(super) struct Entry {
    tool: Arc<dyn Tool>,
    check: Check,
    output: Option<OutputCheck>,
}

impl Entry {
    /// Compiles the schemas of `tool`; everything that is wrong with them is added to `problems`.
    pub(super) fn new(tool: Arc<dyn Tool>, problems: &mut Vec<Problem>) -> Option<Self> {
        let definition = tool.definition();
        let mut refuse = |message: String| {
            let tool_name = definition.name().to_string();
            problems.push(Problem::Schema { tool: tool_name, site: tool.site(), message });
        };
        let check = Check::compile(definition.input_schema());
        let output =
            definition.output_schema().filter(|schema| schema.is_promise()).map(OutputCheck::compile);
        let check =
            check.map_err(|all| all.into_iter().for_each(|it| refuse(format!("input schema: {it}")))).ok();
        let output = output.transpose();
        let output =
            output.map_err(|all| all.into_iter().for_each(|it| refuse(format!("output schema: {it}")))).ok();
        let (check, output) = (check?, output?);
        for (at, example) in definition.examples().iter().enumerate() {
            for violation in check.violations(example) {
                let tool_name = definition.name().to_string();
                let message = format!("example {}: {violation}", at + 1);
                problems.push(Problem::Example { tool: tool_name, site: tool.site(), message });
            }
        }
        Some(Self { tool, check, output })
    }

    pub(super) fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    fn definition(&self) -> &ToolDefinition {
        self.tool.definition()
    }

    /// Checks the arguments and decodes them; runs nothing.
    pub(super) fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        barrier(|| self.check.prepare(&*self.tool, arguments))
    }

    /// Gives the arguments as they fit; decodes and runs nothing.
    pub(super) fn fit<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        let fitting = barrier(|| self.check.fit(&*self.tool, arguments));
        fitting.map_err(|error| error.of_tool(self.definition().name().to_string()))
    }

    pub(super) async fn call(
        &self,
        arguments: Arguments<'_>,
        cx: &ToolContext,
        guard: Guard,
    ) -> Result<ToolOutput, ToolError> {
        let result = match self.start(arguments, cx, guard) {
            Ok(running) => match self.definition().metadata().timeout {
                None => running.await,
                // In a box, so that a call without a limit does not carry the timer around.
                Some(limit) => Barrier(Box::pin(within(limit, running))).await,
            },
            Err(error) => Err(error),
        };
        match (result, &self.output) {
            (Ok(output), None) => Ok(output),
            (Ok(output), Some(promise)) => promise.hold(output),
            (Err(error), _) => Err(error),
        }
        .map_err(|error| error.of_tool(self.definition().name().to_string()))
    }

    /// The call, checked and ready to be polled.
    fn start<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
        guard: Guard,
    ) -> Result<WithCallId<Barrier<'a>>, ToolError> {
        let prepared = self.prepare(arguments)?;
        guard.admits(self.definition().metadata())?;
        // A tool written by hand may panic before there is a future.
        let running = barrier(|| Ok(prepared.run(cx)))?;
        Ok(WithCallId::new(cx.call_id().clone(), Barrier(running)))
    }
}

/// As `running`, unless it takes longer than `limit`.
async fn within(limit: Duration, running: WithCallId<Barrier<'_>>) -> Result<ToolOutput, ToolError> {
    if Handle::try_current().is_err() {
        let message = "it has a `timeout`, and there is no tokio runtime to keep the time";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    tokio::time::timeout(limit, running).await.unwrap_or_else(|_| {
        let message = format!("no result after {limit:?}");
        Err(ToolError::new(ErrorKind::TimedOut, message))
    })
}
