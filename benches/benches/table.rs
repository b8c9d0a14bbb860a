//! The table of calls: `cargo bench -p benches --bench table -- W3` measures one row, and `-- --profile W3` writes
//! its profiles for `callgrind_annotate`.

use std::error::Error;

use benches::table::{Floor, Ours, Table};

fn main() -> Result<(), Box<dyn Error>> {
    Table::new().contender(Floor::new())?.contender(Ours::new()?)?.run()
}
