//! The cost of a call, of start-up and of a build, against the hand-written floor.
//!
//! The floor is what a person writes who wants no framework: a typed `serde_json::from_str`, a
//! `HashMap` from names to functions, a boxed future, the function itself, `serde_json::to_vec`. It
//! checks nothing beyond types and describes nothing; a framework can at best be close to it.
//!
//! Both sides of a comparison run in turns within one process, and each prints a ratio: a noisy
//! machine moves both. Where `valgrind` is installed, instructions are counted too, which do not
//! depend on the machine's load at all.
//!
//! - `cargo bench -p benches` measures calls (`call`), batches of them (`executor`), refused calls
//!   (`refusals`), start-up
//!   (`start_up`), allocations (`allocations`), and memory under load (`load`).
//! - `benches/build-cost.sh` compares the build of many tools with the same functions by hand.
//! - `benches/weight.sh` compares the build of one tool, from clean, with that of its dependencies.

pub mod batches;
pub mod calls;
pub mod generate;
pub mod measure;
pub mod order;
pub mod refusals;
mod workload;

pub use self::workload::{Side, Workload, now};
