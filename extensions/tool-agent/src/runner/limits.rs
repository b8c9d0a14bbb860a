//! The limits of a run.

use std::{ops::ControlFlow, time::Instant};

use tool_runtime::{RunContext, ToolCall, context::BudgetUsage, dialect::Usage, guard::catch};

use super::{
    AgentEventKind, RunUsage,
    control::UsageMark,
    flow::{Flow, Interruption, end_at_limit, end_by_stop},
    scope::RunScope,
};
use crate::{
    Agent, Limit, Limits, Message, Role,
    hook::{CountedResponse, HookRequests},
    model::{Response, SharedModel},
};

/// The usage of a run, its retries, and its limits.
#[derive(Default)]
pub(super) struct RunLimits {
    pub(super) usage: RunUsage,
    pub(super) retries: RoundRetries,
    repeated: RepeatedCalls,
    /// The reason for which the cost of the run is not known.
    unknown_cost: Option<String>,
}

/// The calls of the last round, and the number of rounds with the same calls.
#[derive(Default)]
struct RepeatedCalls {
    calls: String,
    rounds: u64,
}

/// The reasons for which the model was asked again, each once until a response that is none of them.
#[derive(Default)]
pub(super) struct RoundRetries {
    after_empty: bool,
    after_malformed: bool,
    after_too_long: bool,
}

impl RoundRetries {
    /// Returns `true` for the first of several empty responses.
    pub(super) fn may_retry_empty(&mut self) -> bool {
        !std::mem::replace(&mut self.after_empty, true)
    }

    /// Returns `true` for the first of several responses that are not in the format of their provider.
    pub(super) fn may_retry_malformed(&mut self) -> bool {
        !std::mem::replace(&mut self.after_malformed, true)
    }

    /// Returns `true` for the first of several errors that the conversation is too long.
    pub(super) fn may_retry_too_long(&mut self) -> bool {
        !std::mem::replace(&mut self.after_too_long, true)
    }

    /// Allows each retry again.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}

impl RunLimits {
    /// Goes on with the usage of an interrupted run, so that no limit begins anew. `messages` are those of the session.
    pub(super) fn continue_usage(&mut self, scope: &RunScope, usage: RunUsage, messages: &[Message]) {
        charge_earlier_usage(&scope.run, &usage);
        self.continue_own_usage(scope, usage, messages);
    }

    /// Goes on with the usage of a run below a call that waited, which has the budget of the run above.
    pub(super) fn continue_own_usage(&mut self, scope: &RunScope, usage: RunUsage, messages: &[Message]) {
        self.usage = usage;
        scope.parent.continue_usage(usage.children);
        if usage.has_unknown_cost || (usage.rounds > 0 && usage.cost.is_none()) {
            self.unknown_cost = Some("the cost before the interruption is not known".to_owned());
        }
        let start = messages.iter().rposition(|it| it.role() == Role::User).unwrap_or(0);
        let answered = messages.iter().rposition(|it| it.role() == Role::Tool).unwrap_or(0);
        // The calls of the last response are counted when they are admitted.
        for message in messages.get(start..answered).unwrap_or_default() {
            let calls: Vec<_> = message.calls().cloned().collect();
            if !calls.is_empty() {
                self.repeated.count_round(&calls);
            }
        }
    }

    /// Counts a round that begins, or ends the run at a limit, a stop, or its cancellation.
    pub(super) async fn start_round(&mut self, scope: &RunScope) -> Flow {
        if scope.run.cancellation().is_cancelled() {
            return Interruption::Cancelled.end();
        }
        if let Some(stop) = scope.run.stopped() {
            return end_by_stop(stop);
        }
        self.count_child_runs(scope);
        let used = UsageMark::of(&self.usage);
        self.check_usage(scope, &scope.root, used, "the run")?;
        if !scope.is_root_active() {
            let by = format!("the agent `{}`", scope.agent.name());
            self.check_usage(scope, &scope.agent, used.since(scope.period.start), &by)?;
        }
        if scope.deadline().is_some_and(|deadline| deadline <= Instant::now()) {
            return Interruption::DeadlinePassed.end();
        }
        if let Err(error) = scope.run.obtain_round().await {
            if error.is_stop() {
                return end_by_stop(&error);
            }
            return end_at_limit(Limit::Budget, error.reason().into_owned());
        }
        self.usage.rounds += 1;
        ControlFlow::Continue(())
    }

