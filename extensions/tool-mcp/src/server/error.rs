//! The error of a server.

use std::{error::Error, fmt, io};

use rmcp::service::ServerInitializeError;
use tool_runtime::executor::ExecutorError;

/// The reason why a server ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The standard streams cannot be used.
    Streams(io::Error),
    /// There is no randomness for a key.
    Key(getrandom::Error),
    /// The executor of the tools cannot be built.
    Tools(ExecutorError),
    /// The client does not speak the protocol.
    Protocol(Box<ServerInitializeError>),
    /// The address cannot be listened at.
    Listener(io::Error),
    /// A value of a setting has not its form, so that no request would be accepted for it.
    #[cfg(feature = "http")]
    Setting {
        /// The setting, such as `origins`.
        setting: &'static str,
        /// The value.
        value: String,
    },
    /// The task of the server panicked.
    Panicked(String),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Streams(_) => f.write_str("the standard streams cannot be used"),
            Self::Key(_) => f.write_str("there is no randomness for a key"),
            Self::Tools(_) => f.write_str("the executor of the tools cannot be built"),
            Self::Protocol(_) => f.write_str("the client does not speak the protocol"),
            Self::Listener(_) => f.write_str("the address cannot be listened at"),
            #[cfg(feature = "http")]
            Self::Setting { setting, value } => {
                let form = match *setting {
                    "hosts" => "a name, or a name with a port, such as `example.com:8443`",
                    _ => "scheme, host and port, such as `https://example.com:443`, or `*` as the port",
                };
                write!(f, "`{setting}` has the value `{value}`, which is none: write {form}")
            }
            Self::Panicked(error) => write!(f, "the server panicked: {error}"),
        }
    }
}

impl Error for ServeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Streams(error) | Self::Listener(error) => Some(error),
            Self::Key(error) => Some(error),
            Self::Tools(error) => Some(error),
            Self::Protocol(error) => Some(error),
            #[cfg(feature = "http")]
            Self::Setting { .. } => None,
            Self::Panicked(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_reason_does_not_repeat_its_source() {
        let refused = || io::Error::other("refused");
        for (error, text, source) in [
            (ServeError::Streams(refused()), "the standard streams cannot be used", Some("refused")),
            (ServeError::Listener(refused()), "the address cannot be listened at", Some("refused")),
            (ServeError::Key(getrandom::Error::UNSUPPORTED), "there is no randomness for a key", None),
            (ServeError::Panicked("it broke".to_owned()), "the server panicked: it broke", None),
        ] {
            assert_eq!(error.to_string(), text);
            assert_eq!(error.source().is_some(), !matches!(error, ServeError::Panicked(_)));
            if let Some(source) = source {
                assert_eq!(error.source().map(ToString::to_string).as_deref(), Some(source));
            }
        }
        let error = ServeError::Protocol(Box::new(ServerInitializeError::Cancelled));
        assert_eq!(error.to_string(), "the client does not speak the protocol");
        assert!(error.source().is_some());
    }
}
