//! The words of names and descriptions.

/// Words that do not distinguish one tool from another.
const EMPTY: &str = "a an the this that these those it its of for to from in on at by with and or is are be as \
                     tool function method helper action operation utility do does perform execute run call use \
                     handle process something anything thing stuff some any given data value";

/// Splits `text` into lower-case words; `getUser` has two.
pub(super) fn lower_case_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|it: char| !it.is_alphanumeric()).flat_map(camel_case_words).map(str::to_lowercase)
}

/// Splits `text` into word stems, without grammatical endings.
pub(super) fn word_stems(text: &str) -> impl Iterator<Item = String> {
    lower_case_words(text).map(word_stem)
}

/// Returns `true` if a word describes the purpose of a tool.
pub(super) fn describes_purpose(word: &str) -> bool {
    !word_stems(EMPTY).any(|empty| empty == word)
}

/// Splits a name in camel case.
fn camel_case_words(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let mut last = rest.chars().next()?;
        let end = rest.char_indices().skip(1).find(|(_, next)| {
            let before = std::mem::replace(&mut last, *next);
            before.is_lowercase() && next.is_uppercase()
        });
        let (hump, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = after;
        Some(hump)
    })
}

/// Reduces `adds`, `adding` and `added` to `add`, approximately; errors are the same wherever the word occurs.
fn word_stem(mut word: String) -> String {
    let mut cut = |end: &str, put: &str, leaves: usize| {
        let is_cut = word.len() >= end.len() + leaves && word.ends_with(end) && !word.ends_with("ss");
        if is_cut {
            word.truncate(word.len() - end.len());
            word.push_str(put);
        }
        is_cut
    };
    let _ = cut("ies", "y", 2) || cut("ing", "", 3) || cut("ed", "", 3) || cut("s", "", 2);
    cut("e", "", 2);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_any_case_has_the_same_words() {
        let of = |text: &str| lower_case_words(text).collect::<Vec<_>>().join(" ");
        for name in ["get_user_by_id", "getUserById", "GetUserById", "get-user.by id", "_get__User/by/Id_"] {
            assert_eq!(of(name), "get user by id", "{name}");
        }
        for (name, words) in [
            ("", ""),
            ("--", ""),
            ("HTTPServer", "httpserver"),
            ("userID2", "user id2"),
            ("größeÄndern", "größe ändern"),
            ("a", "a"),
            ("aB", "a b"),
        ] {
            assert_eq!(of(name), words);
        }
    }

    #[test]
    fn grammatical_endings_are_cut_and_short_words_stay() {
        for (word, stem) in [
            ("adds", "add"),
            ("adding", "add"),
            ("added", "add"),
            ("add", "add"),
            ("entries", "entry"),
            ("ties", "ti"),
            ("flies", "fly"),
            ("class", "class"),
            ("glasses", "glass"),
            ("is", "is"),
            ("gas", "ga"),
            ("king", "king"),
            ("bring", "bring"),
            ("sing", "sing"),
            ("using", "using"),
            ("bed", "bed"),
            ("used", "used"),
            ("deleted", "delet"),
            ("deletes", "delet"),
            ("delete", "delet"),
            ("see", "se"),
            ("be", "be"),
            ("the", "th"),
            ("", ""),
            ("s", "s"),
            ("ses", "se"),
        ] {
            assert_eq!(word_stem(word.to_owned()), stem, "{word}");
        }
    }

    #[test]
    fn a_word_is_telling_unless_every_description_has_it() {
        for word in ["weather", "user", "delet"] {
            assert!(describes_purpose(word), "{word}");
        }
        for word in word_stems("the a tool running tools data values performs") {
            assert_eq!(describes_purpose(&word), word == "runn", "{word}");
        }
    }
}
