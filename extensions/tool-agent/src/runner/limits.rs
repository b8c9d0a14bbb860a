//! The limits of a run.

use std::ops::ControlFlow;

use tool_runtime::ToolCall;

use super::{
    AgentEventKind, End, EndReason,
    compact::Measured,
    drive::{Drive, Next, limit},
};
use crate::{Limit, hook::Step, model::Response};

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
        let model = agent.model.name();
        if self.usage.rounds == 0 && !agent.prices.contains_key(model) {
            let model = format!("`{model}`");
            return Some(format!(
                "the cost of the run is limited, and the model {model} has no price; set it by `AgentBuilder::price`"
            ));
        }
        let used = self.usage.cost.unwrap_or(0.0);
        (used >= most).then(|| format!("the run cost {used}, and may cost {most}"))
    }

    /// Counts the tokens and the cost of a response.
    pub(super) async fn count(&mut self, step: &Step, response: &Response) {
        let agent = self.agent().clone();
        let Some(usage) = response.usage else {
            let limits = &agent.0.limits;
            if limits.tokens.is_some() || limits.cost.is_some() {
                let text = "a response has no token counts".to_owned();
                self.uncounted = Some(text.clone());
                self.emit(AgentEventKind::Notice { text }).await;
            }
            return;
        };
        self.usage.add(&usage);
        self.measured = Some(Measured { tokens: usage.total(), messages: self.view.len() + 1 });
        let names = response.model.as_deref().into_iter().chain([step.model.name()]);
        match names.into_iter().find_map(|name| agent.0.prices.get(name)) {
            Some(price) => self.usage.cost = Some(self.usage.cost.unwrap_or(0.0) + price.cost(&usage)),
            None => self.uncounted = Some(format!("the model `{}` has no price", step.model.name())),
        }
        // An exceeded budget ends the run before its next round.
        drop(self.run.count_tokens(usage));
        self.emit(AgentEventKind::Usage { usage, total: self.usage }).await;
    }

    /// Ends the run before calls that exceed a limit: none of them is executed.
    pub(super) fn before_calls(&mut self, calls: &[ToolCall]) -> Next {
        let limits = self.agent().0.limits.clone();
        let made = calls.len() as u64;
        if let Some(most) = limits.calls.filter(|most| self.usage.calls + made > *most) {
            return limit(
                Limit::Calls,
                format!("the run may make at most {most} calls, which is the limit `Limits::calls`"),
            );
        }
        if let Some(most) = limits.calls_per_response.filter(|most| made > *most) {
            let message = format!(
                "the model made {made} calls in one response, and may make {most}, which is the limit \
                 `Limits::calls_per_response`"
            );
            return limit(Limit::Calls, message);
        }
        self.usage.calls += made;
        let written: Vec<_> =
            calls.iter().map(|call| format!("{}{}", call.name, call.arguments.as_str())).collect();
        let written = written.join("\n");
        if written == self.repeated.calls {
            self.repeated.rounds += 1;
        } else {
            self.repeated = Repeated { calls: written, rounds: 1 };
        }
        match limits.repeated_calls.filter(|most| self.repeated.rounds > *most) {
            Some(most) => limit(
                Limit::RepeatedCalls,
                format!("the model made the same calls more than {most} times in a row"),
            ),
            None => ControlFlow::Continue(()),
        }
    }
}
