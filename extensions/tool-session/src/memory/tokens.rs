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

/// Calls `add` for each token of a note, in order.
pub(crate) fn for_each_token(text: &str, mut add: impl FnMut(&str)) {
    if text.is_ascii() {
        return for_each_ascii_word(text, add);
    }
    for run in Runs::new(text.nfkc()) {
        match run {
            Run::Word(word) => add(&word),
            Run::Characters(characters) => {
                characters.iter().for_each(|character| add(character));
                character_pairs(&characters).for_each(|pair| add(&pair));
            }
        }
    }
}

/// Returns the different tokens of a query, in order, at most [`MAX_QUERY_TOKENS`].
pub(crate) fn query_tokens(query: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    // The iterator reads no more of a long query than it needs.
    for run in Runs::new(query.nfkc()) {
        let run_tokens = match run {
            Run::Word(word) => vec![word],
            Run::Characters(characters) if characters.len() == 1 => characters,
            Run::Characters(characters) => character_pairs(&characters).collect(),
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

/// Calls `add` for each word of a text in ASCII, which needs no tables of Unicode.
fn for_each_ascii_word(text: &str, mut add: impl FnMut(&str)) {
    let mut folded = String::with_capacity(MAX_TOKEN_CHARS);
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        folded.clear();
        folded.push_str(word.get(..MAX_TOKEN_CHARS).unwrap_or(word));
        folded.make_ascii_lowercase();
        add(&folded);
    }
}

/// A part of a text that nothing separates.
enum Run {
    Word(String),
    /// Consecutive characters of scripts without spaces, each with its marks, at most [`MAX_RUN_CHARACTERS`].
    Characters(Vec<String>),
}

/// The maximum number of characters of a [`Run::Characters`]; a longer one becomes several, which share a character.
const MAX_RUN_CHARACTERS: usize = 1024;

/// The kind of a character.
#[derive(PartialEq, Clone, Copy)]
enum Kind {
    Word,
    /// Of a script without spaces.
    Character,
    Mark,
    Invisible,
    Separator,
}

/// Splits normalized characters into runs.
struct Runs<I: Iterator<Item = char>> {
    chars: Peekable<I>,
    /// The last character of the run before, if the run was too long.
    overlap: Option<String>,
}

impl<I: Iterator<Item = char>> Runs<I> {
    fn new(chars: I) -> Self {
        Self { chars: chars.peekable(), overlap: None }
    }

    /// Reads the rest of a word.
    fn read_word(&mut self) -> Run {
        let (mut word, mut count) = (String::new(), 0);
        while let Some(&c) = self.chars.peek() {
            match kind_of(c) {
                Kind::Word | Kind::Mark => push_folded(&mut word, &mut count, c),
                Kind::Invisible => {}
                Kind::Character | Kind::Separator => break,
            }
            self.chars.next();
        }
        Run::Word(word)
    }

    /// Reads the rest of consecutive characters.
    fn read_characters(&mut self, mut characters: Vec<String>) -> Run {
        let mut count = 0;
        while let Some(&c) = self.chars.peek() {
            match kind_of(c) {
                Kind::Character if characters.len() == MAX_RUN_CHARACTERS => {
                    self.overlap = characters.last().cloned();
                    break;
                }
                Kind::Character => {
                    let mut character = String::new();
                    count = 0;
                    push_folded(&mut character, &mut count, c);
                    characters.push(character);
                }
                Kind::Mark => {
                    if let Some(last) = characters.last_mut() {
                        push_folded(last, &mut count, c);
                    }
                }
                Kind::Invisible => {}
                Kind::Word | Kind::Separator => break,
            }
            self.chars.next();
        }
        Run::Characters(characters)
    }
}

impl<I: Iterator<Item = char>> Iterator for Runs<I> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        if let Some(character) = self.overlap.take() {
            return Some(self.read_characters(vec![character]));
        }
        loop {
            match kind_of(*self.chars.peek()?) {
                Kind::Word => return Some(self.read_word()),
                Kind::Character => return Some(self.read_characters(Vec::new())),
                // A mark without a letter belongs to no word.
                Kind::Mark | Kind::Invisible | Kind::Separator => drop(self.chars.next()),
            }
        }
    }
}

/// Adds the folded form of `c`, unless the token is full.
fn push_folded(token: &mut String, count: &mut usize, c: char) {
    for folded in c.to_uppercase().flat_map(char::to_lowercase) {
        // A folded form may have a part that is no letter, such as a spacing accent.
        if *count < MAX_TOKEN_CHARS && (folded.is_alphanumeric() || is_combining_mark(folded)) {
            token.push(folded);
            *count += 1;
        }
    }
}

fn kind_of(c: char) -> Kind {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Kind::Word,
        '\0'..='\x7f' => Kind::Separator,
        // Joiners, marks of direction, soft hyphen, selectors of variants: they change the look of a word only.
        '\u{ad}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0100}'..='\u{e01ef}' => Kind::Invisible,
        _ if is_combining_mark(c) => Kind::Mark,
        _ if !c.is_alphanumeric() => Kind::Separator,
        _ if is_of_script_without_spaces(c) => Kind::Character,
        _ => Kind::Word,
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

    use super::{MAX_QUERY_TOKENS, MAX_TOKEN_CHARS, Run, Runs, for_each_token, query_tokens};

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
            let words = Runs::new(text.chars()).map(|run| match run {
                Run::Word(word) => word,
                Run::Characters(characters) => characters.concat(),
            });
            prop_assert_eq!(words.collect::<Vec<_>>(), tokens(&text));
        }
    }
}
