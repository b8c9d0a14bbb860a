//! The commands `serve` and `mcp`, each in a process of its own.

mod mcp;
mod serve;

use std::process::Stdio;

use tokio::{io::AsyncReadExt as _, net::TcpStream, process::Command};
use tool_cli::Cli;
use tool_mcp::cli::{Mcp, Serve};
use tool_runtime::prelude::*;

/// The variable with the command line, as a JSON list.
const ARGUMENTS: &str = "TOOL_MCP_TEST_ARGUMENTS";

/// Adds two numbers.
///
/// It does so exactly.
#[tool(register = false, read_only, idempotent)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Connects to a port, and waits until the other side closes the connection.
#[tool(register = false)]
async fn wait(port: u16) -> std::io::Result<&'static str> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.read_to_end(&mut Vec::new()).await?;
    Ok("waited")
}

/// The program.
#[test]
#[ignore = "a program for other tests"]
fn runs() {
    let arguments = std::env::var(ARGUMENTS).unwrap();
    let arguments: Vec<String> = serde_json::from_str(&arguments).unwrap();
    let serve = Serve::new().configure(|server| server.instructions("Adds."));
    let cli = Cli::new().tools(|builder| builder.tool::<add>().tool::<wait>()).command(serve).command(Mcp);
    let exit = cli.run(["program".to_owned()].into_iter().chain(arguments));
    std::process::exit(exit.code().into());
}

/// The program with `arguments`, in a process of its own.
fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["cli::runs", "--exact", "--ignored", "--nocapture"])
        .env(ARGUMENTS, serde_json::to_string(arguments).unwrap())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Runs the program with `arguments`; returns its exit code, its standard output, and its standard error in one line.
async fn run(arguments: &[&str]) -> (i32, String, String) {
    run_command(program(arguments)).await
}

/// Runs `command`; returns what [`run`] does.
async fn run_command(mut command: Command) -> (i32, String, String) {
    let output = command.output().await.unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap(), error)
}
