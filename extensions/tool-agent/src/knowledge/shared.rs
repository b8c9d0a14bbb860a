//! A handle to knowledge of any type.

use std::{fmt, sync::Arc};

use tool_runtime::{
    BoxFuture, ErrorKind, RunContext, ToolError,
    guard::{Guarded, catch_async},
};

use super::{Knowledge, KnowledgeMatch, KnowledgeQuery};

/// A handle to [`Knowledge`] of any type; clones share it. A panic of it is an error.
#[derive(Clone)]
pub struct SharedKnowledge(Arc<Guarded<Box<dyn ErasedKnowledge>>>);

impl SharedKnowledge {
    /// Creates a handle to `knowledge`.
    #[must_use]
    pub fn new(knowledge: impl Knowledge + 'static) -> Self {
        Self(Arc::new(Guarded::new(Box::new(knowledge))))
    }

    /// Returns the texts that match `query`, the best one first.
    ///
    /// # Errors
    ///
    /// As [`Knowledge::search`].
    pub async fn search(
        &self,
        query: &KnowledgeQuery,
        run: &RunContext,
    ) -> Result<Vec<KnowledgeMatch>, ToolError> {
        let failed = |problem: String| {
            ToolError::new(ErrorKind::Unavailable, problem)
                .with_feedback("The knowledge is not available at present.")
        };
        let knowledge =
            self.0.get().ok_or_else(|| failed("the knowledge panicked when it was dropped".to_owned()))?;
        let found = catch_async(|| knowledge.search(query, run)).await;
        found.unwrap_or_else(|panic| Err(failed(format!("the knowledge {panic}"))))
    }
}

impl fmt::Debug for SharedKnowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedKnowledge").finish_non_exhaustive()
    }
}

impl<K: Knowledge + 'static> From<K> for SharedKnowledge {
    fn from(knowledge: K) -> Self {
        Self::new(knowledge)
    }
}

/// The object-safe form of [`Knowledge`].
trait ErasedKnowledge: Send + Sync {
    fn search<'a>(
        &'a self,
        query: &'a KnowledgeQuery,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<KnowledgeMatch>, ToolError>>;
}

impl<K: Knowledge> ErasedKnowledge for K {
    fn search<'a>(
        &'a self,
        query: &'a KnowledgeQuery,
        run: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<KnowledgeMatch>, ToolError>> {
        Box::pin(Knowledge::search(self, query, run))
    }
}
