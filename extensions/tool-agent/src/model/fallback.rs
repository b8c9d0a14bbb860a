//! Several models, of which the next one is asked where one fails.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use tool_runtime::guard::{Guarded, Panic, catch};

use super::{Model, ModelError, ModelErrorKind, ModelEvent, Request, Response, ResponseStream, SharedModel};
use crate::event_stream::{Emitter, EventStream};

/// The maximum number of characters of each error in the error of all models.
const MAX_ERROR_CHARS: usize = 300;

/// Several models: where one fails before its response is complete, the next one is asked with the same conversation.
/// Cheap to clone.
///
/// The text of the model that failed is withdrawn by [`ModelEvent::FellBack`]. An [`HttpModel`](super::HttpModel)
/// sends the messages of its own provider unchanged and converts those of others, so that a conversation continues with
/// any of them. Each request begins with the first model; the retries of a model precede the next model.
///
/// The next model is asked for errors of these kinds, or those that [`when`](Self::when) chooses:
///
/// | kind | next model |
/// | --- | --- |
/// | `RateLimited`, `Unavailable`, `Connection`, `TimedOut`, `Malformed` | asked |
/// | `Authentication`, `InvalidRequest` (which includes a quota that is used up), `Other` | asked |
/// | `ContextTooLong` | not asked: a run shortens its conversation |
/// | `Refused` | not asked: a refusal is an answer |
/// | `Script`, `Cancelled` | not asked |
///
/// If all models fail, the error lists the error of each.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, model::{Fallback, ModelErrorKind, Reply}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// // In a program: `HttpModel::from_text("openai:gpt-5-mini")?`.
/// let first = ScriptedModel::new([Reply::error(ModelErrorKind::Unavailable, "overloaded")]);
/// let second = ScriptedModel::new([Reply::text("Hello.")]);
/// let agent = Agent::builder("greeter", Fallback::new(first).or(second)).build()?;
/// assert_eq!(Runner::new(agent).run("Hi.").answer().await?, "Hello.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Fallback {
    models: Vec<SharedModel>,
    falls_back: Arc<dyn Fn(&ModelError) -> bool + Send + Sync>,
}

impl Fallback {
    /// Creates the model that is asked first.
    pub fn new(model: impl Into<SharedModel>) -> Self {
        Self { models: vec![model.into()], falls_back: Arc::new(allows_fallback) }
    }

    /// Adds a model that is asked after those before it.
    #[must_use]
    pub fn or(mut self, model: impl Into<SharedModel>) -> Self {
        self.models.push(model.into());
        self
    }

    /// Sets the errors after which the next model is asked. Default: see [`Fallback`].
    #[must_use]
    pub fn when(mut self, falls_back: impl Fn(&ModelError) -> bool + Send + Sync + 'static) -> Self {
        self.falls_back = Arc::new(falls_back);
        self
    }

    fn preferred_model(&self) -> Option<&SharedModel> {
        self.models.first()
    }
}

fn allows_fallback(error: &ModelError) -> bool {
    use ModelErrorKind::{Cancelled, ContextTooLong, Refused, Script};
    !matches!(error.kind(), ContextTooLong | Refused | Script | Cancelled)
}

impl Model for Fallback {
    /// Returns the name of the first model.
    fn name(&self) -> &str {
        self.preferred_model().map_or("", |model| model.name())
    }

    /// Returns the provider of the first model.
    fn provider(&self) -> &str {
        self.preferred_model().map_or("unknown", |model| model.provider())
    }

    /// Returns the smallest known context window, so that the conversation fits each model.
    fn context_window(&self) -> Option<u64> {
        self.models.iter().filter_map(|model| model.context_window()).min()
    }

    /// Returns `true` if all models have strict output.
    fn has_strict_output(&self) -> bool {
        self.models.iter().all(|model| model.has_strict_output())
    }

    fn has_strict_output_for(&self, request: &Request) -> bool {
        self.models.iter().all(|model| model.has_strict_output_for(request))
    }

    /// Returns `true`: each model that is asked has the additions for its own provider.
    fn asks_request_hooks(&self) -> bool {
        true
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let fallback = self.clone();
        ResponseStream::new(EventStream::new(move |events| async move {
            let ended = fallback.ask_models(request, &events).await;
            events.emit(ended.map(ModelEvent::Finished)).await;
        }))
    }
}

type Events = Emitter<Result<ModelEvent, ModelError>>;

impl Fallback {
    async fn ask_models(&self, request: Request, events: &Events) -> Result<Response, ModelError> {
        let mut errors = Vec::new();
        let mut models = self.models.iter().peekable();
        while let Some(model) = models.next() {
            let error = match ask_model(model, request.clone(), events).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let goes_on = catch(|| (self.falls_back)(&error)).map_err(|panic| {
                let message = format!("the closure of `Fallback::when` {panic}");
                ModelError::new(ModelErrorKind::Other, message)
            })?;
            let Some(next) = models.peek().filter(|_| goes_on) else {
                if errors.is_empty() || !goes_on {
                    return Err(error);
                }
                errors.push((model_label(model), error));
                break;
            };
            let (failed, next) = (model_label(model), model_label(next));
            errors.push((failed.clone(), error.clone()));
            events.emit(Ok(ModelEvent::FellBack { failed, error, next })).await;
        }
        Err(all_failed_error(&errors))
    }
}

