//! Texts and identifiers as words.
//!
//! Words end at blanks and punctuation, where the case or the kind of character changes (`listPullRequests`, `HTTPServer`,
//! `v2`), and are in lower case. Scripts without blanks between words are divided into pairs of characters.

use super::stem::stem_in_place;

/// The maximum number of characters of a word; the rest is left out.
const MAX_WORD_CHARS: usize = 40;

/// Words that say nothing about a tool.
const STOP_WORDS: [&str; 88] = [
    "a", "about", "am", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "he", "her", "here", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "just", "let", "like", "may", "me", "might", "must", "my", "need", "no",
    "not", "now", "of", "on", "or", "our", "please", "shall", "she", "should", "so", "some", "such", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "us",
    "want", "was", "we", "were", "what", "when", "where", "which", "who", "whose", "why", "will", "with",
    "would", "you", "your", "yours",
];

/// The kinds of characters between which a word ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Lower,
    Upper,
    Digit,
    /// A script without blanks between words.
    Unspaced,
    Separator,
}

impl CharKind {
    fn of(character: char) -> Self {
        match character {
            // Kana, Han, Hangul, Thai, Lao, Khmer and Burmese.
            '\u{0e00}'..='\u{0eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' => Self::Unspaced,
            _ if character.is_uppercase() => Self::Upper,
            _ if character.is_alphabetic() => Self::Lower,
            _ if character.is_numeric() => Self::Digit,
            _ => Self::Separator,
        }
    }
}

/// The form in which words are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordForm {
    /// Forms of a word count as one word.
    pub(super) is_stemmed: bool,
    /// Words that say nothing about a tool are left out.
    pub(super) skips_stop_words: bool,
}

impl WordForm {
    /// Brings a word into its form; returns `false` for one that is left out.
    pub(super) fn normalize_or_skip(self, word: &mut String) -> bool {
        if self.skips_stop_words && STOP_WORDS.binary_search(&word.as_str()).is_ok() {
            return false;
        }
        if self.is_stemmed {
            stem_in_place(word);
        }
        true
    }
}

/// Passes each word of `text` to `receive`, which may change it, until it returns `false`.
pub(super) fn for_each_word(text: &str, mut receive: impl FnMut(&mut String) -> bool) {
    let mut word = String::with_capacity(MAX_WORD_CHARS);
    let mut split = WordSplitter::default();
    for character in text.chars() {
        if !split.add(character, &mut word, &mut receive) {
            return;
        }
    }
    if !word.is_empty() && !split.is_pair {
        receive(&mut word);
    }
}

/// Divides characters into words.
#[derive(Default)]
struct WordSplitter {
    /// The kind of the last character; `None` for a separator.
    last: Option<CharKind>,
    /// The number of characters of the word.
    chars: usize,
    /// `true` if the word has the last character of a pair that was passed.
    is_pair: bool,
}

impl WordSplitter {
    /// Adds a character to `word`; passes the word that it ends. Returns `false` if no more words are wanted.
    fn add(&mut self, character: char, word: &mut String, mut pass: impl FnMut(&mut String) -> bool) -> bool {
        let kind = CharKind::of(character);
        let mut is_wanted = true;
        let is_end = match (self.last, kind) {
            (Some(CharKind::Unspaced), CharKind::Unspaced) => {
                word.push(character);
                is_wanted = pass(&mut word.clone());
                word.clear();
                (self.chars, self.is_pair) = (0, true);
                false
            }
            // `HTTPServer` is `http` and `server`: the last capital begins the next word.
            (Some(CharKind::Upper), CharKind::Lower) => {
                let first = word.pop();
                is_wanted = word.is_empty() || pass(word);
                word.clear();
                word.extend(first);
                self.chars = 1;
                false
            }
            (last, _) => last.is_some_and(|last| last != kind),
        };
        if is_end {
            if !self.is_pair {
                is_wanted = pass(word);
            }
            word.clear();
            (self.chars, self.is_pair) = (0, false);
        }
        if kind != CharKind::Separator && self.chars < MAX_WORD_CHARS {
            match character.is_ascii() {
                true => word.push(character.to_ascii_lowercase()),
                // Only the first character: `İ` has two in lower case.
                false => word.extend(character.to_lowercase().take(1)),
            }
            self.chars += 1;
        }
        self.last = (kind != CharKind::Separator).then_some(kind);
        is_wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for_each_word(text, |word| {
            words.push(word.clone());
            true
        });
        words
    }

    #[test]
    fn identifiers_end_words_at_case_digits_and_punctuation() {
        for (text, expected) in [
            ("listPullRequests", &["list", "pull", "requests"][..]),
            ("HTTPServer_v2", &["http", "server", "v", "2"]),
            ("repos/{owner}.name", &["repos", "owner", "name"]),
            ("getURL", &["get", "url"]),
            ("ÄpfelZählen", &["äpfel", "zählen"]),
            ("создатьФайл", &["создать", "файл"]),
            ("сумма٣٤b", &["сумма", "٣٤", "b"]),
            ("İzmir", &["izmir"]),
            ("", &[]),
            ("  --  ", &[]),
        ] {
            assert_eq!(words_of(text), expected, "{text}");
        }
    }

    #[test]
    fn scripts_without_blanks_are_divided_into_pairs() {
        assert_eq!(words_of("天気予報"), ["天気", "気予", "予報"]);
        assert_eq!(words_of("天 get気予"), ["天", "get", "気予"]);
        // The last character of a pair is no word.
        assert_eq!(words_of("天気 予報"), ["天気", "予報"]);
        assert_eq!(words_of("天気get予報2"), ["天気", "get", "予報", "2"]);
        assert_eq!(words_of("天気予 "), ["天気", "気予"]);
        assert_eq!(words_of(&"天気".repeat(60)), ["天気", "気天"].repeat(60)[..119]);
    }

    #[test]
    fn a_long_word_is_cut_wherever_it_begins() {
        let long = "x".repeat(1 << 20);
        let first_chars = |begin: &str| format!("{begin}{}", &long[..MAX_WORD_CHARS - begin.len()]);
        assert_eq!(words_of(&long), [first_chars("")]);
        assert_eq!(words_of(&format!("get {long}")), ["get".to_owned(), first_chars("")]);
        assert_eq!(words_of(&format!("HTTPS{long}")), ["http".to_owned(), first_chars("s")]);
    }

    #[test]
    fn no_word_follows_the_last_one_that_is_wanted() {
        for text in ["one two three", "oneTwoThree", "ONETwo three", "天気予報", "one"] {
            let mut count = 0;
            for_each_word(text, |_| {
                count += 1;
                false
            });
            assert_eq!(count, 1, "{text}");
        }
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }
}
