//! English words without their endings, by the algorithm of M. F. Porter (1980), with one change.
//!
//! `creates`, `created` and `creating` become one word, and so do `deletion` and `delete`. Words of other languages and
//! words with digits stay as they are.

/// The minimum number of characters of a word that is shortened.
const MIN_STEMMED_CHARS: usize = 3;

/// Endings with their replacements, for words whose rest has a vowel that is followed by a consonant.
const SUFFIXES: [(&str, &str); 27] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("ization", "ize"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("biliti", "ble"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ousli", "ous"),
    ("entli", "ent"),
    ("iviti", "ive"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("ator", "ate"),
    ("icate", "ic"),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ative", ""),
    ("ness", ""),
    ("ful", ""),
    ("eli", "e"),
];

/// Endings that are removed from words whose rest is longer.
const LONG_SUFFIXES: [&str; 18] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
];

/// Removes the ending of a word of lower-case letters.
pub(super) fn stem_in_place(word: &mut String) {
    if word.len() < MIN_STEMMED_CHARS || !word.bytes().all(|letter| letter.is_ascii_lowercase()) {
        return;
    }
    remove_plural(word);
    remove_tense(word);
    if word.ends_with('y') && has_vowel(&word.as_bytes()[..word.len() - 1]) {
        replace_suffix(word, 1, "i");
    }
    for _ in 0..2 {
        let found = SUFFIXES.iter().find(|(suffix, _)| word.ends_with(suffix));
        let Some((suffix, replacement)) = found else { break };
        if vowel_consonant_changes(&word.as_bytes()[..word.len() - suffix.len()]) == 0 {
            break;
        }
        replace_suffix(word, suffix.len(), replacement);
    }
    remove_long_suffix(word);
    remove_final_e_or_l(word);
}

fn replace_suffix(word: &mut String, suffix_bytes: usize, replacement: &str) {
    word.truncate(word.len() - suffix_bytes);
    word.push_str(replacement);
}

fn remove_plural(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") {
        word.pop();
    }
}

fn remove_tense(word: &mut String) {
    if word.ends_with("eed") {
        if vowel_consonant_changes(&word.as_bytes()[..word.len() - 3]) > 0 {
            word.pop();
        }
        return;
    }
    let suffix = ["ed", "ing"].into_iter().find(|suffix| word.ends_with(suffix));
    let Some(suffix) = suffix.filter(|it| has_vowel(&word.as_bytes()[..word.len() - it.len()])) else {
        return;
    };
    word.truncate(word.len() - suffix.len());
    if ["at", "bl", "iz"].iter().any(|ending| word.ends_with(ending)) {
        word.push('e');
        return;
    }
    let letters = word.as_bytes();
    if ends_with_double_consonant(letters) && !matches!(letters.last(), Some(b'l' | b's' | b'z')) {
        word.pop();
    } else if vowel_consonant_changes(letters) == 1 && ends_in_short_syllable(letters) {
        word.push('e');
    }
}

fn remove_long_suffix(word: &mut String) {
    let is_ion = word.ends_with("sion") || word.ends_with("tion");
    // Porter leaves `creation` as it is, which is `create` for a tool.
    let (suffix_bytes, min_measure) = match LONG_SUFFIXES.iter().find(|suffix| word.ends_with(**suffix)) {
        Some(suffix) => (suffix.len(), 2),
        None if is_ion => (3, 1),
        None => return,
    };
    if vowel_consonant_changes(&word.as_bytes()[..word.len() - suffix_bytes]) >= min_measure {
        word.truncate(word.len() - suffix_bytes);
    }
}

fn remove_final_e_or_l(word: &mut String) {
    if word.ends_with('e') {
        let rest = &word.as_bytes()[..word.len() - 1];
        if vowel_consonant_changes(rest) > 1
            || vowel_consonant_changes(rest) == 1 && !ends_in_short_syllable(rest)
        {
            word.pop();
        }
    }
    if word.ends_with("ll") && vowel_consonant_changes(&word.as_bytes()[..word.len() - 1]) > 1 {
        word.pop();
    }
}

/// Returns `true` for the letter at `index` if it is spoken as a vowel.
fn is_vowel(letters: &[u8], index: usize) -> bool {
    match letters[index] {
        b'a' | b'e' | b'i' | b'o' | b'u' => true,
        b'y' => index > 0 && !matches!(letters[index - 1], b'a' | b'e' | b'i' | b'o' | b'u'),
        _ => false,
    }
}

