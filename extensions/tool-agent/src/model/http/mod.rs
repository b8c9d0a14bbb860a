//! Models over HTTP, in the dialects of `tool-runtime`, whose [`Provider`] has the URLs, headers and members.
//!
//! - `body.rs`: the body of a request: members, messages (`conversation.rs`), cache points (`cache.rs`).
//! - `exchange.rs`: one request and its response, whole or streamed, with retries.
//! - `strict.rs`: the schema of a structured answer.
//! - `failure.rs`: errors of providers.

mod body;
mod cache;
mod conversation;
mod exchange;
pub(super) mod failure;
mod response_body;
mod strict;

use std::{
    env, fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::{Map, Value};
use tool_runtime::{
    Dialect,
    dialect::{Provider, providers},
};

use self::{exchange::run_exchange, strict::StrictSchemaCache};
use super::{Model, ModelError, ModelErrorKind, Request, ResponseStream};
use crate::event_stream::EventStream;

/// The default number of retries of a failed request.
const DEFAULT_RETRIES: u32 = 2;
/// The default idle timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// The default maximum of a pause before a retry.
const DEFAULT_LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The default maximum size of a response, far above the responses of models: 64 MiB.
const DEFAULT_LONGEST_RESPONSE_BYTES: usize = 64 << 20;

/// A model over HTTP: OpenAI chat completions and every compatible server, OpenAI responses, Anthropic, Gemini. Cheap
/// to clone.
///
/// The key is read from the environment when the model is created: `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`,
/// `GEMINI_API_KEY`. `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL` and `GEMINI_BASE_URL` override the server. Keys are never
/// printed, and are sent to the server of the model only: redirects are not followed.
///
/// Responses are streamed. A response of status 429 or 5xx, a lost connection and a broken stream are retried, after
/// the time that the server asks for; text that was shown before is withdrawn by
/// [`ModelEvent::Retried`](super::ModelEvent::Retried). No call of a response that broke off is returned.
///
/// # Examples
///
/// A local server with OpenAI's chat completions:
///
/// ```
/// use tool_agent::HttpModel;
///
/// let model = HttpModel::openai_chat("qwen3")?
///     .with_base_url("http://127.0.0.1:11434/v1")
///     .with_parameter("temperature", 0);
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct HttpModel(Arc<HttpModelSettings>);

#[derive(Clone)]
struct HttpModelSettings {
    provider: &'static dyn Provider,
    dialect: Dialect,
    name: String,
    base_url: String,
    key: Option<Secret>,
    headers: Vec<(String, Secret)>,
    parameters: Map<String, Value>,
    streams: bool,
    retries: u32,
    timeout: Duration,
    longest_pause: Duration,
    longest_response: usize,
    cache: bool,
    context_window: Option<u64>,
    /// Set if it is not the default for the server.
    strict_output: Option<bool>,
    formats: StrictSchemaCache,
    client: reqwest::Client,
    /// Made of the other settings with the first request.
    url: OnceLock<Option<reqwest::Url>>,
}

impl HttpModelSettings {
    fn request_url_text(&self) -> String {
        self.provider.url(&self.base_url, &self.name, self.streams)
    }

    /// Returns the URL of requests; `None` if it is not valid.
    fn url(&self) -> Option<&reqwest::Url> {
        self.url.get_or_init(|| reqwest::Url::parse(&self.request_url_text()).ok()).as_ref()
    }
}

/// A text that is never printed.
#[derive(Clone)]
struct Secret(Arc<str>);

impl HttpModel {
    /// Creates a model of OpenAI's [chat completions](https://platform.openai.com/docs/api-reference/chat/create), or
    /// of a compatible server: see [`with_base_url`](Self::with_base_url).
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be set up.
    pub fn openai_chat(name: impl Into<String>) -> Result<Self, ModelError> {
        Self::new(Dialect::openai_chat(), name.into())
    }

    /// Creates a model of OpenAI's [responses](https://platform.openai.com/docs/api-reference/responses/create).
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be set up.
    pub fn openai_responses(name: impl Into<String>) -> Result<Self, ModelError> {
        Self::new(Dialect::openai_responses(), name.into())
    }

    /// Creates a model of Anthropic's [messages](https://docs.anthropic.com/en/api/messages). `max_tokens` is 8,192
    /// unless [set](Self::with_parameter).
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be set up.
    pub fn anthropic(name: impl Into<String>) -> Result<Self, ModelError> {
        Self::new(Dialect::anthropic(), name.into())
    }

    /// Creates a model of Gemini's [`generateContent`](https://ai.google.dev/api/generate-content).
    ///
    /// # Errors
    ///
    /// Returns an error if TLS cannot be set up.
    pub fn gemini(name: impl Into<String>) -> Result<Self, ModelError> {
        Self::new(Dialect::gemini(), name.into())
    }

    /// Creates a model from `provider:name`, such as `anthropic:claude-sonnet-4-5`. Providers: `openai` (chat
    /// completions), `openai-responses`, `anthropic`, `gemini`.
    ///
    /// # Errors
    ///
    /// Returns an error if the text has another form, or TLS cannot be set up.
    pub fn from_text(text: &str) -> Result<Self, ModelError> {
        let found =
            text.split_once(':').and_then(|(provider, name)| Some((dialect_of_provider(provider)?, name)));
        match found.filter(|(_, name)| !name.is_empty()) {
            Some((dialect, name)) => Self::new(dialect, name.to_owned()),
            None => Err(ModelError::new(
                ModelErrorKind::InvalidRequest,
                format!(
                    "expected `PROVIDER:NAME` with the provider {}, got `{}`",
                    provider_names(),
                    text.escape_debug(),
                ),
            )),
        }
    }

    fn new(dialect: Dialect, name: String) -> Result<Self, ModelError> {
        let Some(provider) = dialect.provider() else {
            let message = format!("the dialect `{}` has no HTTP API", dialect.name());
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, message));
        };
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().map_err(
            |error| {
                ModelError::new(ModelErrorKind::Connection, "the HTTP client cannot be set up")
                    .with_source(error)
            },
        )?;
        let variable = |suffix: &str| {
            let set = env::var(format!("{}_{suffix}", provider.environment_prefix())).ok();
            set.filter(|value| !value.trim().is_empty())
        };
        let base_url = variable("BASE_URL").unwrap_or_else(|| provider.base_url().to_owned());
        Ok(Self(Arc::new(HttpModelSettings {
            provider,
            dialect,
            name,
            base_url,
            key: variable("API_KEY").map(Secret::new),
            headers: Vec::new(),
            parameters: Map::new(),
            streams: true,
            retries: DEFAULT_RETRIES,
            timeout: DEFAULT_TIMEOUT,
            longest_pause: DEFAULT_LONGEST_PAUSE,
            longest_response: DEFAULT_LONGEST_RESPONSE_BYTES,
            cache: false,
            context_window: None,
            strict_output: None,
            formats: StrictSchemaCache::default(),
            client,
            url: OnceLock::new(),
        })))
    }

    fn with_changed_settings(self, change: impl FnOnce(&mut HttpModelSettings)) -> Self {
        let mut settings = Arc::unwrap_or_clone(self.0);
        change(&mut settings);
        settings.url = OnceLock::new();
        Self(Arc::new(settings))
    }

    /// Sets the URL before the path of the provider's API, such as `http://127.0.0.1:11434/v1` for chat completions:
    /// with `/v1` for OpenAI and compatible servers only. Without a key, a server at another URL than the provider's is
    /// asked without authentication.
    ///
    /// A key in the environment is sent to this server, without encryption if the URL begins with `http://`; override
    /// it with [`with_api_key`](Self::with_api_key) for a server that must not receive it.
    #[must_use]
    pub fn with_base_url(self, url: impl Into<String>) -> Self {
        self.with_changed_settings(|it| it.base_url = url.into().trim_end_matches('/').to_owned())
    }

    /// Sets the key, overriding the environment.
    #[must_use]
    pub fn with_api_key(self, key: impl Into<String>) -> Self {
        self.with_changed_settings(|it| it.key = Some(Secret::new(key.into())))
    }

    /// Adds a header to each request. Its value is never printed.
    #[must_use]
    pub fn with_header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with_changed_settings(|it| it.headers.push((name.into(), Secret::new(value.into()))))
    }

    /// Sets a member of each request in the provider's format, such as `temperature` or `max_tokens`.
    #[must_use]
    pub fn with_parameter(self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.with_changed_settings(|it| drop(it.parameters.insert(name.into(), value.into())))
    }

    /// Sets whether responses are streamed. Default: `true`.
    #[must_use]
    pub fn with_streaming(self, streams: bool) -> Self {
        self.with_changed_settings(|it| it.streams = streams)
    }

    /// Sets the maximum number of retries of a failed request. Default: 2.
    #[must_use]
    pub fn with_retries(self, retries: u32) -> Self {
        self.with_changed_settings(|it| it.retries = retries)
    }

    /// Sets the idle timeout: the maximum time until a response begins, and between two parts of it. A response that is
    /// not streamed has to end within this time. Default: 120 seconds.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.with_changed_settings(|it| it.timeout = timeout)
    }

    /// Sets the maximum pause before a retry: if a server asks for a longer one, the request fails.
    /// Default: 60 seconds.
    #[must_use]
    pub fn with_longest_pause(self, pause: Duration) -> Self {
        self.with_changed_settings(|it| it.longest_pause = pause)
    }

    /// Sets the maximum size of a response in bytes: of the body, or of all events of a stream. A longer response is an
    /// error. Default: 64 MiB.
    #[must_use]
    pub fn with_longest_response(self, bytes: usize) -> Self {
        self.with_changed_settings(|it| it.longest_response = bytes)
    }

    /// Sets whether a request without [cache points](Request::cache) has them after the tools, the instruction and the
    /// last message, for a provider that needs to be asked (Anthropic). Default: `false`.
    #[must_use]
    pub fn with_cache(self, caches: bool) -> Self {
        self.with_changed_settings(|it| it.cache = caches)
    }

    /// Sets the maximum number of tokens of a request and its response. Default: unknown.
    #[must_use]
    pub fn with_context_window(self, tokens: u64) -> Self {
        self.with_changed_settings(|it| it.context_window = Some(tokens))
    }

    /// Sets whether the server guarantees the [format of an answer](Request::output). If it does not, an agent receives
    /// its [output](crate::AgentBuilder::output) by the tool `submit_output`. Default: `true`, except for chat completions
    /// of a server at another URL than OpenAI's, since compatible servers often ignore the format.
    #[must_use]
    pub fn with_strict_output(self, is_strict: bool) -> Self {
        self.with_changed_settings(|it| it.strict_output = Some(is_strict))
    }

    /// Sets the dialect, for native tools or a prefix of names. Default: the provider's.
    ///
    /// # Errors
    ///
    /// Returns an error if the dialect belongs to another API.
    pub fn with_dialect(self, dialect: Dialect) -> Result<Self, ModelError> {
        let own = self.0.provider.name();
        if !dialect.name().starts_with(own) {
            let message = format!("expected a dialect `{own}`, got `{}`", dialect.name());
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, message));
        }
        Ok(self.with_changed_settings(|it| it.dialect = dialect))
    }

    /// Returns the environment variable of the key if there is none and the server of the provider requires one.
    #[cfg(feature = "cli")]
    pub(crate) fn missing_key_variable(&self) -> Option<String> {
        let HttpModelSettings { provider, key, base_url, .. } = &*self.0;
        let is_missing = key.is_none() && base_url == provider.base_url();
        is_missing.then(|| format!("{}_API_KEY", provider.environment_prefix()))
    }
}

