//! A guard against models that repeat the same calls.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    sync::{Arc, Mutex, PoisonError},
};

use tool_core::{ContentHash, RunContext, ToolError};

use crate::{
    ToolResult,
    hook::{Before, BeforeCall, CallView, Hook},
};

/// Blocks calls that repeat earlier ones, and reports this to the model.
///
/// The guard compares the calls of one [run](crate::RunContext); calls without a run are compared across all batches of
/// the executor.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, Registry, hook::RepetitionGuard};
///
/// let executor = Executor::builder(Registry::builder().build()?).hook(RepetitionGuard::new()).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RepetitionGuard {
    same_call: usize,
    same_result: usize,
    cycles: usize,
    /// The history of calls without a run.
    without_run: Arc<Mutex<History>>,
}

/// The maximum length of a detected cycle.
const MAX_CYCLE_CALLS: usize = 4;
/// The maximum of each limit, which bounds the history.
const MAX_RECORDED_CALLS: usize = 1000;
/// The key under which a run stores its history.
const KEY: &str = "tool_runtime::repetition";

#[derive(Debug, Default)]
struct History(VecDeque<RecordedCall>);

/// A past call.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RecordedCall {
    call: ContentHash,
    result: Option<ContentHash>,
}

impl Default for RepetitionGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl RepetitionGuard {
    /// Creates a guard with the default limits: it blocks the sixth of equal consecutive calls, the fourth if their
    /// results were equal, too, and the fourth round of a cycle of at most four calls.
    #[must_use]
    pub fn new() -> Self {
        Self { same_call: 5, same_result: 3, cycles: 3, without_run: Arc::default() }
    }

    /// Sets the maximum number of equal consecutive calls, clamped to 1..=1000. Default: 5.
    #[must_use]
    pub fn same_call(mut self, times: usize) -> Self {
        self.same_call = times.clamp(1, MAX_RECORDED_CALLS);
        self
    }

    /// Sets the maximum number of equal consecutive calls with equal results, clamped to 1..=1000. Default: 3.
    #[must_use]
    pub fn same_result(mut self, times: usize) -> Self {
        self.same_result = times.clamp(1, MAX_RECORDED_CALLS);
        self
    }

    /// Sets the maximum number of rounds of a cycle of calls, clamped to 1..=1000. Default: 3.
    #[must_use]
    pub fn cycles(mut self, times: usize) -> Self {
        self.cycles = times.clamp(1, MAX_RECORDED_CALLS);
        self
    }

    fn with_history<T>(&self, run: Option<&RunContext>, look: impl FnOnce(&mut History) -> T) -> T {
        let history = match run {
            None => Arc::clone(&self.without_run),
            Some(run) => run.value_or_insert_with(KEY, Mutex::<History>::default),
        };
        let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
        look(&mut history)
    }

    /// Returns the reason to block `call`, if there is one.
    fn repetition_error(&self, history: &History, call: ContentHash) -> Option<String> {
        let before = || history.0.iter().rev();
        let same = before().take_while(|made| made.call == call).count();
        if same >= self.same_call {
            return Some(format!("The same call was made {same} times in a row."));
        }
        let last = before().next().copied();
        let equal = before().take_while(|made| made.call == call && Some(**made) == last).count();
        if equal >= self.same_result && last.is_some_and(|made| made.result.is_some()) {
            return Some(format!("The same call gave the same result {equal} times in a row."));
        }
        let calls: Vec<_> = std::iter::once(call).chain(before().map(|made| made.call)).collect();
        (2..=MAX_CYCLE_CALLS).find_map(|length| {
            // The past rounds, and this call, which would begin another one.
            let recent = calls.get(..=self.cycles * length)?;
            let goes_round = recent.iter().zip(&recent[length..]).all(|(later, earlier)| later == earlier);
            goes_round.then(|| format!("The same {length} calls were made {} times in turn.", self.cycles))
        })
    }

