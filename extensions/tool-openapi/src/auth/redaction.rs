//! Secrets in texts of servers, in any letter case and under the escapes of JSON, HTML and URLs.
//!
//! A text is searched as it is, and after each of a few rounds in which every escape is decoded: a secret that was escaped twice, as in
//! JSON within JSON, is found in the second round. Each character keeps its place in the text, so that the escapes of a secret are
//! replaced as a whole, and JSON stays JSON.

use std::ops::Range;

use super::escapes::decode_escape;

/// The maximum number of escapes around each other that are decoded.
const MAX_ROUNDS: usize = 4;

/// Shorter secrets may stand in a text by chance.
const MIN_MATCH_BYTES: usize = 6;

/// The minimum length of a secret that is searched at all, in characters.
const MIN_SECRET_CHARS: usize = 3;

/// The minimum length of the beginning of a secret that is hidden at the end of a text that was cut, in characters.
const MIN_BEGINNING_CHARS: usize = 4;

/// The minimum size of the part of a text that is decoded at once, in bytes.
const WINDOW_BYTES: usize = 128 << 10;

/// The maximum length of a character with two escapes around each other, such as `&#92;&#117;&#48;..`, in bytes.
const MAX_ESCAPED_BYTES: usize = 64;

/// Secrets in the form in which they are searched.
#[derive(Debug, Default)]
pub(super) struct SecretNeedles(Vec<Vec<char>>);

impl SecretNeedles {
    /// The needles of `secrets`, each as it is and with its own escapes decoded.
    pub(super) fn new<'s>(secrets: impl Iterator<Item = &'s str>) -> Self {
        let mut all: Vec<Vec<char>> = Vec::new();
        for secret in secrets {
            let mut decoded = DecodedText::of(secret, 0);
            loop {
                let is_long = decoded.chars.len() >= MIN_SECRET_CHARS;
                if is_long && !all.contains(&decoded.chars) {
                    all.push(decoded.chars.clone());
                }
                // In a form, a blank is a plus.
                let with_plus: Vec<_> =
                    decoded.chars.iter().map(|it| if *it == ' ' { '+' } else { *it }).collect();
                if is_long && !all.contains(&with_plus) {
                    all.push(with_plus);
                }
                match decoded.with_escapes_decoded_once() {
                    Some(next) => decoded = next,
                    None => break,
                }
            }
        }
        Self(all)
    }

    /// Returns the positions of the secrets in `text`, in order, without overlaps; if the end of the text was cut off, also of the beginning
    /// of one there.
    pub(super) fn secret_ranges(&self, text: &str, is_cut: bool) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let Some(longest) = self.0.iter().map(Vec::len).max() else { return found };
        // A secret at the end of a window is found in the next one.
        let overlap = longest * MAX_ESCAPED_BYTES;
        let window = WINDOW_BYTES.max(overlap);
        let mut start = 0;
        while start < text.len() {
            let end = next_char_boundary(text, start + window + overlap);
            let mut decoded = DecodedText::of(&text[start..end], start);
            for _ in 0..=MAX_ROUNDS {
                self.0.iter().for_each(|needle| decoded.collect_needle_ranges(needle, &mut found));
                if is_cut && end == text.len() {
                    found.extend(self.0.iter().filter_map(|needle| decoded.find_cut_off_needle(needle)));
                }
                match decoded.with_escapes_decoded_once() {
                    Some(next) => decoded = next,
                    None => break,
                }
            }
            start = next_char_boundary(text, start + window);
        }
        merged_ranges(found)
    }
}

