//! A command-line program whose commands are tools; `tool-cli` generates its interface.
//!
//! ```sh
//! cargo run -p examples --bin weather-cli -- list
//! cargo run -p examples --bin weather-cli -- show forecast
//! cargo run -p examples --bin weather-cli -- call forecast --city Paris --days 3
//! cargo run -p examples --bin weather-cli -- call --help plan_trip
//! ```

mod alarms;
mod reports;
mod stations;
mod trips;

use std::process::ExitCode;

use self::{alarms::Alarms, stations::Stations};

fn main() -> ExitCode {
    tool_cli::Cli::new()
        .about("Asks the weather of a few cities.")
        .tools(|builder| builder.toolset(Alarms::default()))
        .provide_with(|builder| Stations::open().map(|stations| builder.provide(stations)))
        .main()
}
