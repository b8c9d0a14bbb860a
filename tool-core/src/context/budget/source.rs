//! Runs whose budget another process keeps.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use super::{Budget, BudgetAccount, Item};
use crate::{BoxFuture, ErrorKind, RunContext, ToolError};

/// The limits of calls and rounds that a source has granted so far. Tokens are limited by the rounds that it grants.
pub(super) struct GrantedLimits {
    pub(super) source: Arc<dyn BudgetSource>,
    pub(super) calls: AtomicU64,
    pub(super) rounds: AtomicU64,
}

/// Asks the process that keeps the budget of a run, each time that the run needs more of it.
#[doc(hidden)]
pub trait BudgetSource: Send + Sync {
    /// Asks for one call or round, which the process counts.
    ///
    /// # Errors
    ///
    /// Returns the error of the process if there is none left, or an error if it does not answer.
    fn request(&self, item: BudgetItem) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Counts tokens that were used.
    fn count_tokens(&self, tokens: u64);
}

/// A part of a budget that a [`BudgetSource`] grants one by one.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BudgetItem {
    /// A call.
    Call,
    /// A request to a model.
    Round,
}

impl BudgetAccount {
    /// Asks the source of the first exhausted level for one more `item`.
    ///
    /// # Errors
    ///
    /// Returns the error of the source, or `over` if the level has none.
    async fn request_item(&self, item: BudgetItem, over: ToolError) -> Result<(), ToolError> {
        let counted = match item {
            BudgetItem::Call => Item::Call,
            BudgetItem::Round => Item::Round,
        };
        let Some(level) = self.levels().find(|level| level.is_full(counted)) else { return Ok(()) };
        let Some(granted) = &level.source else { return Err(over) };
        granted.source.request(item).await?;
        let limit = match item {
            BudgetItem::Call => &granted.calls,
            BudgetItem::Round => &granted.rounds,
        };
        limit.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl RunContext {
    /// Draws on the budget that another process keeps for this run; one call, the one that the run is for, is counted there already.
    #[doc(hidden)]
    #[must_use]
    pub fn with_budget_source(mut self, source: Arc<dyn BudgetSource>) -> Self {
        let granted = GrantedLimits { source, calls: AtomicU64::new(1), rounds: AtomicU64::new(0) };
        self.account = Some(Arc::new(BudgetAccount {
            budget: Budget::default(),
            calls: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            above: self.account.take(),
            source: Some(granted),
        }));
        self
    }

    /// Returns `true` if the run has a budget, limited or not, or one of its parents.
    #[doc(hidden)]
    #[must_use]
    pub fn has_budget(&self) -> bool {
        self.account.is_some()
    }

    /// Returns `true` if calls and rounds may have to be [obtained](Self::obtain_call) from another process.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn has_budget_source(&self) -> bool {
        self.account.as_ref().is_some_and(|account| account.levels().any(|level| level.source.is_some()))
    }

    /// Counts a call as [`count_call`](Self::count_call), and asks the process that keeps the budget if necessary.
    ///
    /// # Errors
    ///
    /// As `count_call`, or if that process does not answer.
    #[doc(hidden)]
    pub async fn obtain_call(&self) -> Result<(), ToolError> {
        while let Err(over) = self.count_call() {
            self.request_item(BudgetItem::Call, over).await?;
        }
        Ok(())
    }

    /// Counts a request as [`count_round`](Self::count_round), also in a run at a worker of `tool-fleet`, whose budget is kept by the process of
    /// its caller: each request is granted there. For a body with a loop of its own that may run at a worker.
    ///
    /// # Errors
    ///
    /// As [`count_round`](Self::count_round), or if that process does not answer.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolContext, ToolError};
    ///
    /// async fn summarize(text: &str, cx: &ToolContext) -> Result<String, ToolError> {
    ///     let run = cx.child_run("summarizer")?;
    ///     run.obtain_round().await?;
    ///     let (summary, tokens) = (text.to_owned(), 100_u64); // the response of a model
    ///     run.count_tokens(tokens)?;
    ///     Ok(summary)
    /// }
    /// ```
    pub async fn obtain_round(&self) -> Result<(), ToolError> {
        while let Err(over) = self.count_round() {
            // No round ends a stop, or brings tokens back.
            if over.kind() != ErrorKind::OverBudget || self.check_tokens_left().is_err() {
                return Err(over);
            }
            self.request_item(BudgetItem::Round, over).await?;
        }
        Ok(())
    }

    async fn request_item(&self, item: BudgetItem, over: ToolError) -> Result<(), ToolError> {
        match &self.account {
            Some(account) => account.request_item(item, over).await,
            None => Err(over),
        }
    }
}
