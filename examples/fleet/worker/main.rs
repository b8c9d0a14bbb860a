//! The tools of the quick start as a program with the commands of `tool-cli` and `tool-fleet`. No line of a tool differs.
//!
//! ```sh
//! examples/fleet/run                     # a broker, three workers and a caller; one worker is killed; then durable calls
//! ```
//!
//! By hand, with a server of NATS on this machine:
//!
//! ```sh
//! cargo run --bin fleet-worker -- fleet key --program-key program.key --save weather.key
//! cargo run --bin fleet-worker -- work --nats nats://127.0.0.1:4222 --key weather.key     # in several terminals
//! cargo run --bin fleet-worker -- fleet workers --nats nats://127.0.0.1:4222 --key weather.key
//! cargo run --bin fleet-caller -- nats://127.0.0.1:4222 program.key
//! ```
//!
//! Durable calls need JetStream, and a worker that takes them: `nats-server -js -sd FOLDER`, and `work --durable`; see `fleet-caller`.

#[path = "../../quickstart/bulletin.rs"]
mod bulletin;
#[path = "../../quickstart/observations.rs"]
mod observations;
#[path = "../../quickstart/stations.rs"]
mod stations;
#[path = "../../quickstart/temperature.rs"]
mod temperature;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use tool_cli::Cli;
use tool_fleet::cli::FleetCommands;
use tool_runtime::{executor::ExecutorBuilder, hook::Before};

use self::{bulletin::Bulletin, observations::Observations, stations::Stations};

/// The worker holds each call until the file exists that this variable names: `run` kills it meanwhile.
const HOLD_VARIABLE: &str = "FLEET_HOLD_CALLS";

fn main() -> anyhow::Result<ExitCode> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../quickstart/data");
    let observations = Arc::new(Observations::open(&data.join("observations.csv"))?);
    let cli = Cli::new()
        .about("The tools of the quick start, as a worker.")
        .tools(move |builder| builder.toolset(Arc::clone(&observations)))
        .provide_with(move |builder| {
            let bulletin = Bulletin::open(&data.join("bulletin.txt"))?;
            anyhow::Ok(builder.provide(Stations::open(&data.join("stations.csv"))?).provide(bulletin))
        })
        .executor(hold_calls)
        .extension(FleetCommands::new().pool("weather"));
    Ok(cli.main())
}

/// Holds the calls before their bodies, if the variable is set.
fn hold_calls(builder: ExecutorBuilder) -> ExecutorBuilder {
    let Some(file) = env::var_os(HOLD_VARIABLE).map(PathBuf::from) else { return builder };
    builder.before(move |call| {
        let file = file.clone();
        async move {
            println!("holding {}", call.tool());
            while !file.exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(Before::Continue)
        }
    })
}
