//! The notes of the program. A program with more of them would search a database here.

use tool_agent::knowledge::{Knowledge, KnowledgeMatch, KnowledgeQuery};
use tool_runtime::{RunContext, ToolError};

/// Texts with their sources.
pub(crate) struct Notes(Vec<(&'static str, &'static str)>);

impl Notes {
    pub(crate) fn of_the_program() -> Self {
        Self(vec![
            ("timetable", "The night train from Paris to Rome takes 14 hours and 5 minutes."),
            ("timetable", "The night train from Paris to Nice takes 12 hours and 20 minutes."),
            ("luggage", "A bicycle needs a reservation."),
        ])
    }
}

/// The notes with most of the words, and none with fewer than two.
impl Knowledge for Notes {
    async fn search(&self, query: &KnowledgeQuery, _: &RunContext) -> Result<Vec<KnowledgeMatch>, ToolError> {
        let wanted: Vec<_> = words_of(&query.text);
        let count = |text: &str| words_of(text).iter().filter(|word| wanted.contains(word)).count();
        let mut found: Vec<_> = self.0.iter().map(|(source, text)| (count(text), source, text)).collect();
        found.retain(|(count, ..)| *count >= 2);
        found.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        let found = found.into_iter().take(query.max_matches);
        Ok(found.map(|(_, source, text)| KnowledgeMatch::new(*text).with_source(*source)).collect())
    }
}

/// Returns the words of a text that are long enough to say something.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    const MIN_CHARS: usize = 4;
    let words = text.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| word.chars().count() >= MIN_CHARS).map(str::to_lowercase).collect()
}
