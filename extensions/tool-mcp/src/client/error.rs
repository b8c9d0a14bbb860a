//! The error of an operation on a server.

use std::{error::Error, fmt, time::Duration};

use rmcp::{ErrorData, ServiceError, service::ClientInitializeError, transport::DynamicTransportError};
use tool_runtime::{ErrorKind, ToolError, policy::Escape};

use super::transport::StderrTail;

/// The challenge in an error of the SDK, which has none without HTTP.
macro_rules! challenge_of {
    ($error:ident) => {{
        #[cfg(feature = "http")]
        let challenge = $error.auth_challenge();
        #[cfg(not(feature = "http"))]
        let challenge = None;
        challenge
    }};
}

/// The error of an operation on a server. It names the server, and never shows its credentials.
#[derive(Debug, Clone)]
pub struct ClientError(Box<ErrorDetails>);

#[derive(Debug, Clone)]
struct ErrorDetails {
    server: String,
    cause: ClientErrorCause,
    /// The last lines that a child process wrote to its standard error.
    notes: Vec<String>,
}

/// The kind of a [`ClientError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// The configuration cannot be used.
    Config,
    /// There is no connection: the server cannot be started or reached, or does not speak the protocol.
    Connect,
    /// The connection was lost; the server may have received the request.
    Lost,
    /// The toolset was closed.
    Closed,
    /// The server did not answer in time.
    TimedOut,
    /// The request was cancelled.
    Cancelled,
    /// The server requires an authorization.
    Unauthorized,
    /// The server answered with an error of the protocol.
    Refused,
    /// The server sent an answer that cannot be used.
    Unusable,
    /// A callback of the program failed; nothing was sent.
    Program,
    /// The tool differs from its pin, or has none.
    Pinned,
}

#[derive(Debug, Clone)]
pub(super) enum ClientErrorCause {
    Config(String),
    Connect(String),
    /// The answer to the handshake cannot be used.
    Handshake(String),
    Lost {
        message: String,
        never_sent: bool,
    },
    /// The server does not know the session.
    SessionExpired,
    Closed,
    TimedOut(Duration),
    Cancelled,
    /// The challenge of the server.
    Unauthorized(Option<String>),
    Refused(ErrorData),
    Unusable(String),
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "callbacks before a request give headers"))]
    Program(Box<ToolError>),
    Pinned(String),
}

impl ClientError {
    pub(super) fn new(server: &str, cause: ClientErrorCause) -> Self {
        Self(Box::new(ErrorDetails { server: server.to_owned(), cause, notes: Vec::new() }))
    }

    pub(super) fn unusable_answer(server: &str, message: impl Into<String>) -> Self {
        Self::new(server, ClientErrorCause::Unusable(message.into()))
    }

    /// The error of a request.
    pub(super) fn from_service_error(server: &str, error: ServiceError) -> Self {
        let challenge = challenge_if_unauthorized(error.is_authorization_required(), challenge_of!(error));
        let cause = match error {
            _ if challenge.is_some() => ClientErrorCause::Unauthorized(challenge.flatten()),
            ServiceError::McpError(error) => ClientErrorCause::Refused(error),
            ServiceError::TransportSend(error) => transport_error_cause(&error),
            ServiceError::TransportClosed => {
                ClientErrorCause::Lost { message: "the connection was closed".to_owned(), never_sent: false }
            }
            ServiceError::Timeout { timeout } => ClientErrorCause::TimedOut(timeout),
            ServiceError::Cancelled { .. } => ClientErrorCause::Cancelled,
            ServiceError::UnexpectedResponse => {
                ClientErrorCause::Unusable("the answer is none to the request".to_owned())
            }
            other => ClientErrorCause::Unusable(other.to_string()),
        };
        Self::new(server, cause)
    }

