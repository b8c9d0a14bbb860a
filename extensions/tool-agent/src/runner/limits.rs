//! The limits of a run.

use std::ops::ControlFlow;

use tool_runtime::{ToolCall, dialect::Usage};

use super::{
    AgentEventKind, End, EndReason,
    compact::Measured,
    drive::{Drive, Next, limit},
};
use crate::{
    Limit, Limits,
    guard::called,
    hook::{Answered, Step},
    model::{Response, SharedModel},
};

/// The calls of the last round, and the number of rounds with the same calls.
#[derive(Default)]
pub(super) struct Repeated {
    calls: String,
    rounds: u64,
}

impl Drive {
    /// Ends the run at a limit, a stop, or its cancellation.
    pub(super) fn before_round(&mut self) -> Next {
        if self.run.cancellation().is_cancelled() {
            return ControlFlow::Break(End::new(EndReason::Cancelled));
        }
        if let Some(stop) = self.run.stopped() {
            return ControlFlow::Break(End::new(EndReason::Stopped { message: stop.reason().into_owned() }));
        }
        let limits = &self.agent().0.limits;
        let reached = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        if reached(limits.rounds, self.usage.rounds) {
            let rounds = self.usage.rounds;
            return limit(
                Limit::Rounds,
                format!("the run made {rounds} requests to the model, which is the limit `Limits::rounds`"),
            );
        }
        if reached(limits.tokens, self.usage.tokens()) {
            let message = format!(
                "the run used {} tokens, and may use {}",
                self.usage.tokens(),
                limits.tokens.unwrap_or(0)
            );
            return limit(Limit::Tokens, message);
        }
        if let Some(problem) = self.cost_reached() {
            return limit(Limit::Cost, problem);
        }
        if self.run.deadline().is_some_and(|end| end <= std::time::Instant::now()) {
            return limit(Limit::Time, "the time of the run is over".to_owned());
        }
        if let Err(error) = self.run.count_round() {
            return limit(Limit::Budget, error.reason().into_owned());
        }
        self.usage.rounds += 1;
        ControlFlow::Continue(())
    }

    /// Returns the reason for which the limit of the cost ends the run.
    fn cost_reached(&self) -> Option<String> {
        let agent = &self.agent().0;
        let most = agent.limits.cost?;
        if let Some(problem) = &self.uncounted {
            return Some(format!("the cost of the run is limited, and {problem}"));
        }
        let model = name_of(&agent.model);
        if self.usage.rounds == 0 && !agent.prices.contains_key(&model) {
            return Some(format!(
                "the cost of the run is limited, and the model `{model}` has no price; set it by `AgentBuilder::price`"
            ));
        }
        let used = self.usage.cost.unwrap_or(0.0);
        (used >= most).then(|| format!("the run cost {used}, and may cost {most}"))
    }

    /// Counts the tokens and the cost of a response.
    pub(super) async fn count(&mut self, step: &Step, response: &Response) {
        let Some(usage) = response.usage else { return self.uncounted("a response").await };
        self.usage.add(&usage);
        self.measured = Some(Measured { tokens: usage.total(), messages: self.view.len() + 1 });
        self.pay(&name_of(&step.model), response.model.as_deref(), usage);
        self.emit(AgentEventKind::Usage { usage, total: self.usage }).await;
    }

    /// Counts the requests that hooks made themselves.
    pub(super) async fn count_beside(&mut self) {
        for Answered { model, named, usage } in self.beside.take() {
            let Some(usage) = usage else {
                self.uncounted("a response to a hook").await;
                continue;
            };
            self.usage.add_additional(&usage);
            self.pay(&model, named.as_deref(), usage);
        }
    }

    /// Reports a response without token counts, if a limit needs them.
    async fn uncounted(&mut self, response: &str) {
        let limits = &self.agent().0.limits;
        if limits.tokens.is_some() || limits.cost.is_some() {
            let text = format!("{response} has no token counts");
            self.uncounted = Some(text.clone());
            self.emit(AgentEventKind::Notice { text }).await;
        }
    }

    /// Adds the cost of a response by the price of its model, and charges the budget.
    fn pay(&mut self, model: &str, named: Option<&str>, usage: Usage) {
        let prices = &self.agent().0.prices;
        match named.into_iter().chain([model]).find_map(|name| prices.get(name)).copied() {
            Some(price) => self.usage.cost = Some(self.usage.cost.unwrap_or(0.0) + price.cost(&usage)),
            None => self.uncounted = Some(format!("the model `{model}` has no price")),
        }
        // An exceeded budget ends the run before its next round.
        drop(self.run.count_tokens(usage));
    }

    /// Ends the run before calls that exceed a limit: none of them is executed.
    pub(super) fn before_calls(&mut self, calls: &[ToolCall]) -> Next {
        let Limits { calls: total, calls_per_response, repeated_calls, .. } = self.agent().0.limits;
        let made = calls.len() as u64;
        if let Some(most) = total.filter(|most| self.usage.calls + made > *most) {
            return limit(
                Limit::Calls,
                format!("the run may make at most {most} calls, which is the limit `Limits::calls`"),
            );
        }
        if let Some(most) = calls_per_response.filter(|most| made > *most) {
            let message = format!(
                "the model made {made} calls in one response, and may make {most}, which is the limit \
                 `Limits::calls_per_response`"
            );
            return limit(Limit::Calls, message);
        }
        self.usage.calls += made;
        let Some(most) = repeated_calls else { return ControlFlow::Continue(()) };
        let written: String =
            calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str(), "\n"]).collect();
        if written == self.repeated.calls {
            self.repeated.rounds += 1;
        } else {
            self.repeated = Repeated { calls: written, rounds: 1 };
        }
        if self.repeated.rounds <= most {
            return ControlFlow::Continue(());
        }
        limit(Limit::RepeatedCalls, format!("the model made the same calls more than {most} times in a row"))
    }
}

/// Returns the name of a model; empty if that panics.
fn name_of(model: &SharedModel) -> String {
    called(|| model.name().to_owned()).unwrap_or_default()
}
