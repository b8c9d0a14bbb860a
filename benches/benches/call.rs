//! The cost of a call. `cargo bench -p benches --bench call -- integers` runs the measurements whose names match.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    benches::measure::run("calls", &benches::calls::workloads()?)
}
