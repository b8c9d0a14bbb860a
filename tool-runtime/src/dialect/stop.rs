//! What a stop reason says of the calls of its response.

use std::sync::Arc;

/// How a response ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// No stop reason was given.
    #[default]
    Unsaid,
    /// The model had written all that it wanted to write.
    Finished,
    /// The model was stopped before; by the reason, where there is one.
    Unfinished(Option<Arc<str>>),
}

impl Stop {
    /// The end that `reason` stands for: only those among `finished` mean that the model had finished. A reason that
    /// is not known may mean anything, and a call that was cut off must not run.
    pub(super) fn of(reason: Option<&str>, finished: &[&str]) -> Self {
        match reason.map(str::trim).filter(|reason| !reason.is_empty()) {
            None => Self::Unsaid,
            Some(reason) if finished.iter().any(|it| it.eq_ignore_ascii_case(reason)) => Self::Finished,
            Some(reason) => Self::Unfinished(Some(reason.into())),
        }
    }

    /// Takes another reason of the same response: that the model was stopped is never taken back. Returns `true` if the
    /// reason counts.
    pub(super) fn and(&mut self, other: Self) -> bool {
        let counts = !matches!((&*self, &other), (Self::Unfinished(_), _) | (_, Self::Unsaid));
        if counts {
            *self = other;
        }
        counts
    }

    /// The same, of a stream that ends without its last event.
    pub(super) fn broken_off(self) -> Self {
        match self {
            Self::Unfinished(reason) => Self::Unfinished(reason),
            Self::Unsaid | Self::Finished => Self::Unfinished(None),
        }
    }
}
