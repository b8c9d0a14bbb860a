//! Many outputs as one: what the items of a stream give in the end.

use serde_json::Value;

use super::{Actions, Body, Extras, ToolOutput};

/// The values of `items`, as one list.
pub(crate) fn as_list(items: &[ToolOutput]) -> Value {
    items.iter().map(|item| item.structured().unwrap_or_default()).collect()
}

/// The texts of `items`, as one text.
pub(crate) fn joined(items: &[ToolOutput]) -> ToolOutput {
    items.iter().map(ToolOutput::text).collect::<String>().into()
}

/// The values of `items`, as one list, written once.
pub(crate) fn listed(items: &[ToolOutput]) -> ToolOutput {
    let mut list = String::from("[");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            list.push(',');
        }
        match &item.body {
            Body::Json(json) => list.push_str(json),
            _ => list.push_str(&item.structured().unwrap_or_default().to_string()),
        }
    }
    list.push(']');
    Body::Json(list).into()
}

/// The blocks of `items`, one after the other. Their values, where they have some, are a list; of
/// anything else that only one can give, the last counts.
pub(crate) fn appended(items: Vec<ToolOutput>) -> ToolOutput {
    let mut content = Vec::new();
    let mut values = Vec::new();
    let mut extras: Option<Box<Extras>> = None;
    for mut item in items {
        values.extend(item.structured());
        if let Some(later) = item.extras.take() {
            match &mut extras {
                Some(extras) => extras.follow(*later),
                none => *none = Some(later),
            }
        }
        content.append(&mut item.take_content());
    }
    let body = match (content.is_empty(), values.is_empty()) {
        (true, true) => Body::Empty,
        (_, none) => Body::blocks(content, (!none).then_some(Value::Array(values))),
    };
    ToolOutput { body, extras }
}

impl Extras {
    fn follow(&mut self, later: Self) {
        let Self { details, child_run_id, operation_id, actions, corrections } = later;
        self.details = details.or(self.details.take());
        self.child_run_id = child_run_id.or(self.child_run_id.take());
        self.operation_id = operation_id.or(self.operation_id.take());
        self.actions.follow(actions);
        self.corrections.extend(corrections);
    }
}

impl Actions {
    fn follow(&mut self, later: Self) {
        let Self { terminate, skip_summarization, escalate, transfer, state, artifacts } = later;
        self.terminate |= terminate;
        self.skip_summarization |= skip_summarization;
        self.escalate |= escalate;
        self.transfer = transfer.or(self.transfer.take());
        self.state.extend(state);
        self.artifacts.extend(artifacts);
    }
}
