//! The error of a call.
//!
//! One type covers every step of a call, since callers mostly forward errors to a model. [`ToolError::feedback`] is
//! the text for the model, [`Display`] the text for the log, and [`source`](std::error::Error::source) the underlying
//! error.
//!
//! [`Display`]: fmt::Display

mod convert;
mod display;
mod from;
mod kind;
mod wire;

use std::{borrow::Cow, error::Error, fmt, sync::Arc, time::Duration};

use serde_json::Value;
use tool_schema::{__private::Example, guard::Guarded};

pub use self::{
    convert::{IntoToolError, OrToolError},
    kind::ErrorKind,
};
use crate::{ArgumentError, Content, ToolName, Violation, Violations};

/// The error of a call: a kind, a text for the model, and a text and source for the log.
///
/// In a function that returns a `ToolError`, `?` converts texts, boxed errors, `std::io::Error`, `serde_json::Error` and the
/// errors of the standard library for parsing. For any other error, write
/// [`.or_tool_error()?`](crate::OrToolError::or_tool_error), or implement `From<MyError> for ToolError`.
///
/// # Examples
///
/// ```
/// use tool_runtime::{ErrorKind, ToolError};
///
/// let error = ToolError::from("disk full");
/// assert_eq!(error.kind(), ErrorKind::Failed);
/// assert_eq!(error.feedback(), "disk full");
/// ```
#[derive(Clone)]
pub struct ToolError {
    // Boxed, to keep the `Result` of a call small.
    inner: Box<ErrorParts>,
}

#[derive(Debug, Clone)]
struct ErrorParts {
    kind: ErrorKind,
    tool: Option<Cow<'static, str>>,
    /// Empty if the text of the source is the message.
    message: Cow<'static, str>,
    source: Option<ErrorSource>,
    retryable: bool,
    retry_after: Option<Duration>,
    violations: Violations,
    arguments: Option<String>,
    /// Valid arguments as an example.
    example: Option<Arc<Example>>,
    /// `true` if the texts may repeat the arguments.
    echo: bool,
    suggestions: Vec<ToolName>,
    details: Option<Value>,
    content: Vec<Content>,
    child_run_id: Option<String>,
    /// The text for the model; `None` for the default of the kind.
    feedback: Option<String>,
}

/// The underlying error, of a type of the user.
#[derive(Clone)]
struct ErrorSource {
    // The `Drop` of the last copy is user code; the guard contains its panics.
    error: Guarded<Arc<dyn Error + Send + Sync>>,
    /// The text of `Display`, formatted at creation: a panic there is then an error of the call.
    text: Arc<str>,
}

impl ErrorSource {
    fn new(error: Box<dyn Error + Send + Sync>) -> Self {
        let error = Guarded::new(Arc::from(error));
        let text = error.get().map(ToString::to_string).unwrap_or_default().into();
        Self { error, text }
    }

    fn as_error(&self) -> Option<&(dyn Error + 'static)> {
        self.error.get().map(|error| &**error as _)
    }
}

impl fmt::Debug for ErrorSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_error().fmt(f)
    }
}

