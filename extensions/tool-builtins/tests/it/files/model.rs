//! Edits and writes, compared with a model of the folder.

use std::{collections::BTreeMap, fs};

use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::World;

#[derive(Debug, Clone)]
enum Step {
    Read(usize),
    Write(usize, String),
    Edit(usize, String, String),
    /// Another program writes the file.
    Foreign(usize, String),
}

/// A file of the model: its content, and the content that was read.
#[derive(Debug, Default)]
struct ModelFile {
    content: Option<String>,
    known: Option<String>,
}

const NAMES: [&str; 3] = ["a", "b/c", "b/d"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = || 0..NAMES.len();
    let text = || "[abé\n]{0,6}";
    let step = prop_oneof![
        name().prop_map(Step::Read),
        (name(), text()).prop_map(|(name, text)| Step::Write(name, text)),
        (name(), "[abé\n]{0,2}", text()).prop_map(|(name, old, new)| Step::Edit(name, old, new)),
        (name(), text()).prop_map(|(name, text)| Step::Foreign(name, text)),
    ];
    proptest::collection::vec(step, 1..24)
}

/// The number of places where `part` begins in `text`.
fn places(text: &str, part: &str) -> usize {
    text.char_indices().filter(|(index, _)| text[*index..].starts_with(part)).count()
}

impl ModelFile {
    fn is_known(&self) -> bool {
        self.known.is_some() && self.known == self.content
    }

    /// Changes the model, and returns whether the step succeeds.
    fn apply(&mut self, step: &Step) -> bool {
        let is_possible = match step {
            Step::Read(_) => self.content.is_some(),
            Step::Foreign(..) => true,
            Step::Write(..) => self.content.is_none() || self.is_known(),
            Step::Edit(_, old, new) => {
                let content = self.content.as_deref().unwrap_or_default();
                self.is_known() && !old.is_empty() && old != new && places(content, old) == 1
            }
        };
        match step {
            _ if !is_possible => return false,
            Step::Read(_) => {}
            Step::Write(_, text) => self.content = Some(text.clone()),
            Step::Edit(_, old, new) => {
                self.content = self.content.as_ref().map(|content| content.replacen(old, new, 1));
            }
            Step::Foreign(_, text) => {
                self.content = Some(text.clone());
                return true;
            }
        }
        self.known.clone_from(&self.content);
        true
    }
}

/// The text before a change, by its unified difference.
fn undone(text: &str, diff: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut undone, mut next) = (String::new(), 0);
    let mut parts = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.next_if(|part| part.starts_with('\\')).is_some();
        let line = if is_last { part.trim_end_matches('\n') } else { part };
        match line.as_bytes()[0] {
            b'@' => {
                let range = line.split(" +").nth(1).unwrap().split(' ').next().unwrap();
                let (start, count) = range.split_once(',').unwrap();
                let start: usize = start.parse().unwrap();
                let start = if count == "0" { start } else { start - 1 };
                undone.extend(lines[next..start].iter().copied());
                next = start;
            }
            b'-' => undone.push_str(&line[1..]),
            sign => {
                assert_eq!(lines[next], &line[1..]);
                next += 1;
                if sign == b' ' {
                    undone.push_str(&line[1..]);
                }
            }
        }
    }
    undone.extend(lines[next..].iter().copied());
    undone
}

async fn run_step(world: &World, step: &Step) -> bool {
    match step {
        Step::Read(name) => world.read(NAMES[*name]).await.is_ok(),
        Step::Write(name, text) => world.write_file(NAMES[*name], text).await.is_ok(),
        Step::Edit(name, old, new) => world.edit(NAMES[*name], old, new).await.is_ok(),
        Step::Foreign(name, text) => {
            world.write(NAMES[*name], text);
            true
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    // R08, R09, R18
    #[test]
    fn edits_and_writes_do_what_a_model_does(steps in steps()) {
        let world = World::new();
        let runtime = Runtime::new().unwrap();
        let mut files: BTreeMap<usize, ModelFile> = BTreeMap::new();
        for step in &steps {
            let (Step::Read(name) | Step::Write(name, _) | Step::Edit(name, ..) | Step::Foreign(name, _)) = step;
            let expected = files.entry(*name).or_default().apply(step);
            prop_assert_eq!(runtime.block_on(run_step(&world, step)), expected, "{:?}", step);
            for (name, file) in &files {
                prop_assert_eq!(&fs::read_to_string(world.path(NAMES[*name])).ok(), &file.content);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    // R08, R09, R18: the details of a change have all that another program needs to undo it, in each form of a text.
    #[test]
    fn a_change_is_undone_by_its_difference(
        before in "[abé\n]{1,40}",
        after in "[abé\n]{0,40}",
        form in 0..4_usize,
    ) {
        let world = World::new();
        let runtime = Runtime::new().unwrap();
        let bytes = match form {
            0 => before.clone().into_bytes(),
            1 => [b"\xef\xbb\xbf", before.as_bytes()].concat(),
            2 => before.replace('\n', "\r\n").into_bytes(),
            _ => [0xfeff].into_iter().chain(before.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
        };
        world.write("a", &bytes);
        runtime.block_on(world.read("a")).unwrap();
        let write = serde_json::json!({ "path": "a", "content": after });
        let output = runtime.block_on(world.tools.call("write_file", write)).unwrap();
        let diff = output.details().unwrap()["diff"].as_str().unwrap().to_owned();
        let changed = match form {
            2 if before.contains('\n') => after.replace('\n', "\r\n"),
            _ => after.clone(),
        };
        let undone = undone(&changed, &diff);
        runtime.block_on(world.write_file("a", &undone)).unwrap();
        prop_assert_eq!(fs::read(world.path("a")).unwrap(), bytes);
    }
}
