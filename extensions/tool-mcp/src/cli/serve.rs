use std::fmt;

use tokio::net::TcpListener;
use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, Arg, ArgMatches},
};
use tool_runtime::CancellationToken;

use crate::{
    client::chain,
    server::{McpServer, ServeError},
};

/// The command `serve`, which serves the tools of the program.
///
/// `--http ADDRESS` serves streamable HTTP until Ctrl-C, and writes the URL to the standard output; port 0 is any free one.
///
/// On Unix, the standard output of a server over the standard streams carries the protocol only: text that a tool prints goes to the standard error.
///
/// # Examples
///
/// ```
/// use tool_cli::Cli;
/// use tool_mcp::cli::Serve;
///
/// let serve = Serve::new().configure(|server| server.instructions("Adds numbers."));
/// let cli = Cli::new().command(serve);
/// ```
#[must_use = "a command does nothing until it is added to a command line"]
pub struct Serve {
    configure: Configure,
}

/// A closure that configures the server.
type Configure = Box<dyn Fn(McpServer) -> McpServer>;

impl Serve {
    /// Creates the command. The server has the name of the program.
    pub fn new() -> Self {
        Self { configure: Box::new(|server| server) }
    }

    /// Configures the server: its name and version, instructions, limits. Default: the name of the program.
    pub fn configure(mut self, configure: impl Fn(McpServer) -> McpServer + 'static) -> Self {
        self.configure = Box::new(configure);
        self
    }
}

impl Default for Serve {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").finish_non_exhaustive()
    }
}

impl Command for Serve {
    fn grammar(&self) -> clap::Command {
        let http = Arg::new("http")
            .long("http")
            .value_name("ADDRESS")
            .help("Serve streamable HTTP at this address, such as 127.0.0.1:3001, under the path /mcp");
        clap::Command::new("serve")
            .about("Serve the tools to an MCP client, over the standard streams")
            .arg(http)
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let server = McpServer::new(program.executor()?.clone()).named(program.name(), "0.0.0");
        let server = (self.configure)(server);
        let served = match matches.get_one::<String>("http") {
            Some(address) => {
                let failed =
                    |error| Failure::quoting(Exit::Failed, format!("{address} cannot be served: {error}"));
                let listener = program.block_on(TcpListener::bind(address))?.map_err(failed)?;
                program.print(&format!("http://{}/mcp\n", listener.local_addr().map_err(failed)?))?;
                program.block_on(serve_http(server, listener))?
            }
            None => program.block_on(server.serve_stdio())?,
        };
        served.map_err(|error| Failure::quoting(Exit::Failed, chain(&error)))?;
        Ok(Exit::Done)
    }
}

/// Serves until Ctrl-C; what is running is then answered.
async fn serve_http(server: McpServer, listener: TcpListener) -> Result<(), ServeError> {
    let stop = CancellationToken::new();
    let serving = server.http()?.serve(listener, stop.clone());
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => return served,
        Ok(()) = tokio::signal::ctrl_c() => stop.cancel(),
    }
    serving.await
}
