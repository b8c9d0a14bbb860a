//! An embedder over HTTP, in the format of `/v1/embeddings`.

use std::{fmt, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tool_http::{
    AddressPolicy, HttpClient, RedirectPolicy, deadline_after, has_user, read_body,
    reqwest::{
        Body, Method, Request, Url,
        header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    },
};
use tool_runtime::ToolError;

use super::{Embedder, Embeddings};

/// The time for one request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum size of an answer, in bytes.
const MAX_ANSWER_BYTES: usize = 32 << 20;

/// An [`Embedder`] over HTTP: a server with the route `/v1/embeddings`, as OpenAI and many local servers have it.
///
/// The server receives names and descriptions of tools, and the queries.
///
/// # Examples
///
/// ```
/// use tool_builtins::{ToolSearch, tool_search::HttpEmbedder};
///
/// let embedder = HttpEmbedder::new("http://127.0.0.1:8080", "bge-small")?;
/// let search = ToolSearch::new().embedder(embedder);
/// # Ok::<(), tool_runtime::ToolError>(())
/// ```
pub struct HttpEmbedder {
    url: Url,
    model: String,
    key: Option<HeaderValue>,
    client: HttpClient,
}

#[derive(Deserialize)]
struct EmbeddingsAnswer {
    data: Vec<Embedding>,
    /// A count that cannot be read costs no embeddings.
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Embedding {
    index: usize,
    embedding: Vec<f32>,
}

impl HttpEmbedder {
    /// Creates an embedder by the model `model` of the server with the base URL `base`, such as `https://api.openai.com`.
    ///
    /// # Errors
    ///
    /// If `base` is not the base URL of an HTTP server.
    pub fn new(base: &str, model: impl Into<String>) -> Result<Self, ToolError> {
        let url = Url::parse(base).ok().filter(|url| {
            let is_plain = url.query().is_none() && url.fragment().is_none() && !has_user(url);
            matches!(url.scheme(), "http" | "https") && is_plain
        });
        let mut url = url.ok_or_else(|| {
            ToolError::failed(
                "the base URL of the embedder is not valid; write it like `https://api.example.com`",
            )
        })?;
        let path = url.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
        url.set_path(&format!("{path}/v1/embeddings"));
        // The program chose the URL, and thereby its kind of address.
        let client =
            HttpClient::builder().addresses(AddressPolicy::near(&url)).redirects(RedirectPolicy::Never);
        let client = client.build().map_err(|error| ToolError::failed(error.to_string()))?;
        Ok(Self { url, model: model.into(), key: None, client })
    }

    /// Sets the key that requests carry, as a bearer token. Default: none.
    ///
    /// # Errors
    ///
    /// If the key has characters that a header cannot have.
    pub fn with_key(mut self, key: &str) -> Result<Self, ToolError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
            ToolError::failed("the key of the embedder has characters that a header cannot have")
        })?;
        value.set_sensitive(true);
        self.key = Some(value);
        Ok(self)
    }

    /// Sets the client. Default: one that reaches the kind of address of the base URL.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = client;
        self
    }
}

impl Embedder for HttpEmbedder {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, ToolError> {
        let failed = |problem: &str| ToolError::failed(format!("the embedder failed: {problem}"));
        let mut request = Request::new(Method::POST, self.url.clone());
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            request.headers_mut().insert(AUTHORIZATION, key.clone());
        }
        let body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        *request.body_mut() = Some(Body::from(body.to_string()));
        let response = self.client.execute(request, deadline_after(TIMEOUT)).await;
        let response = response.map_err(|error| failed(&error.to_string()))?;
        let status = response.status();
        if !status.is_success() {
            return Err(failed(&format!("status {}", status.as_u16())).retryable(status.is_server_error()));
        }
        let body = read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| failed(&error.to_string()))?;
        if body.is_cut {
            return Err(failed(&format!("its answer is larger than {MAX_ANSWER_BYTES} bytes")));
        }
        let answer: EmbeddingsAnswer = serde_json::from_slice(&body.bytes)
            .map_err(|error| failed(&format!("its answer has no embeddings ({error})")))?;
        let mut data = answer.data;
        data.sort_by_key(|it| it.index);
        let tokens = ["prompt_tokens", "total_tokens"].iter().find_map(|name| answer.usage[*name].as_u64());
        let mut embeddings = Embeddings::new(data.into_iter().map(|it| it.embedding));
        embeddings.tokens = tokens;
        Ok(embeddings)
    }

    fn model(&self) -> &str {
        &self.model
    }
}

/// Omits the key.
impl fmt::Debug for HttpEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEmbedder")
            .field("url", &self.url.as_str())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
