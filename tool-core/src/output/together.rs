//! Many outputs as one: what the items of a stream give in the end.

use serde_json::{Value, json};

use super::{Body, Content, Extras, ToolOutput};

/// The values of `items`, as one list; the blocks of those that have none.
pub(crate) fn as_list(items: &[ToolOutput]) -> Value {
    let value = |item: &ToolOutput| item.structured().or_else(|| plain(item));
    items.iter().map(|item| value(item).unwrap_or_else(|| json!(item.content()))).collect()
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
pub(crate) fn appended(mut items: Vec<ToolOutput>) -> ToolOutput {
    let extras = all_extras(&mut items);
    let mut content = Vec::new();
    let mut values = Vec::new();
    for mut item in items {
        values.extend(item.structured());
        content.append(&mut item.take_content());
    }
    let body = match (content.is_empty(), values.is_empty()) {
        (true, true) => Body::Empty,
        (_, none) => Body::blocks(content, (!none).then_some(Value::Array(values))),
    };
    ToolOutput { body, extras }
}

/// `whole`, with what `items` say beside their values.
pub(crate) fn merged(mut items: Vec<ToolOutput>, whole: ToolOutput) -> ToolOutput {
    ToolOutput { body: whole.body, extras: all_extras(&mut items) }
}

/// `last`, in place of the `items` before it; what it does not say beside its content, they say.
pub(crate) fn concluded(mut items: Vec<ToolOutput>, last: ToolOutput) -> ToolOutput {
    let failure = last.is_failure();
    items.push(last);
    let mut extras = all_extras(&mut items);
    if let Some(extras) = &mut extras {
        (extras.failure, extras.last) = (failure, false);
    }
    // It was put there.
    let body = items.pop().map(|last| last.body).unwrap_or_default();
    ToolOutput { body, extras: extras.filter(|extras| **extras != Extras::default()) }
}

/// The value of an output that is nothing else; `null` where there is none.
pub(crate) fn plain(output: &ToolOutput) -> Option<Value> {
    match &output.body {
        Body::Empty => Some(Value::Null),
        Body::Text(_) | Body::Json(_) => output.structured(),
        Body::Blocks(blocks) => match (blocks.content.as_slice(), &blocks.structured) {
            ([], value) => Some(value.clone().unwrap_or_default()),
            ([Content::Text { text }], None) => Some(Value::String(text.clone())),
            _ => None,
        },
    }
}

/// Takes what `items` say beside their content.
fn all_extras(items: &mut [ToolOutput]) -> Option<Box<Extras>> {
    let mut all: Option<Box<Extras>> = None;
    for later in items.iter_mut().filter_map(|item| item.extras.take()) {
        match &mut all {
            Some(all) => all.follow(*later),
            none => *none = Some(later),
        }
    }
    all
}

impl Extras {
    fn follow(&mut self, later: Self) {
        let Self { details, child_run_id, operation_id, actions, corrections, failure, last } = later;
        self.failure |= failure;
        self.last |= last;
        self.details = details.or(self.details.take());
        self.child_run_id = child_run_id.or(self.child_run_id.take());
        self.operation_id = operation_id.or(self.operation_id.take());
        self.actions.follow(actions);
        self.corrections.extend(corrections);
    }
}
