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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `true` for the answer to the request of this number, which is granted.
    fn is_grant(answer: Option<Control>, number: u64) -> bool {
        matches!(answer, Some(Control::Budget { number: of, denied: None }) if of == number)
    }

    #[tokio::test]
    async fn answers_are_kept_for_the_latest_requests() {
        let (mut grants, cx) = (BudgetGrants::default(), ToolContext::for_test());
        let last = MAX_KEPT_ANSWERS as u64 + 1;
        for number in 1..=last {
            assert!(is_grant(grants.grant_item(number, BudgetItem::Call, &cx).await, number));
        }
        assert!(grants.grant_item(1, BudgetItem::Call, &cx).await.is_none());
        assert_eq!((grants.answers.len(), grants.forgotten), (MAX_KEPT_ANSWERS, 1));
        for number in [2, last] {
            assert!(is_grant(grants.grant_item(number, BudgetItem::Round, &cx).await, number));
        }
        assert_eq!(grants.answers.len(), MAX_KEPT_ANSWERS);
    }

    #[test]
    fn tokens_are_counted_up_to_the_greatest_number() {
        let (mut grants, cx) = (BudgetGrants::default(), ToolContext::for_test());
        for (tokens, expected) in [(5, 5), (3, 5), (5, 5), (9, 9)] {
            grants.count_tokens(tokens, &cx);
            assert_eq!(grants.tokens, expected);
        }
    }
}
