//! A program whose commands read, edit and search the files of the present folder.
//!
//! ```sh
//! cargo run -p tool-builtins --features files --example mytool -- call grep --pattern TODO
//! ```

use std::process::ExitCode;

use tool_builtins::FileTools;

fn main() -> ExitCode {
    let files = match FileTools::new(".") {
        // Each call is a process of its own, which has read nothing.
        Ok(files) => files.permit_unread_edits(),
        Err(error) => {
            eprintln!("mytool: {error}");
            return ExitCode::FAILURE;
        }
    };
    tool_cli::Cli::new()
        .about("Reads, edits and searches files below the present folder.")
        .tools(move |builder| builder.toolset(files.clone()))
        .main()
}
