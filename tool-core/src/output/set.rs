//! Setters that change an output in place.

use serde_json::Value;

use super::{Actions, Content, OutputBody, OutputDetails, ToolOutput};

impl ToolOutput {
    /// Replaces the content. A value derived from the old content is removed; a value that was
    /// [set](Self::with_structured) stays.
    pub fn set_content(&mut self, content: Vec<Content>) {
        let structured = match &mut self.body {
            OutputBody::Blocks(blocks) => blocks.structured.take(),
            _ => None,
        };
        self.body = OutputBody::blocks(content, structured);
    }

    /// Sets or removes the details for user interfaces and logs.
    pub fn set_details(&mut self, details: Option<Value>) {
        if details.is_some() || self.extras.is_some() {
            self.extras_mut().details = details.map(OutputDetails::Ready);
        }
    }

    /// Sets or clears the failure mark.
    pub fn set_failure(&mut self, failure: bool) {
        if failure || self.extras.is_some() {
            self.extras_mut().failure = failure;
        }
    }

    /// Replaces the requested actions.
    pub fn set_actions(&mut self, actions: Actions) {
        self.extras_mut().actions = actions;
    }
}
