//! The limit of the text that a model receives.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tool_runtime::policy::ResultStore;

use crate::request::Members;

/// The room for the note about what is left out.
const NOTE_BYTES: usize = 160;

/// The maximum length, in bytes, of a part of an answer beside its body that a model reads.
const MAX_PART_BYTES: usize = 4096;

/// Cuts a part of an answer beside its body, such as a header, with a note.
pub(super) fn shorten_part(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_PART_BYTES {
        return Cow::Borrowed(text);
    }
    let end = (0..=MAX_PART_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    Cow::Owned(format!("{}… [{} more bytes]", &text[..end], text.len() - end))
}

/// A text within its limit.
#[derive(Debug)]
pub(super) struct LimitedText {
    pub(super) text: String,
    /// The note about what is left out.
    pub(super) note: Option<String>,
    /// The text is still JSON.
    pub(super) is_json: bool,
}

/// Cuts `text` to `max_bytes` together with its note: JSON between the items of its list, any other text between characters.
/// The full text stays readable in `store`.
pub(super) fn limit_text(
    text: String,
    max_bytes: usize,
    is_json: bool,
    store: Option<&ResultStore>,
) -> LimitedText {
    if text.len() <= max_bytes {
        return LimitedText { text, note: None, is_json };
    }
    let max_bytes = max_bytes.saturating_sub(NOTE_BYTES);
    let kept = |offset: usize| store.and_then(|store| store.insert(&text)).map(|handle| (handle, offset));
    if is_json && let Some(cut) = cut_json_list(&text, max_bytes) {
        let place = cut.name.map(|name| format!(" of `{name}`")).unwrap_or_default();
        let omitted = format!("{} of {} items{place}", cut.omitted, cut.items);
        let note = ResultStore::note(&omitted, kept(cut.end));
        let text = format!("{}{}", &text[..cut.end], &text[cut.rest..]);
        return LimitedText { text, note: Some(note), is_json };
    }
    let end = (0..=max_bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let omitted = format!("{} of {} bytes", text.len() - end, text.len());
    let note = ResultStore::note(&omitted, kept(end));
    LimitedText { text: text[..end].to_owned(), note: Some(note), is_json: false }
}

/// A list that is cut after some of its items.
struct CutList {
    name: Option<String>,
    items: usize,
    omitted: usize,
    /// The end of the last item that stays, and of the last item.
    end: usize,
    rest: usize,
}

/// Cuts the list `text`, or the largest list of the object `text`, so that at most `max_bytes` remain; `None` if not even one item fits.
fn cut_json_list(text: &str, max_bytes: usize) -> Option<CutList> {
    let members;
    let (name, list) = match text.trim_start().as_bytes().first()? {
        b'[' => (None, serde_json::from_str::<&RawValue>(text).ok()?),
        b'{' => {
            members = Members::of(text).ok()?;
            let lists = members.iter().filter(|(_, value)| value.get().starts_with('['));
            let (name, list) = lists.max_by_key(|(_, value)| value.get().len())?;
            (Some(name.to_owned()), list)
        }
        _ => return None,
    };
    let items: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    let end_of = |item: &RawValue| item.get().as_ptr().addr() - text.as_ptr().addr() + item.get().len();
    let rest = end_of(items.last()?);
    let after = text.len() - rest;
    let fitting = items.iter().take_while(|item| end_of(item) + after <= max_bytes).count();
    let end = end_of(items.get(fitting.checked_sub(1)?)?);
    Some(CutList { name, items: items.len(), omitted: items.len() - fitting, end, rest })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::{MAX_PART_BYTES, cut_json_list, limit_text, shorten_part};

    #[test]
    fn the_largest_list_is_cut_between_items_and_the_rest_stays() {
        let text = r#" { "few": [1], "many" : [ {"a": "]"}, [2, 3], "x" ] , "next": null } "#;
        let cut = |max_bytes| {
            let it = cut_json_list(text, max_bytes)?;
            Some((format!("{}{}", &text[..it.end], &text[it.rest..]), it.omitted))
        };
        let two = r#" { "few": [1], "many" : [ {"a": "]"}, [2, 3] ] , "next": null } "#;
        assert_eq!(cut(text.len() - 1).unwrap(), (two.to_owned(), 1));
        let one = r#" { "few": [1], "many" : [ {"a": "]"} ] , "next": null } "#;
        assert_eq!(cut(two.len() - 1).unwrap(), (one.to_owned(), 2));
        assert_eq!(cut(one.len()).unwrap().0, one);
        assert_eq!(cut(one.len() - 1), None);
        assert!(
            cut_json_list("[]", 0).is_none()
                && cut_json_list("{}", 0).is_none()
                && cut_json_list("3", 0).is_none()
        );
    }

    #[test]
    fn a_text_is_cut_between_characters_and_never_beyond_the_room() {
        for max_bytes in [0, 160, 161, 200, 201] {
            let it = limit_text("é".repeat(300), max_bytes, false, None);
            assert!(it.text.len() <= max_bytes.saturating_sub(160) && it.text.chars().all(|it| it == 'é'));
            assert!(it.note.unwrap().contains("of 600 bytes left out"));
        }
    }

    #[test]
    fn a_part_is_cut_between_characters_above_the_limit() {
        let long = "a".repeat(MAX_PART_BYTES);
        assert_eq!(shorten_part(&long), long);
        assert_eq!(shorten_part(&format!("{long}bc")), format!("{long}… [2 more bytes]"));
        let wide = format!("{}éé", &long[1..]);
        assert_eq!(shorten_part(&wide), format!("{}… [4 more bytes]", &long[1..]));
    }

    #[test]
    fn a_text_within_its_limit_stays() {
        for is_json in [true, false] {
            let it = limit_text("[1,2]".to_owned(), 5, is_json, None);
            assert_eq!((&*it.text, it.note, it.is_json), ("[1,2]", None, is_json));
            assert!(limit_text("[1,2]".to_owned(), 4, is_json, None).note.is_some());
        }
        let text = format!("[{}1]", "1,".repeat(200));
        let it = limit_text(text, 200, true, None);
        assert_eq!((&*it.text, it.is_json), (&*format!("[{}1]", "1,".repeat(18)), true));
        assert!(it.note.unwrap().contains("182 of 201 items left out"));
    }
}