    /// Ends the run if `used` reaches a limit of `agent`: the root limits the whole run, and another agent what is used since its start.
    fn check_usage(&self, scope: &RunScope, agent: &Agent, used: UsageMark, spender: &str) -> Flow {
        let limits = &agent.0.limits;
        let reached = |limit: Option<u64>, used: u64| limit.filter(|limit| used >= *limit);
        let UsageMark { rounds, tokens, .. } = used;
        if reached(limits.rounds, rounds).is_some() {
            let message =
                format!("{spender} made {rounds} requests to the model, which is the limit `Limits::rounds`");
            return end_at_limit(Limit::Rounds, message);
        }
        if let Some(limit) = reached(limits.tokens, tokens) {
            return end_at_limit(
                Limit::Tokens,
                format!("{spender} used {tokens} tokens, and may use {limit}"),
            );
        }
        match self.cost_problem(scope, limits, used, spender) {
            Some(problem) => end_at_limit(Limit::Cost, problem),
            None => ControlFlow::Continue(()),
        }
    }

    /// Counts the runs below the calls that ended so far.
    pub(super) fn count_child_runs(&mut self, scope: &RunScope) {
        self.usage.children = scope.parent.usage_of_turn();
    }

    /// Returns the reason for which the limit of the cost ends the run.
    fn cost_problem(
        &self,
        scope: &RunScope,
        limits: &Limits,
        used: UsageMark,
        spender: &str,
    ) -> Option<String> {
        let max_cost = limits.cost?;
        if let Some(problem) = &self.unknown_cost {
            return Some(format!("the cost of the run is limited, and {problem}"));
        }
        let model = scope.agent.model().map(model_name).unwrap_or_default();
        if self.usage.rounds == scope.period.start.rounds && scope.price(&model).is_none() {
            return Some(format!(
                "the cost of the run is limited, and the model `{model}` has no price; set it by `AgentBuilder::price`"
            ));
        }
        let children = &self.usage.children;
        if children.rounds > 0 && children.cost.is_none() {
            return Some(
                "the cost of the run is limited, and the cost of a run below a call is not known".to_owned(),
            );
        }
        let cost = used.cost;
        (cost >= max_cost).then(|| format!("{spender} cost {cost}, and may cost {max_cost}"))
    }

    /// Counts the tokens and the cost of a response of `model`.
    pub(super) async fn count_response(
        &mut self,
        scope: &RunScope,
        model: &SharedModel,
        response: &Response,
    ) {
        let Some(usage) = response.usage else {
            return self.report_uncounted_response(scope, "a response").await;
        };
        self.usage.add(&usage);
        self.add_cost(scope, &model_name(model), response.model.as_deref(), usage);
        let total = scope.total_usage(self.usage);
        scope.emit(AgentEventKind::Usage { usage, total }).await;
    }

    /// Counts the requests that hooks made themselves since the last count.
    pub(super) async fn count_hook_requests(&mut self, scope: &RunScope, requests: &HookRequests) {
        for CountedResponse { model, response_model, usage } in requests.take() {
            let Some(usage) = usage else {
                self.report_uncounted_response(scope, "a response to a hook").await;
                continue;
            };
            self.usage.add_hook_usage(&usage);
            self.add_cost(scope, &model, response_model.as_deref(), usage);
        }
    }

    /// Reports a response without token counts, if a limit needs them.
    async fn report_uncounted_response(&mut self, scope: &RunScope, response: &str) {
        let text = format!("{response} has no token counts");
        self.unknown_cost = Some(text.clone());
        self.mark_unknown_cost();
        let mut limits = [&scope.root, &scope.agent].into_iter().map(|agent| &agent.0.limits);
        if limits.any(|limits| limits.tokens.is_some() || limits.cost.is_some()) {
            scope.emit_notice(text).await;
        }
    }

    /// Tells in the usage, which outlives the process, if its cost is not the whole.
    fn mark_unknown_cost(&mut self) {
        self.usage.has_unknown_cost = self.usage.cost.is_some() && self.unknown_cost.is_some();
    }

    /// Adds the cost of a response by the price of its model, and charges the budget.
    fn add_cost(&mut self, scope: &RunScope, model: &str, response_model: Option<&str>, usage: Usage) {
        match response_model.into_iter().chain([model]).find_map(|name| scope.price(name)) {
            Some(price) => self.usage.cost = Some(self.usage.cost.unwrap_or(0.0) + price.cost(&usage)),
            None => self.unknown_cost = Some(format!("the model `{model}` has no price")),
        }
        self.mark_unknown_cost();
        // An exceeded budget ends the run before its next round.
        drop(scope.run.count_tokens(usage));
    }

