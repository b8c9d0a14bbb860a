//! The operations of any OpenAPI document as commands, without a line of code:
//!
//! ```text
//! cargo run --bin openapi-command -- openapi petstore.yaml list
//! cargo run --bin openapi-command -- openapi --base-url http://127.0.0.1:8080 petstore.yaml call getPetById --petId 7
//! ```

use std::process::ExitCode;

fn main() -> ExitCode {
    tool_cli::Cli::new().about("Calls described HTTP APIs.").command(tool_openapi::cli::OpenApi).main()
}
