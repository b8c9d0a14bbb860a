//! Mutations of inputs.
//!
//! Most mutations have to reach the decoder; a syntax error at the first byte tests only its own
//! message. Most mutations therefore change values rather than bytes, and a mutation that the schema
//! does not admit is mostly retried.

use std::{collections::BTreeSet, path::Path};

use tool_runtime::serde_json::Value;

use super::{
    Input,
    rng::Rng,
    tools::{Case, REGISTRY, cases},
    tree::{Tree, is_integer},
};

/// The attempts at a mutation that the schema admits, before only the spelling of a valid text is changed.
const ATTEMPTS: usize = 10;

const WORDS: [&str; 8] = ["null", "true", "false", "{}", "[]", "[null]", "{\"a\":1}", "nul"];

const NUMBERS: [&str; 37] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "5",
    "9",
    "10",
    "127",
    "128",
    "255",
    "256",
    "-129",
    "65536",
    "2147483648",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "170141183460469231731687303715884105727",
    "-170141183460469231731687303715884105729",
    "340282366920938463463374607431768211455",
    "340282366920938463463374607431768211456",
    "1e2",
    "3.0",
    "-0.0",
    "0.30000000000000004",
    "1e308",
    "1e400",
    "5e-324",
    "1e-400",
    "100000000000000000000.0",
    "01",
    "1.",
];

const STRINGS: [&str; 16] = [
    r#""""#,
    r#""a""#,
    r#""b""#,
    r#""1""#,
    r#""-1""#,
    r#""01""#,
    r#""true""#,
    r#""a/b~c""#,
    r#""\u0000""#,
    r#""é""#,
    r#""😀""#,
    r#""\ud83d\ude00""#,
    r#""\ud83d""#,
    r#""127.0.0.1""#,
    r#""$serde_json::private::RawValue""#,
    r#""$serde_json::private::Number""#,
];

/// Texts that providers send in place of an object, and before it.
const SENT: [&str; 12] =
    ["", " ", "\u{c}", "null", "\"null\"", "[]", "\"[]\"", "{}", "\"{}\"", "\"\\\"{}\\\"\"", "\"\"", "true"];

/// Material for mutations besides the input itself.
pub(crate) struct Mutator {
    /// For each tool: valid texts, and the property names of its schema.
    materials: Vec<(Vec<Tree>, Vec<String>)>,
}

impl Mutator {
    /// Reads the seeds in a folder.
    pub(crate) fn new(seeds: &Path) -> Self {
        let inputs = read(seeds);
        let materials = cases().iter().map(|case| {
            let of_case = inputs.iter().filter_map(|(_, bytes)| Input::read(bytes));
            let fitting = of_case.filter(|input| std::ptr::eq(input.case, case) && input.fits());
            let definition = REGISTRY.get(case.name).unwrap().definition();
            let mut names: BTreeSet<_> = case.other_names.iter().map(|(name, _)| quoted(name)).collect();
            collect_names(definition.input_schema().as_value(), &mut names);
            (fitting.filter_map(|it| Tree::read(&it.text)).collect(), names.into_iter().collect())
        });
        Self { materials: materials.collect() }
    }

    /// Creates an input of at most `most` bytes; `raw` mutates bytes.
    pub(crate) fn mutate(
        &self,
        bytes: &[u8],
        most: usize,
        seed: u32,
        raw: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Vec<u8> {
        let mut rng = Rng::new(seed);
        let Some(input) = Input::read(bytes).filter(|_| !rng.once_in(16)) else { return raw(bytes) };
        let case = if rng.once_in(64) { &cases()[rng.below(cases().len())] } else { input.case };
        let tree = Tree::read(&input.text).filter(|_| std::ptr::eq(case, input.case));
        let made = match tree {
            Some(tree) if rng.once_in(4) => {
                let changed = self.changed(case, tree, &mut rng);
                spelled(&changed, &mut rng)
            }
            tree => self.fitting(case, tree, most, &mut rng),
        };
        let made = match rng.below(32) {
            0 | 1 => damaged(&made, &mut rng),
            2 => sent(&made, &mut rng),
            _ => made,
        };
        let made = case.input(&made);
        if made.len() <= most { made } else { raw(bytes) }
    }

    /// Returns a valid text, made from `tree` if possible.
    fn fitting(&self, case: &Case, tree: Option<Tree>, most: usize, rng: &mut Rng) -> String {
        let seeds = &self.materials[case.position()].0;
        for attempt in 0..ATTEMPTS {
            let seed = &seeds[rng.below(seeds.len())];
            let base = tree.as_ref().filter(|_| attempt < ATTEMPTS / 2).unwrap_or(seed);
            let text = spelled(&self.changed(case, base.clone(), rng), rng);
            if text.len() < most && Input::read(&case.input(&text)).is_some_and(|input| input.fits()) {
                return text;
            }
        }
        seeds[rng.below(seeds.len())].respell(rng)
    }

    fn changed(&self, case: &Case, mut tree: Tree, rng: &mut Rng) -> Tree {
        let (seeds, names) = &self.materials[case.position()];
        for _ in 0..=rng.below(3) {
            let at = rng.below(tree.size());
            let mut other = seeds[rng.below(seeds.len())].clone();
            let at_other = rng.below(other.size());
            change(tree.nth(at), other.nth(at_other), names, rng);
        }
        tree
    }
}

/// Returns all inputs in a folder, with their file names.
pub(crate) fn read(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = files.map(|file| file.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut inputs: Vec<_> = paths.map(|path| (name(&path), std::fs::read(path).unwrap())).collect();
    inputs.sort_unstable();
    inputs
}

fn spelled(tree: &Tree, rng: &mut Rng) -> String {
    if rng.once_in(4) { tree.respell(rng) } else { tree.write() }
}

/// Makes the text almost-JSON, with mistakes that models make.
fn damaged(text: &str, rng: &mut Rng) -> String {
    match rng.below(6) {
        0 => text.chars().take(rng.below(text.len())).collect(),
        1 => text.replace('"', "'"),
        2 => text.replace('}', ",}"),
        3 => format!("Here it is:\n```json\n{text}\n```\n"),
        4 => text.replace("true", "True").replace("null", "None"),
        _ => text.replacen(['"', '{', '}', ',', ':'], "", 1 + rng.below(3)),
    }
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

/// Collects all property names in a schema.
fn collect_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Object(map) => {
            let properties = map.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flat_map(|it| it.keys()).map(|name| quoted(name)));
            map.values().for_each(|value| collect_names(value, names));
        }
        _ => {}
    }
}

