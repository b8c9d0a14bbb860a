//! The catalogue against a plain model.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tool_kit::catalogue::{Catalogue, CatalogueChange, ItemKind};

use super::{Fixed, keys, prompt, resource, snapshot, told, tool};

/// A change by a program.
#[derive(Debug, Clone)]
enum Step {
    AddTool(u8),
    AddPrompt(u8),
    AddResource(u8),
    Remove(u8),
    RemoveResource(u8),
    Connect(u8),
    Disconnect(u8),
}

fn step() -> impl Strategy<Value = Step> {
    (0..7_u8, 0..3_u8).prop_map(|(kind, at)| match kind {
        0 => Step::AddTool(at),
        1 => Step::AddPrompt(at),
        2 => Step::AddResource(at),
        3 => Step::Remove(at),
        4 => Step::RemoveResource(at),
        5 => Step::Connect(at),
        _ => Step::Disconnect(at),
    })
}

/// The keys of the items, by kind.
#[derive(Default)]
struct Model {
    items: BTreeSet<(ItemKind, String)>,
    connectors: Vec<String>,
}

impl Model {
    fn add(&mut self, kind: ItemKind, key: String) -> bool {
        self.items.insert((kind, key))
    }

    fn remove(&mut self, kind: ItemKind, key: &str) -> bool {
        self.items.remove(&(kind, key.to_owned()))
    }

    fn keys(&self) -> Vec<String> {
        let mut all: Vec<_> = self.items.iter().cloned().collect();
        for namespace in &self.connectors {
            all.push((ItemKind::Tool, format!("{namespace}.search")));
            all.extend(["search", "greet"].map(|name| (ItemKind::Prompt, format!("{namespace}.{name}"))));
            all.push((ItemKind::Resource, format!("notes://today#{namespace}")));
        }
        all.sort();
        all.into_iter().map(|(_, key)| key).collect()
    }
}

/// Takes a step in both; returns the number of events that it causes for prompts and resources.
fn take(step: &Step, catalogue: &Catalogue, model: &mut Model) -> usize {
    match step {
        Step::AddTool(at) => {
            let name = format!("n{at}");
            assert_eq!(catalogue.tools().add_all([tool(&name)]).is_ok(), model.add(ItemKind::Tool, name));
            0
        }
        Step::AddPrompt(at) => {
            let name = format!("n{at}");
            let is_added = catalogue.add_prompts([prompt(&name)]).is_ok();
            assert_eq!(is_added, model.add(ItemKind::Prompt, name));
            usize::from(is_added)
        }
        Step::AddResource(at) => {
            let uri = format!("r:{at}");
            let replaced = catalogue.add_resources([resource(&uri)]).unwrap();
            assert_eq!(replaced == 0, model.add(ItemKind::Resource, uri));
            1
        }
        Step::Remove(at) => {
            let name = format!("n{at}");
            let expected =
                [ItemKind::Tool, ItemKind::Prompt].into_iter().find(|kind| model.remove(*kind, &name));
            assert_eq!(catalogue.remove(&name).ok(), expected);
            usize::from(expected == Some(ItemKind::Prompt))
        }
        Step::RemoveResource(at) => {
            let is_there = model.remove(ItemKind::Resource, &format!("r:{at}"));
            assert_eq!(catalogue.remove(&format!("R:{at}")).is_ok(), is_there);
            usize::from(is_there)
        }
        Step::Connect(at) => {
            let namespace = format!("c{at}");
            let is_free = !model.connectors.contains(&namespace);
            assert_eq!(catalogue.connect(Fixed::named(&namespace)).is_ok(), is_free);
            if is_free {
                model.connectors.push(namespace);
            }
            2 * usize::from(is_free)
        }
        Step::Disconnect(at) => {
            let namespace = format!("c{at}");
            let place = model.connectors.iter().position(|it| *it == namespace);
            assert_eq!(catalogue.disconnect(&namespace).is_ok(), place.is_some());
            place.map_or(0, |place| {
                model.connectors.remove(place);
                2
            })
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lists_lookups_and_events_are_those_of_a_plain_model(steps in proptest::collection::vec(step(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (catalogue, mut model) = (Catalogue::new(), Model::default());
        let mut listener = catalogue.subscribe();
        for step in &steps {
            let expected_events = take(step, &catalogue, &mut model);
            let heard = told(&mut listener);
            let others = heard.iter().filter(|(_, change)| *change != CatalogueChange::Tools).count();
            prop_assert_eq!(others, expected_events, "{:?}: {:?}", step, heard); // U06
            prop_assert_eq!(runtime.block_on(keys(&catalogue)), model.keys(), "{:?}", step); // U21
            let items = runtime.block_on(snapshot(&catalogue));
            let of_connectors = model.connectors.first().map(|namespace| format!("{namespace}.search"));
            prop_assert_eq!(items.lookup("search").ok().map(|it| it.key().to_owned()), of_connectors); // U18
        }
    }
}
