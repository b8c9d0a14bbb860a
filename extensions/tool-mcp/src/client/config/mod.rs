//! The configuration of one server.

mod document;
mod expand;

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use rmcp::model::Implementation;
use serde::{Deserialize, Serialize};

pub(crate) use self::document::ConfigDocument;
use super::limits::ServerLimits;

/// The default [timeout](ServerConfig::timeout): 30 seconds.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The default [total timeout](ServerConfig::total_timeout): 1 hour.
pub const DEFAULT_TOTAL_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The configuration of one server: how to reach it, and the limits of its use.
///
/// As JSON, it has the members that an entry of an `mcpServers` file has, and `name`; see
/// `McpServers`. `Debug` and errors never show values of environment variables and headers.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use tool_mcp::client::{Endpoint, Process, ServerConfig, Transport};
///
/// let files = ServerConfig::new("files", Process::new("npx").args(["-y", "some-server", "/data"]))
///     .timeout(Duration::from_secs(5));
/// let search = ServerConfig::new("search", Endpoint::new("https://example.com/mcp").header("X-Key", "secret"));
/// assert!(!format!("{search:?}").contains("secret"));
///
/// let read: ServerConfig = serde_json::from_str(r#"{ "name": "old", "type": "sse", "url": "http://localhost:8000/sse" }"#)?;
/// assert!(matches!(read.transport, Transport::Sse(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ConfigDocument", into = "ConfigDocument")]
#[non_exhaustive]
pub struct ServerConfig {
    /// The name of the server in this program: the name of its toolset.
    pub name: String,
    /// The transport.
    pub transport: Transport,
    /// The purpose of the server. Default: none.
    pub description: Option<String>,
    /// The timeout of an operation: connecting, listing, a call. Default: [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
    /// The timeout of a request that progress does not start anew. Default: [`DEFAULT_TOTAL_TIMEOUT`].
    pub total_timeout: Duration,
    /// The description of this program that the server receives. Default: `tool-mcp` and its version.
    pub client_info: Implementation,
    /// The maximum number of times that one call connects again after the connection was lost, at most 10. Default: 0,
    /// never.
    pub reconnect: u32,
    /// The limits of what the server may cause: the size and duration of its listings, its questions, its reconnections.
    /// Default: those of [`ServerLimits::default`].
    pub limits: ServerLimits,
}

/// The timeouts of a request: since the last progress, and since its start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    pub(super) idle: Duration,
    pub(super) total: Duration,
}

/// The transport to a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Transport {
    /// A child process, over its standard streams. As JSON, `stdio`.
    Stdio(Process),
    /// Streamable HTTP. As JSON, `http`, `streamable` or `streamable_http`.
    Http(Endpoint),
    /// HTTP with server-sent events, from before revision 2025-03-26. As JSON, `sse`.
    Sse(Endpoint),
}

impl Transport {
    /// Returns the name of the transport: `stdio`, `http` or `sse`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
            Self::Sse(_) => "sse",
        }
    }

    /// Returns the secrets of the configuration, which are redacted in texts.
    pub(super) fn secret_values(&self) -> impl Iterator<Item = &str> {
        let values = match self {
            Self::Stdio(process) => process.env.values(),
            Self::Http(endpoint) | Self::Sse(endpoint) => endpoint.headers.values(),
        };
        values.map(String::as_str).filter(|value| value.len() >= 4)
    }
}

/// A server that runs as a child process.
///
/// The process has the environment variables `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER` of this program, on
/// Windows those that a program needs there, and the configured ones. On Unix, it has a process group of its own, which
/// ends with the connection.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Process {
    /// The program, by its path or its name in `PATH`.
    pub command: String,
    /// The arguments. Default: none.
    pub args: Vec<String>,
    /// Environment variables. Default: none.
    pub env: BTreeMap<String, String>,
    /// The working directory. Default: the one of this program.
    pub cwd: Option<PathBuf>,
    /// `true` passes all environment variables of this program on. Default: `false`.
    pub inherit_env: bool,
}

impl Process {
    /// Creates a process of the program `command`.
    pub fn new(command: impl Into<String>) -> Self {
        let (args, env) = Default::default();
        Self { command: command.into(), args, env, cwd: None, inherit_env: false }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cwd = Some(directory.into());
        self
    }

    /// Passes all environment variables of this program on.
    #[must_use]
    pub fn inherit_env(mut self) -> Self {
        self.inherit_env = true;
        self
    }
}

/// A server behind a URL.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The URL, with `http` or `https`.
    pub url: String,
    /// Headers of each request. Default: none.
    pub headers: BTreeMap<String, String>,
}

impl Endpoint {
    /// Creates an endpoint.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: BTreeMap::new() }
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }
}

impl From<Process> for Transport {
    fn from(process: Process) -> Self {
        Self::Stdio(process)
    }
}

impl From<Endpoint> for Transport {
    fn from(endpoint: Endpoint) -> Self {
        Self::Http(endpoint)
    }
}

impl ServerConfig {
    /// The highest number of [reconnections](Self::reconnect).
    pub const MAX_RECONNECT: u32 = 10;

    /// Creates the configuration of a server with default limits.
    pub fn new(name: impl Into<String>, transport: impl Into<Transport>) -> Self {
        Self {
            name: name.into(),
            transport: transport.into(),
            description: None,
            timeout: DEFAULT_TIMEOUT,
            total_timeout: DEFAULT_TOTAL_TIMEOUT,
            client_info: default_client_info(),
            reconnect: 0,
            limits: ServerLimits::default(),
        }
    }

