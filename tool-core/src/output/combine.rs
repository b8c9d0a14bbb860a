//! Combining the items of a stream into one output.

use serde_json::{Value, json};

use super::{Content, OutputBody, OutputExtras, ToolOutput};

/// Returns the values of `items` as one list; items without a value contribute their blocks.
pub(crate) fn values_as_list(items: &[ToolOutput]) -> Value {
    let value = |item: &ToolOutput| item.structured().or_else(|| value_of_only_part(item));
    items.iter().map(|item| value(item).unwrap_or_else(|| json!(item.content()))).collect()
}

/// Joins the texts of `items`.
pub(crate) fn join_texts(items: &[ToolOutput]) -> ToolOutput {
    items.iter().map(ToolOutput::text).collect::<String>().into()
}

/// Joins the values of `items` into one list, serialised once.
pub(crate) fn join_values_to_list(items: &[ToolOutput]) -> ToolOutput {
    let mut list = String::from("[");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            list.push(',');
        }
        match &item.body {
            OutputBody::Json(json) => list.push_str(json),
            _ => list.push_str(&item.structured().unwrap_or_default().to_string()),
        }
    }
    list.push(']');
    OutputBody::Json(list).into()
}

/// Concatenates the blocks of `items`. Their values, if any, become a list; of other parts, the last one wins.
pub(crate) fn append_blocks(mut items: Vec<ToolOutput>) -> ToolOutput {
    let extras = merge_all_extras(&mut items);
    let mut content = Vec::new();
    let mut values = Vec::new();
    for mut item in items {
        values.extend(item.structured());
        content.append(&mut item.take_content());
    }
    let body = match (content.is_empty(), values.is_empty()) {
        (true, true) => OutputBody::Empty,
        (_, none) => OutputBody::blocks(content, (!none).then_some(Value::Array(values))),
    };
    ToolOutput { body, extras }
}

/// Returns `whole` with the additional parts of `items`.
pub(crate) fn with_extras_of(mut items: Vec<ToolOutput>, whole: ToolOutput) -> ToolOutput {
    ToolOutput { body: whole.body, extras: merge_all_extras(&mut items) }
}

/// Returns `last` in place of the `items` before it; their additional parts are kept if `last` lacks them.
pub(crate) fn replace_items_by_last(mut items: Vec<ToolOutput>, last: ToolOutput) -> ToolOutput {
    let failure = last.is_failure();
    items.push(last);
    let mut extras = merge_all_extras(&mut items);
    if let Some(extras) = &mut extras {
        (extras.failure, extras.last) = (failure, false);
    }
    // Present: it was pushed above.
    let body = items.pop().map(|last| last.body).unwrap_or_default();
    ToolOutput { body, extras: extras.filter(|extras| **extras != OutputExtras::default()) }
}

/// Returns the value of an output that has no other parts; `null` for an empty output.
pub(crate) fn value_of_only_part(output: &ToolOutput) -> Option<Value> {
    match &output.body {
        OutputBody::Empty => Some(Value::Null),
        OutputBody::Text(_) | OutputBody::Json(_) => output.structured(),
        OutputBody::Blocks(blocks) => match (blocks.content.as_slice(), &blocks.structured) {
            ([], value) => Some(value.clone().unwrap_or_default()),
            ([Content::Text { text }], None) => Some(Value::String(text.clone())),
            _ => None,
        },
    }
}

/// Merges the additional parts of `items`.
fn merge_all_extras(items: &mut [ToolOutput]) -> Option<Box<OutputExtras>> {
    let mut all: Option<Box<OutputExtras>> = None;
    for later in items.iter_mut().filter_map(|item| item.extras.take()) {
        match &mut all {
            Some(all) => all.merge_later(*later),
            none => *none = Some(later),
        }
    }
    all
}

