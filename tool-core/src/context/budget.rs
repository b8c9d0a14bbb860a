//! Budgets of runs.

mod source;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Deserialize, Serialize};

use self::source::GrantedLimits;
pub use self::source::{BudgetItem, BudgetSource};
use super::RunContext;
use crate::{ErrorKind, ToolError};

/// The limits of a run together with its child runs. `None` means no limit, which is the default of each.
///
/// # Examples
///
/// ```
/// use tool_runtime::{RunContext, context::Budget};
///
/// let run = RunContext::new().with_budget(Budget { rounds: Some(2), ..Budget::default() });
/// run.count_round()?;
/// // A child run draws on the same budget.
/// run.child("researcher").count_round()?;
/// assert_eq!(run.spent().rounds, 2);
/// let error = run.count_round().unwrap_err();
/// assert_eq!(error.feedback(), "Over budget: the run may take 2 rounds. Nothing was executed.");
/// # Ok::<(), tool_runtime::ToolError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// The maximum number of executed calls. Retries of a call are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// The maximum number of requests to a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u64>,
    /// The maximum number of tokens in requests and responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// The part of a [`Budget`] that has been used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BudgetUsage {
    /// The number of executed calls.
    pub calls: u64,
    /// The number of requests to a model.
    pub rounds: u64,
    /// The number of tokens in requests and responses.
    pub tokens: u64,
}

/// A budget, its usage, and the budgets of the parent runs, which are charged as well.
pub(super) struct BudgetAccount {
    budget: Budget,
    calls: AtomicU64,
    rounds: AtomicU64,
    tokens: AtomicU64,
    above: Option<Arc<BudgetAccount>>,
    /// The source of the limits of a run whose budget another process keeps.
    source: Option<GrantedLimits>,
}

#[derive(Clone, Copy)]
enum Item {
    Call,
    Round,
    Tokens,
}

impl BudgetAccount {
    /// Returns this account and those of the parent runs.
    fn levels(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |account| account.above.as_deref())
    }

    fn used_counter(&self, item: Item) -> &AtomicU64 {
        match item {
            Item::Call => &self.calls,
            Item::Round => &self.rounds,
            Item::Tokens => &self.tokens,
        }
    }

    fn limit(&self, item: Item) -> u64 {
        if let Some(granted) = &self.source {
            return match item {
                Item::Call => granted.calls.load(Ordering::Relaxed),
                Item::Round => granted.rounds.load(Ordering::Relaxed),
                Item::Tokens => u64::MAX,
            };
        }
        let limit = match item {
            Item::Call => self.budget.calls,
            Item::Round => self.budget.rounds,
            Item::Tokens => self.budget.tokens,
        };
        limit.unwrap_or(u64::MAX)
    }

    fn check_limit_not_reached(&self, item: Item) -> Result<(), ToolError> {
        // A source may grant more.
        let is_full = |level: &&Self| level.source.is_none() && level.is_full(item);
        self.levels().find(is_full).map_or(Ok(()), |level| Err(level.over_budget_error(item)))
    }

    fn is_full(&self, item: Item) -> bool {
        self.used_counter(item).load(Ordering::Relaxed) >= self.limit(item)
    }

    /// Takes one `item` from every level, or from none if one level is exhausted.
    fn take_from_all_levels(&self, item: Item) -> Result<(), ToolError> {
        for (number, level) in self.levels().enumerate() {
            let one_more = |used: u64| used.checked_add(1).filter(|used| *used <= level.limit(item));
            let taken = level.used_counter(item).fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
            if taken.is_err() {
                for below in self.levels().take(number) {
                    below.used_counter(item).fetch_sub(1, Ordering::Relaxed);
                }
                return Err(level.over_budget_error(item));
            }
        }
        Ok(())
    }

    #[cold]
    fn over_budget_error(&self, item: Item) -> ToolError {
        let limit = self.limit(item);
        let message = match item {
            Item::Call => format!("the run may make {limit} {}", counted_word(limit, "call")),
            Item::Round => format!("the run may take {limit} {}", counted_word(limit, "round")),
            Item::Tokens => {
                let used = self.tokens.load(Ordering::Relaxed);
                format!("the run may use {limit} {}, and has used {used}", counted_word(limit, "token"))
            }
        };
        ToolError::new(ErrorKind::OverBudget, message)
    }
}

