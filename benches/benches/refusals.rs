//! The cost of refusing a call.

fn main() -> Result<(), String> {
    benches::measure::against_bars("refusals", benches::refusals::workloads())
}
