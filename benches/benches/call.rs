//! The cost of a call. `cargo bench -p benches --bench call -- integers` measures what matches.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    benches::measure::run("calls", &benches::calls::workloads()?);
    Ok(())
}
