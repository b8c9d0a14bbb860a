//! The budget of a run, on which child runs at the worker of a call draw.

use std::collections::{BTreeMap, btree_map::Entry};

use tool_runtime::{ToolContext, ToolError, context::BudgetItem};

use crate::message::Control;

/// The number of requests whose answers are kept for repeated ones; a worker repeats the latest ones alone.
const MAX_KEPT_ANSWERS: usize = 256;

/// The grants to the worker of a call, in one epoch. Those of a lost worker stay counted.
#[derive(Default)]
pub(super) struct BudgetGrants {
    /// The errors of denied requests, by numbers; `None` for a granted one.
    answers: BTreeMap<u64, Option<Box<ToolError>>>,
    /// The greatest number whose answer is no longer kept.
    forgotten: u64,
    /// The number of tokens that were counted.
    tokens: u64,
}

impl BudgetGrants {
    /// Counts the tokens that the worker has used since the last report.
    pub(super) fn count_tokens(&mut self, tokens: u64, cx: &ToolContext) {
        let more = tokens.saturating_sub(self.tokens);
        self.tokens = self.tokens.max(tokens);
        if let Some(run) = cx.run().filter(|_| more > 0) {
            // They are used: an exceeded budget denies the next round.
            drop(run.count_tokens(more));
        }
    }

    /// Counts a call or round in the run, once for each number; returns the answer, unless it was given long ago.
    pub(super) async fn grant_item(
        &mut self,
        number: u64,
        item: BudgetItem,
        cx: &ToolContext,
    ) -> Option<Control> {
        if number <= self.forgotten {
            return None;
        }
        if let Entry::Vacant(answer) = self.answers.entry(number) {
            answer.insert(count_item(item, cx).await.err().map(Box::new));
        }
        let denied = self.answers.get(&number)?.clone();
        if self.answers.len() > MAX_KEPT_ANSWERS
            && let Some((forgotten, _)) = self.answers.pop_first()
        {
            self.forgotten = forgotten;
        }
        Some(Control::Budget { number, denied })
    }
}

async fn count_item(item: BudgetItem, cx: &ToolContext) -> Result<(), ToolError> {
    match (cx.run(), item) {
        (Some(run), BudgetItem::Call) => run.obtain_call().await,
        (Some(run), BudgetItem::Round) => run.obtain_round().await,
        (None, _) => Ok(()),
    }
}