impl OutputExtras {
    fn merge_later(&mut self, later: Self) {
        let Self {
            details,
            meta,
            child_run_id,
            operation_id,
            actions,
            corrections,
            failure,
            last,
            retry_after,
        } = later;
        self.failure |= failure;
        self.last |= last;
        self.retry_after = retry_after.or(self.retry_after);
        self.details = details.or(self.details.take());
        self.meta = meta.or(self.meta.take());
        self.child_run_id = child_run_id.or(self.child_run_id.take());
        self.operation_id = operation_id.or(self.operation_id.take());
        self.actions.follow(actions);
        self.corrections.extend(corrections);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::time::Duration;

    use serde_json::{Map, json};

    use super::*;
    use crate::{Actions, Correction, CorrectionRule};

    fn picture() -> Content {
        Content::image([1], "image/png")
    }

    fn number() -> ToolOutput {
        ToolOutput::json(&7).unwrap()
    }

    #[test]
    fn items_become_the_values_of_a_list() {
        let drawn = ToolOutput::new([picture()]);
        let items = [
            ToolOutput::from("a"),
            number(),
            ToolOutput::empty(),
            ToolOutput::new([]),
            ToolOutput::new([Content::text("b")]),
            ToolOutput::empty().with_structured(json!([1])),
            drawn.clone(),
        ];
        assert_eq!(values_as_list(&items), json!(["a", 7, null, null, "b", [1], [picture()]]));
        assert_eq!((value_of_only_part(&drawn), value_of_only_part(&items[1])), (None, Some(json!(7))));
        assert_eq!(
            value_of_only_part(&ToolOutput::new([Content::text("b")]).with_structured(json!(1))),
            None
        );
        assert_eq!(join_values_to_list(&items[..3]), ToolOutput::json(&json!(["a", 7, null])).unwrap());
        assert_eq!(join_values_to_list(&[]), ToolOutput::json(&json!([])).unwrap());
        assert_eq!(join_texts(&items[..2]), ToolOutput::from("a7"));
        // All digits stay.
        let wide = [ToolOutput::json(&u128::MAX).unwrap()];
        assert_eq!(join_values_to_list(&wide).text(), format!("[{}]", u128::MAX));
    }

    #[test]
    fn the_last_pause_and_the_last_metadata_count_and_corrections_of_all_items_are_kept() {
        let pause = |seconds| ToolOutput::empty().as_retryable(Duration::from_secs(seconds));
        let paused = |items| with_extras_of(items, number()).retry_after();
        assert_eq!(paused(vec![pause(1), pause(2)]), Some(Duration::from_secs(2)));
        assert_eq!(paused(vec![pause(1), ToolOutput::empty().as_final()]), Some(Duration::from_secs(1)));
        let noted = |key: &str| ToolOutput::empty().with_meta(Map::from_iter([(key.to_owned(), json!(1))]));
        let all = with_extras_of(vec![noted("a"), noted("b")], number());
        assert_eq!(all.meta(), noted("b").meta());
        let corrected = |pointer: &str| {
            let correction = Correction::new(pointer, "\"1\"", "1", CorrectionRule::ToNumber);
            ToolOutput::empty().with_corrections(vec![correction])
        };
        let all = with_extras_of(vec![corrected("/a"), corrected("/b")], number());
        assert_eq!(all.corrections().iter().map(|it| &*it.pointer).collect::<Vec<_>>(), ["/a", "/b"]);
    }

    #[test]
    fn blocks_are_concatenated_and_values_become_a_list() {
        let both = append_blocks(vec![number(), ToolOutput::new([picture()])]);
        assert_eq!(both.content().as_ref(), [Content::text("7"), picture()]);
        assert_eq!(both.structured(), Some(json!([7])));
        let drawn = append_blocks(vec![ToolOutput::new([picture()])]);
        assert_eq!((drawn.content().len(), drawn.structured()), (1, None));
        let valued = append_blocks(vec![ToolOutput::empty().with_structured(json!(1))]);
        assert_eq!((valued.content().len(), valued.structured()), (0, Some(json!([1]))));
        assert_eq!(append_blocks(vec![ToolOutput::empty(), ToolOutput::new([])]), ToolOutput::empty());
    }

    #[test]
    fn the_last_item_with_details_ids_or_metadata_wins() {
        let one =
            || ToolOutput::empty().with_details(json!(1)).with_child_run_id("r1").with_operation_id("o1");
        let meta = Map::from_iter([("k".to_owned(), json!(1))]);
        let other =
            || ToolOutput::empty().with_details(json!(2)).with_child_run_id("r2").with_operation_id("o2");
        let asking = |terminate| Actions { terminate, ..Actions::default() };
        for items in [vec![one(), other()], vec![other(), ToolOutput::empty().with_actions(asking(true))]] {
            let mut items = items;
            items.insert(0, ToolOutput::empty().with_meta(meta.clone()));
            let all = with_extras_of(items, number());
            assert_eq!(all.meta(), Some(&meta));
            assert_eq!((all.structured(), all.details()), (Some(json!(7)), Some(&json!(2))));
            assert_eq!((all.child_run_id(), all.operation_id()), (Some("r2"), Some("o2")));
        }
        let flags = |items| {
            let all = with_extras_of(items, number());
            (all.is_failure(), all.is_final(), all.actions().is_some_and(|actions| actions.terminate))
        };
        let (failed, last) = (ToolOutput::empty().as_failure(), ToolOutput::empty().as_final());
        let asked = ToolOutput::empty().with_actions(asking(true));
        assert_eq!(flags(vec![one(), failed.clone(), other()]), (true, false, false));
        assert_eq!(flags(vec![failed, one()]), (true, false, false));
        assert_eq!(flags(vec![one(), last.clone(), other()]), (false, true, false));
        assert_eq!(flags(vec![last, one()]), (false, true, false));
        assert_eq!(flags(vec![one(), asked.clone()]), (false, false, true));
        assert_eq!(flags(vec![asked, one()]), (false, false, true));
        assert_eq!(flags(vec![one()]), (false, false, false));
    }

    #[test]
    fn a_final_item_replaces_all_items_with_its_own_failure_flag() {
        let failed = ToolOutput::from("x").as_failure();
        let whole = replace_items_by_last(vec![failed.clone()], number().as_final());
        assert_eq!(whole, number());
        let whole =
            replace_items_by_last(vec![ToolOutput::from("x").with_details(json!(1))], failed.as_final());
        assert_eq!((whole.text(), whole.details()), ("x".into(), Some(&json!(1))));
        assert!(whole.is_failure() && !whole.is_final());
    }
}
