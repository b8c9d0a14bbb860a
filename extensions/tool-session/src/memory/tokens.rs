//! The words of texts.
//!
//! A text is normalized (NFKC) and case folded. A word is a run of letters, digits and marks; everything else separates words, and
//! invisible characters separate nothing. Scripts without spaces have no words: their characters stand alone and in pairs. The
//! tokens of a note are both, so that one character is found, too; the tokens of a query are the pairs.
//!
//! A token has letters, digits and marks only: it has no meaning in the query language of any database.

use std::iter::Peekable;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// The maximum number of characters of a token; the rest of a longer word is not indexed.
const MAX_TOKEN_CHARS: usize = 64;

/// The maximum number of different tokens of a query; later ones are not searched for.
pub(crate) const MAX_QUERY_TOKENS: usize = 64;

/// Calls `visit` for each token of a note, in order.
pub(crate) fn for_each_token(text: &str, mut visit: impl FnMut(&str)) {
    if text.is_ascii() {
        return for_each_folded_ascii_word(text, visit);
    }
    for run in TextRuns::new(text.nfkc()) {
        match run {
            TextRun::Word(word) => visit(&word),
            TextRun::Characters(characters) => {
                characters.iter().for_each(|character| visit(character));
                character_pairs(&characters).for_each(|pair| visit(&pair));
            }
        }
    }
}

/// Returns the different tokens of a query, in order, at most [`MAX_QUERY_TOKENS`].
pub(crate) fn query_tokens(query: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    // The iterator reads no more of a long query than it needs.
    for run in TextRuns::new(query.nfkc()) {
        let run_tokens = match run {
            TextRun::Word(word) => vec![word],
            TextRun::Characters(characters) if characters.len() == 1 => characters,
            TextRun::Characters(characters) => character_pairs(&characters).collect(),
        };
        for token in run_tokens {
            if !tokens.contains(&token) {
                tokens.push(token);
            }
            if tokens.len() == MAX_QUERY_TOKENS {
                return tokens;
            }
        }
    }
    tokens
}

fn character_pairs(characters: &[String]) -> impl Iterator<Item = String> + '_ {
    characters.windows(2).map(|pair| pair.concat())
}

/// Calls `visit` for each word of a text in ASCII, which needs no tables of Unicode.
fn for_each_folded_ascii_word(text: &str, mut visit: impl FnMut(&str)) {
    let mut folded = String::with_capacity(MAX_TOKEN_CHARS);
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        folded.clear();
        folded.push_str(word.get(..MAX_TOKEN_CHARS).unwrap_or(word));
        folded.make_ascii_lowercase();
        visit(&folded);
    }
}

/// A part of a text that nothing separates.
enum TextRun {
    Word(String),
    /// Consecutive characters of scripts without spaces, each with its marks, at most [`MAX_RUN_CHARACTERS`].
    Characters(Vec<String>),
}

/// The maximum number of characters of a [`TextRun::Characters`]; a longer one becomes several, which share a character.
const MAX_RUN_CHARACTERS: usize = 1024;

/// The kind of a character.
#[derive(PartialEq, Clone, Copy)]
enum CharKind {
    Word,
    /// Of a script without spaces.
    Character,
    Mark,
    Invisible,
    Separator,
}

/// Splits normalized characters into runs.
struct TextRuns<I: Iterator<Item = char>> {
    chars: Peekable<I>,
    /// The last character of the run before, if the run was too long.
    overlap: Option<String>,
}

impl<I: Iterator<Item = char>> TextRuns<I> {
    fn new(chars: I) -> Self {
        Self { chars: chars.peekable(), overlap: None }
    }

    /// Reads the rest of a word.
    fn read_word(&mut self) -> TextRun {
        let (mut word, mut count) = (String::new(), 0);
        while let Some(&c) = self.chars.peek() {
            match char_kind(c) {
                CharKind::Word | CharKind::Mark => push_folded_within_limit(&mut word, &mut count, c),
                CharKind::Invisible => {}
                CharKind::Character | CharKind::Separator => break,
            }
            self.chars.next();
        }
        TextRun::Word(word)
    }

    /// Reads the rest of consecutive characters.
    fn read_characters_after(&mut self, mut characters: Vec<String>) -> TextRun {
        let mut count = 0;
        while let Some(&c) = self.chars.peek() {
            match char_kind(c) {
                CharKind::Character if characters.len() == MAX_RUN_CHARACTERS => {
                    self.overlap = characters.last().cloned();
                    break;
                }
                CharKind::Character => {
                    let mut character = String::new();
                    count = 0;
                    push_folded_within_limit(&mut character, &mut count, c);
                    characters.push(character);
                }
                CharKind::Mark => {
                    if let Some(last) = characters.last_mut() {
                        push_folded_within_limit(last, &mut count, c);
                    }
                }
                CharKind::Invisible => {}
                CharKind::Word | CharKind::Separator => break,
            }
            self.chars.next();
        }
        TextRun::Characters(characters)
    }
}