impl Model for HttpModel {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn provider(&self) -> &str {
        self.0.provider.semantic_name()
    }

    fn context_window(&self) -> Option<u64> {
        self.0.context_window
    }

    fn has_strict_output(&self) -> bool {
        let HttpModelSettings { provider, base_url, strict_output, .. } = &*self.0;
        strict_output.unwrap_or(!provider.has_compatible_servers() || base_url == provider.base_url())
    }

    /// Returns `false` for a schema that the provider's strict mode does not support, for a server [without strict
    /// output](HttpModel::with_strict_output), and for a request with tools to Gemini, which [rejects both together](https://github.com/googleapis/python-genai/issues/867).
    fn has_strict_output_for(&self, request: &Request) -> bool {
        let HttpModelSettings { provider, formats, .. } = &*self.0;
        let combines = provider.combines_output_with_tools() || request.tools.is_empty();
        let is_strict = |format| formats.strict_schema(*provider, format).is_some();
        self.has_strict_output() && combines && request.output.as_ref().is_some_and(is_strict)
    }

    /// Returns `true`: the additions depend on the format of the provider.
    fn asks_request_hooks(&self) -> bool {
        true
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let settings = Arc::clone(&self.0);
        ResponseStream::new(EventStream::new(move |emitter| run_exchange(settings, request, emitter)))
    }
}

/// Returns the dialect of the provider with a name.
fn dialect_of_provider(provider: &str) -> Option<Dialect> {
    let provider = providers().into_iter().find(|it| it.short_names().contains(&provider))?;
    Dialect::all().into_iter().find(|dialect| dialect.name() == provider.name())
}

/// Returns the names of all providers, for a message.
fn provider_names() -> String {
    let names: Vec<_> =
        providers().iter().filter_map(|it| Some(format!("`{}`", it.short_names().first()?))).collect();
    match names.split_last() {
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

impl Secret {
    fn new(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Prints neither the key nor the values of headers.
impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HttpModelSettings { provider, name, base_url, .. } = &*self.0;
        f.debug_struct("HttpModel")
            .field("provider", &provider.name())
            .field("name", name)
            .field("base_url", &failure::url_without_secrets(base_url))
            .finish_non_exhaustive()
    }
}
