//! A worker of the pool `payments`, with a tool that needs an approval: see `fleet-agent`.
//!
//! The payments are lines of the file that `FLEET_PAYMENTS` names, by default `payments.txt`.

use std::{env, fs::OpenOptions, io::Write, path::PathBuf, process::ExitCode};

use tool_cli::Cli;
use tool_fleet::cli::FleetCommands;
use tool_runtime::prelude::*;

const FILE_VARIABLE: &str = "FLEET_PAYMENTS";

/// The file with the payments.
struct Payments(PathBuf);

/// Pays a bill.
#[tool(destructive, confirm)]
fn pay(
    payments: &Payments,
    /// The recipient.
    to: String,
    /// The amount in EUR.
    amount: u32,
) -> Result<String, ToolError> {
    let line = format!("{amount} EUR to {to:?}\n");
    let file = OpenOptions::new().create(true).append(true).open(&payments.0);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|error| ToolError::failed(format!("the payment was not made: {error}")))?;
    Ok(format!("paid {amount} EUR to {to}"))
}

fn main() -> ExitCode {
    let file = env::var_os(FILE_VARIABLE).map_or_else(|| "payments.txt".into(), PathBuf::from);
    let cli = Cli::new()
        .about("Payments, as a worker.")
        .provide_with(move |builder| anyhow::Ok(builder.provide(Payments(file.clone()))))
        .extension(FleetCommands::new().pool("payments"));
    cli.main()
}
