//! The usage of a run.

use serde::{Deserialize, Serialize};
use tool_runtime::dialect::Usage;

/// The requests, calls and tokens of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RunUsage {
    /// The number of requests to models.
    pub rounds: u64,
    /// The number of calls that models made.
    pub calls: u64,
    /// The tokens of requests, including cached ones.
    pub input: u64,
    /// The tokens of responses.
    pub output: u64,
    /// The tokens of requests that were read from a cache.
    pub cached: u64,
    /// The tokens of requests that were written to a cache.
    pub cache_written: u64,
    /// The cost of the responses whose models have a [price](crate::AgentBuilder::price); `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// `true` if the [cost](Self::cost) leaves out responses whose cost is not known, since their models have no price or they had no
    /// token counts.
    #[serde(skip_serializing_if = "is_default")]
    pub has_unknown_cost: bool,
    /// The tokens of requests that [hooks made themselves](crate::Step::ask), which the other counts do not include.
    #[serde(skip_serializing_if = "is_default")]
    pub additional: Usage,
    /// The usage of the runs below the calls, which the other counts do not include.
    #[serde(skip_serializing_if = "is_default")]
    pub children: ChildUsage,
}

impl RunUsage {
    /// Adds the usage of another agent of the run.
    pub(super) fn add_usage_of(&mut self, other: &Self) {
        let has_unknown_cost = [&*self, other]
            .iter()
            .any(|usage| usage.has_unknown_cost || (usage.rounds > 0 && usage.cost.is_none()));
        let add = |total: &mut u64, count: u64| *total = total.saturating_add(count);
        add(&mut self.rounds, other.rounds);
        add(&mut self.calls, other.calls);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cached, other.cached);
        add(&mut self.cache_written, other.cache_written);
        self.cost = match (self.cost, other.cost) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.has_unknown_cost = has_unknown_cost && self.cost.is_some();
        self.add_hook_usage(&other.additional);
        self.children.add_usage_of(&other.children);
    }

    /// Returns the usage since it was `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let of_options =
            |now: Option<u64>, before: Option<u64>| now.map(|now| now.saturating_sub(before.unwrap_or(0)));
        let mut additional = self.additional;
        let before = &earlier.additional;
        additional.input = of_options(additional.input, before.input);
        additional.output = of_options(additional.output, before.output);
        additional.cached = of_options(additional.cached, before.cached);
        additional.cache_written = of_options(additional.cache_written, before.cache_written);
        additional.reasoning = of_options(additional.reasoning, before.reasoning);
        Self {
            rounds: self.rounds.saturating_sub(earlier.rounds),
            calls: self.calls.saturating_sub(earlier.calls),
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cached: self.cached.saturating_sub(earlier.cached),
            cache_written: self.cache_written.saturating_sub(earlier.cache_written),
            cost: self.cost.map(|cost| (cost - earlier.cost.unwrap_or(0.0)).max(0.0)),
            has_unknown_cost: self.has_unknown_cost,
            additional,
            children: self.children.since(&earlier.children),
        }
    }

    /// Adds the counts of one response.
    pub(crate) fn add(&mut self, usage: &Usage) {
        let add = |total: &mut u64, count: Option<u64>| *total = total.saturating_add(count.unwrap_or(0));
        add(&mut self.input, usage.input);
        add(&mut self.output, usage.output);
        add(&mut self.cached, usage.cached);
        add(&mut self.cache_written, usage.cache_written);
    }

    /// Adds the counts of one response to a hook.
    pub(crate) fn add_hook_usage(&mut self, usage: &Usage) {
        let add = |total: &mut Option<u64>, count: Option<u64>| {
            if let Some(count) = count {
                *total = Some(total.unwrap_or(0).saturating_add(count));
            }
        };
        add(&mut self.additional.input, usage.input);
        add(&mut self.additional.output, usage.output);
        add(&mut self.additional.cached, usage.cached);
        add(&mut self.additional.cache_written, usage.cache_written);
        add(&mut self.additional.reasoning, usage.reasoning);
    }

    /// Returns the tokens of requests and responses, including [additional](Self::additional) ones and those of
    /// [children](Self::children).
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.own_tokens().saturating_add(self.children.tokens)
    }

    fn own_tokens(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.additional.total())
    }
}

