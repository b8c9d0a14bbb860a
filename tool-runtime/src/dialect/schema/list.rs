//! Lists and tuples.

use serde_json::{Map, Value, json};

use super::{
    pointer_below,
    rules::Objects,
    sentences, types,
    walk::{NodeDraft, SchemaWalk},
};
use crate::diagnostic::Severity;

/// Writes the items of a list.
pub(super) fn convert_items<'s>(
    walk: &mut SchemaWalk<'s>,
    schema: &'s Map<String, Value>,
    key: &str,
    value: &'s Value,
    at: &str,
    draft: &mut NodeDraft,
) {
    match (key, schema.get("prefixItems")) {
        ("prefixItems", _) => convert_tuple(walk, schema, value, at, draft),
        // The tuple describes it.
        (_, Some(Value::Array(_))) => {}
        _ => match walk.convert_node(value, at) {
            Some(items) => {
                draft.out.insert("items".to_owned(), items);
            }
            None => require_empty_list(draft),
        },
    }
}

/// Ends an infinitely deep list: it must be empty.
fn require_empty_list(draft: &mut NodeDraft) {
    draft.out.insert("items".to_owned(), json!({ "type": "STRING" }));
    draft.sentences.push("Nothing is nested deeper: leave the list empty.".to_owned());
}

fn convert_tuple<'s>(
    walk: &mut SchemaWalk<'s>,
    schema: &'s Map<String, Value>,
    value: &'s Value,
    at: &str,
    draft: &mut NodeDraft,
) {
    let first = value.as_array().map_or(&[][..], Vec::as_slice);
    let rest = schema.get("items");
    // Closed by its length, or by the schema of further items.
    let most = schema.get("maxItems").and_then(Value::as_u64);
    let is_closed = rest == Some(&Value::Bool(false)) || most.is_some_and(|most| most <= first.len() as u64);
    let written = first
        .iter()
        .enumerate()
        .filter_map(|(index, it)| walk.convert_node(it, &pointer_below(at, &index.to_string())));
    let written: Vec<_> = written.collect();
    let rest =
        rest.filter(|_| !is_closed).and_then(|rest| walk.convert_node(rest, &pointer_below(at, "items")));
    if is_closed && walk.rules.items {
        // Replaces `items: false` of a closed tuple for providers that do not support it.
        draft.out.insert("maxItems".to_owned(), first.len().into());
    }
    if walk.rules.keeps("prefixItems") {
        draft.out.insert("prefixItems".to_owned(), written.into());
        let own = schema.get("items").filter(|it| **it == false && !walk.rules.items);
        if let Some(rest) = rest.or_else(|| own.cloned()) {
            draft.out.insert("items".to_owned(), rest);
        }
        return;
    }
    draft.sentences.push(sentences::tuple_sentence(first));
    let message = "the tuple is sent as a list; the order of its items is in the description";
    walk.add_note(Severity::Note, "tuple_as_list", at, message, "use a struct with named fields");
    if rest.is_none() && !is_closed {
        walk.mark_unsupported(at, "a value of any type is allowed after the items of the tuple");
    }
    let mut kinds: Vec<Value> = Vec::new();
    for kind in written.into_iter().chain(rest) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let items = if kinds.len() == 1 { kinds.remove(0) } else { json!({ "anyOf": kinds }) };
    draft.out.insert("items".to_owned(), items);
}

/// Adds `items` where the provider requires them.
pub(super) fn finish_list(
    walk: &mut SchemaWalk<'_>,
    schema: &Map<String, Value>,
    draft: &mut NodeDraft,
    at: &str,
) {
    let has_items = draft.out.contains_key("items");
    // Gemini accepts `prefixItems` alone.
    let is_tuple = draft.out.contains_key("prefixItems") && walk.rules.keywords.is_some();
    if !walk.rules.items || has_items || is_tuple || !types::has_type(schema, "array") {
        return;
    }
    if walk.rules.objects != Objects::Any {
        walk.mark_unsupported(at, "items of any type are allowed in the list");
    }
    draft.out.insert("items".to_owned(), json!({}));
}