impl<I: Iterator<Item = char>> Iterator for TextRuns<I> {
    type Item = TextRun;

    fn next(&mut self) -> Option<TextRun> {
        if let Some(character) = self.overlap.take() {
            return Some(self.read_characters_after(vec![character]));
        }
        loop {
            match char_kind(*self.chars.peek()?) {
                CharKind::Word => return Some(self.read_word()),
                CharKind::Character => return Some(self.read_characters_after(Vec::new())),
                // A mark without a letter belongs to no word.
                CharKind::Mark | CharKind::Invisible | CharKind::Separator => drop(self.chars.next()),
            }
        }
    }
}

/// Adds the folded form of `c`, unless the token is full.
fn push_folded_within_limit(token: &mut String, count: &mut usize, c: char) {
    for folded in c.to_uppercase().flat_map(char::to_lowercase) {
        // A folded form may have a part that is no letter, such as a spacing accent.
        if *count < MAX_TOKEN_CHARS && (folded.is_alphanumeric() || is_combining_mark(folded)) {
            token.push(folded);
            *count += 1;
        }
    }
}

fn char_kind(c: char) -> CharKind {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => CharKind::Word,
        '\0'..='\x7f' => CharKind::Separator,
        // Joiners, marks of direction, soft hyphen, selectors of variants: they change the look of a word only.
        '\u{ad}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0100}'..='\u{e01ef}' => CharKind::Invisible,
        _ if is_combining_mark(c) => CharKind::Mark,
        _ if !c.is_alphanumeric() => CharKind::Separator,
        _ if is_of_script_without_spaces(c) => CharKind::Character,
        _ => CharKind::Word,
    }
}

