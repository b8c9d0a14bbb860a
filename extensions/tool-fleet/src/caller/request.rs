//! The request of a call: what travels to its worker.

use std::time::Instant;

use serde_json::{Map, Value};
use tool_runtime::{RunContext, ToolContext, ToolError};

use super::tool::RemoteTool;
use crate::{
    message::{CallEpoch, CallRequest, Message, RunParts},
    trace::{current_trace, with_trace},
};

/// The limit of a run's state that travels with a call, in bytes.
const MAX_STATE_BYTES: usize = 256 * 1024;

impl RemoteTool {
    pub(super) fn call_request(
        &self,
        call: CallEpoch,
        arguments: &str,
        cx: &ToolContext,
    ) -> Result<Message, ToolError> {
        let run = cx.run().map(|run| run_parts(run, state_of(cx))).transpose()?;
        let trace = current_trace();
        let meta = match cx.meta() {
            None if trace.is_empty() => None,
            meta => Some(with_trace(meta.cloned().unwrap_or_default(), &trace)),
        };
        Ok(Message::Call(Box::new(CallRequest {
            call,
            definition: self.hash(),
            arguments: arguments.to_owned(),
            address: cx.address(),
            time_left: millis_until(cx.deadline()),
            approval: cx.approval().cloned(),
            meta,
            resources: cx.resources().to_vec(),
            run,
            reads_values: self.connection().values.values().is_some(),
        })))
    }
}

/// Returns the milliseconds until `end`.
pub(super) fn millis_until(end: Option<Instant>) -> Option<u64> {
    let left = end?.saturating_duration_since(Instant::now());
    Some(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
}

/// Returns the state of the run as a call reads it.
pub(super) fn state_of(cx: &ToolContext) -> Map<String, Value> {
    let names = cx.state().names().into_iter();
    names.filter_map(|name| Some((name.clone(), cx.state().value(&name)?))).collect()
}

/// Returns the parts of a run that travel.
pub(super) fn run_parts(run: &RunContext, state: Map<String, Value>) -> Result<RunParts, ToolError> {
    let bytes = serde_json::to_string(&state).map_or(usize::MAX, |text| text.len());
    if bytes > MAX_STATE_BYTES {
        return Err(ToolError::failed(format!(
            "the state of the run has {bytes} bytes, and a remote call takes at most {MAX_STATE_BYTES}; keep less in it"
        )));
    }
    Ok(RunParts {
        id: run.id().to_string(),
        app: run.app().map(str::to_owned),
        agent: run.agent().map(str::to_owned),
        user: run.user().map(str::to_owned),
        session: run.session().map(str::to_owned),
        user_content: run.user_content().map(str::to_owned),
        has_budget: run.has_budget(),
        meta: with_trace(run.meta().clone(), &current_trace()),
        state,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_state_of_a_run_travels_up_to_256_kib() {
        let parts = |bytes: usize| {
            // Its text is `{"a":"xx.."}`.
            let state = Map::from_iter([("a".to_owned(), "x".repeat(bytes - 8).into())]);
            run_parts(&RunContext::new(), state).map(|parts| parts.state.len())
        };
        assert_eq!(parts(MAX_STATE_BYTES).unwrap(), 1);
        let error = parts(MAX_STATE_BYTES + 1).unwrap_err().feedback();
        assert!(
            error.contains("the state of the run has 262145 bytes, and a remote call takes at most 262144"),
            "{error}"
        );
    }

    #[test]
    fn the_parts_of_a_run_are_those_of_its_context() {
        let run = RunContext::new().with_id("run-1").with_session("s-1");
        let state = Map::from_iter([("a".to_owned(), json!(1))]);
        let parts = run_parts(&run, state.clone()).unwrap();
        let RunParts { id, app, agent, user, session, user_content, has_budget, state: of_parts, .. } = parts;
        assert_eq!((&*id, session.as_deref(), has_budget), ("run-1", Some("s-1"), false));
        assert_eq!((app, agent, user, user_content), (None, None, None, None));
        assert_eq!(of_parts, state);
    }

    #[test]
    fn the_time_that_is_left_is_in_milliseconds() {
        assert_eq!(millis_until(None), None);
        assert_eq!(millis_until(Some(Instant::now())), Some(0));
        let left = millis_until(Some(Instant::now() + Duration::from_secs(3_600)));
        assert!(left.is_some_and(|left| (3_500_000..=3_600_000).contains(&left)), "{left:?}");
    }
}
