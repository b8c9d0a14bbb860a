//! Words that requests and definitions use for one another: a person asks for a picture, and the tool has an image.
//!
//! General English, and no table of some set of tools: a word counts by a part of its weight where a tool has a related one only.

use std::{collections::HashMap, sync::LazyLock};

use super::stem::stem_in_place;

/// Groups of words of one meaning.
const RELATED_WORDS: &[&[&str]] = &[
    // Actions.
    &["create", "add", "new", "insert", "make", "register"],
    &["delete", "remove", "destroy", "erase"],
    &["update", "edit", "modify", "change", "patch", "set"],
    &["get", "retrieve", "fetch", "read", "show", "view", "return"],
    &["search", "find", "query", "lookup"],
    &["send", "post", "submit", "publish"],
    &["run", "execute", "launch", "start", "trigger"],
    &["stop", "cancel", "terminate", "abort"],
    &["buy", "purchase"],
    &["calculate", "compute"],
    &["convert", "transform"],
    &["check", "verify", "validate"],
    &["download", "export"],
    &["upload", "import"],
    &["enable", "activate"],
    &["disable", "deactivate"],
    &["reserve", "book"],
    // Things.
    &["address", "location", "place"],
    &["appointment", "meeting"],
    &["bill", "invoice"],
    &["car", "vehicle", "automobile"],
    &["city", "town"],
    &["client", "customer"],
    &["clip", "video"],
    &["company", "business", "firm", "corporation"],
    &["configuration", "config"],
    &["country", "nation"],
    &["crypto", "cryptocurrency", "coin", "bitcoin"],
    &["database", "db"],
    &["directory", "folder"],
    &["disease", "illness"],
    &["document", "file"],
    &["drug", "medicine", "medication"],
    &["email", "mail"],
    &["employee", "worker", "staff"],
    &["equity", "stock", "share"],
    &["film", "movie"],
    &["flight", "airline"],
    &["forecast", "weather"],
    &["headline", "news", "article"],
    &["hotel", "accommodation", "lodging"],
    &["image", "picture", "photo"],
    &["issue", "ticket"],
    &["job", "position", "vacancy"],
    &["label", "tag"],
    &["message", "sms"],
    &["notification", "alert"],
    &["phone", "telephone", "mobile"],
    &["postcode", "zip", "postal"],
    &["price", "cost", "fee"],
    &["product", "item", "goods"],
    &["recipe", "dish", "meal"],
    &["repository", "repo"],
    &["restaurant", "dining"],
    &["salary", "wage"],
    &["shop", "store"],
    &["song", "track", "music"],
    &["website", "site"],
];

/// The related words of each word, without their endings.
static GROUPS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut groups: HashMap<String, Vec<String>> = HashMap::new();
    for group in RELATED_WORDS {
        let stems: Vec<_> = group.iter().map(|word| stemmed_word(word)).collect();
        for word in &stems {
            let related = groups.entry(word.clone()).or_default();
            for other in stems.iter().filter(|other| *other != word) {
                if !related.contains(other) {
                    related.push(other.clone());
                }
            }
        }
    }
    groups
});

/// Returns the words that may stand for a word, all of them without their endings.
pub(super) fn related_words(word: &str) -> &'static [String] {
    GROUPS.get(word).map(Vec::as_slice).unwrap_or_default()
}

fn stemmed_word(word: &str) -> String {
    let mut word = word.to_owned();
    stem_in_place(&mut word);
    word
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_word_stands_for_itself_or_for_another_twice() {
        for (word, related) in GROUPS.iter() {
            let unique: HashSet<_> = related.iter().collect();
            assert!(unique.len() == related.len() && !unique.contains(word), "{word}: {related:?}");
        }
    }

    #[test]
    fn forms_of_a_word_have_the_words_of_its_group() {
        assert_eq!(related_words(&stemmed_word("pictures")), [stemmed_word("image"), stemmed_word("photo")]);
        assert!(related_words("zebra").is_empty());
    }
}