fn counted_word(count: u64, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

impl fmt::Debug for BudgetAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl RunContext {
    /// Limits the run together with its child runs. The budget applies in addition to those that the run already has:
    /// a [child](Self::child) is also charged to the budgets of its parents.
    ///
    /// An executor counts a call when its tool starts; a call over budget is not run and fails with
    /// [`OverBudget`](ErrorKind::OverBudget). The program's own loop counts rounds and tokens.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Self {
        self.account = Some(Arc::new(BudgetAccount {
            budget,
            calls: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            above: self.account.take(),
            source: None,
        }));
        self
    }

    fn check_tokens_left(&self) -> Result<(), ToolError> {
        self.account.as_ref().map_or(Ok(()), |account| account.check_limit_not_reached(Item::Tokens))
    }

    /// Returns the usage of the last [budget](Self::with_budget) that was set; zero if there is none.
    #[must_use]
    pub fn spent(&self) -> BudgetUsage {
        let Some(account) = &self.account else { return BudgetUsage::default() };
        let used = |item| account.used_counter(item).load(Ordering::Relaxed);
        BudgetUsage { calls: used(Item::Call), rounds: used(Item::Round), tokens: used(Item::Tokens) }
    }

    /// Counts what an interrupted run has spent that this run continues, also beyond a limit: the next call or round is then
    /// refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{RunContext, context::{Budget, BudgetUsage}};
    ///
    /// let run = RunContext::new().with_budget(Budget { rounds: Some(2), ..Budget::default() });
    /// let mut spent = BudgetUsage::default();
    /// spent.rounds = 2;
    /// run.count_spent(spent);
    /// assert!(run.count_round().is_err());
    /// ```
    pub fn count_spent(&self, spent: BudgetUsage) {
        for level in self.account.iter().flat_map(|account| account.levels()) {
            let items =
                [(Item::Call, spent.calls), (Item::Round, spent.rounds), (Item::Tokens, spent.tokens)];
            for (item, count) in items {
                let more = |used: u64| Some(used.saturating_add(count));
                // It never refuses.
                let _ = level.used_counter(item).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
            }
        }
    }

    /// Counts a call whose tool is about to run. An executor does this for its calls.
    ///
    /// # Errors
    ///
    /// Returns an error of kind [`OverBudget`](ErrorKind::OverBudget) if no call is left; the call is then not
    /// counted.
    #[inline]
    pub fn count_call(&self) -> Result<(), ToolError> {
        self.account.as_ref().map_or(Ok(()), |account| account.take_from_all_levels(Item::Call))
    }

    /// Checks that a call is left, without counting one.
    #[doc(hidden)]
    #[inline]
    pub fn has_call_left(&self) -> Result<(), ToolError> {
        self.account.as_ref().map_or(Ok(()), |account| account.check_limit_not_reached(Item::Call))
    }

    /// Counts a request that the program is about to send to a model.
    ///
    /// # Errors
    ///
    /// Returns the stop if the run was [stopped](Self::stopped), or an error of kind
    /// [`OverBudget`](ErrorKind::OverBudget) if no round or no token is left. The request is then not counted and
    /// must not be sent.
    pub fn count_round(&self) -> Result<(), ToolError> {
        if let Some(stop) = self.stopped() {
            return Err(stop.clone());
        }
        self.check_tokens_left()?;
        self.account.as_ref().map_or(Ok(()), |account| account.take_from_all_levels(Item::Round))
    }

    /// Counts the tokens of a request and its response, such as the `Usage` of a response.
    ///
    /// # Errors
    ///
    /// Returns an error of kind [`OverBudget`](ErrorKind::OverBudget) if more tokens were used than were left; they
    /// are counted all the same.
    pub fn count_tokens(&self, tokens: impl Into<u64>) -> Result<(), ToolError> {
        let Some(account) = &self.account else { return Ok(()) };
        let tokens = tokens.into();
        let mut over = None;
        for level in account.levels() {
            let more = |used: u64| Some(used.saturating_add(tokens));
            let before = level.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
            if let Some(granted) = &level.source {
                granted.source.count_tokens(tokens);
            }
            let used = before.unwrap_or(u64::MAX).saturating_add(tokens);
            if used > level.limit(Item::Tokens) && over.is_none() {
                over = Some(level.over_budget_error(Item::Tokens));
            }
        }
        over.map_or(Ok(()), Err)
    }
}
