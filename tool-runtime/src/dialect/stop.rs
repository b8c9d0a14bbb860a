//! Stop reasons, and their meaning for the calls of a response.

use std::sync::Arc;

/// The end of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// No stop reason was given.
    #[default]
    Unspecified,
    /// The model had finished the response.
    Finished,
    /// The response was stopped early; with the reason, if there is one.
    Unfinished(Option<Arc<str>>),
}

impl Stop {
    /// Classifies `reason`: only a reason in `finished` means that the model had finished. An unknown reason
    /// may mean anything, and a call that was cut off must not run.
    pub(super) fn from_reason(reason: Option<&str>, finished: &[&str]) -> Self {
        match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
            None => Self::Unspecified,
            Some(reason) if finished.iter().any(|it| it.eq_ignore_ascii_case(reason)) => Self::Finished,
            Some(reason) => Self::Unfinished(Some(reason.into())),
        }
    }

    /// Combines two reasons of one response: an early stop is never revoked. Returns `true` if the reason takes
    /// effect.
    pub(super) fn combine(&mut self, other: Self) -> bool {
        let counts = !matches!((&*self, &other), (Self::Unfinished(_), _) | (_, Self::Unspecified));
        if counts {
            *self = other;
        }
        counts
    }

    /// Returns the end of a stream that closes without its final event.
    pub(super) fn without_final_event(self) -> Self {
        match self {
            Self::Unfinished(reason) => Self::Unfinished(reason),
            Self::Unspecified | Self::Finished => Self::Unfinished(None),
        }
    }
}
