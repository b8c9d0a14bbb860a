use std::{fmt, io::IsTerminal as _};

use tokio::{
    net::TcpListener,
    sync::mpsc::{self, UnboundedReceiver},
};
use tool_cli::{
    Command, Exit, Failure, Program,
    clap::{self, Arg, ArgMatches},
};
use tool_runtime::CancellationToken;

use crate::{
    client::error_chain,
    server::{McpServer, ServeError},
};

/// The command `serve`, which serves the tools of the program.
///
/// `--http ADDRESS` serves streamable HTTP until Ctrl-C, and writes the URL to the standard output; port 0 is any free one.
///
/// On Unix, the standard streams of a server over them are of the protocol alone: text that a tool prints goes to the standard error, and what it
/// reads from the standard input is empty.
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
    /// Creates the command. The server has the name of the program, and the version of its package. Tools that the server lost, and rules that
    /// apply to none, are notes on the standard error.
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
        let (sender, diagnostics) = mpsc::unbounded_channel();
        // Before the program's own listener, which takes its place.
        let server = McpServer::new(program.executor()?.clone()).named_after(program.name());
        let server = server.on_diagnostic(move |diagnostic| drop(sender.send(diagnostic.to_string())));
        let server = (self.configure)(server);
        let served = match matches.get_one::<String>("http") {
            Some(address) => {
                if let Some(problem) = address_problem(address) {
                    return Err(Failure::quoting(Exit::Usage, problem));
                }
                let failed =
                    |error| Failure::quoting(Exit::Failed, format!("{address} cannot be served: {error}"));
                let listener = program.block_on(TcpListener::bind(address))?.map_err(failed)?;
                let local = listener.local_addr().map_err(failed)?;
                if !local.ip().is_loopback() {
                    program.note(&format!("{local} {REACHABLE_NOTE}"));
                }
                program.print(&format!("http://{local}/mcp\n"))?;
                program.block_on(serve_with_notes(
                    program,
                    diagnostics,
                    serve_http_until_ctrl_c(server, listener),
                ))?
            }
            None => {
                if std::io::stdin().is_terminal() {
                    program.note(TERMINAL_NOTE);
                }
                program.block_on(serve_with_notes(program, diagnostics, server.serve_stdio()))?
            }
        };
        served.map_err(|error| Failure::quoting(Exit::Failed, error_chain(&error)))?;
        Ok(Exit::Done)
    }
}

/// The note on a server that a person started.
const TERMINAL_NOTE: &str = "the standard input is a terminal: this command speaks the Model Context Protocol there, and is started by \
                        an MCP client. Ctrl-D ends it; `--http 127.0.0.1:3001` serves HTTP";

/// The warning about an address.
const REACHABLE_NOTE: &str = "is reachable from other machines, and every request that names this machine `localhost` or \
                         `127.0.0.1` is answered without authentication; prefer 127.0.0.1";

/// The problem of an address without host or port, with the address that is meant.
fn address_problem(address: &str) -> Option<String> {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bare = address.strip_prefix(':').unwrap_or(address);
    if is_port(bare) {
        return Some(format!("`{address}` is a port without an address; write `--http 127.0.0.1:{bare}`"));
    }
    if let Some((_, rest)) = address.split_once("://") {
        let authority = rest.split('/').next().unwrap_or_default();
        return Some(format!("`{address}` is a URL; write its address, `--http {authority}`"));
    }
    let port = address.rsplit_once(':').map(|(_, port)| port);
    if port.is_some_and(is_port) && (!address.starts_with('[') || address.contains("]:")) {
        return None;
    }
    // Of `localhost:http`, the host; of `[::1]`, all of it.
    let host = if address.ends_with(']') { address } else { address.split(':').next().unwrap_or_default() };
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    Some(format!("`{address}` has no port; write `--http {host}:3001`"))
}

/// Serves, and writes a note for each diagnostic.
async fn serve_with_notes(
    program: &Program,
    mut diagnostics: UnboundedReceiver<String>,
    serving: impl Future<Output = Result<(), ServeError>>,
) -> Result<(), ServeError> {
    tokio::pin!(serving);
    loop {
        tokio::select! {
            biased;
            Some(diagnostic) = diagnostics.recv() => program.note(&diagnostic),
            served = &mut serving => {
                while let Ok(diagnostic) = diagnostics.try_recv() {
                    program.note(&diagnostic);
                }
                return served;
            }
        }
    }
}

/// Serves until Ctrl-C; what is running is then answered.
async fn serve_http_until_ctrl_c(server: McpServer, listener: TcpListener) -> Result<(), ServeError> {
    let stop = CancellationToken::new();
    let serving = server.http()?.serve(listener, stop.clone());
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => return served,
        Ok(()) = tokio::signal::ctrl_c() => stop.cancel(),
    }
    serving.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        Serve::new().grammar().debug_assert();
        for address in ["127.0.0.1:0", "localhost:3001", "[::1]:80", "0.0.0.0:1"] {
            assert_eq!(address_problem(address), None, "{address}");
        }
        for (address, meant) in [
            ("3001", "is a port without an address; write `--http 127.0.0.1:3001`"),
            (":3001", "is a port without an address; write `--http 127.0.0.1:3001`"),
            ("http://localhost:3001/mcp", "is a URL; write its address, `--http localhost:3001`"),
            ("localhost", "has no port; write `--http localhost:3001`"),
            ("localhost:", "has no port; write `--http localhost:3001`"),
            ("localhost:http", "has no port; write `--http localhost:3001`"),
            ("[::1]", "has no port; write `--http [::1]:3001`"),
            ("", "has no port; write `--http 127.0.0.1:3001`"),
        ] {
            let expected = format!("`{address}` {meant}");
            assert_eq!(address_problem(address), Some(expected));
        }
    }
}
