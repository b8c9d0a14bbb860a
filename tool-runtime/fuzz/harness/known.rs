//! What is known to be answered in two ways, until it is put right. Each line goes with what it is about.

use super::{tools::Case, tree::Tree};

/// Whether what is known to be wrong may be met in a text for this tool.
pub(crate) fn is_known(case: &Case, tree: &Tree) -> bool {
    let numbers = numbers(tree);
    // The check reads an integer through a float where it is written with a fraction or an exponent, or
    // is beyond 64 bits; the decoder does not.
    numbers.iter().any(|it| it.parse().is_ok_and(is_wide) && it.parse::<i64>().is_err() && it.parse::<u64>().is_err())
        // `5.0` fits the integer of a union for the check, and its float for the decoder.
        || case.name == "untagged" && numbers.iter().any(|it| it == "-0" || it.contains(['.', 'e', 'E']))
        // A tool that rewrites its arguments is given the last value of a name that is repeated.
        || case.name == "rewritten" && tree.repeats_a_name()
}

fn is_wide(float: f64) -> bool {
    float.abs() >= 9_007_199_254_740_992.0
}

/// What may be a number in it, also in the text of a string.
fn numbers(tree: &Tree) -> Vec<String> {
    match tree {
        Tree::Leaf(leaf) => {
            vec![leaf.clone(), Tree::name(leaf)]
        }
        _ => tree.children().flat_map(numbers).collect(),
    }
}
