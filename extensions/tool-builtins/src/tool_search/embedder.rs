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

/// The number of texts of one search after which no request that fails is repeated with fewer texts.
const MAX_REFUSED_TEXTS: usize = 64;

/// The number of vectors from which those of tools of other runs are not kept.
const MAX_OTHER_VECTORS: usize = 10_000;

/// A model that turns texts into vectors, of which those with a similar meaning are near to each other.
///
/// [`HttpEmbedder`](super::HttpEmbedder) is one over HTTP, by the feature `embeddings`.
///
/// # Examples
///
/// ```
/// use tool_builtins::tool_search::{Embedder, Embeddings};
/// use tool_runtime::ToolError;
///
/// /// Counts vowels.
/// struct Vowels;
///
/// impl Embedder for Vowels {
///     async fn embed(&self, texts: &[String]) -> Result<Embeddings, ToolError> {
///         let count = |text: &String, vowel| text.matches(vowel).count() as f32;
///         let vectors = texts.iter().map(|text| ["a", "e", "i", "o", "u"].map(|vowel| count(text, vowel)).to_vec());
///         Ok(Embeddings::new(vectors))
///     }
/// }
/// ```
pub trait Embedder: Send + Sync + 'static {
    /// Returns a vector for each text, in order; all of one length.
    ///
    /// # Errors
    ///
    /// If the texts cannot be embedded. Those of tools are requested again in smaller numbers; one that fails alone, while the query
    /// does not, is not requested again.
    fn embed(&self, texts: &[String]) -> impl Future<Output = Result<Embeddings, ToolError>> + Send;

    /// Returns the name of the model, by which its tokens have a price. Default: `embedder`.
    fn model(&self) -> &str {
        "embedder"
    }
}

/// The vectors of some texts.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Embeddings {
    /// The vectors, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// The number of tokens of the texts, if the embedder counts them.
    pub tokens: Option<u64>,
}

impl Embeddings {
    /// Creates the result of an embedder that counts no tokens.
    pub fn new(vectors: impl IntoIterator<Item = Vec<f32>>) -> Self {
        Self { vectors: vectors.into_iter().collect(), tokens: None }
    }

    /// Sets the number of tokens of the texts.
    #[must_use]
    pub fn with_tokens(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }
}

trait ErasedEmbedder: Send + Sync {
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Embeddings, ToolError>>;

    #[cfg(feature = "agent")]
    fn model(&self) -> &str;
}

impl<E: Embedder> ErasedEmbedder for E {
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Embeddings, ToolError>> {
        Box::pin(Embedder::embed(self, texts))
    }

    #[cfg(feature = "agent")]
    fn model(&self) -> &str {
        Embedder::model(self)
    }
}

/// The vectors of tools by their definitions, each of which is embedded once; `None` for one that the embedder refused.
type VectorsByHash = BTreeMap<ContentHash, Option<Arc<[f32]>>>;

/// An embedder, with the vectors of tools that it made. Clones share them.
#[derive(Clone)]
pub(super) struct ToolVectors {
    embedder: Arc<dyn ErasedEmbedder>,
    vectors: Arc<Mutex<VectorsByHash>>,
}

impl ToolVectors {
    pub(super) fn new(embedder: impl Embedder) -> Self {
        Self { embedder: Arc::new(embedder), vectors: Arc::default() }
    }

    /// Returns the name of the embedder's model.
    #[cfg(feature = "agent")]
    pub(super) fn model(&self) -> &str {
        self.embedder.model()
    }

