//! What must be true for the figures to mean something.

mod agreement;
mod allocations;