    /// Adds a call to the history, and removes entries that can no longer matter.
    fn record_call(&self, History(made): &mut History, call: ContentHash) {
        made.push_back(RecordedCall { call, result: None });
        let horizon = self.same_call.max(self.same_result).max(self.cycles * MAX_CYCLE_CALLS);
        made.drain(..made.len().saturating_sub(horizon));
    }
}

impl Hook for RepetitionGuard {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        let hash = call_hash(call.tool(), call.arguments().as_str());
        Ok(self.with_history(call.run(), |history| match self.repetition_error(history, hash) {
            Some(objection) => Before::block(format!("{objection} Do something else.")),
            None => {
                self.record_call(history, hash);
                Before::Continue
            }
        }))
    }

    async fn after(
        &self,
        call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        let hash = call_hash(call.tool(), call.arguments().as_str());
        self.with_history(call.run(), |history| {
            // The oldest of the equal calls without a result: the calls of a batch end in order.
            let open = history.0.iter_mut().find(|made| made.call == hash && made.result.is_none());
            if let Some(made) = open {
                made.result = Some(ContentHash::of(&result.text()));
            }
        });
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns a hash that is equal for calls with the same meaning.
fn call_hash(tool: &str, arguments: &str) -> ContentHash {
    let arguments = ContentHash::of_json(arguments).unwrap_or_else(|| ContentHash::of(arguments));
    ContentHash::combine([ContentHash::of(tool), arguments])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of `calls` made before one is blocked, and the reason.
    fn calls_until_stop(
        limits: &RepetitionGuard,
        calls: impl IntoIterator<Item = u32>,
    ) -> (usize, Option<String>) {
        let mut history = History::default();
        for (at, call) in calls.into_iter().enumerate() {
            let call = ContentHash::of(&call);
            if let Some(objection) = limits.repetition_error(&history, call) {
                return (at, Some(objection));
            }
            limits.record_call(&mut history, call);
        }
        (history.0.len(), None)
    }

    #[test]
    fn cycles_of_at_most_four_calls_are_detected_and_longer_ones_are_not() {
        let limits = RepetitionGuard::new();
        for length in 2..=4 {
            let (at, objection) = calls_until_stop(&limits, (0..100).map(|at| at % length));
            let expected = format!("The same {length} calls were made 3 times in turn.");
            assert_eq!((at, objection), (3 * length as usize, Some(expected)));
        }
        // The history is no longer than required.
        assert_eq!(calls_until_stop(&limits, (0..100).map(|at| at % 5)), (3 * 4, None));
        assert_eq!(calls_until_stop(&RepetitionGuard::new().cycles(1), (0..100).map(|at| at % 5)), (5, None));
        assert_eq!(calls_until_stop(&RepetitionGuard::new().cycles(1).same_result(9), 0..100), (9, None));
        assert_eq!(calls_until_stop(&limits.same_call(50), 0..100), (50, None));
    }

    #[test]
    fn at_least_one_call_is_made_and_at_most_a_thousand_are_remembered() {
        for least in [0, 1] {
            let expected = (1, Some("The same call was made 1 times in a row.".to_owned()));
            assert_eq!(calls_until_stop(&RepetitionGuard::new().same_call(least), [7, 7]), expected);
            let (at, objection) =
                calls_until_stop(&RepetitionGuard::new().cycles(least), (0..9).map(|at| at % 2));
            assert_eq!((at, objection.is_some()), (2, true));
            let limits = RepetitionGuard::new().same_result(least);
            let (call, result) = (ContentHash::of(&7), Some(ContentHash::of(&1)));
            let history = History([RecordedCall { call, result }].into());
            let objection = limits.repetition_error(&history, call);
            assert_eq!(objection.as_deref(), Some("The same call gave the same result 1 times in a row."));
            assert_eq!(
                limits.repetition_error(&History([RecordedCall { call, result: None }].into()), call),
                None
            );
        }
        let most = RepetitionGuard::new().same_call(usize::MAX).same_result(usize::MAX).cycles(1);
        assert_eq!(calls_until_stop(&most, 0..1500), (1000, None));
    }
}
