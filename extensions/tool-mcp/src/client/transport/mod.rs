//! Transports: a child process, streamable HTTP, HTTP with server-sent events.

mod awaited;
mod envelope;
#[cfg(feature = "http")]
mod event_lines;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "http")]
pub(super) mod http;
mod json;
mod lines;
mod observed;
#[cfg(feature = "http")]
mod post;
mod process;
mod reception;
mod repair;
#[cfg(feature = "http")]
pub(super) mod sse;
mod stderr;

use std::{error::Error, io};

pub(super) use self::{
    lines::LineTransport,
    observed::{Calls, Observed, Report, Slot},
    process::spawn,
    reception::Reception,
    stderr::Tail,
};

/// Returns `true` if the server answered that it does not know the session.
pub(super) fn is_session_expired(error: &(dyn Error + 'static)) -> bool {
    #[cfg(feature = "http")]
    if below(error).any(http::is_session_expired) {
        return true;
    }
    let _ = error;
    false
}

/// Returns `Some` if the connection is lost, with `true` if the message cannot have been sent.
pub(super) fn loss(error: &(dyn Error + 'static)) -> Option<bool> {
    #[cfg(feature = "http")]
    if let Some(loss) = below(error).find_map(http::loss) {
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
    below(error).filter_map(|error| error.downcast_ref::<io::Error>()).find_map(|error| refused(error.kind()))
}

/// Returns the text for an answer over HTTP that no server of the protocol gives.
#[cfg(feature = "http")]
pub(super) fn explained(error: &(dyn Error + 'static)) -> Option<String> {
    below(error).find_map(http::explained)
}

fn below<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