/// The usage of the runs below the calls of a run, and of the runs below their calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ChildUsage {
    /// The number of runs.
    pub runs: u64,
    /// The number of requests to models.
    pub rounds: u64,
    /// The number of calls that models made.
    pub calls: u64,
    /// The tokens of requests and responses.
    pub tokens: u64,
    /// The cost; `None` if the cost of a run is not known, since its model has no [price](crate::AgentBuilder::price).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

impl ChildUsage {
    /// Adds the runs below another agent of the run.
    fn add_usage_of(&mut self, other: &Self) {
        let cost = |usage: &Self| if usage.rounds == 0 { Some(0.0) } else { usage.cost };
        let sum = cost(self).zip(cost(other)).map(|(one, other)| one + other);
        let add = |total: &mut u64, count: u64| *total = total.saturating_add(count);
        add(&mut self.runs, other.runs);
        add(&mut self.rounds, other.rounds);
        add(&mut self.calls, other.calls);
        add(&mut self.tokens, other.tokens);
        // As before the first run, the cost of no runs is none.
        self.cost = if self.runs == 0 { None } else { sum };
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            runs: self.runs.saturating_sub(earlier.runs),
            rounds: self.rounds.saturating_sub(earlier.rounds),
            calls: self.calls.saturating_sub(earlier.calls),
            tokens: self.tokens.saturating_sub(earlier.tokens),
            cost: self.cost.map(|cost| (cost - earlier.cost.unwrap_or(0.0)).max(0.0)),
        }
    }

    /// Adds a run and the runs below it.
    pub(crate) fn add(&mut self, run: &RunUsage) {
        let below = run.children;
        // A run without requests costs nothing.
        let own_cost = match run.rounds {
            0 => Some(0.0),
            _ => run.cost.filter(|_| !run.has_unknown_cost),
        };
        let below_cost = if below.rounds == 0 { Some(0.0) } else { below.cost };
        let cost_before = if self.rounds == 0 { Some(0.0) } else { self.cost };
        self.cost =
            cost_before.zip(own_cost).zip(below_cost).map(|((before, own), below)| before + own + below);
        let add =
            |total: &mut u64, own: u64, below: u64| *total = total.saturating_add(own).saturating_add(below);
        add(&mut self.runs, 1, below.runs);
        add(&mut self.rounds, run.rounds, below.rounds);
        add(&mut self.calls, run.calls, below.calls);
        add(&mut self.tokens, run.own_tokens(), below.tokens);
    }
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_below_a_call_counts_with_the_runs_below_it() {
        let below = ChildUsage { runs: 1, rounds: 2, calls: 3, tokens: 4, cost: Some(0.25) };
        let run = RunUsage {
            rounds: 1,
            calls: 5,
            input: 6,
            output: 7,
            cost: Some(0.5),
            children: below,
            ..RunUsage::default()
        };
        let mut total = ChildUsage::default();
        total.add(&run);
        let once = ChildUsage { runs: 2, rounds: 3, calls: 8, tokens: 17, cost: Some(0.75) };
        assert_eq!(total, once);
        total.add(&run);
        assert_eq!(total, ChildUsage { runs: 4, rounds: 6, calls: 16, tokens: 34, cost: Some(1.5) });
        assert_eq!(total.since(&once), once);
        // A run without requests costs nothing, and the cost of one is not known.
        total.add(&RunUsage::default());
        assert_eq!((total.runs, total.cost), (5, Some(1.5)));
        for unknown in [
            RunUsage { cost: None, ..run },
            RunUsage { has_unknown_cost: true, ..run },
            RunUsage { children: ChildUsage { cost: None, ..below }, ..run },
        ] {
            let mut total = once;
            total.add(&unknown);
            assert_eq!(total.cost, None, "{unknown:?}");
        }
    }

    fn counts(input: u64, output: u64, cached: u64, written: u64, reasoning: u64) -> Usage {
        let mut usage = Usage::default();
        (usage.input, usage.output, usage.cached) = (Some(input), Some(output), Some(cached));
        (usage.cache_written, usage.reasoning) = (Some(written), Some(reasoning));
        usage
    }

    /// A usage whose counts are all different.
    fn usage() -> RunUsage {
        RunUsage {
            rounds: 1,
            calls: 2,
            input: 30,
            output: 40,
            cached: 5,
            cache_written: 6,
            cost: Some(0.5),
            has_unknown_cost: false,
            additional: counts(700, 800, 90, 100, 110),
            children: ChildUsage { runs: 12, rounds: 13, calls: 14, tokens: 15_000, cost: Some(0.25) },
        }
    }

    #[test]
    fn the_usage_of_several_agents_is_the_sum_of_each_count() {
        let mut total = RunUsage::default();
        total.add_usage_of(&usage());
        assert_eq!(total, usage());
        total.add_usage_of(&usage());
        let expected = RunUsage {
            rounds: 2,
            calls: 4,
            input: 60,
            output: 80,
            cached: 10,
            cache_written: 12,
            cost: Some(1.0),
            has_unknown_cost: false,
            additional: counts(1_400, 1_600, 180, 200, 220),
            children: ChildUsage { runs: 24, rounds: 26, calls: 28, tokens: 30_000, cost: Some(0.5) },
        };
        assert_eq!(total, expected);
        assert_eq!(total.since(&usage()), usage());
        assert_eq!(usage().since(&RunUsage::default()), usage());
        // A count is never below zero.
        let nothing = usage().since(&total);
        let none = RunUsage {
            cost: Some(0.0),
            additional: counts(0, 0, 0, 0, 0),
            children: ChildUsage { cost: Some(0.0), ..ChildUsage::default() },
            ..RunUsage::default()
        };
        assert_eq!(nothing, none);
        assert_eq!(RunUsage::default().since(&usage()), RunUsage::default());
        assert_eq!((usage().tokens(), usage().own_tokens()), (16_570, 1_570));
    }

    #[test]
    fn a_cost_of_several_agents_is_known_in_part_if_one_has_requests_without_a_cost() {
        let of = |rounds: u64, cost: Option<f64>| RunUsage { rounds, cost, ..RunUsage::default() };
        let unknown = |usage: RunUsage| RunUsage { has_unknown_cost: true, ..usage };
        for (one, other, cost, has_unknown_cost) in [
            (of(0, None), of(0, None), None, false),
            (of(1, None), of(1, None), None, false),
            (of(0, None), of(1, Some(2.0)), Some(2.0), false),
            (of(1, Some(2.0)), of(0, None), Some(2.0), false),
            (of(1, None), of(1, Some(2.0)), Some(2.0), true),
            (of(1, Some(2.0)), of(1, None), Some(2.0), true),
            (of(1, Some(1.0)), of(1, Some(2.0)), Some(3.0), false),
            (unknown(of(1, Some(1.0))), of(1, Some(2.0)), Some(3.0), true),
            (of(1, Some(1.0)), unknown(of(1, Some(2.0))), Some(3.0), true),
        ] {
            let mut total = one;
            total.add_usage_of(&other);
            assert_eq!((total.cost, total.has_unknown_cost), (cost, has_unknown_cost), "{one:?} {other:?}");
        }
    }

    #[test]
    fn the_cost_of_runs_below_several_agents_is_known_if_each_is_known() {
        let of = |runs: u64, rounds: u64, cost: Option<f64>| ChildUsage {
            runs,
            rounds,
            cost,
            ..ChildUsage::default()
        };
        for (one, other, cost) in [
            (of(0, 0, None), of(0, 0, None), None),
            (of(0, 0, None), of(1, 1, Some(2.0)), Some(2.0)),
            (of(1, 1, Some(2.0)), of(0, 0, None), Some(2.0)),
            (of(1, 1, Some(1.0)), of(1, 1, Some(2.0)), Some(3.0)),
            (of(1, 1, None), of(1, 1, Some(2.0)), None),
            (of(1, 1, Some(2.0)), of(1, 1, None), None),
            // Runs without requests cost nothing.
            (of(1, 0, None), of(0, 0, None), Some(0.0)),
        ] {
            let mut total = one;
            total.add_usage_of(&other);
            assert_eq!(total.cost, cost, "{one:?} {other:?}");
        }
    }

    #[test]
    fn responses_to_hooks_are_counted_beside_those_of_the_run() {
        let mut total = RunUsage::default();
        total.add(&counts(1, 2, 3, 4, 5));
        total.add(&counts(10, 20, 30, 40, 50));
        total.add(&Usage::default());
        assert_eq!((total.input, total.output, total.cached, total.cache_written), (11, 22, 33, 44));
        assert_eq!((total.additional, total.tokens()), (Usage::default(), 33));
        total.add_hook_usage(&Usage::default());
        assert_eq!(total.additional, Usage::default());
        total.add_hook_usage(&counts(100, 200, 300, 400, 500));
        total.add_hook_usage(&counts(1, 2, 3, 4, 5));
        assert_eq!(total.additional, counts(101, 202, 303, 404, 505));
        assert_eq!((total.input, total.output, total.tokens()), (11, 22, 336));
    }
}