    /// The error of connecting.
    pub(super) fn from_initialize_error(server: &str, error: &ClientInitializeError) -> Self {
        let challenge = challenge_if_unauthorized(error.is_authorization_required(), challenge_of!(error));
        let cause = match error {
            _ if challenge.is_some() => ClientErrorCause::Unauthorized(challenge.flatten()),
            ClientInitializeError::ConnectionClosed(_) => {
                ClientErrorCause::Connect("the server closed the connection before it answered".to_owned())
            }
            ClientInitializeError::JsonRpcError(error) => ClientErrorCause::Refused(error.clone()),
            ClientInitializeError::TransportError { error, .. } => {
                ClientErrorCause::Connect(explanation_of(&*error.error))
            }
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                return Self::from_initialize_error(server, fallback);
            }
            other => ClientErrorCause::Handshake(other.to_string()),
        };
        Self::new(server, cause)
    }

    /// Adds the end of the server's process, and the last lines of its standard error, to an error of the connection.
    pub(super) fn with_process_end(mut self, tail: &StderrTail) -> Self {
        let ended = tail.exit_status().map(|status| format!("its process has ended ({status})"));
        match (&mut self.0.cause, ended) {
            (ClientErrorCause::Connect(message) | ClientErrorCause::Lost { message, .. }, Some(ended)) => {
                *message = ended
            }
            (
                ClientErrorCause::Connect(_)
                | ClientErrorCause::Handshake(_)
                | ClientErrorCause::Lost { .. }
                | ClientErrorCause::TimedOut(_),
                _,
            ) => {}
            _ => return self,
        }
        self.0.notes = tail.last_lines();
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ClientErrorKind {
        match &self.0.cause {
            ClientErrorCause::Config(_) => ClientErrorKind::Config,
            ClientErrorCause::Connect(_) | ClientErrorCause::Handshake(_) => ClientErrorKind::Connect,
            ClientErrorCause::Lost { .. } | ClientErrorCause::SessionExpired => ClientErrorKind::Lost,
            ClientErrorCause::Closed => ClientErrorKind::Closed,
            ClientErrorCause::TimedOut(_) => ClientErrorKind::TimedOut,
            ClientErrorCause::Cancelled => ClientErrorKind::Cancelled,
            ClientErrorCause::Unauthorized(_) => ClientErrorKind::Unauthorized,
            ClientErrorCause::Refused(_) => ClientErrorKind::Refused,
            ClientErrorCause::Unusable(_) => ClientErrorKind::Unusable,
            ClientErrorCause::Program(_) => ClientErrorKind::Program,
            ClientErrorCause::Pinned(_) => ClientErrorKind::Pinned,
        }
    }

    /// Returns the name of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// Returns the error of the protocol with which the server answered, if it did.
    #[must_use]
    pub fn refusal(&self) -> Option<&ErrorData> {
        match &self.0.cause {
            ClientErrorCause::Refused(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the challenge (`WWW-Authenticate`) of a server that requires an authorization, or another one: it names the
    /// metadata by which an authorization is requested. `None` if the server refused without a challenge.
    #[must_use]
    pub fn challenge(&self) -> Option<&str> {
        match &self.0.cause {
            ClientErrorCause::Unauthorized(challenge) => challenge.as_deref(),
            _ => None,
        }
    }

    /// Returns `true` if the server does not know the session.
    pub(super) fn is_session_expiry(&self) -> bool {
        matches!(&self.0.cause, ClientErrorCause::SessionExpired)
    }

    /// Returns `true` if another connection may help.
    pub(super) fn is_connection_loss(&self) -> bool {
        matches!(&self.0.cause, ClientErrorCause::SessionExpired | ClientErrorCause::Lost { .. })
    }

    /// Returns `true` if the server cannot have processed the request.
    pub(super) fn never_reached_server(&self) -> bool {
        matches!(
            &self.0.cause,
            ClientErrorCause::SessionExpired | ClientErrorCause::Lost { never_sent: true, .. }
        )
    }
}

/// Returns `Some` if the server requires an authorization, with its challenge.
fn challenge_if_unauthorized(required: bool, challenge: Option<&str>) -> Option<Option<String>> {
    let is_refusal = required || challenge.is_some();
    is_refusal.then(|| challenge.filter(|challenge| !challenge.is_empty()).map(str::to_owned))
}

/// The error of sending a message over HTTP or a pipe.
fn transport_error_cause(error: &DynamicTransportError) -> ClientErrorCause {
    let error: &(dyn Error + 'static) = &*error.error;
    if super::transport::is_session_expired(error) {
        return ClientErrorCause::SessionExpired;
    }
    let message = explanation_of(error);
    match super::transport::connection_loss(error) {
        Some(never_sent) => ClientErrorCause::Lost { message, never_sent },
        None => ClientErrorCause::Unusable(message),
    }
}

/// The texts of an error and of those below it; of an answer that is none of the protocol, what to check.
fn explanation_of(error: &(dyn Error + 'static)) -> String {
    #[cfg(feature = "http")]
    if let Some(explained) = super::transport::explanation_of(error) {
        return explained;
    }
    error_chain(error)
}

/// The texts of an error and of those below it.
pub(crate) fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = source_of_error(error);
    while let Some(error) = next {
        let below = error.to_string();
        if !text.contains(&below) {
            text = format!("{text}: {below}");
        }
        next = source_of_error(error);
    }
    text
}

/// The error below `error`; the SDK's error of HTTP does not tell its own.
fn source_of_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    #[cfg(feature = "http")]
    {
        use rmcp::transport::streamable_http_client::StreamableHttpError;
        if let Some(StreamableHttpError::Client(error)) =
            error.downcast_ref::<StreamableHttpError<reqwest::Error>>()
        {
            return Some(error);
        }
    }
    error.source()
}

/// A text of a server, or one that may have a part of it.
fn escaped_server_text(text: &str) -> String {
    Escape::LINES.at_most(4_000).text(text)
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.0.server;
        match &self.0.cause {
            ClientErrorCause::Config(problem) => write!(f, "{problem}")?,
            ClientErrorCause::Connect(reason) | ClientErrorCause::Handshake(reason) => {
                write!(f, "cannot connect to the MCP server `{server}`: {}", escaped_server_text(reason))?;
            }
            ClientErrorCause::Lost { message, .. } => {
                write!(
                    f,
                    "the connection to the MCP server `{server}` was lost: {}",
                    escaped_server_text(message)
                )?;
            }
            ClientErrorCause::SessionExpired => {
                write!(f, "the session of the MCP server `{server}` has expired")?
            }
            ClientErrorCause::Closed => write!(f, "the toolset of the MCP server `{server}` is closed")?,
            ClientErrorCause::TimedOut(limit) => {
                write!(f, "the MCP server `{server}` did not answer within {limit:?}")?;
            }
            ClientErrorCause::Cancelled => {
                write!(f, "the request to the MCP server `{server}` was cancelled")?
            }
            ClientErrorCause::Unauthorized(_) => {
                write!(f, "the MCP server `{server}` requires an authorization")?
            }
            ClientErrorCause::Refused(error) => write!(
                f,
                "the MCP server `{server}` answered with error {}: {}",
                error.code.0,
                escaped_server_text(&error.message)
            )?,
            ClientErrorCause::Unusable(reason) => {
                write!(
                    f,
                    "the answer of the MCP server `{server}` cannot be used: {}",
                    escaped_server_text(reason)
                )?;
            }
            ClientErrorCause::Pinned(tool) => write!(
                f,
                "the tool `{tool}` of the MCP server `{server}` is not as it was pinned; review the change, and renew its pin"
            )?,
            ClientErrorCause::Program(error) => {
                write!(f, "request to the MCP server `{server}`: {}", error.reason())?
            }
        }
        if !self.0.notes.is_empty() {
            write!(f, "; its last output: {}", self.0.notes.join(" | "))?;
        }
        Ok(())
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0.cause {
            ClientErrorCause::Program(error) => Some(&**error),
            _ => None,
        }
    }
}

impl From<ClientError> for ToolError {
    fn from(error: ClientError) -> Self {
        let kind = match error.kind() {
            ClientErrorKind::TimedOut => ErrorKind::TimedOut,
            ClientErrorKind::Cancelled => ErrorKind::Cancelled,
            ClientErrorKind::Closed | ClientErrorKind::Config => ErrorKind::Unavailable,
            ClientErrorKind::Pinned | ClientErrorKind::Unauthorized => ErrorKind::Denied,
            _ => ErrorKind::Failed,
        };
        let retryable = error.never_reached_server();
        match error.0.cause {
            ClientErrorCause::Program(error) => *error,
            _ => Self::new(kind, error.to_string()).retryable(retryable),
        }
    }
}

#[cfg(all(test, feature = "http"))]
mod tests;
