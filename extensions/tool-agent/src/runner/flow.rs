//! The continuation and the end of a run.

use std::{ops::ControlFlow, pin::Pin};

use tool_runtime::{ErrorKind, ToolError, guard::catch_async};

use super::{End, EndReason};
use crate::{Limit, model::ModelError};

/// A value with which the run continues, or its end.
pub(super) type Flow<T = ()> = ControlFlow<End, T>;

/// The interruption of a wait by the end of its run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Interruption {
    Cancelled,
    DeadlinePassed,
}

/// The reason for which a round has no response.
pub(super) enum RoundFailure {
    Model(ModelError),
    Hook(ToolError),
    Interrupted(Interruption),
    /// The message of the user was refused.
    InputRefused(String),
}

impl From<Interruption> for RoundFailure {
    fn from(interruption: Interruption) -> Self {
        Self::Interrupted(interruption)
    }
}

impl Interruption {
    pub(super) fn end<T>(self) -> Flow<T> {
        match self {
            Self::Cancelled => end_with(EndReason::Cancelled),
            Self::DeadlinePassed => end_at_limit(Limit::Time, "the time of the run is over".to_owned()),
        }
    }
}

impl RoundFailure {
    /// Returns the end of a run that nothing recovers.
    pub(super) fn end<T>(self) -> Flow<T> {
        match self {
            Self::Model(error) => {
                let (kind, message) = (error.kind(), error.to_string());
                end_with(EndReason::ModelFailed { kind, message })
            }
            Self::Hook(error) if error.is_stop() => end_by_stop(&error),
            Self::Hook(error) => end_as_failed(error.reason().into_owned()),
            Self::Interrupted(interruption) => interruption.end(),
            Self::InputRefused(message) => end_with(EndReason::Refused { message }),
        }
    }
}

/// Boxes the future that `make` returns outside of the frame of the caller, which then holds a pointer alone: runs nest, and
/// without optimisation a frame has room for each future that it awaits, several times.
pub(crate) fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}

pub(super) fn end_with<T>(reason: EndReason) -> Flow<T> {
    ControlFlow::Break(End::new(reason))
}

pub(super) fn end_at_limit<T>(limit: Limit, message: String) -> Flow<T> {
    end_with(EndReason::Limit { limit, message })
}

pub(super) fn end_as_failed<T>(message: String) -> Flow<T> {
    end_with(EndReason::Failed { message })
}

pub(super) fn end_by_stop<T>(stop: &ToolError) -> Flow<T> {
    end_with(EndReason::Stopped { message: stop.reason().into_owned() })
}

/// Awaits the future of a callback of the program; a panic is an error.
pub(super) async fn run_callback<T, F>(callback: impl FnOnce() -> F) -> Result<T, ToolError>
where
    F: Future<Output = Result<T, ToolError>>,
{
    catch_async(callback).await.unwrap_or_else(|panic| match panic.message() {
        "" => Err(ToolError::new(ErrorKind::Panicked, "no message")),
        _ => Err(panic.into()),
    })
}