    /// Counts calls, or ends the run before calls that exceed a limit: none of them is executed.
    pub(super) fn admit_calls(&mut self, scope: &RunScope, calls: &[ToolCall]) -> Flow {
        let count = calls.len() as u64;
        check_call_limits(&scope.root.0.limits, self.usage.calls, count, "the run")?;
        if !scope.is_root_active() {
            let by = format!("the agent `{}`", scope.agent.name());
            let used = self.usage.calls.saturating_sub(scope.period.start.calls);
            check_call_limits(&scope.agent.0.limits, used, count, &by)?;
        }
        self.usage.calls += count;
        let Some(max_rounds) = scope.agent.0.limits.repeated_calls else { return ControlFlow::Continue(()) };
        if self.repeated.count_round(calls) <= max_rounds {
            return ControlFlow::Continue(());
        }
        let message = format!("the model made the same calls more than {max_rounds} times in a row");
        end_at_limit(Limit::RepeatedCalls, message)
    }
}

/// Ends the run before `count` calls that exceed a limit; `used` were made before.
fn check_call_limits(limits: &Limits, used: u64, count: u64, spender: &str) -> Flow {
    if let Some(max) = limits.calls.filter(|max| used + count > *max) {
        let message = format!("{spender} may make at most {max} calls, which is the limit `Limits::calls`");
        return end_at_limit(Limit::Calls, message);
    }
    if let Some(max) = limits.calls_per_response.filter(|max| count > *max) {
        let message = format!(
            "the model made {count} calls in one response, and may make {max}, which is the limit \
             `Limits::calls_per_response`"
        );
        return end_at_limit(Limit::Calls, message);
    }
    ControlFlow::Continue(())
}

impl RepeatedCalls {
    /// Returns the number of rounds in a row with these calls.
    fn count_round(&mut self, calls: &[ToolCall]) -> u64 {
        let calls: String =
            calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str(), "\n"]).collect();
        if calls != self.calls {
            *self = Self { calls, rounds: 0 };
        }
        self.rounds += 1;
        self.rounds
    }
}

/// Charges the budget of `run` with what it used before it was interrupted.
pub(super) fn charge_earlier_usage(run: &RunContext, usage: &RunUsage) {
    let mut spent = BudgetUsage::default();
    let children = usage.children;
    spent.rounds = usage.rounds.saturating_add(children.rounds);
    spent.calls = usage.calls.saturating_add(children.calls);
    spent.tokens = usage.tokens();
    run.count_spent(spent);
}

/// Returns the name of a model; empty if that panics.
fn model_name(model: &SharedModel) -> String {
    catch(|| model.name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_the_same_calls_are_counted() {
        let mut repeated = RepeatedCalls::default();
        let round = |calls: &[(&'static str, &'static str)]| {
            calls.iter().map(|&(name, arguments)| ToolCall::new(name, arguments)).collect::<Vec<_>>()
        };
        let (one, other) = (round(&[("t", "{}")]), round(&[("t", "{\"a\":1}")]));
        let counts = [&one, &one, &other, &one, &one, &one].map(|calls| repeated.count_round(calls));
        assert_eq!(counts, [1, 2, 1, 1, 2, 3]);
        let both = [round(&[("t", "{}"), ("u", "{}")]), round(&[("u", "{}"), ("t", "{}")])];
        assert_eq!(both.map(|calls| repeated.count_round(&calls)), [1, 1]);
    }

    #[test]
    fn each_reason_to_ask_again_counts_once_until_a_response() {
        let mut retries = RoundRetries::default();
        for _ in 0..2 {
            assert!(retries.may_retry_empty() && !retries.may_retry_empty());
            assert!(retries.may_retry_malformed() && !retries.may_retry_malformed());
            assert!(retries.may_retry_too_long() && !retries.may_retry_too_long());
            retries.reset();
        }
    }

    #[test]
    fn the_default_limits_are_those_of_the_documentation() {
        let expected = Limits {
            rounds: Some(50),
            calls: None,
            calls_per_response: Some(128),
            tokens: None,
            cost: None,
            time: None,
            repeated_calls: Some(5),
            transfers: Some(10),
        };
        assert_eq!(Limits::default(), expected);
    }
}
