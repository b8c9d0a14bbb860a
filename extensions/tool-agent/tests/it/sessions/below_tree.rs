//! A tree of agents with a question in every leaf, answered in random order by many processes.

use tool_agent::{AgentBuilder, Answers, EndReason, Runner, model::Reply};
use tool_runtime::open_calls::OpenFilter;

use super::{
    below::{Office, address, ask, over_stores, removal},
    world::{StoreFactory, run},
};

over_stores! {
    each_leaf_of_a_tree_runs_once_whatever_the_order_of_the_answers,
}

/// The number of agents below each agent.
const WIDTH: usize = 4;
const LEVELS: usize = 3;
/// The number of answers that one process receives at most.
const MAX_ANSWERS: u64 = 12;

/// A generator of numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The agent at `path`, and all below it: at first they ask, and later they answer.
fn tree(office: &Office, path: &str, level: usize, is_first: bool) -> AgentBuilder {
    let name = format!("agent{}", path.chars().last().unwrap_or('_'));
    if level == LEVELS {
        let reply = if is_first { Reply::calls([removal(path, "r")]) } else { Reply::text("Removed.") };
        return office.leaf(&name, [reply]).0;
    }
    let below = (0..WIDTH).map(|at| tree(office, &format!("{path}{at}"), level + 1, is_first));
    let calls = (0..WIDTH).map(|at| ask(&format!("agent{at}"), "c"));
    let reply = if is_first { Reply::calls(calls) } else { Reply::text("Done.") };
    office.above(&name, below, [reply]).0
}

fn process(office: &Office, is_first: bool) -> Runner {
    office.runner(tree(office, "", 0, is_first))
}

async fn each_leaf_of_a_tree_runs_once_whatever_the_order_of_the_answers<F: StoreFactory>() {
    let office = Office::new::<F>().await;
    // As many as the environment says; one takes some seconds without optimisation.
    let seeds = std::env::var("TREE_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(1);
    for seed in 1..=seeds {
        let session = format!("s{seed}");
        let mut random = Random(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15));
        let mut end = process(&office, true).run_with(run(&session), "Clean up.").end().await;
        assert_eq!((end.open.len(), end.usage.children.runs), (64, 84));
        let mut answered = 0;
        while end.reason == EndReason::OpenCalls {
            assert!(end.paths.iter().all(|path| path.len() == LEVELS));
            let mut open: Vec<usize> = (0..end.open.len()).collect();
            let mut answers = Answers::new();
            for _ in 0..=random.below(MAX_ANSWERS) {
                if open.is_empty() {
                    break;
                }
                let at = open.swap_remove(usize::try_from(random.below(open.len() as u64)).unwrap());
                answers = answers.approve(address(&end, at));
            }
            answered += answers.len();
            end = process(&office, false).resume(run(&session), answers).end().await;
            assert_eq!(end.open.len(), 64 - answered, "seed {seed}: {end}");
        }
        assert_eq!((&end.reason, end.text.as_str()), (&EndReason::Answered, "Done."), "seed {seed}: {end}");
        let mut effects = office.effects();
        let count = effects.len();
        effects.sort();
        effects.dedup();
        assert_eq!((count, effects.len()), (64 * usize::try_from(seed).unwrap(), 64), "seed {seed}");
        assert!(office.world.open_calls.list(&OpenFilter::default()).await.unwrap().is_empty());
    }
}
