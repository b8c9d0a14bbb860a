//! The difference between a request and the one of a script, for a person.

use std::fmt;

use serde::Serialize;

use super::request::{
    WrittenArguments, WrittenCall, WrittenMessage, WrittenPart, WrittenRequest, WrittenResult,
};

/// The maximum number of differences that are shown.
const MAX_DIFFERENCES: usize = 8;
/// The maximum number of characters of each side of a difference.
const MAX_EXCERPT_CHARS: usize = 160;
/// The number of equal characters that are shown before the first different one.
const CHARS_BEFORE_DIFFERENCE: usize = 24;

/// The differences of two requests; none if there is nothing to show.
#[derive(Debug, Default)]
pub(super) struct Differences(Vec<Difference>);

#[derive(Debug)]
struct Difference {
    /// The JSON pointer in the request.
    pointer: String,
    text: String,
}

impl Differences {
    /// Compares the members that `expected` has.
    pub(super) fn between(expected: &WrittenRequest, received: &WrittenRequest) -> Self {
        let mut all = Self::default();
        all.compare_text("/instruction", expected.instruction.as_ref(), received.instruction.as_ref());
        if let (Some(expected), Some(received)) = (&expected.messages, &received.messages) {
            let is = |one: &WrittenMessage, other: &WrittenMessage| {
                Self::between_messages("", one, other).is_empty()
            };
            for (at, pair) in align_lists(expected, received, is) {
                let pointer = format!("/messages/{at}");
                match pair {
                    AlignedPair::Both(expected, received) => {
                        all.0.extend(Self::between_messages(&pointer, expected, received).0);
                    }
                    AlignedPair::Missing(expected) => {
                        all.add_difference(pointer, missing_element_text(expected))
                    }
                    AlignedPair::Additional(received) => {
                        all.add_difference(pointer, additional_element_text("message", received))
                    }
                }
            }
        }
        if let (Some(expected), Some(received)) = (&expected.tools, &received.tools) {
            for tool in expected.iter().filter(|tool| !received.contains(tool)) {
                all.add_difference(
                    "/tools".to_owned(),
                    format!("expected the tool `{tool}`, which the request does not have"),
                );
            }
            for tool in received.iter().filter(|tool| !expected.contains(tool)) {
                all.add_difference(
                    "/tools".to_owned(),
                    format!("expected no tool `{tool}`, which the request has"),
                );
            }
        }
        all.compare_value("/tool_choice", expected.tool_choice.as_ref(), received.tool_choice.as_ref());
        all.compare_value("/output", expected.output.as_ref(), received.output.as_ref());
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add_difference(&mut self, pointer: String, text: String) {
        self.0.push(Difference { pointer, text });
    }

    fn between_messages(pointer: &str, expected: &WrittenMessage, received: &WrittenMessage) -> Self {
        let mut all = Self::default();
        if expected.role != received.role {
            // The rest belongs to another message.
            all.add_difference(
                pointer.to_owned(),
                difference_text(&json_text(expected), &json_text(received)),
            );
            return all;
        }
        let (Some(expected), Some(received)) = (&expected.parts, &received.parts) else { return all };
        let is = |one: &WrittenPart, other: &WrittenPart| Self::between_parts("", one, other).is_empty();
        for (at, pair) in align_lists(expected, received, is) {
            let pointer = format!("{pointer}/parts/{at}");
            match pair {
                AlignedPair::Both(expected, received) => {
                    all.0.extend(Self::between_parts(&pointer, expected, received).0)
                }
                AlignedPair::Missing(expected) => all.add_difference(pointer, missing_element_text(expected)),
                AlignedPair::Additional(received) => {
                    all.add_difference(pointer, additional_element_text("part", received))
                }
            }
        }
        all
    }

    fn between_parts(pointer: &str, expected: &WrittenPart, received: &WrittenPart) -> Self {
        use WrittenPart::{Call, Content, Reasoning, Result, Text};
        let mut all = Self::default();
        match (expected, received) {
            (Text(one), Text(other)) => all.compare_text(&format!("{pointer}/text"), Some(one), Some(other)),
            (Reasoning(one), Reasoning(other)) => {
                all.compare_text(&format!("{pointer}/reasoning"), Some(one), Some(other));
            }
            (Content(one), Content(other)) => {
                all.compare_value(&format!("{pointer}/content"), Some(one), Some(other))
            }
            (Call(one), Call(other)) => all.compare_call(&format!("{pointer}/call"), one, other),
            (Result(one), Result(other)) => all.compare_result(&format!("{pointer}/result"), one, other),
            (one, other) => {
                all.add_difference(pointer.to_owned(), difference_text(&json_text(one), &json_text(other)))
            }
        }
        all
    }

    fn compare_call(&mut self, pointer: &str, expected: &WrittenCall, received: &WrittenCall) {
        self.compare_text(&format!("{pointer}/id"), expected.id.as_ref(), received.id.as_ref());
        self.compare_text(&format!("{pointer}/name"), expected.name.as_ref(), received.name.as_ref());
        if let (Some(expected), Some(received)) = (&expected.arguments, &received.arguments)
            && !expected.matches(received)
        {
            let quoted = |it: &WrittenArguments| json_text(it.as_str());
            self.add_difference(
                format!("{pointer}/arguments"),
                difference_text(&quoted(expected), &quoted(received)),
            );
        }
    }

    fn compare_result(&mut self, pointer: &str, expected: &WrittenResult, received: &WrittenResult) {
        self.compare_text(&format!("{pointer}/id"), expected.id.as_ref(), received.id.as_ref());
        self.compare_text(&format!("{pointer}/name"), expected.name.as_ref(), received.name.as_ref());
        self.compare_text(&format!("{pointer}/text"), expected.text.as_ref(), received.text.as_ref());
        self.compare_value(&format!("{pointer}/error"), Some(&expected.error), Some(&received.error));
        self.compare_value(&format!("{pointer}/content"), Some(&expected.content), Some(&received.content));
        self.compare_value(
            &format!("{pointer}/follow_ups"),
            Some(&expected.follow_ups),
            Some(&received.follow_ups),
        );
    }

    fn compare_text(&mut self, pointer: &str, expected: Option<&String>, received: Option<&String>) {
        self.compare_value(pointer, expected, received);
    }

    /// Compares two values, if the script has one.
    fn compare_value<T: PartialEq + Serialize>(
        &mut self,
        pointer: &str,
        expected: Option<&T>,
        received: Option<&T>,
    ) {
        let (Some(expected), Some(received)) = (expected, received) else { return };
        if expected != received {
            self.add_difference(
                pointer.to_owned(),
                difference_text(&json_text(expected), &json_text(received)),
            );
        }
    }
}

/// A line for each difference, up to a limit.
impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Difference { pointer, text } in self.0.iter().take(MAX_DIFFERENCES) {
            write!(f, "\n  {pointer}: {text}")?;
        }
        match self.0.len().saturating_sub(MAX_DIFFERENCES) {
            0 => Ok(()),
            1 => f.write_str("\n  and 1 more difference"),
            more => write!(f, "\n  and {more} more differences"),
        }
    }
}

