//! The number and the size of the allocations of a call.
//!
//! A separate program, because counting allocations costs instructions.

use std::error::Error;

use allocation_counter::{AllocationInfo, measure};
use benches::{FLOOR, OURS, Side, calls};

fn allocations(side: &Side) -> AllocationInfo {
    // The set-up is not part of a call.
    side(&mut |_| {});
    measure(|| side(&mut |_| {}))
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("\n{:<34} {:>11} {:>11} {:>11} {:>11}", "allocations", "floor", "ours", "floor, B", "ours, B");
    for workload in calls::workloads()? {
        let floor = workload.side(FLOOR).map(allocations).unwrap_or_default();
        let ours = workload.side(OURS).map(allocations).unwrap_or_default();
        println!(
            "{:<34} {:>11} {:>11} {:>11} {:>11}",
            workload.name, floor.count_total, ours.count_total, floor.bytes_total, ours.bytes_total
        );
    }
    Ok(())
}
