//! The notes of a user as knowledge.

use serde_json::Map;
use tool_runtime::{ErrorKind, RunContext, ToolError};
use tool_session::{NoteMatch, SessionError, SharedMemory};

use super::{Knowledge, KnowledgeMatch, KnowledgeQuery};

/// The notes of the user of a run. The filters `author` and `session` keep notes of this author, and of this session.
#[derive(Debug, Clone)]
pub struct MemoryKnowledge(SharedMemory);

impl MemoryKnowledge {
    /// Creates knowledge of the notes in `memory`.
    #[must_use]
    pub fn new(memory: SharedMemory) -> Self {
        Self(memory)
    }
}

impl Knowledge for MemoryKnowledge {
    async fn search(
        &self,
        query: &KnowledgeQuery,
        run: &RunContext,
    ) -> Result<Vec<KnowledgeMatch>, ToolError> {
        let KnowledgeQuery { text, max_matches, filters } = query;
        if let Some(name) = filters.keys().find(|name| !matches!(name.as_str(), "author" | "session")) {
            return Err(ToolError::failed(format!(
                "notes have no filter `{name}`; use `author` or `session`"
            )));
        }
        // A filter leaves out notes that would have been among the best.
        let limit = if filters.is_empty() { *max_matches } else { SharedMemory::MAX_MATCHES };
        let memory = self.0.for_run(run).map_err(memory_error)?;
        let found = memory.search(text, limit).await.map_err(memory_error)?;
        let has =
            |name: &str, value: Option<&str>| filters.get(name).is_none_or(|it| Some(it.as_str()) == value);
        let fits = |it: &NoteMatch| {
            let content = &it.note.content;
            has("author", content.author.as_deref()) && has("session", content.session.as_deref())
        };
        Ok(found.into_iter().filter(fits).take(*max_matches).map(KnowledgeMatch::from).collect())
    }
}

impl From<NoteMatch> for KnowledgeMatch {
    fn from(found: NoteMatch) -> Self {
        let NoteMatch { note, score, .. } = found;
        let mut metadata = Map::new();
        if let Some(author) = &note.content.author {
            metadata.insert("author".to_owned(), author.to_string().into());
        }
        let text = note.content.text.to_string();
        Self { text, source: Some(format!("note {}", note.number)), score: Some(score), metadata }
    }
}

fn memory_error(error: SessionError) -> ToolError {
    match error {
        SessionError::Invalid(problem) => ToolError::failed(problem),
        error => {
            let is_transient = error.is_transient();
            ToolError::new(ErrorKind::Unavailable, format!("the memory failed: {error}"))
                .with_feedback("The knowledge is not available at present.")
                .retryable(is_transient)
        }
    }
}