/// An element of one list and its counterpart in the other.
enum AlignedPair<'l, T> {
    Both(&'l T, &'l T),
    Missing(&'l T),
    Additional(&'l T),
}

/// Pairs the elements of two lists: equal ones at both ends, and those between them in their order. Returns the index
/// of each in the list that has it.
fn align_lists<'l, T>(
    expected: &'l [T],
    received: &'l [T],
    is: impl Fn(&T, &T) -> bool,
) -> Vec<(usize, AlignedPair<'l, T>)> {
    let (mut expected, mut received) = (expected, received);
    let mut start = 0;
    while let ([one, rest_of_one @ ..], [other, rest_of_other @ ..]) = (expected, received)
        && is(one, other)
    {
        (expected, received) = (rest_of_one, rest_of_other);
        start += 1;
    }
    while let ([rest_of_one @ .., one], [rest_of_other @ .., other]) = (expected, received)
        && is(one, other)
    {
        (expected, received) = (rest_of_one, rest_of_other);
    }
    let pairs = (0..expected.len().max(received.len())).filter_map(|at| {
        let pair = match (expected.get(at), received.get(at)) {
            (Some(one), Some(other)) => AlignedPair::Both(one, other),
            (Some(one), None) => AlignedPair::Missing(one),
            (None, other) => AlignedPair::Additional(other?),
        };
        Some((start + at, pair))
    });
    pairs.collect()
}

fn missing_element_text(expected: &impl Serialize) -> String {
    format!("expected {}, which the request does not have", excerpt(&json_text(expected), 0))
}

