//! Vectors of texts, and the tools that are nearest to one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tool_runtime::{BoxFuture, ToolDefinition, ToolError, definition::ContentHash};

/// The number of texts of one request to an embedder.
const MAX_BATCH_TEXTS: usize = 128;

/// The maximum number of characters of a text.
const MAX_TEXT_CHARS: usize = 2_000;

/// The number of vectors from which those of tools of other runs are not kept.
const MAX_OTHER_VECTORS: usize = 10_000;

/// A model that turns texts into vectors, of which those with a similar meaning are near to each other.
///
/// [`HttpEmbedder`](super::HttpEmbedder) is one over HTTP, by the feature `embeddings`.
///
/// # Examples
///
/// ```
/// use tool_builtins::tool_search::Embedder;
/// use tool_runtime::ToolError;
///
/// /// Counts vowels.
/// struct Vowels;
///
/// impl Embedder for Vowels {
///     async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ToolError> {
///         let count = |text: &String, vowel| text.matches(vowel).count() as f32;
///         Ok(texts.iter().map(|text| ["a", "e", "i", "o", "u"].map(|vowel| count(text, vowel)).to_vec()).collect())
///     }
/// }
/// ```
pub trait Embedder: Send + Sync + 'static {
    /// Returns a vector for each text, in order; all of one length.
    ///
    /// # Errors
    ///
    /// If the texts cannot be embedded.
    fn embed(&self, texts: &[String]) -> impl Future<Output = Result<Vec<Vec<f32>>, ToolError>> + Send;
}

trait ErasedEmbedder: Send + Sync {
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ToolError>>;
}

impl<E: Embedder> ErasedEmbedder for E {
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ToolError>> {
        Box::pin(Embedder::embed(self, texts))
    }
}

/// An embedder, with the vectors of tools that it made. Clones share them.
#[derive(Clone)]
pub(super) struct ToolVectors {
    embedder: Arc<dyn ErasedEmbedder>,
    /// By the definitions: each is embedded once.
    vectors: Arc<Mutex<BTreeMap<ContentHash, Arc<[f32]>>>>,
}

impl ToolVectors {
    pub(super) fn new(embedder: impl Embedder) -> Self {
        Self { embedder: Arc::new(embedder), vectors: Arc::default() }
    }

    /// Returns those of `tools` that are nearest to `query`, at most `limit`, the nearest first.
    pub(super) async fn nearest<'t>(
        &self,
        tools: &[&'t ToolDefinition],
        query: &str,
        limit: usize,
    ) -> Result<Vec<&'t ToolDefinition>, ToolError> {
        self.embed_tools(tools).await?;
        let query = self.embed(&[cut_text(query)]).await?.pop().unwrap_or_default();
        let vectors = self.lock();
        let similarity = |tool: &ToolDefinition| {
            vectors
                .get(&tool.content_hash())
                .filter(|vector| vector.len() == query.len())
                .map(|vector| vector.iter().zip(query.iter()).map(|(one, other)| one * other).sum::<f32>())
        };
        let similar = tools.iter().filter_map(|tool| Some((*tool, similarity(tool)?)));
        let mut similar: Vec<_> = similar.collect();
        similar
            .sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.name().cmp(other.0.name())));
        Ok(similar.into_iter().take(limit).map(|(tool, _)| tool).collect())
    }

    /// Embeds the tools that were not embedded before.
    async fn embed_tools(&self, tools: &[&ToolDefinition]) -> Result<(), ToolError> {
        let new: Vec<_> = {
            let vectors = self.lock();
            tools.iter().filter(|tool| !vectors.contains_key(&tool.content_hash())).collect()
        };
        for batch in new.chunks(MAX_BATCH_TEXTS) {
            let texts =
                batch.iter().map(|tool| cut_text(&format!("{}: {}", tool.name(), tool.description())));
            let embedded = self.embed(&texts.collect::<Vec<_>>()).await?;
            let mut vectors = self.lock();
            vectors.extend(batch.iter().map(|tool| tool.content_hash()).zip(embedded));
        }
        let mut vectors = self.lock();
        if vectors.len() > tools.len().saturating_mul(2) + MAX_OTHER_VECTORS {
            let kept: BTreeSet<_> = tools.iter().map(|tool| tool.content_hash()).collect();
            vectors.retain(|hash, _| kept.contains(hash));
        }
        Ok(())
    }

    /// Returns a vector of length 1 for each text.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Arc<[f32]>>, ToolError> {
        let vectors = self.embedder.embed(texts).await?;
        let length = vectors.first().map_or(0, Vec::len);
        let is_valid = |vector: &Vec<f32>| {
            vector.len() == length && !vector.is_empty() && vector.iter().all(|value| value.is_finite())
        };
        if vectors.len() != texts.len() || !vectors.iter().all(is_valid) {
            let message = format!(
                "the embedder returned {} vectors for {} texts; it must return one for each, of one length and with \
                 finite numbers",
                vectors.len(),
                texts.len()
            );
            return Err(ToolError::failed(message));
        }
        Ok(vectors.into_iter().map(unit_vector).collect())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ContentHash, Arc<[f32]>>> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ToolVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolVectors").field("vectors", &self.lock().len()).finish_non_exhaustive()
    }
}

fn unit_vector(mut vector: Vec<f32>) -> Arc<[f32]> {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
    vector.into()
}

fn cut_text(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}
