//! A model that goes round in circles.

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

/// Blocks calls that repeat what was done already, and tells the model so.
///
/// It looks back over the calls of one [run](crate::RunContext); where a batch belongs to no run, over all
/// batches of the executor.
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
    /// What happened in no run.
    without_run: Arc<Mutex<History>>,
}

/// The longest cycle that is looked for.
const LONGEST_CYCLE: usize = 4;
/// How often is always too often, so that what is remembered has an end.
const MOST: usize = 1000;
/// The key under which a run keeps its history.
const KEY: &str = "tool_runtime::repetition";

#[derive(Debug, Default)]
struct History(VecDeque<Made>);

/// A call that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Made {
    call: ContentHash,
    result: Option<ContentHash>,
}

impl Default for RepetitionGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl RepetitionGuard {
    /// Blocks the sixth of equal calls in a row, the fourth where the results were equal, too, and the
    /// fourth round of a cycle of at most four calls.
    #[must_use]
    pub fn new() -> Self {
        Self { same_call: 5, same_result: 3, cycles: 3, without_run: Arc::default() }
    }

    /// Sets how many equal calls may follow each other, from 1 to 1000.
    #[must_use]
    pub fn same_call(mut self, times: usize) -> Self {
        self.same_call = times.clamp(1, MOST);
        self
    }

    /// Sets how many equal calls with equal results may follow each other, from 1 to 1000.
    #[must_use]
    pub fn same_result(mut self, times: usize) -> Self {
        self.same_result = times.clamp(1, MOST);
        self
    }

    /// Sets how many rounds of a cycle of calls there may be, from 1 to 1000.
    #[must_use]
    pub fn cycles(mut self, times: usize) -> Self {
        self.cycles = times.clamp(1, MOST);
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

    /// Why `call` should not be made now.
    fn objection(&self, history: &History, call: ContentHash) -> Option<String> {
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
        (2..=LONGEST_CYCLE).find_map(|length| {
            // The rounds that were made, and this call, which begins another one.
            let recent = calls.get(..=self.cycles * length)?;
            let goes_round = recent.iter().zip(&recent[length..]).all(|(later, earlier)| later == earlier);
            goes_round.then(|| format!("The same {length} calls were made {} times in turn.", self.cycles))
        })
    }

    /// Adds a call to the history, and forgets those that are too long ago to be of use.
    fn remember(&self, History(made): &mut History, call: ContentHash) {
        made.push_back(Made { call, result: None });
        let horizon = self.same_call.max(self.same_result).max(self.cycles * LONGEST_CYCLE);
        made.drain(..made.len().saturating_sub(horizon));
    }
}

impl Hook for RepetitionGuard {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        let hash = hash(call.tool(), call.arguments().as_str());
        Ok(self.with_history(call.run(), |history| match self.objection(history, hash) {
            Some(objection) => Before::block(format!("{objection} Do something else.")),
            None => {
                self.remember(history, hash);
                Before::Continue
            }
        }))
    }

    async fn after(
        &self,
        call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        let hash = hash(call.tool(), call.arguments().as_str());
        self.with_history(call.run(), |history| {
            // The oldest of the equal calls that has no result yet: calls of a batch end in order.
            let open = history.0.iter_mut().find(|made| made.call == hash && made.result.is_none());
            if let Some(made) = open {
                made.result = Some(ContentHash::of(&result.text()));
            }
        });
        Ok(ControlFlow::Continue(()))
    }
}

/// Equal for calls of equal meaning.
fn hash(tool: &str, arguments: &str) -> ContentHash {
    let arguments = ContentHash::of_json(arguments).unwrap_or_else(|| ContentHash::of(arguments));
    ContentHash::combine([ContentHash::of(tool), arguments])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `calls` are made before one is blocked, and why.
    fn made(limits: &RepetitionGuard, calls: impl IntoIterator<Item = u32>) -> (usize, Option<String>) {
        let mut history = History::default();
        for (at, call) in calls.into_iter().enumerate() {
            let call = ContentHash::of(&call);
            if let Some(objection) = limits.objection(&history, call) {
                return (at, Some(objection));
            }
            limits.remember(&mut history, call);
        }
        (history.0.len(), None)
    }

    #[test]
    fn each_cycle_of_at_most_four_calls_is_noticed_and_no_longer_one() {
        let limits = RepetitionGuard::new();
        for length in 2..=4 {
            let (at, objection) = made(&limits, (0..100).map(|at| at % length));
            let expected = format!("The same {length} calls were made 3 times in turn.");
            assert_eq!((at, objection), (3 * length as usize, Some(expected)));
        }
        // Only as much is remembered as is of use.
        assert_eq!(made(&limits, (0..100).map(|at| at % 5)), (3 * 4, None));
        assert_eq!(made(&RepetitionGuard::new().cycles(1), (0..100).map(|at| at % 5)), (5, None));
        assert_eq!(made(&RepetitionGuard::new().cycles(1).same_result(9), 0..100), (9, None));
        assert_eq!(made(&limits.same_call(50), 0..100), (50, None));
    }

    #[test]
    fn at_least_one_call_is_made_and_at_most_a_thousand_are_remembered() {
        for least in [0, 1] {
            let expected = (1, Some("The same call was made 1 times in a row.".to_owned()));
            assert_eq!(made(&RepetitionGuard::new().same_call(least), [7, 7]), expected);
            let (at, objection) = made(&RepetitionGuard::new().cycles(least), (0..9).map(|at| at % 2));
            assert_eq!((at, objection.is_some()), (2, true));
            let limits = RepetitionGuard::new().same_result(least);
            let (call, result) = (ContentHash::of(&7), Some(ContentHash::of(&1)));
            let history = History([Made { call, result }].into());
            let objection = limits.objection(&history, call);
            assert_eq!(objection.as_deref(), Some("The same call gave the same result 1 times in a row."));
            assert_eq!(limits.objection(&History([Made { call, result: None }].into()), call), None);
        }
        let most = RepetitionGuard::new().same_call(usize::MAX).same_result(usize::MAX).cycles(1);
        assert_eq!(made(&most, 0..1500), (1000, None));
    }
}