/// Returns `true` for letters of Thai, Lao, Burmese, Khmer, and the scripts of Chinese and Japanese. Korean has spaces.
fn is_of_script_without_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19df}'
        | '\u{1a20}'..='\u{1aaf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{303c}'
        | '\u{3040}'..='\u{312f}' | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' | '\u{f900}'..='\u{faff}' | '\u{1aff0}'..='\u{1b16f}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

    use super::{MAX_QUERY_TOKENS, MAX_TOKEN_CHARS, TextRun, TextRuns, for_each_token, query_tokens};

    fn tokens(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        for_each_token(text, |token| tokens.push(token.to_owned()));
        tokens
    }

    #[test]
    fn words_are_folded_and_characters_of_scripts_without_spaces_are_paired() {
        assert_eq!(tokens("It's 3.14, STRASSE & Straße"), ["it", "s", "3", "14", "strasse", "strasse"]);
        assert_eq!(tokens("iPhone手机壳!"), ["iphone", "手", "机", "壳", "手机", "机壳"]);
        assert_eq!(query_tokens("iPhone手机壳 iphone"), ["iphone", "手机", "机壳"]);
        assert_eq!(query_tokens("鱻 กำ"), ["鱻", "ก\u{e4d}า"]);
        assert_eq!(tokens("\u{301}a\u{200d}b\u{301} \u{fe0f}"), ["ab\u{301}"]);
        assert_eq!(tokens("हिन्दी"), ["हिन्दी"]);
    }

    #[test]
    fn a_token_has_at_most_64_characters_and_a_query_64_tokens() {
        for first in ["a", "ä"] {
            let word = |characters: usize| format!("{first}{}", "b".repeat(characters - 1));
            assert_eq!(tokens(&word(64)), [word(64)]);
            assert_eq!(tokens(&word(65)), [word(64)]);
            assert_eq!(query_tokens(&word(65)), [word(64)]);
        }
        let marks = |count: usize| format!("手{}", "\u{301}".repeat(count));
        assert_eq!(tokens(&marks(64)), [marks(63)]);
        assert_eq!(tokens(&format!("{}手", marks(64))), [marks(63), "手".to_owned(), marks(63) + "手"]);
        let words: Vec<_> = (0..70).map(|number| format!("w{number}")).collect();
        assert_eq!(query_tokens(&words.join(" ")), words[..64]);
        assert_eq!(query_tokens(&format!("w0 w0 {}", words[..64].join(" "))), words[..64]);
        assert_eq!(query_tokens(&words[..63].join(" ")), words[..63]);
        let characters: String = ('\u{4e00}'..).take(80).collect();
        assert_eq!(query_tokens(&characters).len(), 64);
    }

    #[test]
    fn a_run_of_characters_has_at_most_1024_of_them() {
        let runs = |characters: usize| {
            let text: String = ('\u{4e00}'..).take(characters).collect();
            let runs = TextRuns::new(text.chars()).map(|run| match run {
                TextRun::Characters(characters) => characters.len(),
                TextRun::Word(_) => 0,
            });
            runs.collect::<Vec<_>>()
        };
        assert_eq!(
            (runs(1_024), runs(1_025), runs(2_047), runs(2_048)),
            (vec![1_024], vec![1_024, 2], vec![1_024; 2], vec![1_024, 1_024, 2])
        );
    }

    #[test]
    fn invisible_characters_separate_nothing_and_all_others_do() {
        for invisible in [
            '\u{ad}',
            '\u{61c}',
            '\u{180b}',
            '\u{180f}',
            '\u{200b}',
            '\u{200f}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2069}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{e0100}',
            '\u{e01ef}',
        ] {
            assert_eq!(tokens(&format!("a{invisible}b")), ["ab"], "{invisible:?}");
            assert_eq!(tokens(&format!("手{invisible}机")), ["手", "机", "手机"], "{invisible:?}");
        }
        for separator in [' ', '-', '_', '\u{7f}', '\u{a0}', '«', '\u{2029}', '→', '🙂'] {
            assert_eq!(tokens(&format!("a{separator}b")), ["a", "b"], "{separator:?}");
            assert_eq!(tokens(&format!("手{separator}机")), ["手", "机"], "{separator:?}");
        }
        assert_eq!(tokens("a手b"), ["a", "手", "b"]);
        assert_eq!(tokens("\u{301}手\u{301}"), ["手\u{301}"]);
    }

    #[test]
    fn characters_of_scripts_without_spaces_stand_alone() {
        for (first, second) in [
            ('ก', 'ข'),
            ('ກ', 'ຂ'),
            ('က', 'ခ'),
            ('ក', 'ខ'),
            ('ᥐ', 'ᥑ'),
            ('ᦀ', 'ᦁ'),
            ('ᨠ', 'ᨡ'),
            ('々', '〆'),
            ('〡', '〢'),
            ('〱', '〲'),
            ('あ', 'い'),
            ('ア', 'イ'),
            ('ㄅ', 'ㄆ'),
            ('ㆠ', 'ㆡ'),
            ('ㇰ', 'ㇱ'),
            ('㐀', '㐁'),
            ('一', '丁'),
            ('ꧠ', 'ꧡ'),
            ('ꩠ', 'ꩡ'),
            ('𠀀', '𠀁'),
        ] {
            let expected = [first.to_string(), second.to_string(), format!("{first}{second}")];
            assert_eq!(tokens(&format!("{first}{second}")), expected);
        }
        for word in ["가나", "жя", "हि", "עב", "αβ", "१२"] {
            assert_eq!(tokens(word).len(), 1, "{word}");
        }
    }

    #[test]
    fn a_long_run_of_characters_keeps_all_of_its_pairs() {
        let text: String = ('\u{4e00}'..).take(3000).collect();
        let (mut pairs, all) = (tokens(&text), text.chars().collect::<Vec<_>>());
        pairs.retain(|token| token.chars().count() == 2);
        assert_eq!(pairs, all.windows(2).map(String::from_iter).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn a_token_has_letters_digits_and_marks_only(text in any::<String>()) {
            for token in tokens(&text).iter().chain(&query_tokens(&text)) {
                prop_assert!(token.chars().all(|c| c.is_alphanumeric() || is_combining_mark(c)), "{:?}", token);
                prop_assert!(token.chars().count() <= 2 * MAX_TOKEN_CHARS && !token.is_empty());
            }
        }

        #[test]
        fn the_words_of_a_query_are_among_those_of_the_same_note(text in "\\PC{0,60}|[a-zé犬ก\u{300}\u{ad} .]{0,60}") {
            let of_note = tokens(&text);
            let of_query = query_tokens(&text);
            prop_assert!(of_query.iter().all(|token| of_note.contains(token)), "{:?} {:?}", of_query, of_note);
            prop_assert!(of_query.len() <= MAX_QUERY_TOKENS);
            prop_assert_eq!(of_query.is_empty(), of_note.is_empty());
        }

        #[test]
        fn composed_and_decomposed_texts_in_any_case_have_the_same_words(text in "[a-zA-ZäÉßçñΣσж ]{0,40}") {
            let decomposed: String = text.nfd().collect();
            prop_assert_eq!(tokens(&text), tokens(&decomposed));
            prop_assert_eq!(tokens(&text), tokens(&text.to_uppercase()));
            prop_assert_eq!(tokens(&text), tokens(&text.to_lowercase()));
        }

        #[test]
        fn ascii_texts_have_the_same_words_by_both_ways(text in "[ -~]{0,80}|[a-z]{60,70}") {
            let words = TextRuns::new(text.chars()).map(|run| match run {
                TextRun::Word(word) => word,
                TextRun::Characters(characters) => characters.concat(),
            });
            prop_assert_eq!(words.collect::<Vec<_>>(), tokens(&text));
        }
    }
}