fn has_vowel(letters: &[u8]) -> bool {
    (0..letters.len()).any(|index| is_vowel(letters, index))
}

/// Returns the number of changes from vowels to consonants.
fn vowel_consonant_changes(letters: &[u8]) -> usize {
    (1..letters.len()).filter(|index| is_vowel(letters, index - 1) && !is_vowel(letters, *index)).count()
}

fn ends_with_double_consonant(letters: &[u8]) -> bool {
    matches!(letters, [.., before, last] if before == last && !matches!(last, b'a' | b'e' | b'i' | b'o' | b'u'))
}

/// Returns `true` for an ending of consonant, vowel and consonant, such as in `creat` without its `e`.
fn ends_in_short_syllable(letters: &[u8]) -> bool {
    let count = letters.len();
    count > 2
        && !is_vowel(letters, count - 3)
        && is_vowel(letters, count - 2)
        && !is_vowel(letters, count - 1)
        && !matches!(letters[count - 1], b'w' | b'x' | b'y')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut word = word.to_owned();
        stem_in_place(&mut word);
        word
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["create", "creates", "created", "creating", "creation"][..],
            &["delete", "deletes", "deleted", "deleting", "deletion"],
            &["list", "lists", "listed", "listing"],
            &["repository", "repositories"],
            &["policy", "policies"],
            &["notify", "notifies", "notified"],
            &["authorization", "authorize", "authorizing"],
            &["running", "run", "runs"],
            &["file", "files", "filed", "filing"],
        ] {
            let stems: Vec<_> = forms.iter().map(|form| stemmed(form)).collect();
            assert!(stems.iter().all(|it| *it == stems[0]), "{stems:?}");
        }
    }

    /// The examples of Porter's article, each with its stem by another implementation of the algorithm.
    const PORTER_EXAMPLES: &str = "caresses caress; ponies poni; ties ti; caress caress; cats cat; feed feed; agreed agre; plastered \
             plaster; bled bled; motoring motor; sing sing; conflated conflat; troubled troubl; sized size; \
             hopping hop; tanned tan; falling fall; hissing hiss; fizzed fizz; failing fail; filing file; happy \
             happi; sky sky; relational relat; conditional condit; rational ration; valenci valenc; hesitanci \
             hesit; digitizer digit; conformabli conform; radicalli radic; differentli differ; vileli vile; \
             analogousli analog; vietnamization vietnam; predication predic; operator oper; feudalism feudal; \
             decisiveness decis; hopefulness hope; callousness callous; formaliti formal; sensitiviti sensit; \
             sensibiliti sensibl; triplicate triplic; formative form; formalize formal; electriciti electr; \
             electrical electr; hopeful hope; goodness good; revival reviv; allowance allow; inference infer; \
             airliner airlin; gyroscopic gyroscop; adjustable adjust; defensible defens; irritant irrit; \
             replacement replac; adjustment adjust; dependent depend; adoption adopt; homologou homolog; \
             communism commun; activate activ; angulariti angular; homologous homolog; effective effect; \
             bowdlerize bowdler; probate probat; rate rate; cease ceas; controll control; roll roll; \
             generalizations gener; oscillators oscil";

    #[test]
    fn the_examples_of_the_article_have_the_stems_of_the_algorithm() {
        let examples = PORTER_EXAMPLES.split("; ").map(|example| example.split_once(' ').unwrap());
        let others = [
            ("age", "ag"),
            ("added", "ad"),
            ("activated", "activ"),
            ("applying", "appli"),
            ("cycles", "cycl"),
            ("deployment", "deploy"),
            ("eyes", "ey"),
            ("days", "dai"),
            ("proceed", "proce"),
            ("yielding", "yield"),
            // The change: Porter leaves it as it is.
            ("creation", "creat"),
            // Endings are replaced twice, as in the two steps of the algorithm.
            ("canonicalizer", "canonic"),
        ];
        for (word, stem) in examples.chain(others) {
            assert_eq!(stemmed(word), stem, "{word}");
        }
    }

    #[test]
    fn short_words_and_other_scripts_stay_as_they_are() {
        for word in ["", "s", "is", "id", "v2s", "größen", "файлы", "address", "status"] {
            assert!(word.starts_with(&stemmed(word)), "{word}");
        }
        assert_eq!(
            (stemmed("v2s"), stemmed("größen"), stemmed("is")),
            ("v2s".into(), "größen".into(), "is".into())
        );
    }
}
