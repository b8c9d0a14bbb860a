//! The cost of a call, of start-up and of a build, compared with a hand-written floor.
//!
//! The floor is code without a framework: a typed `serde_json::from_str`, a `HashMap` from names to
//! functions, a boxed future, the function itself, and `serde_json::to_vec`. It validates nothing
//! beyond types and describes nothing; a framework can at best come close to it.
//!
//! Both sides of a comparison run alternately in one process, and each prints a ratio: the load of
//! the machine affects both. If `valgrind` is installed, instructions are counted too, which do not
//! depend on the load.
//!
//! - `cargo bench -p benches --bench table` prints a table of calls, as instructions and as times; `-- W3` measures
//!   one row, and `-- --profile W3` writes its profiles.
//! - `cargo bench -p benches` measures calls (`call`), batches (`executor`), refused calls
//!   (`refusals`), start-up (`start_up`), allocations (`allocations`), and memory under load (`load`).
//! - `benches/build-cost.sh` compares the build of many tools with the build of the same functions
//!   written by hand.
//! - `benches/weight.sh` compares a clean build of one tool with a build of its dependencies alone.

pub mod batches;
pub mod calls;
pub mod cold;
pub mod generate;
pub mod measure;
pub mod order;
pub mod refusals;
pub mod table;
mod workload;

pub use self::workload::{FLOOR, OURS, Side, VALIDATED, Workload, now};
