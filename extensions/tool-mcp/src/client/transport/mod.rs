//! Transports: a child process, streamable HTTP, HTTP with server-sent events.

mod awaited;
mod envelope;
#[cfg(feature = "http")]
mod event_lines;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "http")]
pub(super) mod http;
#[cfg(feature = "http")]
mod http_error;
#[cfg(feature = "http")]
pub(super) mod http_headers;
mod json;
mod lines;
#[cfg(feature = "http")]
mod post;
mod process;
mod reception;
mod repair;
#[cfg(feature = "http")]
pub(super) mod sse;
mod stderr;
#[cfg(test)]
mod tests;
mod waiting_calls;

use std::{error::Error, io};

pub(super) use self::{
    lines::LineTransport,
    process::spawn_process,
    reception::Reception,
    stderr::StderrTail,
    waiting_calls::{CallReport, CallSlot, ReportDeliveringTransport, WaitingCalls},
};

/// Returns `true` if the server answered that it does not know the session.
pub(super) fn is_session_expired(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "http")]
    if error_sources(error).any(http_error::is_session_expired) {
        return true;
    }
    let _ = error;
    false
}

/// Returns `true` if the server refused a request for now, as one that begins or ends does.
pub(super) fn is_temporary_refusal(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "http")]
    if error_sources(error).any(http_error::is_temporary_refusal) {
        return true;
    }
    let _ = error;
    false
}

/// Returns `Some` if the connection is lost, with `true` if the message cannot have been sent.
pub(super) fn connection_loss(error: &(dyn Error + 'static)) -> Option<bool> {
    #[cfg(feature = "http")]
    if let Some(loss) = error_sources(error).find_map(http_error::connection_loss) {
        return loss;
    }
    let refused = |kind| match kind {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotConnected => Some(true),
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::UnexpectedEof => Some(false),
        _ => None,
    };
    error_sources(error)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .find_map(|error| refused(error.kind()))
}

/// Returns the text for an answer over HTTP that no server of the protocol gives.
#[cfg(feature = "http")]
pub(super) fn explanation_of(error: &(dyn Error + 'static)) -> Option<String> {
    error_sources(error).find_map(http_error::explanation_of)
}

fn error_sources<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