impl ToolError {
    /// Creates an error of `kind`; `message` is for models and people.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            inner: Box::new(ErrorParts {
                kind,
                tool: None,
                message: message.into(),
                source: None,
                retryable: false,
                retry_after: None,
                violations: Violations::default(),
                arguments: None,
                example: None,
                echo: true,
                suggestions: Vec::new(),
                details: None,
                content: Vec::new(),
                child_run_id: None,
                feedback: None,
            }),
        }
    }

    /// Creates an error of kind [`Failed`](ErrorKind::Failed).
    pub fn failed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// Creates an error from `source`. The model reads the text of the source without its chain; the text is
    /// formatted once, here. Use [`from_anyhow`](Self::from_anyhow) for an `anyhow::Error`, which hides the type of the
    /// error inside it from this function.
    pub fn from_source(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        // A boxed `ToolError` keeps its kind.
        match source.into().downcast::<Self>() {
            Ok(error) => *error,
            Err(source) => {
                let mut error = Self::failed("");
                error.inner.retryable = from::is_transient(&*source);
                error.inner.source = Some(ErrorSource::new(source));
                error
            }
        }
    }

    /// Replaces message and source by `source`, which wraps this error.
    fn wrapped_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.inner.message = Cow::Borrowed("");
        self.inner.source = Some(ErrorSource::new(source.into()));
        self
    }

    /// Creates the error for the unknown tool `name`; `suggestions` are similar names.
    pub fn unknown_tool(name: impl Into<String>, suggestions: Vec<ToolName>) -> Self {
        let mut error = Self::new(ErrorKind::UnknownTool, "").of_tool(name.into());
        error.inner.suggestions = suggestions;
        error
    }

    /// Adds a reason to the text for the log; the text for the model does not contain it.
    #[doc(hidden)]
    #[must_use]
    pub fn with_log_note(mut self, note: impl Into<Cow<'static, str>>) -> Self {
        self.inner.message = note.into();
        self
    }

    /// Creates the error for invalid `arguments` with their violations.
    #[must_use]
    pub fn invalid_arguments(violations: impl Into<Violations>, arguments: &str) -> Self {
        ArgumentError::new(violations, arguments).into()
    }

    /// Adds valid arguments as an example for the model.
    #[must_use]
    pub fn with_example(self, example: Option<Arc<Value>>) -> Self {
        self.with_shared_example(example.map(|value| Arc::new(Example::new(value))))
    }

    /// Adds an example that is shared with other errors, and formatted once for all of them.
    pub(crate) fn with_shared_example(mut self, example: Option<Arc<Example>>) -> Self {
        self.inner.example = example;
        self
    }

    /// Redacts the arguments in all texts, because one of them is a secret.
    #[must_use]
    pub fn without_values(mut self) -> Self {
        self.inner.violations.iter_mut().for_each(Violation::hide);
        self.inner.echo = false;
        self
    }

    /// Rewrites the pointers of the violations.
    pub(crate) fn with_pointers(mut self, rewrite: impl Fn(&mut String)) -> Self {
        self.inner.violations.iter_mut().for_each(|it| rewrite(&mut it.pointer));
        self
    }

    /// Creates the error of a cancelled call.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "")
    }

    /// Sets the name of the failed tool unless it is set.
    #[must_use]
    pub fn of_tool(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        if self.inner.tool.is_none() {
            self.inner.tool = Some(name.into());
        }
        self
    }

    /// Sets the name of the failed tool and replaces a previous one, so that a wrapper reports its own name.
    #[must_use]
    pub fn with_tool(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.inner.tool = Some(name.into());
        self
    }

    /// Sets the violations of the input schema.
    #[must_use]
    pub fn with_violations(mut self, violations: impl Into<Violations>) -> Self {
        self.inner.violations = violations.into();
        self
    }

    /// Sets whether another attempt may succeed. Default: `false`, or `true` if the source, or an error below it, is an
    /// [`io::Error`](std::io::Error) of a temporary kind or a retryable `ToolError`.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.inner.retryable = retryable;
        self
    }

    /// Sets the minimum pause before another attempt, such as the one that a server asks for. Default: none. It is not
    /// part of the stored form.
    #[must_use]
    pub fn with_retry_after(mut self, pause: Duration) -> Self {
        self.inner.retry_after = Some(pause);
        self
    }

    /// Replaces the message; the text of the source is kept for the log.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        if let Some(feedback) = &mut self.inner.feedback {
            *feedback = message.clone().into_owned();
        }
        self.inner.message = message;
        self
    }

    /// Sets details for user interfaces and logs, which a model never sees.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.inner.details = Some(details);
        self
    }

    /// Sets the id of the run of an agent that the tool ran, as [`ToolOutput::with_child_run_id`](crate::ToolOutput::with_child_run_id)
    /// does for a result. Default: none.
    #[must_use]
    pub fn with_child_run_id(mut self, id: impl Into<String>) -> Self {
        self.inner.child_run_id = Some(id.into());
        self
    }

    /// Returns the id of the run that the tool ran.
    #[must_use]
    pub fn child_run_id(&self) -> Option<&str> {
        self.inner.child_run_id.as_deref()
    }

    /// Sets the content that the tool produced before it failed.
    #[must_use]
    pub fn with_content(mut self, content: Vec<Content>) -> Self {
        self.inner.content = content;
        self
    }

    /// Sets or removes the details for user interfaces and logs.
    pub fn set_details(&mut self, details: Option<Value>) {
        self.inner.details = details;
    }

    /// Sets the text for the model, in place of the message and the prefix of its kind. The log keeps both.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolError;
    ///
    /// let error = ToolError::failed("no route to 10.0.0.7").with_feedback("The server cannot be reached.");
    /// assert_eq!(error.feedback(), "The server cannot be reached.");
    /// assert_eq!(error.to_string(), "tool failed: no route to 10.0.0.7");
    /// ```
    #[must_use]
    pub fn with_feedback(mut self, feedback: impl Into<String>) -> Self {
        self.inner.feedback = Some(feedback.into());
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Returns the name of the tool, if it is known.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.inner.tool.as_deref()
    }

    /// Returns `true` if another attempt may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.inner.retryable
    }

    /// Returns the minimum pause before another attempt, if there is one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }

    /// Returns the first violations of the input schema, at most [20](Violations::LISTED).
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.inner.violations
    }

    /// Returns the listed violations together with their total number.
    #[must_use]
    pub fn report(&self) -> &Violations {
        &self.inner.violations
    }

    /// Returns the invalid arguments as received.
    #[must_use]
    pub fn arguments(&self) -> Option<&str> {
        self.inner.arguments.as_deref()
    }

    /// Returns valid arguments as an example, if there are any.
    #[must_use]
    pub fn example(&self) -> Option<&Value> {
        self.inner.example.as_deref().map(Example::value)
    }

    /// Returns the names of tools that are similar to the unknown one. They cannot be switched off, since they name only
    /// tools of the same registry, whose definitions the model has.
    #[must_use]
    pub fn suggestions(&self) -> &[ToolName] {
        &self.inner.suggestions
    }

    /// Returns the details for user interfaces and logs.
    #[must_use]
    pub fn details(&self) -> Option<&Value> {
        self.inner.details.as_ref()
    }

    /// Returns the content that the tool produced before it failed.
    #[must_use]
    pub fn content(&self) -> &[Content] {
        &self.inner.content
    }

    /// Returns the message, or the text of the source.
    fn message(&self) -> Cow<'_, str> {
        match &self.inner.source {
            Some(source) if self.inner.message.is_empty() => Cow::Borrowed(&source.text),
            _ => Cow::Borrowed(&self.inner.message),
        }
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.source.as_ref()?.as_error()
    }
}