/// Changes one value; `other` is a value of another text.
fn change(tree: &mut Tree, other: &Tree, names: &[String], rng: &mut Rng) {
    let name = |rng: &mut Rng| match rng.below(4) {
        0 => rng.pick(&STRINGS).to_owned(),
        _ if names.is_empty() => quoted("a"),
        _ => names[rng.below(names.len())].clone(),
    };
    match (rng.below(13), tree) {
        (0..=4, Tree::Leaf(leaf)) => *leaf = changed_leaf(leaf, rng),
        (0..=2, Tree::Object(properties)) => properties.push((name(rng), other.clone())),
        (0..=2, Tree::List(items)) => items.insert(rng.below(items.len() + 1), other.clone()),
        (3, Tree::Object(properties)) if !properties.is_empty() => {
            properties.remove(rng.below(properties.len()));
        }
        (3, Tree::List(items)) if !items.is_empty() => {
            items.remove(rng.below(items.len()));
        }
        (4, Tree::Object(properties)) if !properties.is_empty() => {
            let at = rng.below(properties.len());
            properties[at].0 = name(rng);
        }
        (5, Tree::Object(properties)) => {
            let length = properties.len();
            properties.rotate_left(rng.below(length));
        }
        (5, Tree::List(items)) => {
            let length = items.len();
            items.rotate_left(rng.below(length));
        }
        (6, Tree::Object(properties)) if !properties.is_empty() => {
            let property = properties[rng.below(properties.len())].clone();
            properties.insert(rng.below(properties.len()), property);
        }
        (6, Tree::List(items)) if !items.is_empty() => {
            let item = items[rng.below(items.len())].clone();
            let times = if rng.once_in(8) { 40 } else { 1 };
            items.extend(std::iter::repeat_n(item, times));
        }
        (7, tree) => *tree = other.clone(),
        (8, tree) => *tree = Tree::Leaf("null".to_owned()),
        (12, tree) => *tree = Tree::Leaf(quoted(&tree.write())),
        (9, tree) => wrap(tree, name(rng), rng),
        (10, tree) => {
            let inner = tree.children().nth(rng.below(tree.children().count())).cloned();
            *tree = inner.unwrap_or_else(|| Tree::Leaf(rng.pick(&WORDS).to_owned()));
        }
        (_, tree) => *tree = Tree::Leaf(anything(rng).to_owned()),
    }
}

fn anything(rng: &mut Rng) -> &'static str {
    match rng.below(3) {
        0 => rng.pick(&WORDS),
        1 => rng.pick(&NUMBERS),
        _ => rng.pick(&STRINGS),
    }
}

fn wrap(tree: &mut Tree, name: String, rng: &mut Rng) {
    let times = if rng.once_in(40) { 1 + rng.below(140) } else { 1 };
    let is_list = rng.once_in(2);
    for _ in 0..times {
        let inner = std::mem::replace(tree, Tree::List(Vec::new()));
        *tree = if is_list { Tree::List(vec![inner]) } else { Tree::Object(vec![(name.clone(), inner)]) };
    }
}

fn changed_leaf(leaf: &str, rng: &mut Rng) -> String {
    if leaf.starts_with('"') && !rng.once_in(4) {
        let mut characters: Vec<char> = Tree::name(leaf).chars().collect();
        let at = rng.below(characters.len() + 1);
        match rng.below(3) {
            0 if at < characters.len() => drop(characters.remove(at)),
            1 => characters
                .splice(at..at, rng.pick(&["a", "é", "😀", "\"", "\\", "\0", "1", "-", "/"]).chars())
                .for_each(drop),
            _ => characters.extend_from_within(..at),
        }
        return quoted(&characters.into_iter().collect::<String>());
    }
    if is_integer(leaf) && leaf.len() < 18 && !rng.once_in(3) {
        let number: i64 = leaf.parse().unwrap_or_default();
        let number = match rng.below(5) {
            0 => number + 1,
            1 => number - 1,
            2 => -number,
            3 => number.saturating_mul(10),
            _ => number / 2,
        };
        return number.to_string();
    }
    match rng.below(4) {
        0 => rng.pick(&STRINGS).to_owned(),
        1 => rng.pick(&WORDS).to_owned(),
        _ => rng.pick(&NUMBERS).to_owned(),
    }
}

/// Returns `text` as a provider may send it: not at all, as JSON text, cut off, or after another text.
fn sent(text: &str, rng: &mut Rng) -> String {
    let other = SENT[rng.below(SENT.len())];
    match rng.below(5) {
        0 => other.to_owned(),
        1 => quoted(text),
        2 => quoted(&quoted(text)),
        3 => text.chars().take(rng.below(text.chars().count() + 1)).collect(),
        _ => format!("{other}{text}"),
    }
}
