//! Tools that a model can confuse with one another.
//!
//! Descriptions are compared by their pairs of neighbouring words, so that order counts. Only descriptions that
//! share one of their rarest pairs are compared: two similar descriptions always do. The time therefore depends
//! on the overlap of descriptions, and not on the square of their number.

use std::{collections::HashMap, hash::Hash};

use foldhash::fast::FixedState;
use tool_core::ToolDefinition;

use super::{
    ToolFindings,
    words::{lower_case_words, word_stems},
};
use crate::diagnostic::{Diagnostic, Severity};

/// The number of shared pairs, out of ten, from which two descriptions are similar.
const NEARLY: usize = 8;

pub(super) fn check_similar_tools(definitions: &[ToolDefinition], diagnostics: &mut Vec<Diagnostic>) {
    let mut push = |of: &ToolDefinition, code, message: String, help: &str| {
        ToolFindings { of, diagnostics }.push(Severity::Warning, code, "", message, help);
    };
    for (of, other) in similar_names(definitions) {
        let message = format!("its name has the same words as `{}`", other.name());
        push(of, "similar_name", message, "use names that show the difference");
    }
    for (of, other, nearly) in similar_descriptions(definitions) {
        let message = format!("its description is {nearly}equal to the description of `{}`", other.name());
        push(of, "similar_description", message, "state in each description when to call which tool");
    }
}

type Pair<'d> = (&'d ToolDefinition, &'d ToolDefinition);

/// Finds names that differ only in the separation of their words.
fn similar_names(definitions: &[ToolDefinition]) -> Vec<Pair<'_>> {
    let mut first_of: HashMap<Vec<String>, &ToolDefinition, FixedState> = HashMap::default();
    let mut found = Vec::new();
    for definition in definitions {
        let first = *first_of.entry(lower_case_words(definition.name()).collect()).or_insert(definition);
        if !std::ptr::eq(first, definition) {
            found.push((definition, first));
        }
    }
    found
}

/// The description of a tool as numbers that identify words and pairs of words across tools.
struct DescriptionText {
    /// The words in order.
    words: Vec<usize>,
    /// The pairs of neighbouring words, each once, rarest first.
    pairs: Vec<usize>,
    /// The pairs of the first sentence.
    first: Vec<usize>,
    /// The distinct words, sorted.
    all: Vec<usize>,
    /// The distinct words that occur in the tool's name.
    named: Vec<usize>,
}

fn similar_descriptions(
    definitions: &[ToolDefinition],
) -> Vec<(&ToolDefinition, &ToolDefinition, &'static str)> {
    similar_descriptions_with_steps(definitions, &mut 0)
}

/// `steps` is increased by the number of lookups.
fn similar_descriptions_with_steps<'d>(
    definitions: &'d [ToolDefinition],
    steps: &mut usize,
) -> Vec<(&'d ToolDefinition, &'d ToolDefinition, &'static str)> {
    let texts = numbered_texts(definitions);
    let mut having: HashMap<usize, Vec<usize>, FixedState> = HashMap::default();
    let mut found = Vec::new();
    let mut seen = vec![usize::MAX; texts.len()];
    for (at, text) in texts.iter().enumerate() {
        let rarest = text.rarest_word_pairs();
        let others = rarest.iter().filter_map(|pair| having.get(pair)).flatten();
        let mut others = others.filter(|other| std::mem::replace(&mut seen[**other], at) != at);
        if let Some(other) = others.find(|other| text.is_similar_to(&texts[**other], steps)) {
            let nearly = if text.words == texts[*other].words { "" } else { "nearly " };
            found.push((&definitions[at], &definitions[*other], nearly));
        }
        rarest.iter().for_each(|pair| having.entry(*pair).or_default().push(at));
    }
    found
}