    /// Sets what the server is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the timeout of an operation. A call of a run with a deadline ends with that instead; a progress report of the
    /// server starts the timeout anew, until the [total timeout](Self::total_timeout).
    ///
    /// A server of revision 2025-11-25 or before that does not even refuse the request for 2026-07-28 is asked again, by
    /// `initialize`, after 10 seconds: take a longer timeout for it, or
    /// [set the revision](super::McpToolSetBuilder::protocol).
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the timeout of a request that progress does not start anew, so that no server keeps a call alive for ever. It is at
    /// least the [timeout](Self::timeout). A call of a run with a deadline ends with that instead; a call that asks for input is
    /// at most 10 requests.
    #[must_use]
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.total_timeout = timeout;
        self
    }

    /// The timeouts of a request.
    pub(super) fn timeouts(&self) -> Timeouts {
        Timeouts { idle: self.timeout, total: self.total_timeout.max(self.timeout) }
    }

    /// Sets the name and the version of this program for the server.
    #[must_use]
    pub fn client_info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.client_info = Implementation::new(name, version);
        self
    }

    /// Connects again up to `attempts` times per call after the connection was lost; at least 1, and at most
    /// [`MAX_RECONNECT`](Self::MAX_RECONNECT).
    ///
    /// A call that may have reached the server is repeated only if its tool claims to be read-only or idempotent; one that
    /// the server refused because it does not know the session is always repeated.
    #[must_use]
    pub fn reconnect(mut self, attempts: u32) -> Self {
        self.reconnect = attempts.clamp(1, Self::MAX_RECONNECT);
        self
    }

    /// Sets the limits of what the server may cause.
    #[must_use]
    pub fn limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Validates the configuration.
    ///
    /// # Errors
    ///
    /// If the name or the command is empty, the timeout is zero, or the URL is none with `http` or `https` and a host.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let wrong = |problem: &str| Err(ConfigError::new(&self.name, problem));
        if self.name.trim().is_empty() {
            return wrong("the name is empty");
        }
        if self.timeout.is_zero() {
            return wrong("`timeout` is zero");
        }
        match &self.transport {
            Transport::Stdio(process) if process.command.trim().is_empty() => wrong("`command` is empty"),
            Transport::Stdio(_) => Ok(()),
            Transport::Http(endpoint) | Transport::Sse(endpoint) => match check_http_url(&endpoint.url) {
                Ok(()) => Ok(()),
                Err(problem) => wrong(problem),
            },
        }
    }
}

pub(super) fn default_client_info() -> Implementation {
    Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}

/// Checks scheme and host of a URL.
pub(crate) fn check_http_url(url: &str) -> Result<(), &'static str> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err("`url` has no scheme; it begins with `http://` or `https://`");
    };
    if !["http", "https"].iter().any(|it| scheme.eq_ignore_ascii_case(it)) {
        return Err("the scheme of `url` is neither `http` nor `https`");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') {
        return Err("`url` has no host");
    }
    Ok(())
}

/// Returns a URL without what may be secret: user, password, query and fragment.
pub(crate) fn url_without_secrets(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (prefix, rest) = url.split_at(end);
    let shown = match prefix.split_once("://") {
        Some((scheme, after)) => {
            let (authority, path) = match after.find('/') {
                Some(at) => after.split_at(at),
                None => (after, ""),
            };
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => prefix.to_owned(),
    };
    if rest.is_empty() { shown } else { format!("{shown}?…") }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("command", &self.command)
            .field("args", &format_args!("[{}]", self.args.len()))
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .field("inherit_env", &self.inherit_env)
            .finish()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &url_without_secrets(&self.url))
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// The reason why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    server: String,
    problem: String,
}

impl ConfigError {
    pub(crate) fn new(server: &str, problem: impl Into<String>) -> Self {
        Self { server: server.to_owned(), problem: problem.into() }
    }

    /// Returns the name of the server; empty if it has none.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.server.is_empty() {
            true => write!(f, "configuration of an MCP server: {}", self.problem),
            false => write!(f, "configuration of the MCP server `{}`: {}", self.server, self.problem),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_transport_are_secret_from_four_characters_on() {
        let values = |transport: Transport| transport.secret_values().map(str::to_owned).collect::<Vec<_>>();
        let process = Process::new("c").args(["argument"]).env("A", "abc").env("B", "abcd").env("C", "abcde");
        assert_eq!(values(process.into()), ["abcd", "abcde"]);
        let endpoint = Endpoint::new("https://a").header("a", "abc").header("b", "abcd");
        assert_eq!(values(endpoint.clone().into()), ["abcd"]);
        assert_eq!(values(Transport::Sse(endpoint)), ["abcd"]);
    }

    #[test]
    fn the_total_timeout_is_at_least_the_one_without_a_sign_of_life() {
        let seconds = Duration::from_secs;
        for (timeout, total, expected) in [(5, 7, 7), (5, 5, 5), (5, 3, 5)] {
            let config = ServerConfig::new("s", Process::new("c"));
            let timeouts = config.timeout(seconds(timeout)).total_timeout(seconds(total)).timeouts();
            assert_eq!((timeouts.idle, timeouts.total), (seconds(timeout), seconds(expected)));
        }
    }
}
