//! The properties of the fuzzer, checked for its seeds and for mutations of them; see `fuzz/README.md`.

#[path = "../../fuzz/harness/mod.rs"]
mod harness;

use std::{collections::BTreeSet, path::PathBuf};

use self::harness::{
    Input, Statistics,
    examine::{Reached, examine},
    mutate::{Mutator, read},
    tools::cases,
};

fn seeds() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/arguments")
}

#[test]
fn all_properties_hold_for_every_seed() {
    let mut called = BTreeSet::new();
    for (file, bytes) in read(&seeds()) {
        let input = Input::read(&bytes).unwrap();
        let name = input.case.name;
        assert!(file.starts_with(&format!("{name}-")), "`{file}` is sent to `{name}`");
        if examine(&input) == Reached::Decoded {
            called.insert(name);
        }
    }
    let all: BTreeSet<_> = cases().iter().map(|case| case.name).collect();
    assert_eq!(called, all, "each tool has a seed that runs it");
}

// F01, F12
#[test]
fn all_properties_hold_for_mutations_of_which_half_are_decoded() {
    let (mutator, statistics) = (Mutator::new(&seeds()), Statistics::new());
    for (at, (_, bytes)) in read(&seeds()).into_iter().cycle().take(2_000).enumerate() {
        let made = mutator.mutate(&bytes, 4096, at as u32, |bytes| {
            let mut bytes = bytes.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            bytes
        });
        statistics.count(examine(&Input::read(&made).unwrap()));
    }
    assert!(statistics.decoded() >= 0.5, "{statistics}");
}