fn numbered_texts(definitions: &[ToolDefinition]) -> Vec<DescriptionText> {
    let mut of_word = Numbers::default();
    let mut of_pair = Numbers::default();
    let mut text = |definition: &ToolDefinition| {
        let mut numbers = |text: &str| word_stems(text).map(|it| of_word.number_of(it)).collect::<Vec<_>>();
        let description = definition.description().trim();
        let (words, sentence, name) =
            (numbers(description), numbers(first_sentence(description)), numbers(definition.name()));
        let (pairs, first) = (numbered_pairs(&words, &mut of_pair), numbered_pairs(&sentence, &mut of_pair));
        let mut all = words.clone();
        all.sort_unstable();
        all.dedup();
        let named = all.iter().copied().filter(|word| name.contains(word)).collect();
        DescriptionText { words, pairs, first, all, named }
    };
    let mut texts: Vec<_> = definitions.iter().map(&mut text).collect();
    let mut times = vec![0_usize; of_pair.0.len()];
    texts.iter().flat_map(|text| &text.pairs).for_each(|pair| times[*pair] += 1);
    let mut by_times: Vec<_> = (0..times.len()).collect();
    by_times.sort_by_key(|pair| times[*pair]);
    let mut rank = vec![0; times.len()];
    by_times.iter().enumerate().for_each(|(at, pair)| rank[*pair] = at);
    for list in texts.iter_mut().flat_map(|text| [&mut text.pairs, &mut text.first]) {
        list.iter_mut().for_each(|pair| *pair = rank[*pair]);
        list.sort_unstable();
    }
    texts
}

/// Returns the first sentence of a description.
fn first_sentence(text: &str) -> &str {
    let ends = [". ", ".\n", "\n\n"].iter().filter_map(|end| text.find(end));
    &text[..ends.min().unwrap_or(text.len())]
}