/// The first boundary between characters from `at` on.
fn next_char_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Joins places that overlap.
fn merged_ranges(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|it| it.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// A text in small letters, with some of its escapes decoded.
struct DecodedText {
    chars: Vec<char>,
    /// The start of each character in the text, and the end of the text.
    starts: Vec<usize>,
}

impl DecodedText {
    fn of(text: &str, offset: usize) -> Self {
        let chars = text.chars().map(lower_case).collect();
        let starts = text.char_indices().map(|(at, _)| offset + at).chain([offset + text.len()]);
        Self { chars, starts: starts.collect() }
    }

    /// Decodes each escape once; `None` if there is none.
    fn with_escapes_decoded_once(&self) -> Option<Self> {
        if !self.chars.iter().any(|it| matches!(it, '\\' | '&' | '%')) {
            return None;
        }
        let mut next = Self { chars: Vec::with_capacity(self.chars.len()), starts: Vec::new() };
        let (mut at, mut is_changed) = (0, false);
        while let Some(rest) = self.chars.get(at..).filter(|it| !it.is_empty()) {
            let (decoded, length) = decode_escape(rest).unwrap_or((rest[0], 1));
            is_changed |= length > 1;
            next.chars.push(lower_case(decoded));
            next.starts.extend(self.starts.get(at));
            at += length;
        }
        next.starts.extend(self.starts.last());
        is_changed.then_some(next)
    }

    /// Returns the position of the beginning of `needle` at the end, before a part of an escape that was cut.
    fn find_cut_off_needle(&self, needle: &[char]) -> Option<Range<usize>> {
        let last = *self.starts.last()?;
        // The number of an entity may be cut, too: `&#1` is the shortest one.
        let is_escape =
            |at: usize| at + 1 == self.chars.len() && self.starts.get(at).is_some_and(|it| last - it > 2);
        let is_mark = |at: usize| matches!(self.chars.get(at), None | Some('\\' | '&' | '%' | '\u{fffd}'));
        let is_part = |at: usize| is_mark(at) || is_escape(at);
        let ends =
            (self.chars.len().saturating_sub(MAX_ESCAPED_BYTES)..=self.chars.len()).filter(|at| is_part(*at));
        let starts = ends.filter_map(|end| {
            let lengths = (MIN_BEGINNING_CHARS..needle.len()).rev();
            let fits =
                |length: &usize| self.chars.get(..end).is_some_and(|it| it.ends_with(&needle[..*length]));
            self.starts.get(end - lengths.into_iter().find(fits)?).copied()
        });
        starts.min().map(|start| start..last)
    }

    /// Adds the positions of `needle`.
    fn collect_needle_ranges(&self, needle: &[char], found: &mut Vec<Range<usize>>) {
        let Some(first) = needle.first() else { return };
        let mut at = 0;
        while let Some(skipped) = self.chars.get(at..).and_then(|it| it.iter().position(|it| it == first)) {
            at += skipped;
            let end = at + needle.len();
            let range = self.starts.get(at).copied().zip(self.starts.get(end).copied());
            match range {
                Some((start, last))
                    if self.chars.get(at..end) == Some(needle) && last - start >= MIN_MATCH_BYTES =>
                {
                    found.push(start..last);
                    at = end;
                }
                Some(_) => at += 1,
                None => return,
            }
        }
    }
}

/// The letter in one case, as one character.
fn lower_case(letter: char) -> char {
    if letter.is_ascii() {
        return letter.to_ascii_lowercase();
    }
    letter.to_lowercase().next().unwrap_or(letter)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may")]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::{MAX_ROUNDS, SecretNeedles, WINDOW_BYTES};

    type Encoding = (&'static str, fn(&str) -> String);

    /// Encodings in which servers repeat what they received.
    const ENCODINGS: [Encoding; 14] = [
        ("plain", |text| text.to_owned()),
        ("unicode", |text| text.encode_utf16().map(|it| format!("\\u{it:04x}")).collect()),
        ("large unicode", |text| text.encode_utf16().map(|it| format!("\\u{it:04X}")).collect()),
        ("one unicode", |text| {
            let first = text.chars().next().unwrap();
            let escaped: String =
                first.encode_utf16(&mut [0; 2]).iter().map(|it| format!("\\u{it:04x}")).collect();
            escaped + &text[first.len_utf8()..]
        }),
        ("decimal entities", |text| text.chars().map(|it| format!("&#{};", u32::from(it))).collect()),
        ("hexadecimal entities", |text| text.chars().map(|it| format!("&#x{:X};", u32::from(it))).collect()),
        ("named entities", |text| {
            let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            escaped.replace('"', "&quot;").replace('\'', "&apos;")
        }),
        ("JSON", |text| {
            let text = Value::from(text).to_string();
            text[1..text.len() - 1].to_owned()
        }),
        ("JSON with slashes", |text| {
            let text = Value::from(text).to_string().replace('/', "\\/");
            text[1..text.len() - 1].to_owned()
        }),
        ("URL", |text| text.bytes().map(|it| format!("%{it:02X}")).collect()),
        ("small URL", |text| text.bytes().map(|it| format!("%{it:02x}")).collect()),
        ("large letters", |text| text.to_ascii_uppercase()),
        ("small letters", |text| text.to_ascii_lowercase()),
        ("hexadecimal", |text| text.chars().map(|it| format!("\\u{{{:x}}}", u32::from(it))).collect()),
    ];

    fn redacted(secret: &str, text: &str) -> String {
        let mut shown = text.to_owned();
        for range in SecretNeedles::new([secret].into_iter()).secret_ranges(text, false).into_iter().rev() {
            shown.replace_range(range, "***");
        }
        shown
    }

    #[test]
    fn a_secret_is_found_under_each_encoding_and_each_pair_of_them() {
        for secret in ["Hunter2-secret", "hunter2/+\"&<x>'y\\z", "schlüssel-\u{1f511}-wort", "a b%20c&amp;d"]
        {
            for (first, inner) in ENCODINGS {
                for (second, outer) in ENCODINGS {
                    let text = format!("before {} after", outer(&inner(secret)));
                    assert_eq!(redacted(secret, &text), "before *** after", "{first}, {second}: {text}"); // E10
                }
            }
        }
    }

    #[test]
    fn a_secret_is_found_under_four_encodings_and_no_more() {
        let escaped = |times: usize| {
            (0..times).fold("hunter2".to_owned(), |text, _| text.replace('%', "%25").replace('h', "%68"))
        };
        assert_eq!(redacted("hunter2", &escaped(MAX_ROUNDS)), "***"); // E10
        assert_ne!(redacted("hunter2", &escaped(MAX_ROUNDS + 1)), "***");
    }

    #[test]
    fn a_blank_of_a_secret_may_be_a_plus() {
        assert_eq!(redacted("correct horse", "a correct+horse b+c"), "a *** b+c"); // E10
        assert_eq!(redacted("correct+horse", "correct horse, correct+horse"), "correct horse, ***");
    }

    #[test]
    fn places_that_overlap_or_follow_each_other_are_separate_only_if_they_do_not_overlap() {
        let joined = |all: &[std::ops::Range<usize>]| super::merged_ranges(all.to_vec());
        assert_eq!(joined(&[4..6, 0..2]), [0..2, 4..6]);
        assert_eq!(joined(&[0..2, 2..4]), [0..2, 2..4]);
        assert_eq!(joined(&[0..5, 1..2, 4..6, 8..9]), [0..6, 8..9]);
        assert_eq!(joined(&[0..5, 1..2, 5..6]), [0..5, 5..6]);
    }

    #[test]
    fn a_secret_is_found_from_six_bytes_on() {
        assert_eq!(redacted("abcdef", "abcdef abcdefabcdef"), "*** ******"); // E10
        assert_eq!(redacted("abcde", "abcde a\\u0062cde"), "abcde ***");
        assert_eq!(redacted("aab", "aaab a\\u0061b"), "aaab ***");
    }

    #[test]
    fn a_secret_is_found_across_the_parts_of_a_long_text() {
        let secret = "hunter2-secret";
        for (name, encode) in ENCODINGS {
            let encoded = encode(secret);
            for before in [0, 1, encoded.len() / 2, encoded.len()] {
                let blank = " ".repeat(WINDOW_BYTES - before);
                let shown = redacted(secret, &format!("{blank}{encoded}{blank}"));
                assert_eq!(shown.trim(), "***", "{name} {before}");
            }
        }
        // Each letter with two escapes around each other, the second of which is about 30 bytes long.
        let escaped: String = "hunter2".chars().map(|it| format!("\\u{:04x}", u32::from(it))).collect();
        let escaped: String = escaped.chars().map(|it| format!("&#{};", u32::from(it))).collect();
        let blank = " ".repeat(WINDOW_BYTES - 1);
        assert_eq!(redacted("hunter2", &format!("{blank}{escaped}{blank}")).trim(), "***"); // E10
        // The parts overlap by the length of the longest secret, also if that is not the first one.
        let long = "long-secret/".repeat(100);
        let text = format!("{blank}{long}{blank}");
        for secrets in [["hunter2", &*long], [&*long, "hunter2"]] {
            let ranges = SecretNeedles::new(secrets.into_iter()).secret_ranges(&text, false);
            let expected = blank.len()..blank.len() + long.len();
            assert_eq!(ranges, std::slice::from_ref(&expected)); // E10
        }
    }

    #[test]
    fn a_secret_is_searched_from_three_characters_on() {
        assert_eq!(redacted("abc", "abc %61%62%63"), "abc ***"); // E10
        assert_eq!(redacted("a b", "%61+%62"), "***"); // E10
        assert_eq!(redacted("ab", "%61%62%61%62"), "%61%62%61%62");
        assert_eq!(redacted("a ", "&#97;+"), "&#97;+");
    }

    #[test]
    fn the_beginning_of_a_secret_is_hidden_where_the_text_was_cut() {
        let secret = "Hunter2-secret";
        for (name, encode) in ENCODINGS {
            let text = format!("before {}", encode(secret));
            for end in "before ".len()..text.len() {
                let cut = &text[..end];
                let ranges = SecretNeedles::new([secret].into_iter()).secret_ranges(cut, true);
                let shown = ranges.first().map_or(cut, |it| &cut[..it.start]);
                let rest = &shown["before ".len()..];
                // Three characters, and a part of the fourth.
                assert!(
                    encode(secret).starts_with(rest) && rest.len() < encode("Hunt").len().max(5),
                    "{name}: {cut}"
                ); // E10
            }
        }
    }

    #[test]
    fn the_number_of_an_entity_may_be_cut_and_no_other_character() {
        let cut = |text: &str| SecretNeedles::new(["Hunter2-secret"].into_iter()).secret_ranges(text, true);
        let letters = "&#72;&#117;&#110;&#116;";
        for (end, is_hidden) in [("&#1", true), ("&#10", true), ("&", true), ("é", false), ("x", false)] {
            let text = format!("{letters}{end}");
            let expected = Vec::from_iter(is_hidden.then_some(0..text.len()));
            assert_eq!(cut(&text), expected, "{text}"); // E10
        }
        for (text, is_hidden) in [("Hunt", true), ("Hun", false), ("Hunt\u{fffd}", true), ("Hunt!", false)] {
            assert_eq!(cut(text), Vec::from_iter(is_hidden.then_some(0..text.len())), "{text}"); // E10
        }
        // What a cut may leave of a secret stands at the end only.
        assert!(cut(&format!("Hunt%{}", "x".repeat(64))).is_empty());
    }

    #[test]
    fn a_text_without_the_secret_is_unchanged() {
        for text in ["", "%", "%zz&#;&#x;\\u12\\", "\\ud83d", "hunter-2-secret", "%68unte", "&nothing;"] {
            assert_eq!(redacted("hunter2-secret", text), text);
        }
        assert_eq!(redacted("correct horse", "a+b correct-horse"), "a+b correct-horse");
        // Too short to be told from a word.
        assert_eq!(redacted("ab", "ab %61%62"), "ab %61%62");
        assert_eq!(redacted("abcde", "abcde"), "abcde");
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_ranges_are_within_it(text in "[\\\\u0-9a-f&#;%x{}é]{0,60}", secret in "[\\\\a-f0-9&%é]{0,8}") {
            let ranges = SecretNeedles::new([&*secret].into_iter()).secret_ranges(&text, true);
            prop_assert!(ranges.iter().all(|it| text.get(it.clone()).is_some()));
            prop_assert!(ranges.is_sorted_by(|one, other| one.end <= other.start));
        }

        #[test]
        fn any_secret_is_found_under_two_encodings(
            secret in "[ -~é]{6,20}", first in 0..ENCODINGS.len(), second in 0..ENCODINGS.len(),
        ) {
            let encoded = ENCODINGS[second].1(&ENCODINGS[first].1(&secret));
            let shown = redacted(&secret, &format!("<{encoded}>"));
            prop_assert!(!shown.contains(&encoded), "{}", shown);
        }
    }
}
