//! The fuzz target: any text as the arguments of any tool must cause no panic, no hang, no excessive memory use,
//! and no contradictory answers. See the README.

#![no_main]

#[path = "../harness/mod.rs"]
mod harness;

use std::{path::Path, sync::LazyLock};

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

use crate::harness::{Input, Statistics, examine::examine, mutate::Mutator};

static STATISTICS: Statistics = Statistics::new();

static MUTATOR: LazyLock<Mutator> =
    LazyLock::new(|| Mutator::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/arguments")));

/// The memory that a call may have allocated at a time, in bytes: a fixed part, and a part per byte of its text.
/// Unions may be nested, and each keeps a copy of its value for the attempted and for the best variant.
const MEMORY: (u64, u64) = (64 * 1024, 4 * 1024);

fuzz_target!(|bytes: &[u8]| {
    let Some(input) = Input::read(bytes) else { return };
    let inputs = STATISTICS.count(examine(&input));
    let allocated = allocation_counter::measure(|| drop(input.call())).bytes_max;
    let allowed = MEMORY.0 + MEMORY.1 * bytes.len() as u64;
    assert!(allocated <= allowed, "{allocated} bytes at once for {} of text", bytes.len());
    if inputs.is_power_of_two() || inputs.is_multiple_of(100_000) {
        eprintln!("{STATISTICS}");
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let made = MUTATOR.mutate(&data[..size], max_size, seed, |bytes| {
        let mut bytes = bytes.to_vec();
        let size = bytes.len();
        bytes.resize(max_size.max(size), 0);
        let size = fuzzer_mutate(&mut bytes, size, max_size);
        bytes.truncate(size);
        bytes
    });
    data[..made.len()].copy_from_slice(&made);
    made.len()
});
