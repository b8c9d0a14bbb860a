//! The table of calls with two other packages.

use std::error::Error;

use benches::table::{Floor, Ours, Table};

mod by_rmcp;
mod by_tools_rs;

fn main() -> Result<(), Box<dyn Error>> {
    let table = Table::new().contender(Floor::new())?.contender(Ours::new()?)?;
    table.contender(by_rmcp::Rmcp::new()?)?.contender(by_tools_rs::ToolsRs::new())?.run()
}
