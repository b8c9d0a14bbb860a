//! Tests of the assumptions behind the measurements.

mod agreement;
mod allocations;
