use serde::Serialize;

use crate::{ToolError, ToolOutput, tool::Running};

/// Takes what a running call reports.
///
/// Both methods do nothing by default: a tool reports whether or not somebody listens.
pub trait CallSink: Send + Sync {
    /// Takes a partial result. The future ends when there is room for the next one.
    fn update(&self, update: ToolOutput) -> Running<'_, ()> {
        let _ = update;
        Box::pin(std::future::ready(()))
    }

    /// Takes a note on how far the call is.
    ///
    /// # Errors
    ///
    /// If the note could not be delivered.
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        let _ = progress;
        Ok(())
    }
}

/// How far a call is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// What is done, in units of the tool's choice.
    pub done: f64,
    /// What there is to do in all, where it is known; above 0 where a [`CallSink`] is given it.
    pub total: Option<f64>,
    /// A word for people.
    pub message: Option<String>,
}

impl Progress {
    /// `done` units, of an unknown number.
    #[must_use]
    pub fn new(done: f64) -> Self {
        Self { done, ..Self::default() }
    }

    /// Sets what there is to do in all; 0, or what is no positive number, means that it is not known.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_core::Progress;
    ///
    /// assert_eq!(Progress::new(3.0).of(5.0).total, Some(5.0));
    /// assert_eq!(Progress::new(3.0).of(0.0).total, None);
    /// ```
    #[must_use]
    pub fn of(mut self, total: f64) -> Self {
        self.total = Some(total);
        self.settled()
    }

    /// The same without a total that is none.
    pub(super) fn settled(mut self) -> Self {
        self.total = self.total.filter(|total| *total > 0.0 && total.is_finite());
        self
    }

    /// With a word for people.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}