/// Asks one model, and emits its events but the last.
async fn ask_model(model: &SharedModel, request: Request, events: &Events) -> Result<Response, ModelError> {
    let panicked = |panic: Panic| ModelError::new(ModelErrorKind::Other, format!("the model {panic}"));
    // A panic of the stream's `Drop` is discarded.
    let mut stream = Guarded::new(catch(|| model.respond(request)).map_err(panicked)?);
    while let Some(event) = stream.next().await.transpose().map_err(panicked)? {
        match event? {
            ModelEvent::Finished(mut response) => {
                response.model.get_or_insert_with(|| model.name().into());
                return Ok(response);
            }
            event => events.emit(Ok(event)).await,
        }
    }
    Err(ModelError::of_ended_stream())
}

/// The provider and the name of a model.
fn model_label(model: &SharedModel) -> String {
    format!("{}:{}", model.provider(), model.name())
}

/// The error of all models: of their kind if they have one, else transient if one of them is.
fn all_failed_error(errors: &[(String, ModelError)]) -> ModelError {
    let mut kinds = errors.iter().map(|(_, error)| error.kind());
    let first = kinds.next().unwrap_or(ModelErrorKind::Other);
    let kind = match () {
        () if kinds.all(|kind| kind == first) => first,
        () if errors.iter().any(|(_, error)| error.is_transient()) => ModelErrorKind::Unavailable,
        () => ModelErrorKind::Other,
    };
    let after: Option<Duration> = errors.iter().filter_map(|(_, error)| error.retry_after()).min();
    let of_each = errors
        .iter()
        .map(|(label, error)| format!("`{label}`: {}", shortened_error_text(&error.to_string())));
    let of_each: Vec<_> = of_each.collect();
    ModelError::new(kind, format!("all models failed: {}", of_each.join("; "))).with_retry_after(after)
}

fn shortened_error_text(text: &str) -> String {
    match text.char_indices().nth(MAX_ERROR_CHARS) {
        Some((at, _)) => format!("{}… ({} more characters)", &text[..at], text[at..].chars().count()),
        None => text.to_owned(),
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("models", &self.models).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ModelErrorKind::{
        Authentication, Cancelled, Connection, ContextTooLong, InvalidRequest, Malformed, Other, RateLimited,
        Refused, Script, TimedOut, Unavailable,
    };

    use super::*;

    #[test]
    fn another_model_is_asked_unless_it_would_answer_the_same() {
        for (kind, goes_on, is_transient) in [
            (Authentication, true, false),
            (InvalidRequest, true, false),
            (ContextTooLong, false, false),
            (RateLimited, true, true),
            (Unavailable, true, true),
            (Connection, true, true),
            (TimedOut, true, true),
            (Malformed, true, true),
            (Refused, false, false),
            (Script, false, false),
            (Cancelled, false, false),
            (Other, true, false),
        ] {
            let error = ModelError::new(kind, "it failed");
            assert_eq!((allows_fallback(&error), error.is_transient()), (goes_on, is_transient), "{kind:?}");
        }
    }

    #[test]
    fn the_error_of_all_models_has_their_kind_and_the_shortest_pause() {
        let error = |kinds: &[(ModelErrorKind, Option<u64>)]| {
            let error = |(at, (kind, pause)): (usize, &(ModelErrorKind, Option<u64>))| {
                let error = ModelError::new(*kind, format!("reason {at}"));
                (format!("p:{at}"), error.with_retry_after(pause.map(Duration::from_secs)))
            };
            let errors: Vec<_> = kinds.iter().enumerate().map(error).collect();
            all_failed_error(&errors)
        };
        for (kinds, kind, pause) in [
            (&[][..], Other, None),
            (&[(Connection, None), (Connection, Some(3))], Connection, Some(3)),
            (&[(Authentication, Some(5)), (RateLimited, Some(4))], Unavailable, Some(4)),
            (&[(Authentication, None), (InvalidRequest, None)], Other, None),
        ] {
            let error = error(kinds);
            assert_eq!(
                (error.kind(), error.retry_after()),
                (kind, pause.map(Duration::from_secs)),
                "{kinds:?}"
            );
        }
        let text = error(&[(Other, None), (Other, None)]).to_string();
        assert_eq!(text, "all models failed: `p:0`: reason 0; `p:1`: reason 1");
        assert_eq!(shortened_error_text(&"x".repeat(MAX_ERROR_CHARS)), "x".repeat(MAX_ERROR_CHARS));
        let long = format!("{}… (2 more characters)", "x".repeat(MAX_ERROR_CHARS));
        assert_eq!(shortened_error_text(&"x".repeat(MAX_ERROR_CHARS + 2)), long);
    }
}