fn additional_element_text(what: &str, received: &impl Serialize) -> String {
    format!("expected no further {what}, got {}", excerpt(&json_text(received), 0))
}

/// Both sides, from a little before the first different character.
fn difference_text(expected: &str, received: &str) -> String {
    let same = expected.chars().zip(received.chars()).take_while(|(one, other)| one == other).count();
    let longest = expected.chars().count().max(received.chars().count());
    let from = if longest <= MAX_EXCERPT_CHARS { 0 } else { same.saturating_sub(CHARS_BEFORE_DIFFERENCE) };
    format!("expected {}, got {}", excerpt(expected, from), excerpt(received, from))
}

/// At most [`MAX_EXCERPT_CHARS`] characters of `json` from a character on, with the number of those that are left out.
fn excerpt(json: &str, from: usize) -> String {
    let mut shown = String::new();
    if from > 0 {
        shown.push('…');
    }
    shown.extend(json.chars().skip(from).take(MAX_EXCERPT_CHARS));
    let more = json.chars().count().saturating_sub(from + MAX_EXCERPT_CHARS);
    if more > 0 {
        shown.push_str(&format!("… ({more} more characters)"));
    }
    shown
}

/// A value as JSON: a text is quoted, and its control characters are escaped.
fn json_text<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_aligned_at_both_ends() {
        let pairs = |expected: &str, received: &str| {
            let lists = [expected, received].map(|it| it.chars().collect::<Vec<_>>());
            let pairs = align_lists(&lists[0], &lists[1], |one, other| one == other);
            let shown = pairs.into_iter().map(|(at, pair)| match pair {
                AlignedPair::Both(one, other) => format!("{at}{one}{other}"),
                AlignedPair::Missing(one) => format!("{at}-{one}"),
                AlignedPair::Additional(other) => format!("{at}+{other}"),
            });
            shown.collect::<Vec<_>>().join(" ")
        };
        for (expected, received, aligned) in [
            ("abc", "abc", ""),
            ("abc", "abcd", "3+d"),
            ("abc", "xabc", "0+x"),
            ("abc", "ac", "1-b"),
            ("abc", "axc", "1bx"),
            ("ab", "xy", "0ax 1by"),
            ("abcd", "axd", "1bx 2-c"),
            ("", "a", "0+a"),
            ("a", "", "0-a"),
        ] {
            assert_eq!(pairs(expected, received), aligned, "{expected} {received}");
        }
    }

    #[test]
    fn an_excerpt_begins_before_the_first_difference() {
        let most = MAX_EXCERPT_CHARS;
        assert_eq!(excerpt("abc", 0), "abc");
        assert_eq!(excerpt("abc", 1), "…bc");
        assert_eq!(excerpt(&"x".repeat(most), 0), "x".repeat(most));
        assert_eq!(excerpt(&"x".repeat(most + 2), 0), format!("{}… (2 more characters)", "x".repeat(most)));
        assert_eq!(excerpt(&"x".repeat(most + 2), 2), format!("…{}", "x".repeat(most)));
        assert_eq!(difference_text("ab", "ac"), "expected ab, got ac");
        // As long as an excerpt, both are shown from their start.
        let [one, other] = ["a", "b"].map(|last| format!("{}{last}", "x".repeat(most - 1)));
        assert_eq!(difference_text(&one, &other), format!("expected {one}, got {other}"));
        let [one, other] = ["a", "b"].map(|last| format!("{}{last}", "x".repeat(most)));
        let shown = |last: &str| format!("…{}{last}", "x".repeat(CHARS_BEFORE_DIFFERENCE));
        assert_eq!(difference_text(&one, &other), format!("expected {}, got {}", shown("a"), shown("b")));
    }

    #[test]
    fn differences_beyond_a_number_are_counted() {
        let shown = |count: usize| {
            let mut all = Differences::default();
            for at in 0..count {
                all.add_difference(format!("/{at}"), "text".to_owned());
            }
            assert_eq!(all.is_empty(), count == 0);
            all.to_string()
        };
        assert_eq!(shown(0), "");
        assert_eq!(shown(2), "\n  /0: text\n  /1: text");
        assert!(shown(MAX_DIFFERENCES).ends_with("/7: text"));
        assert!(shown(MAX_DIFFERENCES + 1).ends_with("/7: text\n  and 1 more difference"));
        assert!(shown(MAX_DIFFERENCES + 2).ends_with("/7: text\n  and 2 more differences"));
    }
}
