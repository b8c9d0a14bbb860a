//! Changing single parts of an output, in place.

use serde_json::Value;

use super::{Actions, Body, Content, ToolOutput};

impl ToolOutput {
    /// Sets the content, in place of what there is. A value that was derived from that goes with it; one that was
    /// [given](Self::with_structured) stays.
    pub fn set_content(&mut self, content: Vec<Content>) {
        let given = match &mut self.body {
            Body::Blocks(blocks) => blocks.structured.take(),
            _ => None,
        };
        self.body = Body::blocks(content, given);
    }

    /// Sets the details for user interfaces and logs, or takes them away.
    pub fn set_details(&mut self, details: Option<Value>) {
        if details.is_some() || self.extras.is_some() {
            self.extras().details = details;
        }
    }

    /// Sets whether the output tells of a failure.
    pub fn set_failure(&mut self, failure: bool) {
        if failure || self.extras.is_some() {
            self.extras().failure = failure;
        }
    }

    /// Sets the actions that are asked for, in place of others.
    pub fn set_actions(&mut self, actions: Actions) {
        self.extras().actions = actions;
    }
}