    /// Returns those of `tools` that are nearest to `query`, at most `limit`, the nearest first. Adds the tokens of all requests to `tokens`.
    pub(super) async fn nearest_tools<'t>(
        &self,
        tools: &[&'t ToolDefinition],
        query: &str,
        limit: usize,
        tokens: &mut u64,
    ) -> Result<Vec<&'t ToolDefinition>, ToolError> {
        let query = [first_chars(query)];
        // First: a server that fails for all texts fails here.
        let vector = self.embed_as_unit_vectors(&query, tokens).await?.pop().unwrap_or_default();
        self.embed_new_tools(tools, &query, tokens).await?;
        let query = vector;
        let vectors = self.lock_vectors();
        let similarity =
            |tool: &ToolDefinition| {
                vectors.get(&tool.content_hash())?.as_ref().filter(|vector| vector.len() == query.len()).map(
                    |vector| vector.iter().zip(query.iter()).map(|(one, other)| one * other).sum::<f32>(),
                )
            };
        let similar = tools.iter().filter_map(|tool| Some((*tool, similarity(tool)?)));
        let mut similar: Vec<_> = similar.collect();
        similar
            .sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.name().cmp(other.0.name())));
        Ok(similar.into_iter().take(limit).map(|(tool, _)| tool).collect())
    }

    /// Embeds the tools that were not embedded before. `query` is a text that the embedder accepts, unless it fails for all.
    async fn embed_new_tools(
        &self,
        tools: &[&ToolDefinition],
        query: &[String],
        tokens: &mut u64,
    ) -> Result<(), ToolError> {
        let new: Vec<_> = {
            let vectors = self.lock_vectors();
            let hashes = tools.iter().map(|tool| (tool.content_hash(), *tool));
            hashes.filter(|(hash, _)| !vectors.contains_key(hash)).collect()
        };
        let new = new.into_iter();
        let new =
            new.map(|(hash, tool)| (hash, first_chars(&format!("{}: {}", tool.name(), tool.description()))));
        let (hashes, texts): (Vec<_>, Vec<_>) = new.unzip();
        let mut refused = 0;
        for (hashes, texts) in hashes.chunks(MAX_BATCH_TEXTS).zip(texts.chunks(MAX_BATCH_TEXTS)) {
            let max_refused = MAX_REFUSED_TEXTS - refused;
            refused += self.embed_batch(hashes, texts, query, max_refused, tokens).await?;
        }
        let mut vectors = self.lock_vectors();
        if vectors.len() > tools.len().saturating_mul(2) + MAX_OTHER_VECTORS {
            let kept: BTreeSet<_> = tools.iter().map(|tool| tool.content_hash()).collect();
            vectors.retain(|hash, _| kept.contains(hash));
        }
        Ok(())
    }

    /// Embeds a batch, and returns the number of texts that were refused. A request that fails is repeated by halves, so that one text
    /// costs the others nothing; after `max_refused` texts, those of a request that fails are left to the next search.
    async fn embed_batch(
        &self,
        hashes: &[ContentHash],
        texts: &[String],
        query: &[String],
        max_refused: usize,
        tokens: &mut u64,
    ) -> Result<usize, ToolError> {
        let (mut refused, mut parts) = (0, vec![(hashes, texts)]);
        while let Some((hashes, texts)) = parts.pop() {
            match self.embed_as_unit_vectors(texts, tokens).await {
                Ok(embedded) => {
                    let mut vectors = self.lock_vectors();
                    vectors.extend(hashes.iter().copied().zip(embedded.into_iter().map(Some)));
                }
                Err(_) if refused >= max_refused => {}
                Err(_) if texts.len() > 1 => {
                    let middle = texts.len() / 2;
                    let (first, second) = (hashes.split_at(middle), texts.split_at(middle));
                    parts.extend([(first.1, second.1), (first.0, second.0)]);
                }
                Err(_) => {
                    // The text is refused, or the server has failed for all texts since.
                    self.embed_as_unit_vectors(query, tokens).await?;
                    refused += 1;
                    self.lock_vectors().extend(hashes.iter().map(|hash| (*hash, None)));
                }
            }
        }
        Ok(refused)
    }

    /// Returns a vector of length 1 for each text.
    async fn embed_as_unit_vectors(
        &self,
        texts: &[String],
        tokens: &mut u64,
    ) -> Result<Vec<Arc<[f32]>>, ToolError> {
        let Embeddings { vectors, tokens: counted } = self.embedder.embed(texts).await?;
        *tokens = tokens.saturating_add(counted.unwrap_or_default());
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

    fn lock_vectors(&self) -> MutexGuard<'_, VectorsByHash> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ToolVectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolVectors").field("vectors", &self.lock_vectors().len()).finish_non_exhaustive()
    }
}

fn unit_vector(mut vector: Vec<f32>) -> Arc<[f32]> {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
    }
    vector.into()
}

fn first_chars(text: &str) -> String {
    text.chars().take(MAX_TEXT_CHARS).collect()
}