/// Returns the distinct pairs of neighbouring words; a single word is paired with itself.
fn numbered_pairs(words: &[usize], of_pair: &mut Numbers<(usize, usize)>) -> Vec<usize> {
    let single = words.first().filter(|_| words.len() == 1).map(|it| (*it, *it));
    let neighbours = words.windows(2).map(|pair| (pair[0], pair[1]));
    let mut pairs: Vec<_> = neighbours.chain(single).map(|pair| of_pair.number_of(pair)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Returns `true` if two sorted lists have nearly all items in common. The rarest come first, so that a
/// mismatch is detected early.
fn share_nearly_all(one: &[usize], other: &[usize], steps: &mut usize) -> bool {
    let shared = ((one.len() + other.len()) * NEARLY).div_ceil(10 + NEARLY);
    let Some(may_lack) = one.len().checked_sub(shared) else { return false };
    let mut is_missing = |pair: &&usize| {
        *steps += 1;
        other.binary_search(pair).is_err()
    };
    one.iter().filter(|pair| is_missing(pair)).nth(may_lack).is_none()
}

impl DescriptionText {
    /// Returns the pairs of which two similar descriptions share at least one.
    fn rarest_word_pairs(&self) -> &[usize] {
        let count = self.pairs.len();
        let shared = (count * NEARLY).div_ceil(10);
        &self.pairs[..(count - shared + 1).min(count)]
    }

    fn is_similar_to(&self, other: &Self, steps: &mut usize) -> bool {
        *steps += 1;
        if self.words == other.words {
            return true;
        }
        // A word that occurs in one tool's name only distinguishes the two: `create` and `delete`, for
        // instance.
        let sets_apart =
            |one: &Self, other: &Self| one.named.iter().any(|word| other.all.binary_search(word).is_err());
        // Text that all tools of a program share follows the specific part.
        !sets_apart(self, other)
            && !sets_apart(other, self)
            && share_nearly_all(&self.pairs, &other.pairs, steps)
            && share_nearly_all(&self.first, &other.first, steps)
    }
}

/// Assigns equal numbers to equal values.
struct Numbers<T>(HashMap<T, usize, FixedState>);

impl<T: Eq + Hash> Numbers<T> {
    fn number_of(&mut self, value: T) -> usize {
        let next = self.0.len();
        *self.0.entry(value).or_insert(next)
    }
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;
    use tool_core::{InputSchema, ToolName};

    use super::*;

    /// Returns the number of steps of comparing the descriptions of `count` tools, for each pair of tools.
    fn steps_of_a_pair(count: usize, named: impl Fn(usize) -> (String, String)) -> f64 {
        let definition = |at| {
            let (name, description) = named(at);
            let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
            ToolDefinition::new(ToolName::new(name).unwrap(), description, schema)
        };
        let definitions: Vec<_> = (0..count).map(definition).collect();
        let mut steps = 0;
        drop(similar_descriptions_with_steps(&definitions, &mut steps));
        steps as f64 / (count * count / 2) as f64
    }

    #[test]
    fn tools_that_share_a_single_pair_of_words_are_compared() {
        let found = |descriptions: &[&str]| {
            let definition = |(at, description): (usize, &&str)| {
                let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
                let name = ToolName::new(format!("tool_{at}")).unwrap();
                ToolDefinition::new(name, (*description).to_owned(), schema)
            };
            let definitions: Vec<_> = descriptions.iter().enumerate().map(definition).collect();
            let similar = similar_descriptions(&definitions);
            similar
                .iter()
                .map(|(one, other, nearly)| format!("{} {} {nearly}", one.name(), other.name()))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&["Opens.", "opens!"]), ["tool_1 tool_0 "]);
        assert_eq!(found(&["Opens it.", "Opens it.", "Opens it."]), ["tool_1 tool_0 ", "tool_2 tool_0 "]);
        assert_eq!(found(&["Opens it.", "Closes it."]), [""; 0]);
        assert_eq!(found(&["", ""]), [""; 0]);
        // Eight of nine pairs are shared, or eight of ten.
        let words = |last: &str| format!("a b c d e f g h i {last}");
        assert_eq!(found(&[&words("j"), &words("x")]), ["tool_1 tool_0 nearly "]);
        assert_eq!(found(&[&words("j k"), &words("x k")]), [""; 0]);
        // The short one is a part of a long one, and has few of its pairs.
        let rest = "It gives all of the entries of the register that belong to it sorted by date and by name";
        let long = ["Opens it", "Closes those", "Reads whatever"].map(|first| format!("{first}. {rest}"));
        assert_eq!(found(&[&long[0], &long[1], &long[2], "Opens it."]), [""; 0]);
        // The rest is shared, and the first sentence is not.
        let rest = "It gives all of the entries of the register that belong to it sorted by date and by name";
        assert_eq!(found(&[&format!("Reads a line. {rest}"), &format!("Writes new files. {rest}")]), [""; 0]);
    }

    #[test]
    fn each_comparison_and_each_look_up_of_a_pair_is_a_step() {
        let steps = |one: &'static str, other: &'static str| {
            let described = |at: usize| (format!("tool_{at}"), [one, other][at].to_owned());
            steps_of_a_pair(2, described) * 2.0
        };
        assert_eq!(steps("Opens it.", "Closes that."), 0.0);
        assert_eq!(steps("Opens it.", "Opens it."), 1.0);
        // Eight of nine pairs in the only sentence, which is looked up as the text and as the first sentence.
        let (one, other) = ("a b c d e f g h i j", "a b c d e f g h i k");
        assert_eq!(steps(one, other), 1.0 + 2.0 * 9.0);
    }

    #[test]
    fn tools_that_differ_in_a_word_are_compared_in_few_steps() {
        let of_all: String = (0..60).map(|at| format!(" word{at}")).collect();
        let in_name = |at| (format!("create_x{at}"), format!("Creates x{at} in{of_all}."));
        let in_description =
            |at| (format!("tool_{at}"), format!("Creates x{at} y{at} z{at} u{at} v{at} w{at} in{of_all}."));
        for steps in [steps_of_a_pair(500, in_name), steps_of_a_pair(500, in_description)] {
            // A comparison of all pairs of words would take 60 steps.
            assert!(steps < 16.0, "{steps}");
        }
    }

    #[test]
    fn few_pairs_of_a_thousand_tools_are_compared() {
        let words: Vec<_> = (0..200).map(|at| format!("word{at}")).collect();
        let described = |at: usize| {
            let of_all = "Gives the entries of the register that belong to it, sorted by their date, with the name of \
                          those who wrote them";
            let own: Vec<_> =
                (0..30).map(|step| words[(at * 7 + step * step * (at % 13 + 1)) % 200].as_str()).collect();
            (format!("tool_{at}"), format!("{of_all}: {}.", own.join(" ")))
        };
        let steps = steps_of_a_pair(1_000, described);
        assert!(steps < 1.0, "{steps}");
    }
}
